"""Basis: the splines of which f and g of a free form are sums."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import torch

from ..solve import SplineArrays
from .network import Network
from .splines import Splines, knots_for, product


@dataclass(frozen=True)
class Basis:
    """Which splines there are, for d features.

    f(x) = sum_b f_b(x_b) + sum_{b<c} f_bc(x_b, x_c); g(x_i, x_j) = sum_b [p_b(x_ib) + q_b(x_jb) + u_b(x_jb - x_ib)] +
    sum_bc B(x_ib)' C_bc B(x_jc).
    """

    single: tuple[Splines, ...]  # of each feature, for f, p and q
    few: tuple[Splines, ...]  # fewer of them, for products
    gap: tuple[Splines, ...]  # of differences x_j - x_i

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Features b < c."""
        d = len(self.single)
        return [(b, c) for b in range(d) for c in range(b + 1, d)]

    @functools.cached_property
    def blocks(self) -> dict[str, slice]:
        """Where the coefficients of each part are."""
        d = len(self.single)
        sizes = {f"f{b}": self.single[b].size for b in range(d)}
        sizes |= {f"f{b}{c}": self.few[b].size * self.few[c].size for b, c in self.pairs}
        sizes |= {f"{name}{b}": self.single[b].size for name in "pq" for b in range(d)}
        sizes |= {f"c{b}{c}": self.few[b].size * self.few[c].size for b in range(d) for c in range(d)}
        sizes |= {f"u{b}": self.gap[b].size for b in range(d)}
        ends = itertools.accumulate(sizes.values())
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """Coefficients for each feature's rate."""
        return max(s.stop for s in self.blocks.values())

    @functools.cached_property
    def arrays(self) -> SplineArrays:
        """For the compiled kernel."""
        kinds = zip(self.single, self.few, self.gap, strict=True)
        d = len(self.single)
        return SplineArrays(d, d * self.size, [splines.arrays for kind in kinds for splines in kind])

    def columns(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """Every spline at every node, summed over neighbours where it belongs to g, shape (K, n, size)."""
        d = x.shape[-1]
        single = [s(x[..., b]) for b, s in enumerate(self.single)]
        few = [s.parts(x[..., b]) for b, s in enumerate(self.few)]
        sums = [network.neighbours(v) for v in few]
        degrees = network.degrees[:, None]
        parts = [*single]
        parts += [product(few[b], few[c]) for b, c in self.pairs]
        parts += [v * degrees for v in single]
        parts += [network.neighbours(v) for v in single]
        parts += [product(few[b], sums[c]) for b in range(d) for c in range(d)]
        for b, splines in enumerate(self.gap):
            gaps = (state[network.j] - state[network.i] for state in x[..., b])
            parts.append(torch.cat([network.gathered(splines(gap).unsqueeze(0)) for gap in gaps]))
        return torch.cat(parts, dim=-1)

    def penalty(self, ridge: float = 1e-3) -> torch.Tensor:
        """Roughness of all curves, and a little of the size of what goes beyond sums of curves, (size, size)."""
        out = torch.zeros(self.size, self.size, dtype=torch.float64)
        for name, where in self.blocks.items():
            of = [int(k) for k in name[1:]]
            if len(of) == 1:
                block = _rough(self.gap[of[0]] if name[0] == "u" else self.single[of[0]])
                size = ridge * 1e-3
            else:
                a, b = (_rough(self.few[k]) for k in of)
                block = torch.kron(a, torch.eye(len(b)).double()) + torch.kron(torch.eye(len(a)).double(), b)
                size = ridge
            out[where, where] = block + size * torch.eye(len(block), dtype=torch.float64)
        return out


def _rough(splines: Splines) -> torch.Tensor:
    R = splines.roughness / splines.size**1.5
    return R.T @ R


def basis_for(states: torch.Tensor, differences: torch.Tensor) -> Basis:
    """Splines for the states that were seen, (N, d), and the differences across edges, (M, d).

    Knots of differences are equally spaced: couplings such as sin(x_j - x_i) turn as often far from 0 as near it.
    """
    d = states.shape[-1]
    count, few, sides = (20, 5, 10) if d == 1 else (7, 3, 5)
    widest = differences.abs().amax(dim=0).clamp(min=1e-12) if len(differences) else torch.ones(d)
    x = states.numpy()
    return Basis(
        tuple(Splines(knots_for(x[:, b], count)) for b in range(d)),
        tuple(Splines(knots_for(x[:, b], few)) for b in range(d)),
        tuple(Splines((torch.arange(-sides, sides + 1) * (w / sides)).tolist()) for w in widest.double()),
    )
