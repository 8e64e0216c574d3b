"""Runs on a Ray cluster: one core for each; what dies with a worker or a machine is repeated elsewhere."""

from __future__ import annotations

import logging
import socket
import time
from types import TracebackType
from typing import Any

from .._support.processes import Lost
from .attempt import attempt
from .result import Failed, Outcome
from .spec import Run


class Ray:
    """Workers of a Ray cluster on which ndcn is installed.

    Args:
        address: of the cluster, such as "ray://head:10001", or "auto" for the one that runs on this machine; if there is
            none, "auto" starts one here.

    Raises:
        ModuleNotFoundError: Ray is not installed.
        ConnectionError: there is no cluster at the address.
    """

    def __init__(self, address: str) -> None:
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
        self.task = ray.remote(num_cpus=1, max_retries=0)(attempt)  # repeated by the sweep, which counts attempts
        self.pending: dict[Any, Run] = {}

    def __enter__(self) -> Ray:
        return self

    def start(self, run: Run) -> None:
        """Hand a run to the cluster."""
        self.pending[self.task.remote(run)] = run

    def wait(self, seconds: float) -> list[tuple[Run, Outcome]]:
        """What has ended, after so many seconds at most."""
        if not self.pending:  # Ray would not wait at all
            time.sleep(seconds)
            return []
        ready, _ = self.ray.wait(list(self.pending), num_returns=1, timeout=seconds)
        return [(self.pending.pop(reference), self._outcome(reference)) for reference in ready]

    def _outcome(self, reference: Any) -> Outcome:
        try:
            outcome: Outcome = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            return Failed(str(error))
        except self.ray.exceptions.RayError as error:
            return Lost(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return outcome

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ray.shutdown()


def _check_address(address: str) -> None:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"--ray takes auto, or an address such as ray://head:10001 or head:6379, got {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from error
