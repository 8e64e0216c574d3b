"""Whether inputs are needed: a law in which they act beside one of the states alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from .._support.warn import warn
from ..data import Trajectory
from .doubts import warn_of_law
from .driven_discovery import find_driven
from .driven_node_discovery import find_driven_nodes
from .interaction import Interaction
from .result import FoundLaw


def with_inputs_if_needed(
    trajectories: Sequence[Trajectory], what: Interaction, seed: int, of_states: Callable[[], FoundLaw | None]
) -> FoundLaw | None:
    """A law in which inputs act, if the data have some that are needed; else what ``of_states`` finds."""
    inputs = trajectories[0].inputs
    if inputs is None:
        return of_states()
    if what.form == "free" or what.known is not None:
        why = "the free form has no inputs" if what.form == "free" else "a known law is corrected without inputs"
        warn(f"inputs are left aside: {why}")
        return of_states()
    driven = find_driven(trajectories, what, seed)
    if driven is not None and driven.evidence.explained:
        return driven
    # Inputs that help, and do not suffice, may act on nodes that differ.
    differing = None if driven is None else find_driven_nodes(trajectories, what, seed)
    if differing is not None:
        return differing
    with warnings.catch_warnings(record=True) as said:  # of a law that another may take the place of
        warnings.simplefilter("always")
        alone = of_states()
    if driven is None and (alone is None or not alone.evidence.explained):
        differing = find_driven_nodes(trajectories, what, seed)
    if differing is not None:
        return differing
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if driven is None or (alone is not None and (alone.evidence.explained or _nearer(alone, driven))):
        if alone is None:
            return None
        reason = f"{alone.evidence.reason}; {_unseen(trajectories, alone)}"
        return replace(alone, evidence=replace(alone.evidence, reason=reason))
    doubt = driven.doubt or f"leaves residuals of {driven.evidence.closed:.3g} times the noise"
    warn_of_law(doubt)
    return replace(driven, evidence=replace(driven.evidence, reason=f"{driven.evidence.reason}; it {doubt}"))


def _unseen(trajectories: Sequence[Trajectory], alone: FoundLaw) -> str:
    """What the data say of inputs that are in no law, in words."""
    each = [one.inputs for one in trajectories if one.inputs is not None]
    still = [name for name in each[0].names if all(one[name].constant for one in each)]
    moving = [name for name in each[0].names if name not in still]
    said = []
    if moving and alone.evidence.explained:
        said.append(f"no effect of the {_listed(moving)} is seen")
    elif moving:
        said.append(
            f"no law with the {_listed(moving)} is nearer to the data, which does not say that they have no effect"
        )
    if still:
        said.append(f"nothing can be said of the {_listed(still)}, constant all the time")
    return "; ".join(said)


def _listed(names: Sequence[str]) -> str:
    return f"input{'s' * (len(names) > 1)} {', '.join(names)}"


def _nearer(alone: FoundLaw, driven: FoundLaw) -> bool:
    """Whether a law without inputs leaves smaller residuals than one with them."""
    left = [value for value in (alone.evidence.closed, alone.evidence.free) if value is not None]
    return bool(left) and driven.evidence.closed is not None and min(left) < driven.evidence.closed
