"""Basis: the splines of which f and g of a free form are sums."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch

from .network import Network
from .splines import Splines, knots_for, product


@dataclass(frozen=True)
class Basis:
    """Which splines there are, for d features.

    f(x) = sum_b f_b(x_b) + sum_{b<c} f_bc(x_b, x_c); g(x_i, x_j) = sum_b [p_b(x_ib) + q_b(x_jb) + u_b(x_jb - x_ib)] +
    sum_bc B(x_ib)' C_bc B(x_jc).

    Attributes:
        single: splines of each feature, for f, p and q.
        few: fewer of them, for products.
        gap: splines of differences x_j - x_i.
    """

    single: tuple[Splines, ...]
    few: tuple[Splines, ...]
    gap: tuple[Splines, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Features b < c."""
        d = len(self.single)
        return [(b, c) for b in range(d) for c in range(b + 1, d)]

    @functools.cached_property
    def blocks(self) -> dict[str, slice]:
        """Where the coefficients of each part are."""
        d = len(self.single)
        out = {}
        at = 0
        sizes = [(f"f{b}", self.single[b].size) for b in range(d)]
        sizes += [(f"f{b}{c}", self.few[b].size * self.few[c].size) for b, c in self.pairs]
        sizes += [(f"p{b}", self.single[b].size) for b in range(d)]
        sizes += [(f"q{b}", self.single[b].size) for b in range(d)]
        sizes += [(f"c{b}{c}", self.few[b].size * self.few[c].size) for b in range(d) for c in range(d)]
        sizes += [(f"u{b}", self.gap[b].size) for b in range(d)]
        for name, size in sizes:
            out[name] = slice(at, at + size)
            at += size
        return out

    @property
    def size(self) -> int:
        """Coefficients for each feature's rate."""
        return max(s.stop for s in self.blocks.values())

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
            rows = []
            for state in x[..., b]:
                rows.append(network.gathered(splines(state[network.j] - state[network.i]).unsqueeze(0)))
            parts.append(torch.cat(rows))
        return torch.cat(parts, dim=-1)

    def penalty(self, ridge: float = 1e-3) -> torch.Tensor:
        """Roughness of all curves, and a little of the size of what goes beyond sums of curves, (size, size)."""
        out = torch.zeros(self.size, self.size, dtype=torch.float64)
        for name, where in self.blocks.items():
            kind = name[0]
            of = [int(k) for k in name[1:]]
            if len(of) == 1:
                splines = self.gap[of[0]] if kind == "u" else self.single[of[0]]
                R = splines.roughness / splines.size**1.5
                block = R.T @ R + ridge * 1e-3 * torch.eye(splines.size, dtype=torch.float64)
            else:
                a = self.few[of[0]]
                b = self.few[of[1]]
                Ra, Rb = a.roughness / a.size**1.5, b.roughness / b.size**1.5
                eye_a, eye_b = (torch.eye(s.size, dtype=torch.float64) for s in (a, b))
                block = torch.kron(Ra.T @ Ra, eye_b) + torch.kron(eye_a, Rb.T @ Rb)
                block = block + ridge * torch.eye(len(block), dtype=torch.float64)
            out[where, where] = block
        return out


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
