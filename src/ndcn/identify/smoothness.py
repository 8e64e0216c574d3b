"""How smooth f and g are: each part as smooth as makes noisy data likeliest, along whole trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .free import Basis, FreeModel
from .posterior import inverse
from .trajectory_fit import Course, Path, Prior, fit_path

ROUNDS = 12  # fit, smoothness, fit again
FURTHEST = 30.0  # by which factor one of them changes a penalty at most
FASTER = 2.0  # the power to which it does, as the next ones would lead on
SETTLED = (
    0.03  # change, as a share, of the degrees of freedom that data decide on, below which penalties are found; or of 1
)


def fit_smooth(
    model: FreeModel,
    courses: Sequence[Course],
    ridge: torch.Tensor,
    before: torch.Tensor,
    say: Callable[[str], None] = lambda text: None,
) -> Path | None:
    """Splines along whole trajectories, each part with a penalty of its own; None if they cannot be followed.

    Penalties are moved to where the data are likeliest with all splines integrated out (Fellner-Schall): parts that the law
    does not have become straight lines or nothing, and the others are as rough as data can tell.

    Args:
        model: where to start.
        courses: along which.
        ridge: a first penalty on all coefficients, (P, P).
        before: what else is known of them before, as a precision, (P, P).
        say: told how it goes.
    """
    parts = _penalties(model.basis, len(model.coefficients))
    weights = [float(ridge[where, where].trace() / S.trace()) for where, S in parts]
    found: Path | None = None
    decided = 0.0
    for _ in range(ROUNDS):
        precision = before.clone()
        for (where, S), weight in zip(parts, weights, strict=True):
            precision[where, where] += weight * S
        prior = Prior(torch.zeros_like(model.parameters), precision)
        path = fit_path(model, courses, iterations=2, prior=prior, enough=1e-3)
        if path is None:
            return found
        assert isinstance(path.model, FreeModel)
        model, courses, found, last = path.model, path.courses, path, decided
        decided, weights = _likelier(path, prior, parts, weights)
        say(f"  along {path.excess:.4f}, {decided:.1f} degrees of freedom")
        if abs(decided - last) < max(1.0, SETTLED * decided):
            break
    return found


def _penalties(basis: Basis, features: int) -> list[tuple[slice, torch.Tensor]]:
    """For each feature's rate and each part of it, where its coefficients are among all, and how rough they are."""
    whole = basis.penalty()
    out = []
    for a in range(features):
        for where in basis.blocks.values():
            at = slice(a * basis.size + where.start, a * basis.size + where.stop)
            out.append((at, whole[where, where]))
    return out


def _likelier(
    path: Path, prior: Prior, parts: Sequence[tuple[slice, torch.Tensor]], weights: Sequence[float]
) -> tuple[float, list[float]]:
    """How many degrees of freedom the data decided on, and penalties with which they are likelier."""
    information = path.normal / max(1.0, path.excess) ** 2
    free, held = inverse(prior.precision), inverse(information + prior.precision)
    out = []
    for (where, S), weight in zip(parts, weights, strict=True):
        c = path.model.parameters[where]
        factor = max(float(((free - held)[where, where] * S).sum()), 0.0) / max(float(c @ S @ c), 1e-300)
        out.append(weight * min(max(factor, 1 / FURTHEST), FURTHEST) ** FASTER)
    return float((held * information).sum()), out
