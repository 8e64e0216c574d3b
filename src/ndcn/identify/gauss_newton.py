"""Fitting a model to where it ends: damped Gauss-Newton on shots from snapshot to snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from .equation import Model
from .network import Network
from .observations import Observations
from .shooting import ends, shoot, steps_needed


@dataclass(frozen=True)
class Batch:
    """Shots on one graph: from ``start`` (K, n, d) over ``spans`` (K,) to ``target``.

    Ends are compared as z(x) = asinh(x / unit), which is as log x for large states, so that growth by some factor, too
    strong for a linear model of it, becomes a sum; differences are multiplied by ``weight`` (K, n, d).
    """

    network: Network
    start: torch.Tensor
    spans: torch.Tensor
    target: torch.Tensor
    weight: torch.Tensor
    noise: torch.Tensor
    unit: torch.Tensor

    def __getitem__(self, which: torch.Tensor) -> Batch:
        return replace(
            self,
            start=self.start[which],
            spans=self.spans[which],
            target=self.target[which],
            weight=self.weight[which],
            noise=self.noise[which],
        )

    def residual(self, ends: torch.Tensor) -> torch.Tensor:
        """How far ends are from the targets, weighted."""
        return (torch.asinh(self.target / self.unit) - torch.asinh(ends / self.unit)) * self.weight

    def slope(self, ends: torch.Tensor) -> torch.Tensor:
        """By how much the residual falls when an end moves."""
        return self.weight / (ends.square() + self.unit.square()).sqrt()


def batch_of(one: Observations, which: torch.Tensor) -> Batch:
    """Shots over some of the intervals of a trajectory, each from one snapshot to the next.

    Residuals count relative to how far the state moved, as far as noise lets that be known.
    """
    start, target = one.level[which], one.level[which + 1]
    noise = (one.noise[which].square() + one.noise[which + 1].square()).sqrt()
    unit = one.unit
    moved = (torch.asinh(target / unit) - torch.asinh(start / unit)).abs()
    weight = 1 / (moved + 0.01 + 3 * noise / (target.square() + unit.square()).sqrt())
    return Batch(one.network, start, one.spans[which], target, weight, noise, unit)


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes:
        model: with its parameters.
        misfit: root mean square of the weighted residuals.
        excess: root mean square of the residuals in units of the noise.
        normal: S^T S of the weighted derivatives, (P, P).
        count: residuals.
        ridge: the penalty it was fitted with, for each of them.
        lost: shots that could not be integrated in the steps allowed, and say nothing.
    """

    model: Model
    misfit: float
    excess: float
    normal: torch.Tensor
    count: int
    ridge: torch.Tensor | None = None
    lost: int = 0


def residuals(
    model: Model, batches: Sequence[Batch], tolerance: torch.Tensor, most_steps: int = 512
) -> list[tuple[Batch, int]] | None:
    """The batches in groups of equal numbers of steps; None if the model cannot be integrated over most of them."""
    groups, lost, total = [], 0, 0
    for batch in batches:
        steps = steps_needed(model, batch.network, batch.start, batch.spans, tolerance, most_steps)
        total += len(steps)
        lost += int((steps == 0).sum())
        for count in steps.unique().tolist():
            if count:
                groups.append((batch[steps == count], count))
    return None if 2 * lost > total else groups


def misfit_of(model: Model, groups: Sequence[tuple[Batch, int]]) -> float:
    """Root mean square of weighted residuals."""
    total, count = 0.0, 0
    for batch, steps in groups:
        r = batch.residual(ends(model, batch.network, batch.start, batch.spans, steps))
        total += float(r.square().sum())
        count += r.numel()
    value = (total / count) ** 0.5 if count else float("inf")
    return value if value == value else float("inf")


def fit(
    model: Model,
    batches: Sequence[Batch],
    *,
    iterations: int = 20,
    tolerance: torch.Tensor,
    ridge: torch.Tensor | None = None,
    enough: float = 1e-5,
    most_steps: int = 512,
) -> Fit | None:
    """The model with parameters that bring its shots nearest to their targets; None if it cannot be integrated.

    Args:
        model: with first values of its parameters.
        batches: the shots.
        iterations: at most.
        tolerance: absolute error of integration, (d,).
        ridge: a penalty matrix on the parameters, (P, P).
        enough: stop when a step moves the misfit by less than this share.
    """
    groups = residuals(model, batches, tolerance, most_steps)
    if not groups:
        return None
    here = misfit_of(model, groups)
    if here == float("inf"):
        return None
    normal = torch.eye(len(model.parameters), dtype=torch.float64)
    for iteration in range(iterations):
        normal, gradient, count = _normal(model, groups)
        if not normal.isfinite().all():
            return None
        p = model.parameters
        A, b = normal.clone(), gradient.clone()
        if ridge is not None:
            A, b = A + ridge * count, b - (ridge * count) @ p
        trial, there = None, here
        for damping in (1e-12, 1e-6, 1e-3):
            size = A.diagonal().clamp(min=1e-300)
            step = _solved(A + torch.diag(damping * size), b)
            for length in (1.0, 0.5, 0.2, 0.05):
                other = model.with_parameters(p + length * step)
                value = misfit_of(other, groups)
                if _penalised(value, other, ridge, count) < _penalised(there, trial or model, ridge, count):
                    trial, there = other, value
                elif trial is not None:
                    break
            if trial is not None:
                break
        if trial is None:
            break
        gain = 1 - there / here
        model, here = trial, there
        if gain < enough:
            break
        if iteration in (1, 4, 9):  # another model may need other steps
            again = residuals(model, batches, tolerance, most_steps)
            if not again:
                return None
            groups = again
            here = misfit_of(model, groups)
    total, count = 0.0, 0
    for batch, steps in groups:
        r = (ends(model, batch.network, batch.start, batch.spans, steps) - batch.target) / batch.noise
        total += float(r.square().sum())
        count += r.numel()
    lost = sum(len(b.start) for b in batches) - sum(len(b.start) for b, _ in groups)
    return Fit(model, here, (total / count) ** 0.5, normal, count, ridge, lost)


def _solved(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A^-1 b for a symmetric A of any scaling."""
    size = A.diagonal().clamp(min=1e-300).sqrt()
    scaled = A / torch.outer(size, size) + 1e-15 * torch.eye(len(A), dtype=A.dtype)
    return torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-15).solution / size


def _penalised(misfit: float, model: Model, ridge: torch.Tensor | None, count: int) -> float:
    if ridge is None or misfit == float("inf"):
        return misfit
    p = model.parameters
    return misfit**2 + float(p @ ridge @ p)


def _normal(model: Model, groups: Sequence[tuple[Batch, int]]) -> tuple[torch.Tensor, torch.Tensor, int]:
    P = len(model.parameters)
    normal, gradient, count = torch.zeros(P, P, dtype=torch.float64), torch.zeros(P, dtype=torch.float64), 0
    for batch, steps in groups:
        shot = shoot(model, batch.network, batch.start, batch.spans, steps)
        S = (shot.columns * batch.slope(shot.ends).unsqueeze(-1)).reshape(-1, P)
        r = batch.residual(shot.ends).reshape(-1)
        normal += S.T @ S
        gradient += S.T @ r
        count += len(r)
    return normal, gradient, count
