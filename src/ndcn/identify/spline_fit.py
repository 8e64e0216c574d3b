"""Fitting the free form: weak form first, then shooting, as smooth as held-out intervals want it (docs/interaction.md, How it works, 6)."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from ..laws import Basis, FreeModel, Model, basis_for
from .clock import shown
from .observations import Observations, integrals, interval_speeds, largest, spread_intervals
from .shooting_fit import ShotFit, Shots, fit, grouped_by_steps, misfit_of, shots_of
from .weak_form import integrated_rate, stretches, unexplained_increments

logger = logging.getLogger(__name__)

# On roughness, in units of how strongly the data hold each part. Roughness is a square, so that each is a factor of 10 in how far a curve may
# bend, from nearly straight to as the data have it.
PENALTIES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# The index of a penalty with which first estimates diverge nowhere, where rougher ones lose intervals.
SMOOTH_ENOUGH = 2
CHOSEN_INTERVALS = 40  # of all trajectories together, and 6 of each: each has as many rows as the graph has nodes
FEWEST_INTERVALS = 6
HELD_OUT = 4  # every fourth interval or stretch is held out: enough to judge, and few enough to learn from the others
# Fastest intervals, or a quarter of few: where they hold all that is fast, the others do not tell the law. Holding them out put one heat
# cell off by 80 % (docs/interaction.md, What did not work).
NEVER_HELD_OUT = 8
SPLINE_STEPS = 128  # within an interval: models that need more than twice as many are lost
GUESS_PRECISION = 1e-4  # of integration, as a share of the largest state: guesses of the weak form are off by more
FIT_PRECISION = 1e-6  # splines are off by more (docs/interaction.md, Measured: medians of 0.0002 and 0.0016 %)
ITERATIONS = 8  # of Gauss-Newton for each penalty; the next one goes on
ENOUGH = 0.02  # a step that lowers the misfit by less is the last one for this penalty
SHARED_ERRORS = 0.1  # neighbours share the errors of a path: rows know so much less than if each had errors of its own
FEWEST_STRETCHES = 8  # below it splines cannot be judged: two of them would be held out
WEIGHTING = 0.5  # the power of increments that rows are divided by, as the first of ``search.WEIGHTINGS``
RATE_BOUND = 3.0  # times the fastest rates: f and sums of g are hardly larger, even where they cancel


class _Judged(NamedTuple):
    """A fit, and what it misses: shots that were lost, then the misfit of those held out."""

    missed: tuple[int, float]
    fit: ShotFit


@dataclass(frozen=True)
class _SplineShots:
    """Shots that splines are fitted to, and those held out by which they are judged."""

    basis: Basis
    scale: torch.Tensor  # the largest state of each feature, (d,)
    train: list[Shots]
    held: list[Shots]
    normals: list[tuple[torch.Tensor, torch.Tensor]]  # normal equations of the weak form, by feature
    worth: float  # rougher splines must miss this share of what smoother ones miss

    def best_guess(self, guesses: Sequence[FreeModel]) -> int:
        """Which penalty of the weak form misses the held-out shots least."""
        best = math.inf
        start = 0
        for k, (smoothing, guess) in enumerate(zip(PENALTIES, guesses, strict=True)):
            misfit = _held_out(guess, self.held, GUESS_PRECISION * self.scale)
            logger.debug("  weak form %.0e %.2e", smoothing, misfit)
            if misfit < self.worth * best:
                best = misfit
                start = k
        return start

    def fitted(self, model: FreeModel, shots: Sequence[Shots], ridge: torch.Tensor | None) -> ShotFit | None:
        fit_few = functools.partial(fit, iterations=ITERATIONS, enough=ENOUGH, most_steps=SPLINE_STEPS)
        return fit_few(model, shots, tolerance=FIT_PRECISION * self.scale, ridge=ridge)

    def descended(self, model: FreeModel, first: int) -> _Judged | None:
        """The best of ever rougher splines, from this penalty on while that leads down."""
        best: _Judged | None = None
        rows = max(sum(shots.start.numel() for shots in self.train), 1)
        for smoothing in shown(PENALTIES[first:], "fitting splines"):
            ridge = torch.block_diag(*(_penalty(self.basis, N, smoothing) / rows for N, _ in self.normals))
            done = self.fitted(model, self.train, ridge)
            if done is None:
                continue
            assert isinstance(done.model, FreeModel)
            missed = (done.lost, _held_out(done.model, self.held, FIT_PRECISION * self.scale))
            logger.debug("  shots %.0e %.2e lost %d held out %.2e", smoothing, done.misfit, *missed)
            if best is not None and not missed < (best.missed[0], self.worth * best.missed[1]):
                break
            best = _Judged(missed, done)
            model = done.model
        return best


def fit_splines(data: Sequence[Observations], base: Model | None = None, *, worth: float = 1.0) -> ShotFit | None:
    """f and g as splines, beside a base, or None if they cannot be found.

    Rougher ones are taken where they miss held-out intervals less, by this factor at least.
    """
    basis = _basis(data)
    each = max(FEWEST_INTERVALS, CHOSEN_INTERVALS // len(data))
    chosen = [spread_intervals(one, each) for one in data]
    out = [_held_back(one, which) for one, which in zip(data, chosen, strict=True)]
    held = [which[hold] for which, hold in zip(chosen, out, strict=True)]
    learn = [which[~hold] for which, hold in zip(chosen, out, strict=True)]
    every, train, test = (list(map(shots_of, data, intervals)) for intervals in (chosen, learn, held))
    shots = _SplineShots(basis, largest(data), train, test, _weak(data, learn, basis, base), worth)
    guesses = [_guess(basis, shots.normals, smoothing, base) for smoothing in PENALTIES]
    start = shots.best_guess(guesses)
    found = shots.descended(guesses[start], max(start - 1, 0))
    if found is None or found.missed[0] > 0:  # rough guesses may be too wild for the fastest intervals
        smooth = min(start, SMOOTH_ENOUGH)
        again = shots.descended(guesses[smooth], smooth)
        found = min((one for one in (found, again) if one is not None), key=lambda one: one.missed, default=None)
    if found is None:
        return None
    last = found.fit
    assert isinstance(last.model, FreeModel)
    whole = shots.fitted(last.model, every, last.ridge)
    return last if whole is None or whole.lost > last.lost else whole


def _held_back(one: Observations, which: torch.Tensor) -> torch.Tensor:
    """Every fourth of these intervals, without the fastest, which have states that no other has, as a mask."""
    fastest = min(NEVER_HELD_OUT, len(which) // 4)
    slow = interval_speeds(one)[which].argsort()[: len(which) - fastest].sort().values
    out = torch.zeros(len(which), dtype=torch.bool)
    out[slow[1::HELD_OUT]] = True
    return out


def smooth_guesses(data: Sequence[Observations], base: Model | None) -> Iterator[tuple[FreeModel, torch.Tensor]]:
    """Splines by the weak form, all but straight at first, and the penalty on their coefficients, (P, P)."""
    basis = _basis(data)
    normals = _weak(data, [torch.arange(len(one.spans)) for one in data], basis, base)
    for smoothing in (1.0, *PENALTIES[:SMOOTH_ENOUGH]):
        penalty = torch.block_diag(*(_penalty(basis, N, smoothing) for N, _ in normals))
        yield _guess(basis, normals, smoothing, base), penalty


def _guess(
    basis: Basis, normals: Sequence[tuple[torch.Tensor, torch.Tensor]], smoothing: float, base: Model | None
) -> FreeModel:
    return FreeModel(basis, torch.stack([_ridge(N, b, _penalty(basis, N, smoothing)) for N, b in normals]), base)


def splines_by_weak_form(data: Sequence[Observations], base: Model | None) -> tuple[FreeModel, torch.Tensor] | None:
    """Splines by the weak form alone, as gaps have no states to shoot from, and how precisely that knows them, (P, P).

    They are as smooth as stretches that were left out want it. None if there are too few.
    """
    basis = _basis(data)
    features = zip(*(_rows_of(one, basis, base) for one in data), strict=True)
    rows = [[np.concatenate(part) for part in zip(*each, strict=True)] for each in features]
    if min(len(y) for _, y in rows) < FEWEST_STRETCHES:
        return None
    held = [np.arange(len(y)) % HELD_OUT == 1 for _, y in rows]
    learn = [_normal(W[~out], y[~out]) for (W, y), out in zip(rows, held, strict=True)]

    def missed(model: FreeModel, which: Sequence[np.ndarray]) -> list[float]:
        fits = zip(rows, model.coefficients, which, strict=True)
        return [float(np.square(y[some] - W[some] @ c.numpy()).mean()) for (W, y), c, some in fits]

    scores = {smoothing: sum(missed(_guess(basis, learn, smoothing, base), held)) for smoothing in PENALTIES}
    logger.debug("  weak form %s", scores)
    smoothing = min(scores, key=lambda s: scores[s])
    whole = [_normal(W, y) for W, y in rows]
    found = _guess(basis, whole, smoothing, base)
    variance = missed(found, [np.ones(len(y), dtype=bool) for _, y in rows])
    precision = [
        SHARED_ERRORS * (N + _penalty(basis, N, smoothing)) / max(v, 1e-300)
        for (N, _), v in zip(whole, variance, strict=True)
    ]
    return found, torch.block_diag(*precision)


def rate_prior(basis: Basis, data: Sequence[Observations], base: Model | None) -> torch.Tensor:
    """Precision of all coefficients before anything is seen, (P, P): f and sums of g are not far beyond the fastest rates.

    Data leave some of them open, as a g that depends on both states and one that depends on their difference can take each
    other's place. Without it, posterior samples would be wild there.
    """
    steps = [unexplained_increments(one, torch.arange(len(one.spans)), base) for one in data]
    speeds = [(step / one.spans[:, None, None]).abs().amax(dim=(0, 1)) for step, one in zip(steps, data, strict=True)]
    fastest = torch.stack(speeds).amax(0).clamp(min=1e-12 * float(largest(data).max()))
    neighbours = max(1.0, sum(float(one.network.degrees.abs().mean()) for one in data) / len(data))
    share = torch.ones(basis.size, dtype=torch.float64)
    for name, where in basis.blocks.items():
        share[where] = 1.0 if name.startswith("f") else 1 / neighbours
    return torch.diag((RATE_BOUND * torch.outer(fastest, share)).reshape(-1) ** -2)


def _rows_of(one: Observations, basis: Basis, base: Model | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each feature: weighted integrals of all splines over the stretches of a trajectory, and how far it moved there."""
    every = torch.arange(len(one.spans))
    done = None if base is None else integrated_rate(base, one, every).numpy()
    W = torch.stack([_integrated(basis, one, k) for k in range(len(one.spans))]).numpy()
    out = []
    for a in range(one.level.shape[-1]):
        rows = stretches(one, every, a, WEIGHTING)
        step = rows.step if done is None else rows.step - rows.over(done[..., a])
        out.append((rows.over(W) * rows.weight[:, None], step * rows.weight))
    return out


def _integrated(basis: Basis, one: Observations, interval: int) -> torch.Tensor:
    """Integrals of all splines over an interval, (n, B)."""
    columns = basis.columns(one.inner[interval], one.network)
    return integrals(columns.unsqueeze(0), one.spans[interval : interval + 1])[0]


def _normal(W: np.ndarray, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(W.T @ W), torch.from_numpy(W.T @ y)


def _basis(data: Sequence[Observations]) -> Basis:
    states = torch.cat([one.level.reshape(-1, one.level.shape[-1]) for one in data])
    gaps = []
    for one in data:
        few = one.level[:: max(1, len(one.level) // 10)]
        gaps.append((few[:, one.network.j] - few[:, one.network.i]).reshape(-1, few.shape[-1]))
    return basis_for(states, torch.cat(gaps))


def _weak(
    data: Sequence[Observations], chosen: Sequence[torch.Tensor], basis: Basis, base: Model | None
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Normal equations of the weak form for each feature."""
    d = data[0].level.shape[-1]
    size = basis.size
    out = [(torch.zeros(size, size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)) for _ in range(d)]
    for one, which in zip(data, chosen, strict=True):
        batch = shots_of(one, which)
        steps = unexplained_increments(one, which, base)
        for k, interval in enumerate(which.tolist()):
            W = _integrated(basis, one, interval)
            middle = (batch.target[k] + batch.start[k]) / 2
            weight = batch.weight[k] / (middle.square() + batch.unit.square()).sqrt()
            for a in range(d):
                rows = W * weight[:, a : a + 1]
                out[a][0].add_(rows.T @ rows)
                out[a][1].add_(rows.T @ (steps[k, :, a] * weight[:, a]))
    return out


def _penalty(basis: Basis, normal: torch.Tensor, smoothing: float) -> torch.Tensor:
    """The penalty in units of how strongly the data hold each part."""
    size = torch.zeros(basis.size, dtype=torch.float64)
    for where in basis.blocks.values():
        size[where] = normal.diagonal()[where].mean().clamp(min=1e-300).sqrt()
    return smoothing * basis.penalty() * torch.outer(size, size)


def _ridge(normal: torch.Tensor, moment: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
    A = normal + penalty
    size = A.diagonal().clamp(min=1e-300).sqrt()
    scaled = A / torch.outer(size, size) + 1e-13 * torch.eye(len(A), dtype=A.dtype)
    return torch.linalg.solve(scaled, moment / size) / size


def _held_out(model: FreeModel, held: Sequence[Shots], tolerance: torch.Tensor) -> float:
    grouped = grouped_by_steps(model, held, tolerance, SPLINE_STEPS)
    if grouped is None or sum(len(b.start) for b, _ in grouped[0]) < sum(len(b.start) for b in held):
        return math.inf
    return misfit_of(*grouped)
