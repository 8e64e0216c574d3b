"""From trajectories to a law: the closed form if it explains them, else the free form, and the evidence for the choice."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from ..data import Trajectory
from ..laws import Equation, FreeModel, Law
from .interaction import Interaction
from .known_law import KnownLaw, checked_law
from .library import formula_names, library, ranges_of
from .observations import CLEAN_BELOW, NOISY_ABOVE, Observations, largest, observed, roughness_of, signed, some_states
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, residual_variance
from .residual_noise import residuals_are_noise, reweighted
from .search import EXPLAINED_EXCESS, FittedEquation, Search
from .shooting_fit import ShotFit
from .spline_fit import fit_splines
from .trajectory_fit import HUBER, TrajectoryFit, posterior_samples
from .trajectory_search import NOTHING_LEFT_EXCESS, as_good, closed_form_along, free_form_along

POOR_MISFIT = 0.05  # weighted misfits above this are said aloud
EXPLAINED_BEFORE = (
    5.0  # as ``search.ENOUGH``, the bound that version 0.1 had for most data, but did not write into files
)
EXPLAINED_ROUNDING = (
    50.0  # residuals of so many times the rounding are explained along whole trajectories without noise
)


@dataclass(frozen=True)
class Evidence:
    """Why this law.

    Attributes:
        form: "closed" or "free".
        reason: the choice in words.
        noise: share of the states that observations are off by, by feature.
        closed, free: typical residual of each in units of the noise that a smooth path shows, if it was tried.
        equation: the best closed form, also where it was not kept.
        explained: whether the law leaves nothing but noise or rounding. Files of version 0.1 do not say; for them it is
            whether the residuals of the form that was kept are below ``EXPLAINED_BEFORE`` times the noise.
    """

    form: str
    reason: str
    noise: tuple[float, ...]
    closed: float | None = None
    free: float | None = None
    equation: str | None = None
    explained: bool | None = None

    def __post_init__(self) -> None:
        if self.explained is None:
            left = self.free if self.form == "free" else self.closed
            object.__setattr__(self, "explained", left is not None and left < EXPLAINED_BEFORE)

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Discovery:
    """What was found.

    Attributes:
        model: with its parameters.
        covariance: of them, (P, P).
        starts: first state of each trajectory, (n, d).
        draws: other parameters that are as likely, (draws, P).
        start_draws: first states that belong to them, (draws, n, d) for each trajectory, or None where they are known.
        evidence: why.
        states: some of those seen, the least and largest among them, (N, d).
        names: of the features, as they stand in formulas.
        known: the law that it corrects, if there is one.
        seconds: it took.
    """

    model: Equation | FreeModel
    covariance: torch.Tensor
    starts: list[torch.Tensor]
    draws: torch.Tensor
    start_draws: list[torch.Tensor] | None
    evidence: Evidence
    states: torch.Tensor
    names: tuple[str, ...] = ()
    known: Law | None = None
    seconds: float = 0.0


def discover(
    trajectories: Sequence[Trajectory], what: Interaction, seed: int = 0, say: Callable[[str], None] = lambda text: None
) -> Discovery:
    """The law behind the trajectories, or what a known one leaves open of it.

    Raises:
        ValueError: none was found, or the known law does not fit the data.
    """
    began = time.monotonic()
    if not any(bool((t.states - t.first_state()).nan_to_num(0.0).any()) for t in trajectories):
        raise ValueError("no state ever changes: there is no law to be seen in these trajectories")
    if what.known is not None:
        what = replace(what, known=copy.deepcopy(what.known).double().requires_grad_(False))
    rough = max(roughness_of(t) for t in trajectories)
    quiet = rough < NOISY_ABOVE
    complete = all(t.mask is None for t in trajectories)
    found: Discovery | None = None
    if quiet and complete:
        found = _from_snapshots(trajectories, what, seed, sure=rough < CLEAN_BELOW, say=say)
    if found is None:
        found = _from_trajectories(trajectories, what, seed, noisy=rough >= CLEAN_BELOW, say=say)
    if found is None:
        raise ValueError(
            "no law of this form could be fitted to the data: the trajectories cannot be followed. Take more snapshots "
            'where the states change fastest, or use model="ndcn", which assumes less'
        )
    if isinstance(found.model, FreeModel):
        _warn_if_few(trajectories, found.model)
    if what.known is not None:
        reason = f"with {type(what.known).__name__} as the known law, {found.evidence.reason}"
        if isinstance(found.model, Equation) and not found.model.terms:
            reason += "; nothing was left to correct"
        found = replace(found, known=what.known, evidence=replace(found.evidence, reason=reason))
    return replace(found, names=_names(found.model, trajectories[0].features), seconds=time.monotonic() - began)


def _warn_if_few(trajectories: Sequence[Trajectory], model: FreeModel) -> None:
    """Splines go through few increments whatever the law is."""
    increments = sum(
        int(t.states[1:, :, 0].numel() if t.mask is None else t.mask[1:, :, 0].sum()) for t in trajectories
    )
    if increments < model.basis.size / 2:
        warnings.warn(
            f"{increments} changes of states are too few to see f and g: splines of {model.basis.size} coefficients were drawn through "
            "them, do not trust these far. Take more snapshots, or give a law whose parameters are estimated",
            stacklevel=5,
        )


def _names(model: Equation | FreeModel, features: Sequence[str]) -> tuple[str, ...]:
    return formula_names(features) if isinstance(model, Equation) else tuple(features)


def _prepared(
    trajectories: Sequence[Trajectory], what: Interaction, *, noisy: bool
) -> tuple[list[Observations], KnownLaw | None]:
    """The trajectories as observed, and the known law as a model.

    Raises:
        ValueError: the law is not for such states, or not defined at some of them.
    """
    data = [observed(t, noisy=noisy) for t in trajectories]
    if what.known is None:
        return data, None
    data = [signed(one) for one in data]
    base = checked_law(what.known, data[0].network, data[0].level)
    for one in data:
        if not base.rate(one.inner.flatten(0, 1), one.network).isfinite().all():
            raise ValueError(
                f"{type(what.known).__name__} is NaN or infinite at some of the states seen, so it cannot be part of their law: "
                "check its parameters and the range of states for which it is defined"
            )
    return data, base


def _search(
    data: Sequence[Observations],
    trajectories: Sequence[Trajectory],
    what: Interaction,
    base: KnownLaw | None,
    say: Callable[[str], None],
) -> Search:
    ranges = ranges_of(torch.cat([one.level.reshape(-1, one.level.shape[-1]) for one in data]))
    return Search(data, library(formula_names(trajectories[0].features), ranges, what.terms, what.without), say, base)


# Complete observations without noise --------------------------------------------------------------------------------


def _from_snapshots(
    trajectories: Sequence[Trajectory], what: Interaction, seed: int, *, sure: bool, say: Callable[[str], None]
) -> Discovery | None:
    """By shots from snapshot to snapshot; None if what is left open may be noise."""
    data, base = _prepared(trajectories, what, noisy=False)
    closed: FittedEquation | None = None
    if what.form != "free":
        closed = _search(data, trajectories, what, base, say).run()
        if closed is not None and (closed.explains() or (what.form == "closed" and sure)):
            explained = closed.explains()
            reason = (
                f"the closed form explains every snapshot from the one before to {closed.fit.excess:.2g} times the rounding"
                if explained
                else f"a closed form was asked for; it misses snapshots by {closed.fit.excess:.2g} times the rounding, so it is "
                'not the whole law: form="free" follows the data better'
            )
            if not explained:
                warnings.warn(reason, stacklevel=5)
            return _of_snapshots(data, closed.fit, seed, "closed", reason, closed, None, explained=explained)
    if not sure:
        return None  # noise, or curves that are coarsely sampled: judged along whole trajectories
    if what.form == "closed":
        return None
    free = fit_splines(data, say, base)
    if free is None:
        return None
    reason = (
        "the free form was asked for"
        if what.form == "free"
        else "no closed form of the library explains the snapshots"
        + ("" if closed is None else f" (the best misses them by {closed.fit.excess:.2g} times the rounding)")
        + f"; the free form misses them by {free.excess:.2g} times"
    )
    if free.misfit > POOR_MISFIT:
        _warn(f"misses typical snapshots by {100 * free.misfit:.2g} % of the way from the one before")
    explained = free.lost == 0 and free.excess < EXPLAINED_EXCESS
    return _of_snapshots(data, free, seed, "free", reason, closed, free, explained=explained)


def _of_snapshots(
    data: Sequence[Observations],
    fit: ShotFit,
    seed: int,
    form: str,
    reason: str,
    closed: FittedEquation | None,
    free: ShotFit | None,
    *,
    explained: bool,
) -> Discovery:
    assert isinstance(fit.model, (Equation, FreeModel))
    covariance = residual_variance(fit) * pseudo_inverse(
        fit.normal + (0 if fit.ridge is None else fit.ridge * fit.count)
    )
    evidence = Evidence(
        form,
        reason,
        tuple(data[0].measured.share.tolist()),
        None if closed is None else closed.fit.excess,
        None if free is None else free.excess,
        None if closed is None else closed.text(),
        explained,
    )
    draws = normal_samples(fit.model.parameters, covariance, seed)
    return Discovery(fit.model, covariance, [one.states[0] for one in data], draws, None, evidence, some_states(data))


# Noise and gaps -----------------------------------------------------------------------------------------------------


def _from_trajectories(
    trajectories: Sequence[Trajectory], what: Interaction, seed: int, *, noisy: bool, say: Callable[[str], None]
) -> Discovery | None:
    """Along whole trajectories, with their first states."""
    data, base = _prepared(trajectories, what, noisy=noisy)
    tolerance = (1e-4 if noisy else 1e-8) * largest(data)
    closed: TrajectoryFit | None = None
    if what.form != "free":
        search = _search(data, trajectories, what, base, say)
        closed = closed_form_along(search, data, tolerance, say)
        if closed is not None and (what.form == "closed" or closed.excess < NOTHING_LEFT_EXCESS):
            _warn_if_poor(closed, noisy)
            return _of_trajectories(
                data, closed, seed, "closed", _reason(closed, None, what, noisy), closed, None, noisy
            )
    free = None if what.form == "closed" else free_form_along(data, tolerance, say, base)
    if free is None and closed is None:
        return None
    best, form = _better(closed, free, noisy)
    _warn_if_poor(best, noisy)
    return _of_trajectories(data, best, seed, form, _reason(closed, free, what, noisy), closed, free, noisy)


def _better(closed: TrajectoryFit | None, free: TrajectoryFit | None, noisy: bool) -> tuple[TrajectoryFit, str]:
    """The formula if it is as good; one that does not explain the data must be nearer to them than splines."""
    if closed is None:
        assert free is not None
        return free, "free"
    if free is None or (as_good(closed, free) if _explains(closed, noisy) else closed.excess < free.excess):
        return closed, "closed"
    return free, "free"


def _explains(path: TrajectoryFit, noisy: bool) -> bool:
    return residuals_are_noise(path) if noisy else path.excess < EXPLAINED_ROUNDING


def _warn_if_poor(path: TrajectoryFit, noisy: bool) -> None:
    if _explains(path, noisy):
        return
    if noisy:
        _warn(f"leaves residuals of {path.excess:.3g} times the noise", deeper=1)
    elif (share := path.share()) > POOR_MISFIT:
        _warn(f"misses typical states by {100 * share:.2g} % of how far they are from their mean", deeper=1)


def _warn(how: str, deeper: int = 0) -> None:
    warnings.warn(
        f"the law that was found {how}: it does not explain the data, do not trust it far. More snapshots where the states change "
        "fastest would help; or these states do not move by f(x_i) + sum_j A_ij g(x_i, x_j) with the same f and g at every node: if "
        'nodes differ, give a law and estimate it with per_node; model="ndcn" assumes less',
        stacklevel=6 + deeper,
    )


def _reason(closed: TrajectoryFit | None, free: TrajectoryFit | None, what: Interaction, noisy: bool) -> str:
    if what.form != "auto":
        return f"the {what.form} form was asked for"
    unit = "the noise" if noisy else "the rounding"
    if free is None:
        assert closed is not None
        return f"the closed form leaves residuals of {closed.excess:.2f} times {unit}"
    if closed is None:
        return f"no closed form could be followed; the free form leaves residuals of {free.excess:.2f} times {unit}"
    return (
        f"the best closed form leaves residuals of {closed.excess:.2f} times {unit}, the free form of {free.excess:.2f}"
    )


def _of_trajectories(
    data: Sequence[Observations],
    path: TrajectoryFit,
    seed: int,
    form: str,
    reason: str,
    closed: TrajectoryFit | None,
    free: TrajectoryFit | None,
    noisy: bool,
) -> Discovery:
    explained = _explains(path, noisy)
    if noisy and form == "closed":
        path = reweighted(path)
    assert isinstance(path.model, (Equation, FreeModel))
    parameters, starts = posterior_samples(path, POSTERIOR_SAMPLES, seed)
    evidence = Evidence(
        form,
        reason,
        tuple(path.problems[0].data.measured.share.tolist()),
        None if closed is None else closed.excess,
        None if free is None else free.excess,
        None if closed is None else FittedEquation.text_of(closed.model),
        explained,
    )
    if form == "free" or path.excess > HUBER:  # information that counts large residuals less does not tell their size
        covariance = torch.cov(parameters.T)
    else:
        covariance = max(1.0, path.excess) ** 2 * pseudo_inverse(path.normal)
    firsts = [problem.x0 for problem in path.problems]
    return Discovery(
        path.model,
        covariance.reshape(parameters.shape[1], parameters.shape[1]),
        firsts,
        parameters,
        starts,
        evidence,
        some_states(data),
    )
