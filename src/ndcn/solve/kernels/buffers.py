"""Memory of earlier iterations, used again: fresh pages cost as much time as the arithmetic on them.

A buffer that was given back too early, because a backward pass is repeated, is noticed by autograd: taking it again
changes its version.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

LIMIT = 64 * 2**20  # bytes of a buffer; larger ones are left to the allocator
SPARE = 8
HUGE = 2 * 2**20  # bytes of a huge page
MADV_HUGEPAGE = 14

_spare: list[torch.Tensor] = []
_lock = threading.Lock()
_holding = threading.local()


@contextmanager
def held() -> Iterator[None]:
    """In this thread, keep large buffers for the next use, too, until the end of the block."""
    before = getattr(_holding, "large", None)
    _holding.large = [] if before is None else before
    try:
        yield
    finally:
        _holding.large = before


def take(*shape: int, like: torch.Tensor) -> torch.Tensor:
    """A buffer of this shape, with anything in it."""
    with _lock:
        for spare in (_spare, getattr(_holding, "large", None) or []):
            for k, buffer in enumerate(spare):
                if buffer.shape == shape and buffer.dtype == like.dtype and buffer.device == like.device:
                    found = spare.pop(k)
                    found[:0] = 0  # a new version of it, for autograd
                    return found
    return empty(*shape, like=like)


def empty(*shape: int, like: torch.Tensor) -> torch.Tensor:
    """New memory of this shape; in huge pages if it is large, since rows are read from it in random order."""
    new = like.new_empty(shape)
    size = new.numel() * new.element_size()
    if size > LIMIT and new.device.type == "cpu" and (advise := _advise()) is not None:
        first = -(-new.data_ptr() // HUGE) * HUGE
        advise(first, (new.data_ptr() + size - first) // HUGE * HUGE, MADV_HUGEPAGE)  # what it answers does not matter
    return new


@functools.cache
def _advise() -> Callable[[int, int, int], int] | None:
    """Linux's madvise, where there is one."""
    if not sys.platform.startswith("linux"):
        return None
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return madvise


def give(*buffers: torch.Tensor) -> None:
    """These are not needed any more."""
    large = getattr(_holding, "large", None)
    with _lock:
        there = {
            b.data_ptr() for b in (*_spare, *(large or ()))
        }  # a repeated backward pass gives the same memory back again
        for b in buffers:
            if b.data_ptr() in there or b.is_inference():
                continue
            if b.numel() * b.element_size() <= LIMIT:
                _spare.append(b)
            elif large is not None:
                large.append(b)
        del _spare[:-SPARE]
