"""Dataset: what was read from a file of edges and a file of states."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.wording import some
from ..graph import GraphSequence
from .calendar import Calendar
from .html import dataset_html
from .trajectory import NO_ARRAY, Trajectory


@dataclass(frozen=True)
class Dataset:
    """Runs X(t) on one network, or on one that changes, with what their times mean.

    Args:
        runs: a trajectory for each run, all on the same nodes; missing entries are masked.
        names: what the runs are called.
        calendar: how times become dates; None where they are numbers.
        graphs: the graph at each time, if it changes; then each run has the last one as its ``graph``.
        notes: what was understood and done, in plain sentences.
        reading: arguments that ``ndcn.read`` was given besides the files; models keep them.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([("a", "b")])
        >>> run = ndcn.Trajectory(times=[0.0, 1.0], states=torch.rand(2, 2), graph=pair)
        >>> ndcn.Dataset((run,)).trajectory is run
        True
    """

    runs: tuple[Trajectory, ...]
    names: tuple[str, ...] = ()
    calendar: Calendar | None = None
    graphs: GraphSequence | None = None
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("a Dataset needs at least one run")
        nodes, features = self.runs[0].graph.nodes, self.runs[0].features
        if any(run.graph.nodes != nodes or run.features != features for run in self.runs):
            raise ValueError("the runs of a Dataset must have the same nodes and features")
        if self.graphs is not None and self.graphs.last.nodes != nodes:
            raise ValueError("the graphs of a Dataset must have the nodes of its runs")
        if self.calendar is not None and any(run.calendar is None for run in self.runs):
            object.__setattr__(self, "runs", tuple(_dated(run, self.calendar) for run in self.runs))
        if self.names and len(self.names) != len(self.runs):
            raise ValueError(f"{len(self.names)} names were given for {len(self.runs)} runs")

    @property
    def trajectory(self) -> Trajectory:
        """The run, where there is exactly one.

        Raises:
            ValueError: there are several.
        """
        if len(self.runs) > 1:
            raise ValueError(f"there are {len(self.runs)} runs, not one: use .runs, or .pieces() to learn from all")
        return self.runs[0]

    def pieces(self) -> list[Trajectory]:
        """The runs, cut where the graph changes, each piece with its own graph.

        Neighbouring pieces share the snapshot at their boundary: that at the time of the change, or else the next one
        after it. A piece of a single snapshot, which shows no dynamics, is left out (unless nothing else is there).
        """
        if self.graphs is None:
            return list(self.runs)
        pieces = []
        for run in self.runs:
            times = run.times.numpy()
            # the graph that holds from each snapshot on
            held = np.maximum(np.searchsorted(self.graphs.times.numpy(), times, side="right") - 1, 0)
            bounds = [0, *(np.flatnonzero(np.diff(held)) + 1).tolist(), len(times) - 1]
            for first, last in [(a, b) for a, b in itertools.pairwise(bounds) if b > a] or [(0, len(times) - 1)]:
                pieces.append((run[first : last + 1], self.graphs.graphs[int(held[first])]))
        return [run.replaced(graph=graph) for run, graph in pieces]

    def __repr__(self) -> str:
        runs = f"{len(self.runs)} runs, the first " if len(self.runs) > 1 else ""
        dates = "" if self.calendar is None else f", {self.calendar}"
        graphs = "" if self.graphs is None else f", {len(self.graphs)} graphs in turn"
        return f"Dataset({runs}{self.runs[0]!r} on {self.runs[0].graph!r}{dates}{graphs})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(NO_ARRAY)

    def _repr_html_(self) -> str:
        return dataset_html(self)


def _dated(run: Trajectory, calendar: Calendar) -> Trajectory:
    """A run that knows what its times mean."""
    out = copy.copy(run)
    out.calendar = calendar
    return out


def one_run(data: Any, what: str) -> Trajectory:
    """The run of what was given: a trajectory itself, or the only run of a dataset.

    Args:
        data: a ``Trajectory``, or a ``Dataset`` with one run.
        what: what is done with it, for messages, as "a forecast".

    Raises:
        TypeError: it is neither.
        ValueError: a dataset with several runs.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([("a", "b")])
        >>> run = ndcn.Trajectory(times=[0.0, 1.0], states=torch.rand(2, 2), graph=pair)
        >>> one_run(ndcn.Dataset((run,)), "a forecast") is run
        True
    """
    if isinstance(data, Trajectory):
        return data
    if not isinstance(data, Dataset):
        raise TypeError(f"expected an ndcn.Trajectory or a Dataset, got {type(data).__name__}")
    if len(data.runs) > 1:
        names = f" ({some(data.names)})" if data.names else ""
        raise ValueError(
            f"{what} needs one run, and these data have {len(data.runs)}{names}: give one, as data.runs[0]"
        )
    return data.runs[0]
