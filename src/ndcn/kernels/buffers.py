"""Memory of earlier iterations, used again: fresh pages cost as much time as the arithmetic on them.

A buffer that was given back too early, because a backward pass is repeated, is noticed by autograd: taking it again
changes its version.
"""

from __future__ import annotations

import threading

import torch

LIMIT = 64 * 2**20  # bytes of a buffer; larger ones are left to the allocator
SPARE = 8

_spare: list[torch.Tensor] = []
_lock = threading.Lock()


def take(*shape: int, like: torch.Tensor) -> torch.Tensor:
    """A buffer of this shape, with anything in it."""
    with _lock:
        for k, buffer in enumerate(_spare):
            if buffer.shape == shape and buffer.dtype == like.dtype and buffer.device == like.device:
                found = _spare.pop(k)
                found[:0] = 0  # a new version of it, for autograd
                return found
    return like.new_empty(shape)


def give(*buffers: torch.Tensor) -> None:
    """These are not needed any more."""
    with _lock:
        _spare.extend(b for b in buffers if b.numel() * b.element_size() <= LIMIT)
        del _spare[:-SPARE]
