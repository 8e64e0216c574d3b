"""Integrals with inputs: weights by which values at Gauss points become integrals of u(t) times them, also where u jumps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from ..data import Inputs

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
# Knots of an input inside one interval between snapshots that are stepped on; of more, evenly spread ones: u hardly bends between them.
MOST_KNOTS = 32


def input_weights(inputs: Inputs, times: torch.Tensor) -> dict[str, torch.Tensor]:
    """For each input, w with int u f dt = sum_k w_k f(t_k) over each interval, t_k its 4 Gauss points, (T - 1, 4, 1 or n).

    f is taken as the cubic through its values there, and the integral is exact for it: pieces between knots of u are integrated one
    by one.

    Example:
        >>> on = Inputs([0.0, 0.5], {"u": [0.0, 1.0]}, until=1.0)
        >>> round(input_weights(on, torch.tensor([0.0, 1.0]))["u"].sum().item(), 9)
        0.5
    """
    t = times.double().numpy()
    out = {}
    for one in inputs.drivers:
        knots = one.knots(kinks=True).numpy()
        bounds = np.unique(np.concatenate([t, knots[(knots > t[0]) & (knots < t[-1])]]))
        left, length = bounds[:-1], np.diff(bounds)
        points = left[:, None] + length[:, None] * (1 + _NODES) / 2
        interval = np.clip(np.searchsorted(t, left + length / 2) - 1, 0, len(t) - 2)
        place = 2 * (points - t[interval][:, None]) / np.diff(t)[interval][:, None] - 1
        u = one.at(torch.from_numpy(points)).numpy()  # (P, 4, m)
        each = np.einsum("pq,pqk,pqm->pkm", length[:, None] * _WEIGHTS / 2, _lagrange(place), u)
        total = np.zeros((len(t) - 1, len(_NODES), u.shape[-1]))
        np.add.at(total, interval, each)
        out[one.name] = torch.from_numpy(total)
    return out


def _lagrange(place: np.ndarray) -> np.ndarray:
    """The cubics that are 1 at one Gauss point and 0 at the others, at places in [-1, 1], (..., 4)."""
    out = np.ones((*place.shape, len(_NODES)))
    for k, node in enumerate(_NODES):
        for other in np.delete(_NODES, k):
            out[..., k] *= (place - other) / (node - other)
    return out


@dataclass(frozen=True)
class Pieces:
    """Steps through each of K intervals, between which inputs neither jump nor bend.

    Intervals of fewer pieces than others end with pieces of length 0.
    """

    lengths: torch.Tensor  # (K, M)
    first: torch.Tensor  # inputs at the beginning of each, (K, M, n or 1, p)
    last: torch.Tensor  # at its end

    @property
    def count(self) -> int:
        """M."""
        return self.lengths.shape[1]

    def __getitem__(self, which: torch.Tensor) -> Pieces:
        return Pieces(self.lengths[which], self.first[which], self.last[which])

    def split(self, parts: int) -> Pieces:
        """Each of them in so many equal ones."""
        if parts == 1:
            return self
        share = torch.arange(parts + 1, dtype=torch.float64) / parts
        ends = torch.lerp(self.first.unsqueeze(2), self.last.unsqueeze(2), share[None, None, :, None, None])
        lengths = (self.lengths / parts).repeat_interleave(parts, dim=1)
        return Pieces(lengths, ends[:, :, :-1].flatten(1, 2), ends[:, :, 1:].flatten(1, 2))


def pieces_of(inputs: Inputs, times: torch.Tensor, *, straight: float = 0.0) -> Pieces:
    """The pieces of all intervals between some times.

    Bends of an input that leave a straight line by less than a share ``straight`` of its range are passed over, which noisy data
    would not show; jumps never are.
    """
    t = times.double().numpy()
    jumps = np.array(inputs.stops(float(t[0]), float(t[-1]), kinks=False))
    bends = np.setdiff1d(inputs.stops(float(t[0]), float(t[-1])), jumps)
    grid = np.unique(np.concatenate([t, jumps]))
    if straight and len(bends):
        bends = bends[_off(inputs, grid, bends) > straight]
    bounds = []
    for a, b in itertools.pairwise(t):
        inside = bends[(bends > a) & (bends < b)]
        if len(inside) > MOST_KNOTS:
            inside = inside[np.linspace(0, len(inside) - 1, MOST_KNOTS).round().astype(int)]
        bounds.append(np.unique(np.concatenate([[a, b], inside, jumps[(jumps > a) & (jumps < b)]])))
    most = max(map(len, bounds))
    grid_of_all = torch.from_numpy(np.stack([np.concatenate([b, np.full(most - len(b), b[-1])]) for b in bounds]))
    lengths = grid_of_all.diff(dim=1)
    ends = [_one_sided(inputs, grid_of_all, lengths, share) for share in (0.0, 1.0)]
    return Pieces(lengths, *ends)


def _off(inputs: Inputs, grid: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """How far linear inputs are at some knots from the chords between times of a grid, as a share of their range."""
    right = np.searchsorted(grid, knots)
    low, high = grid[right - 1], grid[right]
    share = torch.from_numpy((knots - low) / (high - low)).unsqueeze(-1)
    out = np.zeros(len(knots))
    for one in inputs.drivers:
        if one.between != "held":
            a, b, here = (one.at(torch.from_numpy(at)) for at in (low, high, knots))
            size = float(one.values.max() - one.values.min()) or 1.0
            out = np.maximum(out, ((torch.lerp(a, b, share) - here).abs().amax(-1) / size).numpy())
    return out


def _one_sided(inputs: Inputs, grid: torch.Tensor, lengths: torch.Tensor, share: float) -> torch.Tensor:
    """Inputs at one end of each piece, as seen from inside: held ones have their value in the middle, (K, M, n or 1, p)."""
    middle, end = grid[:, :-1] + lengths / 2, grid[:, :-1] + share * lengths
    values = [one.at(middle if one.between == "held" else end) for one in inputs.drivers]
    return torch.stack(torch.broadcast_tensors(*values), dim=-1)
