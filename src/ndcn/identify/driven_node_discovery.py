"""From trajectories with inputs to a law in which these act and whose nodes differ."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..data import Trajectory
from ..laws import DrivenNodeForm, Equation, Formula, NodeClosedForm
from .clock import time_is_over
from .driven_discovery import LEAST_GAIN, NOISY_TOLERANCE, SURELY_NOISY, DrivenTask, driven_task, used_inputs
from .equation_fit import EXPLAINED_ROUNDING
from .interaction import Interaction
from .library import library, ranges_of
from .node_discovery import EVIDENCE, DifferingNodes, found_law, may_differ, with_none
from .node_driven import differing_driven
from .node_fit import NodeFit
from .node_noise import with_own_noise
from .node_pruning import without_these
from .node_relations import attributes_of, following
from .observations import CLEAN_BELOW, CLEAN_TOLERANCE, Observations, largest, observed, roughness_of
from .result import FoundLaw
from .stretches import doubt_in_noise


def find_driven_nodes(trajectories: Sequence[Trajectory], what: Interaction, seed: int) -> FoundLaw | None:
    """A law of one feature in which inputs act and numbers vary among nodes; None unless both are needed and it explains the data."""
    task = driven_task(trajectories, what, seed)
    if task is None or task.d > 1 or what.nodes == "same":
        return None
    rough = max(roughness_of(one) for one in trajectories)
    complete = all(one.mask is None for one in trajectories)
    for noisy in (False, True):
        if (rough < CLEAN_BELOW if noisy else rough >= SURELY_NOISY or not complete) or time_is_over():
            continue
        data = [observed(one, noisy=noisy) for one in trajectories]
        if not may_differ(data):
            return None
        if (found := _found(task, data, noisy=noisy)) is not None:
            return found
    return None


def _found(task: DrivenTask, data: Sequence[Observations], *, noisy: bool) -> FoundLaw | None:
    terms = library(task.names[:1], ranges_of(data[0].level.reshape(-1, 1)), task.what.terms, task.what.without)
    tolerance = (NOISY_TOLERANCE if noisy else CLEAN_TOLERANCE) * largest(data)
    fit = differing_driven(data, task.inputs, terms, task.names, tolerance, noisy=noisy)
    if fit is None or not fit.model.varying or not (acting := used_inputs(task, fit.model.equation.terms)):
        return None
    if noisy:
        fit = with_own_noise(fit)
    elif fit.excess >= EXPLAINED_ROUNDING:
        return None
    undriven, common = _undriven(task, fit), with_none(fit)
    without = float("inf") if undriven is None else undriven.score - fit.score
    alike = float("inf") if common is None else common.score - fit.score
    if without < LEAST_GAIN or alike < EVIDENCE:
        return None
    follows = following(fit, attributes_of(task.trajectories))
    doubt = doubt_in_noise(follows.fit) if noisy else None
    if doubt is not None:
        return None
    listed = " and ".join(task.inputs[0].names[k] for k in acting)
    also = f"; without the input{'s' * (len(acting) > 1)} {listed} BIC is {without:.3g} higher"
    different = DifferingNodes(follows, alike, doubt, noisy)
    nodes = task.trajectories[0].graph.nodes
    return found_law(different, data, task.names[:1], nodes, task.seed, made=functools.partial(_law, task), also=also)


def _undriven(task: DrivenTask, fit: NodeFit) -> NodeFit | None:
    """The same law without its input terms, fitted again."""
    driven = [k for k, term in enumerate(fit.model.equation.terms) if used_inputs(task, [term])]
    return None if len(driven) == len(fit.model.equation.terms) else without_these(fit, driven)


def _law(task: DrivenTask, equation: Equation, *numbers: Any) -> NodeClosedForm:
    """The law with the inputs that are in it; what varies, values and so on follow."""
    used = used_inputs(task, equation.terms)
    kept = (*task.names[:1], *(task.names[1 + k] for k in used))
    terms = tuple(replace(term, formula=Formula(term.formula.text, kept)) for term in equation.terms)
    drivers = [task.inputs[0].drivers[k] for k in used]
    return DrivenNodeForm(
        Equation(terms, equation.coefficients, len(kept)),
        *numbers,
        inputs={one.name: task.names[1 + k] for one, k in zip(drivers, used, strict=True)},
        per_node=[one.name for one in drivers if one.per_node],
    )
