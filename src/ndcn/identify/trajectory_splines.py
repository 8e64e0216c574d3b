"""Free forms along whole trajectories, with their initial states: for noise and gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ..laws import FreeModel
from .known_law import KnownLaw
from .observations import Observations
from .posterior import pseudo_inverse
from .spline_fit import fit_splines, rate_prior, smooth_guesses, splines_by_weak_form
from .spline_penalties import fit_with_penalties
from .trajectory_fit import Prior, TrajectoryFit, fit_trajectories
from .trajectory_problem import problems_for
from .trajectory_stages import coarse, fit_horizon, with_exact_steps

# Shares of all motion through which splines follow the data in turn (docs/interaction.md, How it works, 9): more slowly than formulas, as
# they are lost where they were not fitted yet.
SPLINE_HORIZONS = (0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ASTRAY_EXCESS = 100.0  # times the noise: splines that miss so much have lost their way, and a smoother start is taken
# A rougher start must miss this much less of noisy data: shots tell smoothness apart by chance there.
ROUGHER_WORTH = 0.95


def free_form_along(
    data: Sequence[Observations], tolerance: torch.Tensor, base: KnownLaw | None
) -> TrajectoryFit | None:
    """Splines along the data; None if they cannot be followed."""
    if any(one.gaps for one in data):
        return _through_gaps(data, tolerance, base)
    for model, ridge in _starts(data, base):
        problems = problems_for(data, model, tolerance)
        first = None if problems is None else fit_trajectories(model, problems, iterations=0)
        if first is not None and first.excess < ASTRAY_EXCESS:
            return fit_with_penalties(model, first, ridge, rate_prior(model.basis, data, base))
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
