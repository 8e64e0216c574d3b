"""Shots from snapshot to snapshot of a law with inputs: Gauss-Newton on its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ..laws import Equation, Network, Slopes
from .clock import in_time
from .input_quadrature import Pieces
from .shooting_fit import CONVERGED_EXCESS, Shots

LEAST_DAMPING = 1e-10
FIRST_DAMPING = 1e-3
RAISED = 6.0
TRIES = 7
ENOUGH = 1e-6  # share of the misfit by which a step must lower it
MOST_PARTS = 16  # of each piece between knots of the inputs


@dataclass(frozen=True)
class DrivenShots:
    """Shots, and the inputs along each of them."""

    shots: Shots
    pieces: Pieces
    coarse: Pieces | None = None  # for derivatives, which only say where to look next

    def __getitem__(self, which: torch.Tensor) -> DrivenShots:
        return DrivenShots(self.shots[which], self.pieces[which], None if self.coarse is None else self.coarse[which])


@dataclass(frozen=True)
class DrivenFit:
    """An equation fitted to shots."""

    equation: Equation
    misfit: float  # root mean square of weighted residuals
    excess: float  # residuals in units of the noise, root mean square
    normal: torch.Tensor  # S^T S of weighted derivatives, (P, P)
    count: int
    squares: float  # sum of squared residuals in units of the noise, those below it counted as such


def joined(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """States (K, n, d) with inputs (K, n or 1, p) as further features, (K, n, d + p)."""
    return torch.cat([x, u.expand(*x.shape[:-1], u.shape[-1])], dim=-1)


def rate(equation: Equation, x: torch.Tensor, u: torch.Tensor, network: Network) -> torch.Tensor:
    """dx/dt, (K, n, d)."""
    z = joined(x, u)
    kernel = equation.kernel(network)
    found = equation.rate(z, network) if kernel is None else torch.from_numpy(kernel.rate(z.numpy()))
    return found[..., : x.shape[-1]]


def slopes(equation: Equation, z: torch.Tensor, network: Network, d: int) -> Slopes:
    """dx/dt and its derivatives at states with inputs z (K, n, d + p), of the d features alone."""
    kernel = equation.kernel(network)
    parts: tuple[torch.Tensor, ...]
    if kernel is None:
        found = equation.slopes(z, network)
        parts = found.rate, found.own, found.edges, found.columns
    else:
        rates, own, edges, columns = map(torch.from_numpy, kernel.slopes(z.numpy()))
        parts = rates, own, edges / network.weights[:, None, None], columns  # the kernel's are times A_ij
    rates, own, edges, columns = parts
    return Slopes(rates[..., :d], own[..., :d, :d].contiguous(), edges[..., :d, :d].contiguous(), columns[..., :d, :])


def reached(equation: Equation, network: Network, x: torch.Tensor, pieces: Pieces) -> torch.Tensor:
    """Where states x (K, n, d) go through all pieces, by RK4."""
    for m in range(pieces.count):
        h = pieces.lengths[:, m, None, None]
        a, b = pieces.first[:, m], pieces.last[:, m]
        middle = (a + b) / 2
        k1 = rate(equation, x, a, network)
        k2 = rate(equation, x + h / 2 * k1, middle, network)
        k3 = rate(equation, x + h / 2 * k2, middle, network)
        k4 = rate(equation, x + h * k3, b, network)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def derivatives(equation: Equation, network: Network, x: torch.Tensor, pieces: Pieces) -> torch.Tensor:
    """Derivatives of where states go by the parameters, (K, n, d, P)."""
    K, n, d = x.shape
    S = np.zeros((K * n * d, len(equation.parameters)))

    def slope(at: torch.Tensor, u: torch.Tensor, along: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        s = slopes(equation, joined(at, u), network, d)
        J = network.jacobian(s.own, s.edges)
        return s.rate, J @ along + s.columns.reshape(S.shape).numpy()

    with np.errstate(over="ignore", invalid="ignore"):
        for m in range(pieces.count):
            h = pieces.lengths[:, m, None, None]
            rows = np.repeat(pieces.lengths[:, m].numpy(), n * d)[:, None]
            a, b = pieces.first[:, m], pieces.last[:, m]
            middle = (a + b) / 2
            k1, s1 = slope(x, a, S)
            k2, s2 = slope(x + h / 2 * k1, middle, S + rows / 2 * s1)
            k3, s3 = slope(x + h / 2 * k2, middle, S + rows / 2 * s2)
            k4, s4 = slope(x + h * k3, b, S + rows * s3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            S = S + rows / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
    return torch.from_numpy(S).reshape(K, n, d, -1)


def fine_enough(equation: Equation, one: DrivenShots, tolerance: torch.Tensor) -> DrivenShots:
    """With pieces so short that halving them moves no end by more than ``tolerance`` (d,), as far as ``MOST_PARTS`` allow."""
    network, start = one.shots.network, one.shots.start
    parts = 1
    coarse = reached(equation, network, start, one.pieces)
    while parts < MOST_PARTS:
        fine = reached(equation, network, start, one.pieces.split(2 * parts))
        moved = ((fine - coarse).abs() / tolerance).amax()
        if moved < 1:
            break
        parts, coarse = 2 * parts, fine
        if moved < 16:  # the finer one is nearer by so much
            break
    return replace(one, pieces=one.pieces.split(parts), coarse=one.pieces.split(max(1, parts // 4)))


def fit_shots(
    equation: Equation, batches: list[DrivenShots], *, iterations: int, enough: float = ENOUGH
) -> DrivenFit | None:
    """The parameters that bring all shots nearest to their targets; None if the law cannot be followed over them."""
    here, ends = _misfit(equation, batches)
    if not np.isfinite(here):
        return None
    damping = LEAST_DAMPING
    P = len(equation.parameters)
    normal = torch.eye(P, dtype=torch.float64)
    for _ in in_time(range(iterations)):
        normal, b = torch.zeros(P, P, dtype=torch.float64), torch.zeros(P, dtype=torch.float64)
        for one, end in zip(batches, ends, strict=True):
            columns = derivatives(equation, one.shots.network, one.shots.start, one.coarse or one.pieces)
            S = (columns * one.shots.slope(end).unsqueeze(-1)).reshape(-1, P)
            normal += S.T @ S
            b += S.T @ one.shots.residual(end).reshape(-1)
        if not (normal.isfinite().all() and b.isfinite().all()):
            return None
        size = normal.diagonal().clamp(min=1e-300).sqrt()
        better = None
        for _ in range(TRIES):
            scaled = normal / torch.outer(size, size) + (damping + 1e-14) * torch.eye(P, dtype=torch.float64)
            step = torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-15).solution / size
            trial = equation.with_parameters(equation.parameters + step)
            there, reach = _misfit(trial, batches)
            if there < here:
                better = trial, there, reach
                damping = max(LEAST_DAMPING, damping / 10)
                break
            damping = max(FIRST_DAMPING, RAISED * damping)
        if better is None:
            break
        gain = 1 - better[1] / here
        equation, here, ends = better
        if gain < enough or _fitted(equation, batches, ends, here, normal).excess < CONVERGED_EXCESS:
            break
    return _fitted(equation, batches, ends, here, normal)


def _misfit(equation: Equation, batches: list[DrivenShots]) -> tuple[float, list[torch.Tensor]]:
    ends = [reached(equation, one.shots.network, one.shots.start, one.pieces) for one in batches]
    total = sum(float(one.shots.residual(end).square().sum()) for one, end in zip(batches, ends, strict=True))
    count = sum(end.numel() for end in ends)
    return ((total / count) ** 0.5 if total == total else float("inf")), ends


def _fitted(
    equation: Equation, batches: list[DrivenShots], ends: list[torch.Tensor], misfit: float, normal: torch.Tensor
) -> DrivenFit:
    z = torch.cat(
        [((end - one.shots.target) / one.shots.noise).reshape(-1) for one, end in zip(batches, ends, strict=True)]
    )
    squares = float(z.square().sum())
    return DrivenFit(equation, misfit, (squares / len(z)) ** 0.5, normal, len(z), max(squares, float(len(z))))
