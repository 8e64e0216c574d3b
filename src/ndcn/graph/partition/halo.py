"""The exchange of boundary states: each process sends the rows that others refer to, and gets those that its own rows refer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..._support.world import World
from ..sparse import SparseMatrix
from .part import Part

# Columns of a state that are exchanged together: buffers for 20 were half of what a node of the halo takes, and narrower products are the faster
# ones, as what they read stays in the cache (20 columns at once 19 ms, five times 4 columns 9 ms; 260,000 nodes of the halo).
AT_ONCE = 4
WORTH_PIECES = (
    2**24
)  # bytes of a buffer; an exchange of smaller ones takes little longer than the waiting for five (0.4 ms each on loopback)


def column_pieces(width: int, bytes_of_column: int) -> list[slice]:
    """All columns at once, or pieces of like size with ``AT_ONCE`` at most."""
    pieces = max(1, -(-width // AT_ONCE)) if width * bytes_of_column > WORTH_PIECES else 1
    return [slice(width * k // pieces, width * (k + 1) // pieces) for k in range(pieces)]


class Halo:
    """Which rows of the state go where, for one part of a partition.

    Args:
        part: its plan.
        world: the processes, one for each part.
    """

    def __init__(self, part: Part, world: World) -> None:
        self.world, self.size, self.own = world, len(part.halo), len(part.own)
        self._send_counts, self._receive_counts = part.send_counts.tolist(), part.receive_counts.tolist()
        self._sent = len(part.send)
        self._longest: int | None = None  # rows of a buffer, of all processes; asked when they all multiply
        self._index = {torch.device("cpu"): torch.from_numpy(part.send)}
        # Adding received rows as a sparse product takes a third of the time of index_add_.
        ones = (np.ones(self._sent, dtype=np.float32), (part.send, np.arange(self._sent)))
        self._adding = SparseMatrix(sparse.csr_array(ones, shape=(self.own, self._sent)))
        self._buffers: dict[tuple[str, torch.dtype, torch.device], torch.Tensor] = {}

    def index(self, device: torch.device) -> torch.Tensor:
        """Places of the rows that are sent."""
        if device not in self._index:
            self._index[device] = self._index[torch.device("cpu")].to(device)
        return self._index[device]

    def columns(self, x: torch.Tensor) -> list[slice]:
        """The columns of a state, in pieces that are exchanged in turn where buffers are large; the same in all processes."""
        if self._longest is None:
            self._longest = int(self.world.gather(torch.tensor(max(self.size, self._sent))).max())
        return column_pieces(x.shape[1], self._longest * x.element_size())

    def begin(self, x: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None]]:
        """Begin to exchange rows of x, shape (own, width): the halo's rows, to be read after the function was called.

        They are overwritten by the next exchange: fresh memory would take as long as the copies.
        """
        sent, received = self._buffer("sent", self._sent, x), self._buffer("halo", self.size, x)
        torch.index_select(x.detach(), 0, self.index(x.device), out=sent)
        return received, self.world.exchange(received, sent, self._receive_counts, self._send_counts)

    def begin_back(self, grad: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None]]:
        """The transpose: begin to send rows of the halo home; what comes back, for ``add``, is there after the function."""
        received = self._buffer("sent", self._sent, grad)
        return received, self.world.exchange(received, grad.contiguous(), self._send_counts, self._receive_counts)

    def add(self, into: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
        """Add rows that came home to those of their nodes, in place."""
        if self._sent:
            torch.addmm(into, self._adding.tensor(into.dtype, into.device), received, out=into)
        return into

    def room(self, like: torch.Tensor) -> torch.Tensor:
        """Memory for rows of the halo that are to be sent home."""
        return self._buffer("halo", self.size, like)

    def _buffer(self, name: str, rows: int, like: torch.Tensor) -> torch.Tensor:
        key = (name, like.dtype, like.device)
        width = like.shape[1]
        if key not in self._buffers or self._buffers[key].numel() < rows * width:
            with torch.inference_mode(False):  # what is made there could not be written to elsewhere
                self._buffers[key] = like.new_empty(rows * width)
        return self._buffers[key][: rows * width].view(rows, width)

    def extended(self, x: torch.Tensor) -> torch.Tensor:
        """Own rows and those of the halo, (..., own + halo, d), with gradients."""
        flat = x.movedim(-2, 0).flatten(1) if x.dim() > 1 else x.unsqueeze(1)
        out: torch.Tensor = _Extended.apply(flat, self)
        if x.dim() == 1:
            return out.squeeze(1)
        shape = x.movedim(-2, 0).shape[1:]
        return out.reshape(len(out), *shape).movedim(0, -2)


class _Extended(torch.autograd.Function):
    """[x; halo of x]; its transpose adds what others computed with a row to that row."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, halo: Halo) -> torch.Tensor:
        ctx.halo = halo
        received, wait = halo.begin(x)
        wait()
        return torch.cat([x, received])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        halo: Halo = ctx.halo
        received, wait = halo.begin_back(grads[0][halo.own :])
        out = grads[0][: halo.own].clone()
        wait()
        return halo.add(out, received), None
