"""Inputs on their way into models: which data may be learned from, and which inputs a prediction takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._support.warn import warn
from ..data import Calendar, Inputs, Trajectory
from ..io import read_inputs
from .query import Query

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor
    from .kind import Fitted, Kind


def driven_data(trajectories: list[Trajectory], kind: Kind, model: object) -> list[Trajectory]:
    """The trajectories, with inputs where the model can use them, which then are the same in all.

    Raises:
        ValueError: some have inputs and others do not, or others.
    """
    every = {None if one.inputs is None else one.inputs.names for one in trajectories}
    if every == {None}:
        return trajectories
    if not kind.can.inputs:
        warn(
            f"{kind.subject(model)} does not use inputs: {', '.join(_names(trajectories))} {'is' if len(_names(trajectories)) == 1 else 'are'} "
            'left aside; model="ndcn" and "interaction" use them'
        )
        return [one.replaced(inputs=None) for one in trajectories]
    if len(every) > 1:
        known = "; ".join(sorted("none" if names is None else ", ".join(names) for names in every))
        raise ValueError(f"all runs must have the same inputs, in one order, and these have {known}")
    for one in trajectories[0].inputs.drivers if trajectories[0].inputs is not None else ():
        same = [t.inputs[one.name] for t in trajectories if t.inputs is not None]
        if all(driver.constant and driver.values[0, 0] == one.values[0, 0] for driver in same):
            warn(f"the input {one.name!r} is constant: nothing can be learned about its effect")
    return trajectories


def _names(trajectories: Sequence[Trajectory]) -> list[str]:
    return list(dict.fromkeys(name for one in trajectories if one.inputs is not None for name in one.inputs.names))


def driven_query(fitted: Fitted, query: Query, inputs: Any, calendar: Calendar | None) -> Query:
    """The query with the inputs that the model takes: those of training, and from the first time of ``inputs`` on those.

    Raises:
        ValueError: the model takes none, or they are not known until the last time asked for.
    """
    trained = fitted.initial[0].inputs
    if not fitted.takes:
        if inputs is not None and trained is None:
            raise ValueError("this model was fitted without inputs, and does not use any: drop inputs")
        return query
    first = query.first_graph
    same = trained is not None and trained.num_nodes in (None, first.num_nodes)
    if inputs is None and not same:
        raise ValueError(
            f"the input {', '.join(fitted.takes)} has values for each node, and the nodes are others here: give inputs=ndcn.Inputs(...) for them"
        )
    if inputs is not None and not isinstance(inputs, Inputs):
        how = {} if trained is None else {one.name: one.between for one in trained.drivers}
        inputs = read_inputs(inputs, first.nodes, calendar, between=how).inputs
    whole = trained if inputs is None else inputs
    if inputs is not None and trained is not None and same:
        strange = [name for name in inputs.names if name not in trained.names]
        if strange:
            raise ValueError(
                f"the model was fitted with the inputs {', '.join(trained.names)}, and {strange[0]!r} is none"
            )
        whole = trained.then(inputs)
    assert whole is not None
    if absent := [name for name in fitted.takes if name not in whole.names]:
        raise ValueError(f"the model takes the inputs {', '.join(fitted.takes)}, and {', '.join(absent)} is not given")
    taken = whole.only(fitted.takes)
    taken.check_nodes(first.num_nodes)
    last = max(float(query.times.max()), query.t0)
    try:
        taken.check(query.t0, last, calendar, "the times asked for")
    except ValueError as error:
        raise ValueError(
            f"{error}. Pass them, predict(times, inputs=ndcn.Inputs(...)) (--inputs FILE), or predict less far"
        ) from None
    return replace(query, inputs=taken)


def inputs_of_run(estimator: DynamicsRegressor, run: Trajectory | None) -> Inputs | None:
    """Those of a run that a model is judged on, if it takes any."""
    return run.inputs if run is not None and estimator.fitted_.takes else None
