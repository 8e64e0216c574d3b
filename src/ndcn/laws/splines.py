"""Cubic splines of one variable, continued by straight lines beyond the range in which they were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.interpolate import BSpline, PPoly


class Splines:
    """B_1(x), ..., B_m(x): cubic B-splines on given knots; beyond the first and last knot each goes on as a line.

    Args:
        knots: at least 2, in increasing order; m = len(knots) + 2.

    Example:
        >>> basis = Splines([0.0, 1.0, 2.0])
        >>> basis(torch.tensor([0.5, 5.0])).sum(-1)  # they add up to 1, also outside
        tensor([1., 1.])
    """

    def __init__(self, knots: Sequence[float]) -> None:
        self.knots = tuple(float(k) for k in knots)
        t = np.asarray(self.knots)
        padded = np.concatenate([[t[0]] * 3, t, [t[-1]] * 3])
        self.size = len(t) + 2
        pieces = np.zeros((len(t) + 1, self.size, 4))  # a line before, the intervals, a line after
        for k in range(self.size):
            spline = BSpline(padded, np.eye(self.size)[k], 3)
            c = PPoly.from_spline(spline).c[:, 3 : 3 + len(t) - 1]
            pieces[1:-1, k] = c[::-1].T
            for row, at in ((0, t[0]), (-1, t[-1])):
                pieces[row, k, :2] = spline(at), spline.derivative()(at)
        self._pieces = torch.from_numpy(pieces)
        self._breaks = torch.from_numpy(t)
        self._origins = torch.from_numpy(np.concatenate([t[:1], t]))
        second = np.zeros((self.size - 2, self.size))  # second derivatives at the Greville points, by differences
        greville = np.array([padded[k + 1 : k + 4].mean() for k in range(self.size)])
        for r in range(self.size - 2):
            a, b, c = greville[r : r + 3]
            second[r, r : r + 3] = [1 / ((b - a) * (c - a)), -1 / ((b - a) * (c - b)), 1 / ((c - b) * (c - a))]
        self.roughness = torch.from_numpy(second * (t[-1] - t[0]) ** 2)
        self.greville = torch.from_numpy(greville)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Breaks, origins and pieces (intervals, size, 4), for the compiled kernel."""
        return self._breaks.numpy(), self._origins.numpy(), self._pieces.numpy()

    def _located(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        breaks = self._breaks.to(x)
        where = torch.bucketize(x.detach().contiguous(), breaks, right=True)
        return where, x - self._origins.to(x)[where]

    def __call__(self, x: torch.Tensor, slope: bool = False) -> torch.Tensor:
        """All of them at x (...), or their derivatives, shape (..., m)."""
        where, u = self._located(x)
        return _cubic(self._pieces.to(x)[where].mT, u.unsqueeze(-1), slope)

    def parts(self, x: torch.Tensor, slope: bool = False) -> torch.Tensor:
        """All of them and what of each lies beyond the first and last knot, or the derivatives, (..., 2 m): for ``product``."""
        low, high = self.knots[0], self.knots[-1]
        if slope:
            derivative = self(x, slope=True)
            return torch.cat([derivative, derivative * ((x < low) | (x > high)).unsqueeze(-1)], dim=-1)
        value = self(x)
        inside = x.clamp(low, high)
        beyond = torch.zeros_like(value) if torch.equal(inside, x) else value - self(inside)
        return torch.cat([value, beyond], dim=-1)

    def curve(self, x: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
        """sum_k c_k B_k(x) at x (...) for coefficients (m, r), shape (..., r); for (R, m, r), x must be (R, ...)."""
        return self.along(x, self.cubics(coefficients.to(x)))

    def cubics(self, coefficients: torch.Tensor) -> torch.Tensor:
        """sum_k c_k B_k as a cubic of each interval, for ``along``."""
        return torch.einsum("imp,...mr->...ipr", self._pieces.to(coefficients), coefficients)

    def along(self, x: torch.Tensor, cubics: torch.Tensor, slope: bool = False) -> torch.Tensor:
        """Curves, or their derivatives, at x (...), shape (..., r)."""
        where, u = self._located(x)
        if cubics.dim() == 3:
            c = cubics[where]
        else:
            each = torch.arange(len(cubics), device=x.device).reshape(-1, *[1] * (x.dim() - 1))
            c = cubics[each, where]
        return _cubic(c, u.unsqueeze(-1), slope)


def _cubic(c: torch.Tensor, u: torch.Tensor, slope: bool) -> torch.Tensor:
    """c_0 + c_1 u + c_2 u^2 + c_3 u^3, or its derivative, for coefficients (..., 4, r)."""
    if slope:
        return c[..., 1, :] + u * (2 * c[..., 2, :] + 3 * u * c[..., 3, :])
    return c[..., 0, :] + u * (c[..., 1, :] + u * (c[..., 2, :] + u * c[..., 3, :]))


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """B(x) B(y)' from ``parts`` of both, (..., m m'), to first order beyond the knots.

    What x adds there times what y adds there is left out: two straight lines have a product that is none.

    Example:
        >>> basis = Splines([0.0, 1.0])
        >>> line, x = basis.greville, torch.tensor([0.5, 1.0, 2.0, 3.0])
        >>> product(basis.parts(x), basis.parts(x)) @ torch.outer(line, line).flatten().float()  # x^2, then 2 x - 1
        tensor([0.2500, 1.0000, 3.0000, 5.0000])
    """
    (mine, my_rest), (other, other_rest) = a.chunk(2, -1), b.chunk(2, -1)
    out = _outer(mine, other)
    return out - _outer(my_rest, other_rest) if my_rest.any() and other_rest.any() else out


def _outer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(-2)


def knots_for(values: np.ndarray, count: int) -> list[float]:
    """``count`` knots for these values: some at their quantiles, more where an asinh scale has them equally spaced."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        high = low + max(abs(low), 1.0) * 1e-3
    span = high - low
    unit = 0.02 * span
    even = low + unit * np.sinh(np.linspace(0, np.arcsinh(span / unit), max(2, round(0.7 * count))))
    quantiles = np.quantile(values, np.linspace(0, 1, count)[1:-1])
    knots = [low, high]
    for value in [*even[1:-1], *quantiles]:
        if len(knots) >= count:
            break
        if min(abs(value - k) for k in knots) > 0.3 * span / count**1.5:
            knots.append(float(value))
    return sorted(knots)
