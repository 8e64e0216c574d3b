"""How well a model predicts data: which snapshots it was trained on, and its errors on them and on the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from .._support.wording import counted, some
from ..data import Dataset, Inputs, Trajectory, metrics, time_text
from ..graph import Graph
from .driving import inputs_of_run
from .fitting import runs_in

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

PARTS = ("train", "interpolation", "extrapolation")
Scores = dict[str, "float | int | None"]


class Parts(NamedTuple):
    """Which snapshots of some data are of which kind, each of shape (T,), and where a prediction of them starts.

    ``x0`` is the first state of data that start from another state than the training data; then no snapshot counts as
    trained on, and the first, which is given, counts as nothing. Otherwise it is None.
    """

    train: torch.Tensor
    interpolation: torch.Tensor
    extrapolation: torch.Tensor
    x0: torch.Tensor | None


def parts_of(estimator: DynamicsRegressor, truth: Trajectory) -> Parts:
    """Snapshots trained on; others up to the last training time (interpolation) and after it (extrapolation).

    Raises:
        ValueError: the data live on another graph, or have other features.
    """
    start, times = estimator.train_[0], trained_times(estimator)
    _check_features(estimator, truth)
    graph = _own_graph(estimator)
    if truth.graph != graph:
        raise ValueError(
            f"the data live on another graph ({truth.graph!r}) than the model was trained on ({graph!r}); "
            "`ndcn predict --data` predicts on another graph"
        )
    gaps = torch.cat([times.diff(), truth.times.diff()])
    near = 1e-6 * gaps.min().item()  # far less than what lies between any two snapshots
    trained = ((truth.times[:, None] - times[None, :]).abs() <= near).any(dim=1)
    after, scored, x0 = truth.times > times[-1], torch.ones(len(truth), dtype=torch.bool), None
    if abs(truth.times[0].item() - start.t0) <= near and _starts_elsewhere(truth, start.first):
        x0, scored[0], trained = truth.first_state(), False, torch.zeros_like(trained)
    return Parts(trained, ~trained & ~after & scored, ~trained & after & scored, x0)


def trained_times(estimator: DynamicsRegressor) -> torch.Tensor:
    """When the first training trajectory was observed; of data cut where the graph changes, all their times."""
    starts = estimator.train_
    return torch.cat([start.times for start in starts]).unique() if _changes(estimator) else starts[0].times


def _own_graph(estimator: DynamicsRegressor) -> Graph:
    """The graph that the model was trained on; where it changes, the last."""
    graphs = estimator.graphs_
    return graphs.last if graphs is not None and _changes(estimator) else estimator.train_[0].graph


def _changes(estimator: DynamicsRegressor) -> bool:
    return estimator.graphs_ is not None and len(estimator.graphs_) > 1 and estimator.fitted_.can.any_graph


def in_time_of(estimator: DynamicsRegressor, run: Trajectory) -> Trajectory:
    """A run, with its times counted as those of the model where both have dates."""
    own, theirs = estimator.calendar_, run.calendar
    if theirs is None or own is None or own == theirs:
        return run
    times = own.from_other(theirs, run.times.numpy())
    if times.min() < 0:
        raise ValueError(
            f"the data begin at {theirs.text(run.times.min().item())}, before those of the model, {own.text(0.0)}"
        )
    inputs = None if run.inputs is None else run.inputs.on_clock(theirs, own)
    return run.replaced(times=torch.as_tensor(times, dtype=torch.float64), calendar=own, inputs=inputs)


def on_nodes_of(estimator: DynamicsRegressor, run: Trajectory) -> tuple[Trajectory, list[str]]:
    """A run on the model's nodes, in their order: its other nodes are left out, nodes that it lacks are missing.

    Returns:
        The run, on the model's own graph where nodes differ, and notes that name them. Nodes without names are left as
        they are.

    Raises:
        ValueError: no node is in both.
    """
    graph = _own_graph(estimator)
    own, theirs = graph.nodes, run.graph.nodes
    if isinstance(own, range) or isinstance(theirs, range) or list(own) == list(theirs):
        return run, []
    place = {node: k for k, node in enumerate(theirs)}
    absent, strange = [n for n in own if n not in place], [n for n in theirs if n not in set(own)]
    if len(absent) == len(own):
        raise ValueError(f"no node is in both: the model has {some(list(own))}, the data have {some(list(theirs))}")
    order = [place.get(node, -1) for node in own]
    states = torch.where(torch.tensor(order)[None, :, None] >= 0, run.states[:, order], torch.nan)
    if not absent and not strange:
        links = run.graph.to_scipy()[order][:, order]
        graph = run.graph.with_adjacency(links, keep=order)
    if run.graph.positions is not None:
        places = np.where(np.array(order)[:, None] >= 0, run.graph.positions[order], np.nan)
        graph = graph.with_positions(places if graph.positions is None else _filled(places, graph.positions))
    notes = [
        f"{counted(len(strange), 'node')} of the data {_are(strange)} unknown to the model and left out: {some(strange)}"
    ]
    notes += [f"{counted(len(absent), 'node')} of the model {_are(absent)} not in the data: {some(absent)}"]
    same: dict[str, Any] = {"times": run.times, "features": run.features, "calendar": run.calendar}
    ordered = bool((run.times.diff() > 0).all())
    moved = Trajectory(
        states=states, mask=~states.isnan(), graph=graph, ordered=ordered, inputs=_of_nodes(run, order), **same
    )
    return moved, [note for note, names in zip(notes, (strange, absent), strict=True) if names]


def _of_nodes(run: Trajectory, order: list[int]) -> Inputs | None:
    """Inputs of the model's nodes, by their places in the run; ValueError where a node without one would need it."""
    if run.inputs is None or run.inputs.num_nodes is None:
        return run.inputs
    if -1 in order:
        names = ", ".join(one.name for one in run.inputs.drivers if one.per_node)
        raise ValueError(
            f"the data lack nodes of the model, and with them their input {names}, which each node has for itself: give it for all nodes"
        )
    return run.inputs.of_nodes(torch.tensor(order))


def _filled(places: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Places of the data, and those of the model where the data have none."""
    return np.where(np.isnan(places), others, places)


def _are(names: list[Any]) -> str:
    return "is" if len(names) == 1 else "are"


def check_forecast_data(estimator: DynamicsRegressor, truth: Trajectory) -> None:
    """Refuse data of other nodes or features than the forecast was made for."""
    _check_features(estimator, truth)
    if truth.graph.nodes != estimator.train_[0].graph.nodes:
        raise ValueError("the data have other nodes than the forecast was made for")


def _check_features(estimator: DynamicsRegressor, truth: Trajectory) -> None:
    own = estimator.train_[0].features
    if truth.features != own:
        found = ", ".join(truth.features)
        raise ValueError(f"the data have the features {found}, the model was trained on {', '.join(own)}")


def scores(prediction: Trajectory, truth: Trajectory, inside: torch.Tensor) -> Scores | None:
    """Errors over some of the snapshots, shape (T,); None if nothing was observed there."""
    seen = inside if truth.mask is None else inside & truth.mask.any(dim=2).any(dim=1)
    if not seen.any():
        return None
    guess, real = prediction[seen], truth[seen]
    nonzero = bool((real.states.nan_to_num(0.0) != 0).any())
    return {
        "normalized_l1": metrics.normalized_l1(guess, real) if nonzero else None,
        "l1": metrics.l1(guess, real),
        "rmse": metrics.rmse(guess, real),
        "snapshots": len(real),
    }


def _starts_elsewhere(truth: Trajectory, x0: torch.Tensor) -> bool:
    """Whether the first state of the data is another than that in which training began."""
    seen = truth.states[0]
    return not (torch.isclose(seen.double(), x0.double(), rtol=1e-5, atol=1e-6) | seen.isnan()).all()


def check_scored_times(estimator: DynamicsRegressor, run: Trajectory) -> None:
    """Refuse to score a forecast on snapshots that it was made from."""
    ahead = estimator.fitted_.ahead
    if ahead is None:
        return
    seen = run.times <= ahead.start + 1e-6 * ahead.step
    if seen.any():
        last, after = time_text(ahead.start, estimator.calendar_), int((~seen).sum())
        what = (
            "all of these are older"
            if not after
            else f"{after} of these are later: give them alone, as run[{int(seen.sum())}:]"
        )
        raise ValueError(
            f"a forecast says nothing about the snapshots that it was made from, up to {last}, so that only later ones can be "
            f"scored; {what}. ndcn.backtest(data) judges it in the past, reg.evaluate(data) by what came later"
        )


def score_of_runs(estimator: DynamicsRegressor, runs: Sequence[Trajectory | Dataset]) -> float:
    """R^2 over runs that were not trained on, each predicted from its own first state, which is not scored.

    Raises:
        TypeError: it is no list of runs.
        ValueError: the model cannot start from another state, a run has one snapshot, or nothing varies.
    """
    fitted, every = estimator._fitted(), list(runs_in(runs))
    if not every or not all(isinstance(run, Trajectory) for run in every):
        raise TypeError("score needs an ndcn.Trajectory, a Dataset or a list of trajectories")
    if not (fitted.can.any_start and fitted.can.any_graph):
        raise ValueError(f"other runs start from other states, and {fitted.stays}; ndcn.backtest judges such models")
    if any(len(run) < 2 for run in every):
        raise ValueError("a run of one snapshot has nothing to score: its first state is given")
    errors, truths = [], []
    for run in every:
        _check_features(estimator, run)
        where: dict[str, Any] = {"graph": run.graph, "x0": run.first_state(), "t0": run.times[0].item()}
        guess = estimator.predict(run.times[1:], **where, inputs=inputs_of_run(estimator, run))
        truth = run.states[1:].detach().cpu().double()
        errors.append((guess.states.cpu().double() - truth).flatten(0, 1))
        truths.append(truth.flatten(0, 1))
    error, true = torch.cat(errors), torch.cat(truths)
    spread = (true - true.nanmean(dim=0)).square().nansum().item()
    if spread == 0:
        raise ValueError("the true states do not vary, so R^2 is not defined; use metrics.l1 or metrics.rmse")
    return 1 - error.square().nansum().item() / spread
