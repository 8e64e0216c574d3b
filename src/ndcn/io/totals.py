"""Totals that stand among the nodes or below the rows of a table, and are neither nodes nor times."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .._support.wording import Urgent, short
from .column_names import is_total
from .states import Observations

FEWEST_TIMES = 3  # at which the sum must be seen
LIKE = 1e-6  # share of its size by which a sum may be off: it is written with fewer digits than its terms


def without_totals(rows: Observations, known: Collection[str]) -> Observations:
    """The rows without nodes that are the sum of all others, unless they are among the ``known`` nodes of the edges."""
    names = set(known)
    used = np.unique(rows.node).tolist()
    strangers = [code for code in used if rows.nodes[code] not in names]
    strangers.sort(key=lambda code: not is_total(rows.nodes[code]))
    if not strangers or len(used) < 3 or not (set(rows.nodes) & names):
        return rows
    steps = np.unique(rows.time.values, return_inverse=True)[1].ravel()
    cell = rows.run.astype(np.int64) * (int(steps.max()) + 1) + steps
    for code in strangers[:5]:  # a total among many strangers is named so, and comes first
        name = short(rows.nodes[code])
        if _adds_up(rows, cell, code):
            return _without(rows, code, f"{name} is the sum of all others and no node of the edges; it is left out")
        if is_total(rows.nodes[code]):
            said = f"{rows.title}: {name} is not the sum of the others, and stays in as a node without edges"
            return replace(rows, notes=(*rows.notes, said))
    return rows


def _without(rows: Observations, code: int, why: str) -> Observations:
    kept, place = np.flatnonzero(rows.node != code), rows.place
    return replace(
        rows,
        node=rows.node[kept],
        time=replace(rows.time, values=rows.time.values[kept]),
        run=rows.run[kept],
        values=rows.values[kept],
        notes=(*rows.notes, Urgent(f"{rows.title}: {why}")),
        place=lambda row: place(int(kept[row])),
    )


def _adds_up(rows: Observations, cell: np.ndarray, code: int) -> bool:
    """Whether a node is the sum of the others wherever it was observed, in every feature; ``cell`` numbers run and time."""
    own = rows.node == code
    for values in rows.values.T:
        there = np.isfinite(values)
        size = int(cell.max()) + 1
        total = np.full(size, np.nan)
        total[cell[own & there]] = values[own & there]
        sums = np.bincount(cell[~own & there], values[~own & there], minlength=size)
        scale = np.bincount(cell[~own & there], np.abs(values[~own & there]), minlength=size)
        seen = np.isfinite(total) & (scale > 0)
        if int(seen.sum()) < FEWEST_TIMES or (np.abs(total - sums)[seen] > LIKE * scale[seen]).any():
            return False
    return True
