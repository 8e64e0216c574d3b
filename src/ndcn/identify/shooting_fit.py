"""Fitting a model to where it ends: Gauss-Newton on shots from snapshot to snapshot (docs/interaction.md, How it works, 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from .._support.world import World
from ..laws import Model, Network
from .clock import in_time
from .observations import Observations
from .shooting import COARSER_DERIVATIVES, FEWEST_DERIVATIVE_STEPS, MOST_STEPS, accurate_ends, derivatives, ends

CONVERGED_EXCESS = 0.7  # residuals of so many times the noise have nothing more to say: the noise itself would leave 1
# Derivatives by a parameter larger than so many times the states come from steps too coarse to be stable: 1e250 times where states race to
# rest, while true ones there were below 1000 (mutualistic law of the published code, random network, seed 8).
DIVERGED = 1e9
LEAST_MOVED = 0.01  # in asinh(x / unit): states that moved less than 1 % do not count for more than that
NOISE_WEIGHT = 3.0  # motion below so many times its noise is not known well enough to be the unit of a residual

# Damping (Levenberg-Marquardt) as a share of the diagonal; how it changes follows what a step kept of the linear model's promise.
LEAST_DAMPING = 1e-12  # none, but for parameters without effect
FIRST_DAMPING = 1e-3  # once a step failed
RAISED = 6.0
TRIES = 7  # from 1e-3 six-fold to 8: the steps are then short ones downhill
KEPT_WELL = (0.7, 100.0)  # share of the promise from which the damping falls by so much
KEPT_FAIRLY = (0.3, 3.0)
REGROUPED_AFTER = (1, 4, 9)  # iterations: another model may need other steps; later ones hardly move

# Full steps are given up where they lead nowhere, or where the fit is as good as they can make it.
UNDAMPED_RANGE = (1e-3, 1e2)
UNDAMPED_RIDGE = 1e-5  # of the diagonal, for parameters that act alike


@dataclass(frozen=True)
class Shots:
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

    def __getitem__(self, which: torch.Tensor) -> Shots:
        names = ("start", "spans", "target", "weight", "noise")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def residual(self, ends: torch.Tensor) -> torch.Tensor:
        """How far ends are from the targets, weighted."""
        return (torch.asinh(self.target / self.unit) - torch.asinh(ends / self.unit)) * self.weight

    def slope(self, ends: torch.Tensor) -> torch.Tensor:
        """By how much the residual falls when an end moves."""
        return self.weight / (ends.square() + self.unit.square()).sqrt()


def shots_of(one: Observations, which: torch.Tensor) -> Shots:
    """Shots over some of the intervals of a trajectory, each from one snapshot to the next.

    Residuals count relative to how far the state moved, as far as noise lets that be known.
    """
    own = slice(one.counted)
    start = one.level[which, own]
    target = one.level[which + 1, own]
    noise = (one.noise[which, own].square() + one.noise[which + 1, own].square()).sqrt()
    unit = one.unit
    moved = (torch.asinh(target / unit) - torch.asinh(start / unit)).abs()
    weight = 1 / (moved + LEAST_MOVED + NOISE_WEIGHT * noise / (target.square() + unit.square()).sqrt())
    return Shots(one.network, start, one.spans[which], target, weight, noise, unit)


@dataclass(frozen=True)
class ShotFit:
    """A fitted model."""

    model: Model
    misfit: float  # root mean square of the weighted residuals
    excess: float  # root mean square of the residuals in units of the noise
    normal: torch.Tensor  # S^T S of the weighted derivatives, (P, P)
    count: int  # residuals
    ridge: torch.Tensor | None = None  # the penalty it was fitted with, for each of them
    lost: int = 0  # shots that could not be integrated in the steps allowed, and say nothing


def grouped_by_steps(
    model: Model, batches: Sequence[Shots], tolerance: torch.Tensor, most_steps: int = MOST_STEPS
) -> tuple[list[tuple[Shots, int]], list[torch.Tensor]] | None:
    """The batches in groups of equal numbers of steps, and where each ends; None if the model cannot be integrated over most of them."""
    groups, reached = [], []
    for batch in batches:
        for steps, which, there in accurate_ends(model, batch.network, batch.start, batch.spans, tolerance, most_steps):
            groups.append((batch[which], steps))
            reached.append(there)
    all_shots = sum(len(batch.start) for batch in batches)
    return (groups, reached) if groups and 2 * _shots(groups) >= all_shots else None


def _shots(groups: Sequence[tuple[Shots, int]]) -> int:
    return sum(len(batch.start) for batch, _ in groups)


def ends_of(model: Model, groups: Sequence[tuple[Shots, int]]) -> list[torch.Tensor]:
    """Where the shots of each group end."""
    return [ends(model, batch.network, batch.start, batch.spans, steps) for batch, steps in groups]


def misfit_of(groups: Sequence[tuple[Shots, int]], reached: Sequence[torch.Tensor]) -> float:
    """Root mean square of weighted residuals of shots that end there."""
    misfit = _size(groups, [batch.residual(end) for (batch, _), end in zip(groups, reached, strict=True)])
    return misfit if misfit == misfit else float("inf")


def fit(
    model: Model,
    batches: Sequence[Shots],
    *,
    iterations: int = 20,
    tolerance: torch.Tensor,
    ridge: torch.Tensor | None = None,
    enough: float = 1e-5,
    most_steps: int = MOST_STEPS,
) -> ShotFit | None:
    """The model with parameters that bring its shots nearest to their targets; None if it cannot be integrated.

    ``tolerance`` (d,) is the absolute error of integration, ``ridge`` (P, P) a penalty matrix on the parameters. It stops when a step moves
    the misfit by less than a share ``enough``.
    """
    grouped = grouped_by_steps(model, batches, tolerance, most_steps)
    if grouped is None:
        return None
    groups, reached = grouped
    here, count = misfit_of(groups, reached), _count(groups)
    if here == float("inf"):
        return None
    normal = torch.eye(len(model.parameters), dtype=torch.float64)
    damping = LEAST_DAMPING
    for iteration in in_time(range(iterations)):
        normal, b = _normal_equations(model, groups, reached)
        if not normal.isfinite().all():
            return None
        p = model.parameters
        A = normal
        if ridge is not None:
            A = A + ridge * count
            b = b - (ridge * count) @ p
        before = _penalised(here, model, ridge)
        trial = None
        for _ in range(TRIES):
            step = _solved(A + torch.diag(damping * A.diagonal().clamp(min=1e-300)), b)
            promised = float(b @ step + damping * (A.diagonal() * step.square()).sum()) / count
            if promised <= 0.5 * enough * before:  # both are 0 where nothing is left to explain
                break
            other = model.with_parameters(p + step)
            there = ends_of(other, groups)
            value = misfit_of(groups, there)
            kept = (before - _penalised(value, other, ridge)) / promised  # of what the linear model promised
            if kept > 0:
                trial = other
                here = value
                reached = there
                damping = _lowered(damping, kept)
                break
            damping = max(FIRST_DAMPING, RAISED * damping)
        if trial is None:
            break
        model = trial
        if 1 - (_penalised(here, model, ridge) / before) ** 0.5 < enough or _excess(groups, reached) < CONVERGED_EXCESS:
            break
        if iteration in REGROUPED_AFTER:
            again = grouped_by_steps(model, batches, tolerance, most_steps)
            if again is None:
                return None
            groups, reached = again
            here, count = misfit_of(groups, reached), _count(groups)
    lost = sum(len(b.start) for b in batches) - _shots(groups)
    return ShotFit(model, here, _excess(groups, reached), normal, count, ridge, lost)


def _lowered(damping: float, kept: float) -> float:
    """The damping after a step that kept this share of what was promised."""
    for share, factor in (KEPT_WELL, KEPT_FAIRLY):
        if kept > share:
            return max(LEAST_DAMPING, damping / factor)
    return max(LEAST_DAMPING, damping)


def _count(groups: Sequence[tuple[Shots, int]]) -> int:
    own = sum(batch.target.numel() for batch, _ in groups)
    return int(_world(groups).total(torch.tensor(own)))


def _world(groups: Sequence[tuple[Shots, int]]) -> World:
    """The processes that share the network."""
    return groups[0][0].network.world


def _size(groups: Sequence[tuple[Shots, int]], residuals: Iterable[torch.Tensor]) -> float:
    """Root mean square of residuals of all nodes."""
    squares = torch.tensor(sum(float(r.square().sum()) for r in residuals), dtype=torch.float64)
    return (float(_world(groups).total(squares)) / _count(groups)) ** 0.5


def _excess(groups: Sequence[tuple[Shots, int]], reached: Sequence[torch.Tensor]) -> float:
    """Root mean square of residuals in units of the noise."""
    return _size(groups, ((end - batch.target) / batch.noise for (batch, _), end in zip(groups, reached, strict=True)))


def _solved(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A^-1 b for a symmetric A of any scaling."""
    size = A.diagonal().clamp(min=1e-300).sqrt()
    scaled = A / torch.outer(size, size) + 1e-15 * torch.eye(len(A), dtype=A.dtype)
    return torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-15).solution / size


def _penalised(misfit: float, model: Model, ridge: torch.Tensor | None) -> float:
    p = model.parameters
    return misfit**2 + (0.0 if ridge is None else float(p @ ridge @ p))


def _normal_equations(
    model: Model, groups: Sequence[tuple[Shots, int]], reached: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """S^T S and S^T r, where S is by how much each of the residuals r falls with each parameter."""
    P = len(model.parameters)
    world = _world(groups)
    slopes = []
    rest = []
    for (batch, steps), end in zip(groups, reached, strict=True):
        coarser = max(min(FEWEST_DERIVATIVE_STEPS, steps), steps // COARSER_DERIVATIVES)
        columns = derivatives(model, batch.network, batch.start, batch.spans, coarser)
        largest, size = world.highest(torch.stack([columns.abs().max(), end.abs().max()]))
        if not largest < DIVERGED * size:  # nor if it is NaN
            columns = derivatives(model, batch.network, batch.start, batch.spans, steps)
        slopes.append((columns * batch.slope(end).unsqueeze(-1)).reshape(-1, P))
        rest.append(batch.residual(end).reshape(-1))
    S, r = torch.cat(slopes), torch.cat(rest)
    both = world.total(torch.cat([S.T @ S, (S.T @ r)[:, None]], dim=1))
    return both[:, :P], both[:, P]


def undamped_gauss_newton(
    model: Model, batches: Sequence[Shots], iterations: int, tolerance: torch.Tensor, most_steps: int
) -> Model:
    """The best model along full Gauss-Newton steps, whether they lead up or down; where nothing is better, the same.

    Across a narrow curved valley a full step lands beside its floor, far above it but much further along; the next one
    falls back. Steps that only ever lead down creep.
    """
    best = model
    least = float("inf")
    for _ in in_time(range(iterations + 1)):
        grouped = grouped_by_steps(model, batches, tolerance, most_steps)
        if grouped is None:
            break
        groups, reached = grouped
        misfit = misfit_of(groups, reached)
        if misfit < least:
            best = model
            least = misfit
        if not UNDAMPED_RANGE[0] < misfit < UNDAMPED_RANGE[1]:
            break
        A, b = _normal_equations(model, groups, reached)
        if not A.isfinite().all():
            break
        step = _solved(A + UNDAMPED_RIDGE * torch.diag(A.diagonal()), b)
        model = model.with_parameters(model.parameters + step)
    return best
