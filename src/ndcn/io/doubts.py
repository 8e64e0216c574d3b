"""Cells of a Dataset that look wrong, and gaps of single nodes, with names and dates and what is done about them."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from .._support.wording import counted
from ..data import MIN_SNAPSHOTS, Dataset, Trajectory, panel_of

LONG = 3  # snapshots in a row without a value that are worth a line


class Doubt(NamedTuple):
    """One thing that looks wrong: where, when, and what is done about it (``treated``: whether anything is)."""

    run: str
    feature: str
    node: str
    first: str
    last: str
    what: str
    held_out: bool
    treated: bool = False

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.run and f"run {self.run}", self.node, self.feature)))
        when = self.first if self.first == self.last else f"{self.first} to {self.last}"
        return f"{where}, {when}: {self.what}"


def doubts(data: Dataset, **reading: Any) -> tuple[Doubt, ...]:
    """All of a dataset; those that are held out first. ``reading`` are arguments of ``panel_of``, as ``kind``.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.io.doubts import doubts
        >>> x = 50.0 + np.arange(40.0)[:, None] % 5 + np.zeros(4)
        >>> x[20, 2] = -999.0
        >>> data = ndcn.Dataset((ndcn.Trajectory(times=np.arange(40.0), states=x, graph=ndcn.networks.grid(4)),))
        >>> print(doubts(data)[0])
        2, x, t = 20: -999 looks like a code for a missing value: held out
    """
    names = data.names or [""] * len(data.runs)
    found = [_of_run(data, run, name, reading) for run, name in zip(data.runs, names, strict=True)]
    return tuple(sorted(itertools.chain.from_iterable(found), key=lambda one: (not one.held_out, not one.treated)))


def _of_run(data: Dataset, run: Trajectory, name: str, reading: dict[str, Any]) -> list[Doubt]:
    rows = []
    for k, feature in enumerate(run.features):
        rows += [Doubt(name, feature, *gap) for gap in _gaps(data, run, k)]
        if len(run) < MIN_SNAPSHOTS:
            continue
        try:
            panel = panel_of(run, k, **reading)
        except (
            ValueError
        ):  # times too uneven for equal steps: a forecast is refused, and other models take them as they are
            continue
        times = panel.start + panel.step * np.arange(len(panel))
        for one in panel.outliers:
            first, last = _texts(data, times[[one.first, one.last]])
            node = "all nodes" if one.node is None else str(run.graph.nodes[one.node])
            rows.append(Doubt(name, feature, node, first, last, one.sentence, one.held_out, one.held))
    return rows


def _gaps(data: Dataset, run: Trajectory, feature: int) -> list[tuple[str, str, str, str, bool]]:
    """Nodes without a value for a while, or at all, while others had one; times at which no node had one."""
    seen, times = run.states[..., feature].isfinite().numpy(), run.times.numpy()
    rows = []
    for a, b in _runs(np.asarray(seen.any(axis=1))):
        first, last = _texts(data, times[[a, b - 1]])
        rows.append(("all nodes", first, last, f"no value at {counted(b - a, 'snapshot')}", False))
    seen, times = seen[seen.any(axis=1)], times[seen.any(axis=1)]
    for i in np.flatnonzero(~seen.all(axis=0)).tolist():
        node = str(run.graph.nodes[i])
        for a, b in _runs(seen[:, i]):
            first, last = _texts(data, times[[a, b - 1]])
            if b - a == len(times):
                rows.append((node, first, last, "never observed: stays empty in forecasts", False))
            elif b - a >= LONG:
                rows.append((node, first, last, f"no value at {b - a} snapshots", False))
    return rows


def _runs(seen: np.ndarray) -> list[tuple[int, int]]:
    """First and one after the last of each run of entries that are False."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], seen, [True]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _texts(data: Dataset, times: np.ndarray) -> list[str]:
    return [f"t = {t:.6g}" for t in times] if data.calendar is None else data.calendar.texts(times)
