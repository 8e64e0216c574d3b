"""Which run a page shows, on which graph, and what its times mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data import Dataset, Trajectory
from ..graph import Graph
from ..regressor import in_time_of, on_nodes_of

if TYPE_CHECKING:
    from ..data import Calendar
    from ..regressor import DynamicsRegressor


@dataclass(frozen=True)
class Shown:
    """What a page is about.

    Attributes:
        run: the data, with times counted as the model's; None without data.
        calendar: what times mean; None where they are numbers.
        two_files: whether the data were read from a file of edges and a file of states.
        graph: the network that is drawn.
        notes: what the reader has to know about the choice.
    """

    run: Trajectory | None
    calendar: Calendar | None
    two_files: bool
    graph: Graph
    notes: tuple[str, ...]


def shown_of(estimator: DynamicsRegressor, data: Trajectory | Dataset | None) -> Shown:
    """Of several runs the first, where predictions start; for a forecast the longest, which it was made from.

    A forecast that still has the data that it was made from needs none.
    """
    fitted = estimator.fitted_
    if data is None and fitted.ahead is not None:
        own = estimator.__dict__.get("data_")
        data = own if isinstance(own, (Trajectory, Dataset)) else None
    notes, calendar = [], estimator.calendar_
    run = data if isinstance(data, Trajectory) else None
    if isinstance(data, Dataset):
        lengths = [len(one) for one in data.runs]
        k = 0 if fitted.ahead is None else lengths.index(max(lengths))
        if len(lengths) > 1:
            name = data.names[k] if data.names else f"number {k + 1}"
            why = "the first" if fitted.ahead is None else "the longest"
            notes.append(f"One of {len(lengths)} runs is shown: {name}, {why}.")
        run, calendar = in_time_of(estimator, data.runs[k]), calendar or data.calendar
    if run is not None:
        run, strangers = on_nodes_of(estimator, run)
        notes += [f"{note[:1].upper()}{note[1:]}." for note in strangers]
    graphs, two_files = estimator.graphs_, calendar is not None or isinstance(data, Dataset)
    if graphs is None or len(graphs) < 2:
        return Shown(run, calendar, two_files, _placed(estimator.train_[0].graph, run), tuple(notes))
    goes = "; the prediction goes from graph to graph" if fitted.can.any_graph else ""
    notes.append(f"The network changes: the last of its {len(graphs)} graphs is drawn{goes}.")
    return Shown(run, calendar, two_files, _placed(graphs.last, run), tuple(notes))


def _placed(graph: Graph, run: Trajectory | None) -> Graph:
    """The graph with the positions of the data where it has none of its own."""
    if run is None or graph.positions is not None or run.graph.positions is None or run.graph.nodes != graph.nodes:
        return graph
    return graph.with_positions(run.graph.positions)
