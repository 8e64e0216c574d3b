"""How smooth f and g are: each part as smooth as makes noisy data likeliest, along whole trajectories.

Penalties follow the update of Fellner and Schall (S. N. Wood and M. Fasiolo, Biometrics 73, 2017): docs/interaction.md, How it works, 6.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import torch

from ..laws import Basis, FreeModel
from .posterior import pseudo_inverse
from .trajectory_fit import Prior, TrajectoryFit, fit_trajectories

logger = logging.getLogger(__name__)

PENALTY_ROUNDS = 12  # of a fit and new penalties: penalties move by up to 30 ** 2 in each, so that these reach any
LARGEST_FACTOR = 30.0  # by which a round changes a penalty at most: the update holds near the fit it was computed at
# The power to which a factor is raised while a penalty goes the same way, as Fellner-Schall converges slowly.
EXTRAPOLATION = 2.0
# Degrees of freedom by which all parts together change when penalties are found: no curve looks different.
SETTLED_FREEDOM = 1.0
ROUND_ITERATIONS = 2  # of Gauss-Newton in each round: penalties need not wait for the last digits
ROUND_ENOUGH = 1e-3


def fit_with_penalties(
    model: FreeModel, first: TrajectoryFit, ridge: torch.Tensor, before: torch.Tensor
) -> TrajectoryFit | None:
    """Splines along whole trajectories, each part with a penalty of its own; None if they cannot be followed.

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
    for _ in range(PENALTY_ROUNDS):
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
