"""Workers of a Ray cluster, one core for each task; the other back end beside the processes of this machine."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from .processes import Failed, Lost
from .threads import one_thread


class Ray:
    """Workers of a Ray cluster on which ndcn is installed: ``start`` and ``wait`` are those of ``Processes``.

    An address is "ray://head:10001", say, or "auto" for the cluster that runs on this machine; if there is none, "auto"
    starts one here.

    Raises:
        ModuleNotFoundError: Ray is not installed.
        ConnectionError: there is no cluster at the address.
    """

    def __init__(self, work: Callable[[Any], Any], address: str) -> None:
        try:
            import ray  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("--ray needs Ray: pip install 'ndcn[ray]'") from error
        self.ray: Any = ray
        if address != "auto":
            _check_address(address)  # Ray itself would try for minutes
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionError:
            if address != "auto":
                raise
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self.capacity = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.work = work
        # whoever gets Lost decides whether to repeat it
        self.remote = ray.remote(num_cpus=1, max_retries=0)(_carry_out)
        self.pending: dict[Any, Any] = {}

    def __enter__(self) -> Ray:
        return self

    def start(self, task: Any) -> None:
        """Hand a task to the cluster."""
        self.pending[self.remote.remote(self.work, task)] = task

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:
        """Tasks that have ended and the answers to them, after so many seconds at most; None waits for one."""
        if not self.pending:  # Ray would not wait at all
            time.sleep(seconds or 0.0)
            return []
        ready, _ = self.ray.wait(list(self.pending), num_returns=1, timeout=seconds)
        return [(self.pending.pop(reference), self._answer(reference)) for reference in ready]

    def _answer(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            return Failed(str(error), error)
        except self.ray.exceptions.RayError as error:
            return Lost(f"{type(error).__name__}: {str(error).splitlines()[0]}")

    def __exit__(self, *error: object) -> None:
        self.ray.shutdown()


def _carry_out(work: Callable[[Any], Any], task: Any) -> Any:
    with one_thread():
        return work(task)


def _check_address(address: str) -> None:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(
            f"--ray takes auto, or an address such as ray://head:10001 or head:6379 (jobs= too), got {address!r}"
        )
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from error
