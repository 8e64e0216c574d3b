"""A model that was fitted as the law that is told: with its errors, posterior samples, and what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from .._support.warn import warn
from ..data import Trajectory
from ..laws import Equation, FreeModel, law_of
from .doubts import doubt_of_numbers, told_if_rough, warn_of_law
from .equation_fit import EXPLAINED_EXCESS, FittedEquation
from .form_choice import POOR_MISFIT
from .interaction import Interaction
from .library import formula_names
from .nodes_or_not import not_told_apart
from .observations import Observations, some_states
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, residual_variance, standard_errors
from .result import Evidence, FoundLaw
from .shooting_fit import ShotFit
from .trajectory_fit import TrajectoryFit, posterior_samples
from .trajectory_system import HUBER


@dataclass(frozen=True)
class Task:
    """What is to be found, and where."""

    trajectories: Sequence[Trajectory]
    what: Interaction
    seed: int

    @property
    def features(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.trajectories[0].features)


def found_law_of(
    task: Task,
    data: Sequence[Observations],
    model: Equation | FreeModel,
    covariance: torch.Tensor,
    samples: torch.Tensor,
    initial: tuple[list[torch.Tensor], list[torch.Tensor] | None],
    evidence: Evidence,
    normal: torch.Tensor,
) -> FoundLaw:
    """The result; ``initial`` has the initial states and posterior samples of them, ``normal`` (P, P) the normal equations."""
    known = task.what.known
    doubt = doubt_of_numbers(task.trajectories, model, normal)
    if doubt is not None:
        evidence = replace(evidence, reason=f"{evidence.reason}; {doubt}", explained=False)
    asked = known is None and task.what.nodes != "same" and not evidence.explained
    if asked and (why := not_told_apart(data)) is not None:
        evidence = replace(evidence, reason=f"{evidence.reason}; whether nodes differ cannot be told: {why}")
        if task.what.nodes == "differ":
            warn(f"nodes are taken as alike, because whether they differ cannot be told: {why}")
    if known is not None:
        reason = f"with {type(known).__name__} as the known law, {evidence.reason}"
        if isinstance(model, Equation) and not model.terms:
            reason += "; nothing was left to correct"
        evidence = replace(evidence, reason=reason)
    names = formula_names(task.features) if isinstance(model, Equation) else task.features
    law = law_of(model, names, known)
    return FoundLaw(law, covariance, standard_errors(covariance), samples, *initial, evidence, some_states(data))


def closed_law(task: Task, data: Sequence[Observations], closed: FittedEquation) -> FoundLaw:
    """A formula fitted to shots; one that does not explain them comes with a warning."""
    explained = closed.explains()
    missed = f"{closed.fit.excess:.2g} times the rounding"
    reason = f"the closed form explains every snapshot from the one before to {missed}"
    if not explained:
        reason = (
            f"{'a closed form was requested' if task.what.form == 'closed' else 'this is the best closed form'}; it misses snapshots by {missed}, so it is not the whole law: "
            f'{"in one process " * data[0].network.in_parts}form="free" (--model free_form) follows the data better'
        )
        warn(reason)
    noise = tuple(data[0].measured.share.tolist())
    evidence = Evidence("closed", reason, noise, closed.fit.excess, None, str(closed.equation), explained)
    return law_of_shots(task, data, closed.fit, evidence)


def free_law(task: Task, data: Sequence[Observations], free: ShotFit, closed: FittedEquation | None) -> FoundLaw:
    """Splines fitted to shots, and what the best formula missed."""
    reason = "the free form was requested"
    if task.what.form != "free":
        best = "" if closed is None else f" (the best misses them by {closed.fit.excess:.2g} times the rounding)"
        also = f"the free form misses them by {free.excess:.2g} times"
        reason = f"no closed form of the library explains the snapshots{best}; {also}"
    if free.misfit > POOR_MISFIT:
        warn_of_law(f"misses typical snapshots by {100 * free.misfit:.2g} % of the way from the one before")
    noise = tuple(data[0].measured.share.tolist())
    formula = (None, None) if closed is None else (closed.fit.excess, str(closed.equation))
    explained = free.lost == 0 and free.excess < EXPLAINED_EXCESS
    evidence = Evidence("free", reason, noise, formula[0], free.excess, formula[1], explained)
    return law_of_shots(task, data, free, evidence)


def law_of_shots(task: Task, data: Sequence[Observations], fit: ShotFit, evidence: Evidence) -> FoundLaw:
    """The initial states are the first snapshots, which are known."""
    assert isinstance(fit.model, (Equation, FreeModel))
    precision = fit.normal + (0 if fit.ridge is None else fit.ridge * fit.count)
    covariance = residual_variance(fit) * pseudo_inverse(precision)
    samples = normal_samples(fit.model.parameters, covariance, task.seed)
    initial = [one.states[0, : one.counted] for one in data]
    return found_law_of(task, data, fit.model, covariance, samples, (initial, None), evidence, fit.normal)


def law_along(task: Task, data: Sequence[Observations], fitted: TrajectoryFit, evidence: Evidence) -> FoundLaw:
    """A fit along whole trajectories, with their initial states."""
    assert isinstance(fitted.model, (Equation, FreeModel))
    samples, initial_samples = posterior_samples(fitted, POSTERIOR_SAMPLES, task.seed)
    evidence = told_if_rough(evidence, data, fitted.model, samples)
    robust = fitted.excess > HUBER  # information that counts large residuals less does not tell their size
    covariance = torch.cov(samples.T) if evidence.form == "free" or robust else fitted.covariance()
    covariance = covariance.reshape(samples.shape[1], samples.shape[1])
    initial = [problem.x0 for problem in fitted.problems]
    return found_law_of(
        task, data, fitted.model, covariance, samples, (initial, initial_samples), evidence, fitted.normal
    )
