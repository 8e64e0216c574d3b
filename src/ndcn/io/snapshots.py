"""From rows (node, time, values) to trajectories: one grid of times for all nodes, what is not there masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._support.wording import counted, short
from ..data import Trajectory
from ..graph import Graph
from .states import Observations

MOST_CELLS, MOST_EMPTY = 4 * 10**8, 5 * 10**7  # of a grid, and of one that is mostly empty
FEW = 0.05  # share of infinite values that are taken as missing without asking


@dataclass(frozen=True)
class Gridding:
    """What the user said about rows.

    Attributes:
        duplicates: of rows for the same node and time with different values: "error", or take the "mean", "first", "last".
        infinite: "auto" takes few infinite values as missing and refuses many; "missing" takes all so.
        step: times are rounded to multiples of it, and values that then share a time are averaged; None to keep times.
    """

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
    rows: Observations, node: np.ndarray, times: np.ndarray, graph: Graph, how: Gridding
) -> tuple[list[Trajectory], list[str], list[str]]:
    """A trajectory for each run, the names of the runs, and what was done.

    Args:
        rows: the observations.
        node: the place of each row's node in the graph, shape (N,).
        times: of each row, as numbers, shape (N,).
        graph: the graph.
        how: what the user said.

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
        whole = len(here) == len(times)
        grid = _grid(
            rows,
            here,
            node if whole else node[here],
            times if whole else times[here],
            values,
            features,
            graph,
            how,
            notes,
        )
        out.append(grid)
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
    if share > FEW and how.infinite != "missing":
        raise ValueError(
            f'{rows.title}: {where}; correct them, or take them as missing with infinite="missing" (--infinite missing)'
        )
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
        raise ValueError(
            f"{rows.title} has no value at all in {', '.join(map(repr, rows.features))}; all cells are missing"
        )
    return kept


def _unsorted(rows: Observations, node: np.ndarray, times: np.ndarray) -> bool:
    if len(times) < 2 or (times[1:] >= times[:-1]).all():
        return False
    order = np.argsort(node, kind="stable")
    later = (times[order][1:] < times[order][:-1]) & (node[order][1:] == node[order][:-1])
    return bool((later & (rows.run[order][1:] == rows.run[order][:-1])).any())


def _grid(
    rows: Observations,
    here: np.ndarray,
    node: np.ndarray,
    times: np.ndarray,
    values: np.ndarray,
    features: list[tuple[int, str]],
    graph: Graph,
    how: Gridding,
    notes: list[str],
) -> Trajectory:
    clock, step = np.unique(times, return_inverse=True)
    T, n, d = len(clock), graph.num_nodes, len(features)
    if T * n * d > (MOST_EMPTY if len(here) < T * n / 10 else MOST_CELLS):
        raise ValueError(
            f"{rows.title}: {T} different times for {n} nodes make {T * n * d:.2g} cells, too many "
            f"for {len(here)} rows; nodes observed at times of their own need common ones: round them with step= (--step)"
        )
    cell = step * n + node
    states = np.full((T * n, d), np.nan)
    for column, (k, _) in enumerate(features):
        value = values[here, k] if len(here) < len(values) else values[:, k]
        there = np.flatnonzero(~np.isnan(value))
        if len(there) < len(value):
            cells, value = cell[there], value[there]
        else:
            cells = cell
        seen = np.zeros(T * n, dtype=bool)
        seen[cells] = True
        if int(seen.sum()) == len(cells):
            states[cells, column] = value
        else:
            cells, value = _once(rows, here, there, cells, value, clock, graph, how, notes)
            states[cells, column] = value
    tensor = torch.from_numpy(states.reshape(T, n, d))
    return Trajectory(
        times=clock, states=tensor, graph=graph, mask=~tensor.isnan(), features=[name for _, name in features]
    )


def _once(
    rows: Observations,
    here: np.ndarray,
    there: np.ndarray,
    cells: np.ndarray,
    value: np.ndarray,
    clock: np.ndarray,
    graph: Graph,
    how: Gridding,
    notes: list[str],
) -> tuple[np.ndarray, np.ndarray]:
    """One value for each cell: equal ones once, different ones as asked for."""
    order = np.argsort(cells, kind="stable")
    cells, value = cells[order], value[order]
    begins = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    low, high = np.minimum.reduceat(value, begins), np.maximum.reduceat(value, begins)
    counts = np.diff(np.append(begins, len(cells)))
    differ = np.flatnonzero(low != high)
    if len(differ) and how.duplicates == "error":
        first = begins[differ[0]]
        two = [rows.place(int(here[there[order[first + j]]])) for j in (0, 1)]
        t, i = divmod(int(cells[first]), graph.num_nodes)
        label: Any = graph.nodes[i]
        raise ValueError(
            f"{rows.title}: {counted(len(differ), 'time')} of nodes with several different values, the first is node {short(label)} at t = "
            f'{clock[t]:g} ({two[0]} and {two[1]}); keep one row each, or say duplicates="mean" or "last" (--duplicates)'
        )
    again = int((counts > 1).sum())
    did = {"error": "equal rows count once", "mean": "their mean is taken"}.get(
        how.duplicates, f"the {how.duplicates} is taken"
    )
    if how.step is None:
        notes.append(f"{rows.title}: {counted(again, 'time')} of nodes more than once; {did}")
    if how.duplicates == "last":
        return cells[begins], value[begins + counts - 1]
    if how.duplicates == "mean":
        return cells[begins], np.where(low == high, low, np.add.reduceat(value, begins) / counts)
    return cells[begins], value[begins]
