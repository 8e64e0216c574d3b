"""From rows (node, time, values) to snapshots: one grid of times for all nodes, missing entries masked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from .._support.wording import counted, short
from ..data import Calendar, Trajectory
from ..graph import Graph
from .refusals import refuse
from .states import Observations

MOST_CELLS = 4 * 10**8  # of a grid: 3.2 GB of float64
MOST_EMPTY = 5 * 10**7  # of a grid that is mostly empty, 0.4 GB: nodes observed at times of their own
MOST_INFINITE = 0.05  # share of infinite values that are taken as missing without asking: single faults of a sensor


@dataclass(frozen=True)
class Gridding:
    """What the user said about rows: the arguments of ``read`` with these names."""

    duplicates: str = "error"
    infinite: str = "auto"
    step: float | None = None

    def __post_init__(self) -> None:
        if self.duplicates not in ("error", "mean", "first", "last"):
            raise ValueError(f'duplicates must be "error", "mean", "first" or "last", got {self.duplicates!r}')
        if self.infinite not in ("auto", "missing"):
            raise ValueError(f'infinite must be "auto" or "missing", got {self.infinite!r}')
        if self.step is not None and not (np.isfinite(self.step) and self.step > 0):
            raise ValueError(f"step must be a positive number in the unit of time, got {self.step!r}")


def trajectories(
    rows: Observations,
    node: np.ndarray,
    times: np.ndarray,
    graph: Graph,
    how: Gridding,
    calendar: Calendar | None = None,
) -> tuple[list[Trajectory], list[str], list[str]]:
    """A trajectory for each run, the names of the runs, and what was done.

    ``node`` is the position of each row's node in the graph, ``times`` its time as a number, both of shape (N,); the calendar says
    what times mean in messages.

    Raises:
        ValueError: different values for the same node and time, too many infinite values, too large a grid.
    """
    notes: list[str] = []
    values = _finite(rows, how, notes)
    features = _features(rows, values, notes)
    if how.step is not None:
        times = np.round(times / how.step) * how.step
        notes.append(f"times are rounded to multiples of {how.step:g}; values that then share a time are averaged")
        how = Gridding("mean" if how.duplicates == "error" else how.duplicates, how.infinite)
    elif _unsorted(rows, node, times):
        notes.append(f"{rows.title}: rows are not in order of time; they are sorted")
    out, names = [], []
    for k, run in enumerate(rows.runs):
        here = np.arange(len(times)) if len(rows.runs) == 1 else np.flatnonzero(rows.run == k)
        if not len(here):
            continue
        cut = slice(None) if len(here) == len(times) else here  # no copy of a single run
        grid = _Grid(rows, here, node[cut], times[cut], graph, how, notes, calendar)
        out.append(grid.trajectory(values[cut], features))
        names.append(run)
    if len(out) > 1:
        notes.append(f"{rows.title}: {len(out)} runs, of {min(map(len, out))} to {max(map(len, out))} snapshots")
    return out, names if len(out) > 1 else [], list(dict.fromkeys(notes))


def _finite(rows: Observations, how: Gridding, notes: list[str]) -> np.ndarray:
    values = rows.values
    infinite = np.isinf(values)
    count = int(infinite.sum())
    if not count:
        return values
    row, k = (int(part[0]) for part in np.nonzero(infinite))
    share = count / max(1, int((~np.isnan(values)).sum()))
    where = f"{counted(count, 'value')} ({100 * share:.2g} %) infinite, the first at {rows.place(row)}, {rows.features[k]!r}"
    if share > MOST_INFINITE and how.infinite != "missing":
        remedy = 'correct them, or take them as missing with infinite="missing" (--infinite missing)'
        refuse(f"{rows.title}: {where}; {remedy}")
    notes.append(f"{rows.title}: {where}; they are taken as missing")
    return np.where(infinite, np.nan, values)


def _features(rows: Observations, values: np.ndarray, notes: list[str]) -> list[tuple[int, str]]:
    """Columns with any value, under names that a trajectory can have."""
    kept: list[tuple[int, str]] = []
    for k, name in enumerate(rows.features):
        if np.isnan(values[:, k]).all():
            notes.append(f"{rows.title}: {name!r} has no value at all and is left out")
            continue
        new = name
        while new in ("time", "node") or any(new == other for _, other in kept):
            new += "_"
        if new != name:
            notes.append(f"{rows.title}: values {name!r} are called {new!r}")
        kept.append((k, new))
    if not kept:
        names = ", ".join(map(repr, rows.features))
        raise ValueError(f"{rows.title} has no value at all in {names}; all cells are missing")
    return kept


def _unsorted(rows: Observations, node: np.ndarray, times: np.ndarray) -> bool:
    if len(times) < 2 or (times[1:] >= times[:-1]).all():
        return False
    order = np.argsort(node, kind="stable")
    later = (times[order][1:] < times[order][:-1]) & (node[order][1:] == node[order][:-1])
    return bool((later & (rows.run[order][1:] == rows.run[order][:-1])).any())


@dataclass
class _Grid:
    """One run on a grid of its times and all nodes."""

    rows: Observations
    here: np.ndarray  # which of the rows are of this run, shape (M,)
    node: np.ndarray  # the position of each one's node in the graph, shape (M,)
    times: np.ndarray  # of each, shape (M,)
    graph: Graph
    how: Gridding
    notes: list[str]  # what was done; more is added
    calendar: Calendar | None = None

    def trajectory(self, values: np.ndarray, features: list[tuple[int, str]]) -> Trajectory:
        """The columns ``features`` (position, name) of ``values``, shape (M, d), on the grid."""
        clock, step = np.unique(self.times, return_inverse=True)
        T, n, d = len(clock), self.graph.num_nodes, len(features)
        if T * n * d > (MOST_EMPTY if len(self.here) < T * n / 10 else MOST_CELLS):
            raise ValueError(
                f"{self.rows.title}: {T} different times for {n} nodes make {T * n * d:.2g} cells, too many "
                f"for {len(self.here)} rows; nodes observed at times of their own need common ones: round them with step= (--step)"
            )
        cell = step * n + self.node
        states = np.full((T * n, d), np.nan)
        for column, (k, _) in enumerate(features):
            gaps = np.isnan(values[:, k])
            there = np.flatnonzero(~gaps) if gaps.any() else slice(None)
            cells, value = cell[there], values[there, k]
            seen = np.zeros(T * n, dtype=bool)
            seen[cells] = True
            if int(seen.sum()) < len(cells):
                cells, value = self._once(self.here[there], cells, value, clock)
            states[cells, column] = value
        tensor = torch.from_numpy(states.reshape(T, n, d))
        names = [name for _, name in features]
        return Trajectory(times=clock, states=tensor, graph=self.graph, mask=~tensor.isnan(), features=names)

    def _once(
        self, rows: np.ndarray, cells: np.ndarray, value: np.ndarray, clock: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """One value for each cell: equal ones once, different ones as the user said."""
        order = np.argsort(cells, kind="stable")
        cells, value, title = cells[order], value[order], self.rows.title
        begins = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
        low, high = np.minimum.reduceat(value, begins), np.maximum.reduceat(value, begins)
        counts = np.diff(np.append(begins, len(cells)))
        differ = np.flatnonzero(low != high)
        duplicates = self.how.duplicates
        if len(differ) and duplicates == "error":
            first = begins[differ[0]]
            two = [self.rows.place(int(rows[order[first + j]])) for j in (0, 1)]
            t, i = divmod(int(cells[first]), self.graph.num_nodes)
            when = f"t = {clock[t]:g}" if self.calendar is None else self.calendar.texts(clock[t : t + 1])[0]
            refuse(
                f"{title}: {counted(len(differ), 'pair')} of node and time with several different values, the first is node "
                f"{short(self.graph.nodes[i])} at {when} ({two[0]} and {two[1]}); keep one row each, or say "
                'duplicates="mean" or "last" (--duplicates)'
            )
        done = {"error": "equal rows count once", "mean": "their mean is taken"}
        how = done.get(duplicates, f"the {duplicates} is taken")
        again = counted(int((counts > 1).sum()), "pair")
        self.notes.append(f"{title}: {again} of node and time listed more than once; {how}")
        if duplicates == "last":
            return cells[begins], value[begins + counts - 1]
        if duplicates == "mean":
            return cells[begins], np.where(low == high, low, np.add.reduceat(value, begins) / counts)
        return cells[begins], value[begins]
