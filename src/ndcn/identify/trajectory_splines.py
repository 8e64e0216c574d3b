"""Free forms along whole trajectories, with their initial states: for noise and gaps.

In noise, each part of f and g is as smooth as makes the data likeliest. Penalties follow the update of Fellner and Schall (S. N. Wood and
M. Fasiolo, Biometrics 73, 2017): docs/interaction.md, How it works, 6.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ..laws import Basis, FreeModel
from .clock import shown
from .known_law import KnownLaw
from .observations import Observations
from .posterior import pseudo_inverse
from .spline_fit import fit_splines, rate_prior, smooth_guesses, splines_by_weak_form
from .trajectory_fit import Prior, TrajectoryFit, fit_trajectories
from .trajectory_problem import problems_for
from .trajectory_stages import coarse, fit_horizon, with_exact_steps

logger = logging.getLogger(__name__)

# Shares of all motion through which splines follow the data in turn (docs/interaction.md, How it works, 9): more slowly than formulas, as
# they are lost where they were not fitted yet.
SPLINE_HORIZONS = (0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ASTRAY_EXCESS = 100.0  # times the noise: splines that miss so much have lost their way, and a smoother start is taken
# A rougher start must miss this much less of noisy data: shots tell smoothness apart by chance there.
ROUGHER_WORTH = 0.95
PENALTY_ROUNDS = 12  # of a fit and new penalties: penalties move by up to 30 ** 2 in each, so that these reach any
LARGEST_FACTOR = 30.0  # by which a round changes a penalty at most: the update holds near the fit it was computed at
# The power to which a factor is raised while a penalty goes the same way, as Fellner-Schall converges slowly.
EXTRAPOLATION = 2.0
# Degrees of freedom by which all parts together change when penalties are found: no curve looks different.
SETTLED_FREEDOM = 1.0
ROUND_ITERATIONS = 2  # of Gauss-Newton in each round: penalties need not wait for the last digits
ROUND_ENOUGH = 1e-3


def free_form_along(
    data: Sequence[Observations], tolerance: torch.Tensor, base: KnownLaw | None
) -> TrajectoryFit | None:
    """Splines along the data; None if they diverge."""
    if any(one.gaps for one in data):
        return _through_gaps(data, tolerance, base)
    for model, ridge in _starts(data, base):
        problems = problems_for(data, model, tolerance)
        first = None if problems is None else fit_trajectories(model, problems, iterations=0)
        if first is not None and first.excess < ASTRAY_EXCESS:
            return _with_penalties(model, first, ridge, rate_prior(model.basis, data, base))
    return None


def _starts(data: Sequence[Observations], base: KnownLaw | None) -> Iterator[tuple[FreeModel, torch.Tensor]]:
    """Splines, and a first penalty: the best from snapshot to snapshot, which may not lead all the way, then smooth ones."""
    fit = fit_splines(data, base, worth=ROUGHER_WORTH)
    if fit is not None and fit.ridge is not None:
        assert isinstance(fit.model, FreeModel)
        yield fit.model, fit.ridge * sum(int(one.seen[1:].sum()) for one in data)
    yield from smooth_guesses(data, base)


def _through_gaps(data: Sequence[Observations], tolerance: torch.Tensor, base: KnownLaw | None) -> TrajectoryFit | None:
    guess = splines_by_weak_form(data, base)
    if guess is None:
        return None
    model, precision = guess
    both = precision + rate_prior(model.basis, data, base)
    prior = Prior(pseudo_inverse(both) @ precision @ model.parameters, both)
    rough, coarse_data = coarse(data, tolerance)
    fitted: TrajectoryFit | None = None
    for share in SPLINE_HORIZONS:
        fitted = fit_horizon(model if fitted is None else fitted.model, fitted, coarse_data, share, rough, prior)
        if fitted is None:
            return None
    assert fitted is not None
    whole = fit_trajectories(fitted.model, with_exact_steps(fitted, data, tolerance), iterations=0)
    return None if whole is None else replace(whole, normal=fitted.normal, prior=prior)


def _with_penalties(
    model: FreeModel, first: TrajectoryFit, ridge: torch.Tensor, before: torch.Tensor
) -> TrajectoryFit | None:
    """Splines along whole trajectories, each part with a penalty of its own; None if they diverge.

    Penalties are moved to where the data are likeliest with all splines integrated out (Fellner-Schall): parts that the law
    does not have become straight lines or nothing, and the others are as rough as data can tell. Where residuals exceed the
    noise, it is taken for as much larger.

    ``first`` is the model along the trajectories, ``ridge`` (P, P) a first penalty on all coefficients, and ``before`` (P, P) what else is
    known of them before, as a precision.
    """
    parts = _penalties(model.basis, len(model.coefficients))
    weights = [float(ridge[where, where].trace() / S.trace()) for where, S in parts]
    factors = [1.0] * len(parts)
    decided = [float("inf")] * len(parts)
    fitted = first
    found: TrajectoryFit | None = None
    for _ in shown(range(PENALTY_ROUNDS), "splines along trajectories"):
        precision = before.clone()
        for (where, S), weight in zip(parts, weights, strict=True):
            precision[where, where] += weight * S
        prior = Prior(torch.zeros_like(model.parameters), fitted.inflation**2 * precision)
        done = fit_trajectories(
            fitted.model, fitted.problems, iterations=ROUND_ITERATIONS, prior=prior, enough=ROUND_ENOUGH
        )
        if done is None:
            return found
        fitted = done
        found = replace(fitted, prior=Prior(prior.mean, precision))
        last = decided
        before_that = factors
        decided, factors = _likelier(found, parts)
        logger.debug("  along trajectories %.4f, %.1f degrees of freedom", fitted.excess, sum(decided))
        if sum(abs(new - old) for new, old in zip(decided, last, strict=True)) < SETTLED_FREEDOM:
            break
        for k, (new, old) in enumerate(zip(factors, before_that, strict=True)):
            weights[k] *= new ** (EXTRAPOLATION if (new > 1) == (old >= 1) else 1.0)
    return found


def _penalties(basis: Basis, features: int) -> list[tuple[slice, torch.Tensor]]:
    """For each feature's rate and each part of it, where its coefficients are among all, and how rough they are."""
    whole = basis.penalty()
    return [
        (slice(first + where.start, first + where.stop), whole[where, where])
        for first in range(0, features * basis.size, basis.size)
        for where in basis.blocks.values()
    ]


def _likelier(fitted: TrajectoryFit, parts: Sequence[tuple[slice, torch.Tensor]]) -> tuple[list[float], list[float]]:
    """How many degrees of freedom of each part the data decided on, and by which factor another penalty is likelier."""
    assert fitted.prior is not None
    information = fitted.information
    free = pseudo_inverse(fitted.prior.precision)
    held = pseudo_inverse(information + fitted.prior.precision)
    share = (held * information).sum(1)
    decided = []
    factors = []
    for where, S in parts:
        c = fitted.model.parameters[where]
        factor = max(float(((free - held)[where, where] * S).sum()), 0.0) / max(float(c @ S @ c), 1e-300)
        factors.append(min(max(factor, 1 / LARGEST_FACTOR), LARGEST_FACTOR))
        decided.append(float(share[where].sum()))
    return decided, factors
