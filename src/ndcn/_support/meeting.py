"""Processes that start together find each other, and none that an earlier start left behind."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed import Store

ASK_AGAIN = 0.5  # seconds that a rank waits for an answer of rank 0 before it looks whether there is a new rank 0


class Absent(RuntimeError):
    """Processes that did not come: ``ranks``."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        super().__init__(f"ranks {ranks} did not come")
        self.ranks = ranks


def meeting(store: Store, rank: int, size: int, seconds: float) -> tuple[str, int]:
    """A name that the processes of this start share, and no earlier one; and how many starts met before it.

    ``torchrun`` keeps one store while it starts processes again and again, and gloo reads addresses from it: a rank that is
    ready before the others would find the addresses of processes that have died, and wait for them
    (pytorch/pytorch issue 135712). The number of restarts is no name, for every machine counts its own. So rank 0 makes a name
    and answers each of the others; an answer is addressed to one process, so that no old one can be taken for it.

    Raises:
        Absent: after so many seconds.
    """
    me, end = uuid.uuid4().hex, time.monotonic() + seconds
    if rank == 0:
        me = f"{store.add('ndcn/starts', 1)}-{me}"
        store.set("ndcn/meeting", me)
        waiting = set(range(1, size))
        while waiting:
            for other in [one for one in waiting if store.check([f"ndcn/{me}/{one}"])]:
                store.set(f"ndcn/{me}/{store.get(f'ndcn/{me}/{other}').decode()}", "")
                waiting.remove(other)
            if waiting and time.monotonic() > end:
                raise Absent(tuple(sorted(waiting)))
            time.sleep(0.02)
        return _read(me)
    while time.monotonic() < end:
        if store.check(["ndcn/meeting"]):
            name = store.get("ndcn/meeting").decode()
            store.set(f"ndcn/{name}/{rank}", me)
            if _comes(store, f"ndcn/{name}/{me}"):
                return _read(name)
        else:
            time.sleep(0.02)
    raise Absent((0,))


def _read(name: str) -> tuple[str, int]:
    return name, int(name.partition("-")[0]) - 1


def _comes(store: Store, key: str) -> bool:
    """Whether an answer comes soon; ``store.wait`` would print a warning where none does."""
    end = time.monotonic() + ASK_AGAIN
    while not store.check([key]):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
