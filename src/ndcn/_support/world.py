"""The processes that share one network: who they are, small sums over them, and calls that name whom they waited for."""

from __future__ import annotations

import atexit
import functools
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from .agreed import Agreed
from .meeting import Absent, meeting

T = TypeVar("T")
SECONDS = 300.0  # that a collective call may take; set another by NDCN_COLLECTIVE_SECONDS. An exchange of 1 GB at 0.1 GB/s takes 10
GRACE = 5.0  # seconds in which processes whose call failed tell each other that they are alive


class LostRank(RuntimeError):
    """A collective call failed: another process died, stopped or did not come.

    Attributes:
        ranks: which did not answer; empty where that is not known.
    """

    def __init__(self, message: str, ranks: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.ranks = ranks


def seconds_allowed() -> float:
    """The time limit of a collective call.

    Raises:
        ValueError: NDCN_COLLECTIVE_SECONDS is no positive number.
    """
    text = os.environ.get("NDCN_COLLECTIVE_SECONDS", str(SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"NDCN_COLLECTIVE_SECONDS must be a positive number of seconds, got {text!r}")
    return seconds


def under_torchrun() -> bool:
    """Whether ``torchrun`` started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


_restarts = 0


def restarts() -> int:
    """How often the processes of this run met before: ``torchrun`` started them again so often, and each knows the same number."""
    return _restarts


def start_processes() -> None:
    """Initialise the process group that ``torchrun`` describes, once: gloo on CPUs, NCCL where each process has a GPU.

    Raises:
        LostRank: some processes did not start within the time limit of a collective call; it names them.
    """
    if dist.is_initialized() or not under_torchrun():
        return
    gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    global _restarts
    seconds = seconds_allowed()
    limit = timedelta(seconds=seconds)
    own = f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}"
    more = "slow machines need a higher NDCN_COLLECTIVE_SECONDS"
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=limit))
        name, _restarts = meeting(store, rank, size, seconds)
    except Absent as error:
        who = _named(error.ranks)
        raise LostRank(
            f"{own} started, and {who} did not within {seconds:g} s. Look at the output of {who}; {more}", error.ranks
        ) from error
    except RuntimeError as error:
        where = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        raise LostRank(
            f"{own} found no store of torchrun at {where} within {seconds:g} s ({_first_line(error)}); {more}"
        ) from error
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    dist.init_process_group(backend, store=dist.PrefixStore(name, store), rank=rank, world_size=size, timeout=limit)
    atexit.register(_leave)


def _leave() -> None:
    """End the threads of the process group: one that still runs when the interpreter ends aborts the process (SIGABRT)."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _named(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


class World:
    """The processes of the default group, or this one alone.

    Sums are made in the order of ranks from gathered numbers: every process gets the same bits, whatever way the numbers took.

    Attributes:
        rank: of this process, from 0.
        size: how many there are.
        sent: bytes that this process has sent to others in exchanges.

    Example:
        >>> World(0, 1).total(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.sent = 0
        self._calls = 0

    @classmethod
    def current(cls) -> World:
        """That of the initialised process group; one process where there is none."""
        return cls(dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else cls(0, 1)

    @property
    def first(self) -> bool:
        """Whether this process speaks and writes for all."""
        return self.rank == 0

    def gather(self, values: torch.Tensor) -> torch.Tensor:
        """The values of all processes, one row for each rank."""
        if self.size == 1:
            return values.unsqueeze(0)
        flat = values.detach().contiguous().reshape(-1)
        out = flat.new_empty(self.size, flat.numel())
        self._call("gathering numbers", lambda: dist.all_gather(list(out.unbind()), flat))
        return out.reshape(self.size, *values.shape)

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes."""
        return values if self.size == 1 else self.gather(values).sum(0)

    def highest(self, values: torch.Tensor) -> torch.Tensor:
        """The largest over all processes."""
        return values if self.size == 1 else self.gather(values).amax(0)

    def everywhere(self, flag: bool) -> bool:
        """Whether it holds in all processes."""
        return flag if self.size == 1 else bool(self.gather(torch.tensor([flag], dtype=torch.uint8)).all())

    def texts(self, text: str) -> list[str]:
        """The texts of all processes."""
        if self.size == 1:
            return [text]
        own = torch.frombuffer(bytearray(text.encode() or b"\0"), dtype=torch.uint8)
        sizes = self.gather(torch.tensor([len(text.encode()), len(own)]))
        padded = torch.zeros(int(sizes[:, 1].max()), dtype=torch.uint8)
        padded[: len(own)] = own
        rows = self.gather(padded)
        return [bytes(row[:size].numpy()).decode() for row, size in zip(rows, sizes[:, 0].tolist(), strict=True)]

    def check(self, problem: str) -> None:
        """Refuse, in every process, what any of them found wrong; "" stands for nothing.

        Raises:
            ValueError: with the words of each process that found something.
        """
        found = [(rank, text) for rank, text in enumerate(self.texts(problem)) if text]
        if len(found) == self.size and len({text for _, text in found}) == 1:
            raise Agreed(found[0][1])
        if found:
            raise Agreed("; ".join(f"rank {rank}: {text}" for rank, text in found))

    @contextmanager
    def agreed(self) -> Iterator[None]:
        """A block that each process carries out for itself, without collective calls; what fails in one is raised in all.

        Raises:
            ValueError: with the words of each process that failed.
        """
        if self.size == 1:
            yield
            return
        problem: Exception | None = None
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError) as error:
            problem = error
        try:
            self.check("" if problem is None else str(problem) or type(problem).__name__)
        except ValueError as told:
            raise told from problem

    def broadcast(self, values: torch.Tensor) -> torch.Tensor:
        """The values of rank 0, in place; all processes give the same shape."""
        if self.size > 1:
            self._call("passing on numbers of rank 0", lambda: dist.broadcast(values, 0))
        return values

    def to_first(self, values: torch.Tensor) -> list[torch.Tensor]:
        """Tensors of any length along the first axis, at rank 0 those of all ranks; elsewhere nothing."""
        if self.size == 1:
            return [values]
        lengths = self.gather(torch.tensor([len(values)]))[:, 0].tolist()
        if not self.first:
            self._call("sending to rank 0", lambda: dist.send(values.contiguous(), 0))
            return []
        out = [values]
        for rank in range(1, self.size):
            room = values.new_empty(lengths[rank], *values.shape[1:])
            self._call(f"receiving from rank {rank}", functools.partial(dist.recv, room, rank))
            out.append(room)
        return out

    def exchange(
        self, received: torch.Tensor, sent: torch.Tensor, receive: Sequence[int], send: Sequence[int]
    ) -> Callable[[], None]:
        """Begin to swap rows: ``sent`` holds ``send[r]`` rows for rank r, ``received`` room for ``receive[r]``; call to end it."""
        if self.size == 1:
            return lambda: None
        self.sent += sent.numel() * sent.element_size()
        work = self._call(
            "exchanging boundary states",
            lambda: dist.all_to_all_single(received, sent, list(receive), list(send), async_op=True),
        )
        return lambda: self._call("exchanging boundary states", work.wait)

    def barrier(self) -> None:
        """Wait for all."""
        self.everywhere(True)

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        """A collective call; one that fails says which processes did not take part."""
        self._calls += 1
        try:
            return call()
        except RuntimeError as error:
            raise self._lost(doing, error) from error

    def _lost(self, doing: str, error: Exception) -> LostRank:
        missing = _unheard(self.rank, self.size)
        who = _named(missing) if missing else "another rank"
        return LostRank(
            f"rank {self.rank} of {self.size} was {doing}, and {who} did not answer within {seconds_allowed():g} s or had "
            f"died ({_first_line(error)}). Look at the output of {who}; `torchrun --max-restarts 3` starts all again from the checkpoint",
            missing,
        )


def _unheard(rank: int, size: int) -> tuple[int, ...]:
    """Which processes do not say within a few seconds that they are alive; the store that ``torchrun`` keeps is asked."""
    try:
        store: Any = dist.distributed_c10d._get_default_store()
        store.set(f"ndcn/alive/{rank}", b"1")
        waiting = set(range(size)) - {rank}
        end = time.monotonic() + GRACE
        while waiting and time.monotonic() < end:
            waiting = {one for one in waiting if not store.check([f"ndcn/alive/{one}"])}
            time.sleep(0.05)
    except RuntimeError:  # the store was with the process that died
        return (0,) if rank else ()
    return tuple(sorted(waiting))
