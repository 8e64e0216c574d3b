"""The processes that share one network: who they are, small sums over them, and calls that name whom they waited for."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

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
    """The time limit of a collective call."""
    return float(os.environ.get("NDCN_COLLECTIVE_SECONDS", SECONDS))


def under_torchrun() -> bool:
    """Whether ``torchrun`` started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def restarts() -> int:
    """How often ``torchrun`` started the processes again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def start_processes() -> None:
    """Initialise the process group that ``torchrun`` describes, once: gloo on CPUs, NCCL where each process has a GPU."""
    if dist.is_initialized() or not under_torchrun():
        return
    gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo", timeout=timedelta(seconds=seconds_allowed()))


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
        if found and self.size == 1:
            raise ValueError(found[0][1])
        if found:
            raise ValueError("; ".join(f"rank {rank}: {text}" for rank, text in found))

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
        who = f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}" if missing else "another rank"
        first = str(error).splitlines()[0]
        return LostRank(
            f"rank {self.rank} of {self.size} was {doing}, and {who} did not answer within {seconds_allowed():g} s or had "
            f"died ({first}). Look at the output of {who}; `torchrun --max-restarts 3` starts all again from the checkpoint",
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
