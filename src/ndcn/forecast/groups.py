"""Forecasts of groups of nodes: values that add up exactly, and intervals from the past errors of the sums themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse

from .._support.wording import counted, some
from ..data import checked_times
from ..io import GroupTable, read_groups
from .rounding import Ticks, outward

if TYPE_CHECKING:
    from .result import Forecast

TOTAL, EVERY = "total", "all nodes"  # the level of the sum over all nodes, and its name


@dataclass(frozen=True)
class Sums:
    """Values of nodes with six digits and their sums over groups, which are exact in the digits shown.

    Nodes are rounded to six digits and held as whole numbers of the smallest unit (``Ticks``), in which they are added up. Where a
    rounded value would lie below ``least``, as the last total, that is taken.

    Args:
        path: shape (H + 1, n, d); NaN for nodes without a forecast.
        least: shape (n, d), below what no value lies.
    """

    path: np.ndarray
    least: np.ndarray

    @cached_property
    def units(self) -> list[Ticks]:
        """Of each feature, by the largest sum over nodes of any step, so that digits do not depend on the times asked for."""
        return [Ticks.for_sums_up_to(float(size)) for size in np.nansum(np.abs(self.path), axis=1).max(axis=0)]

    def ticks(self, at: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Nodes in ticks, (T, n, d), where ``at`` gives the path at the times that are asked for."""
        x, out = at(self.path), []
        for k, unit in enumerate(self.units):
            least = np.where(np.isfinite(self.least[:, k]), self.least[:, k], 0.0)
            floor = np.where(np.isfinite(self.least[:, k]), unit.at_least(least), np.iinfo(np.int64).min)
            out.append(np.maximum(unit.rounded(x[..., k]), floor))
        return np.stack(out, axis=-1)

    def nodes(self, at: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Values of nodes, (T, n, d); NaN for those without a forecast."""
        return np.where(np.isnan(self.least), np.nan, self._values(self.ticks(at)))

    def groups(self, at: Callable[[np.ndarray], np.ndarray], member: sparse.csr_array) -> np.ndarray:
        """Sums over the nodes of each group, (T, G, d), for 0 and 1 in ``member``, (G, n)."""
        ticks = np.where(np.isnan(self.least), 0, self.ticks(at))
        return self._values(np.stack([member @ row for row in ticks]))

    def _values(self, ticks: np.ndarray) -> np.ndarray:
        return np.stack([unit.values(ticks[..., k]) for k, unit in enumerate(self.units)], axis=-1)


@dataclass(frozen=True)
class GroupForecast:
    """Forecasts of groups of nodes, and of all nodes.

    Args:
        times: shape (T,).
        features: names.
        names: of the G groups, as in the table of groups; the last is "all nodes".
        levels: of each group, the column of the table that it is from; "total" of the last.
        values: expected values, shape (T, G, d): exactly the sums of those of the nodes. NaN for a group none of whose nodes was
            ever observed.
        lower, upper: of intervals, of the same shape.
        notes: nodes without a group, and what else is not in the sums.
    """

    times: torch.Tensor
    features: tuple[str, ...]
    names: tuple[str, ...]
    levels: tuple[str, ...]
    values: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    notes: tuple[str, ...]

    @classmethod
    def of(cls, forecast: Forecast, groups: Any, times: Any, level: float) -> GroupForecast:
        """See ``Forecast.groups``."""
        if not forecast.past:
            raise ValueError(
                "this forecast holds no past errors, from which intervals of groups come: its file was written by ndcn 0.2 or "
                "earlier. Fit it again with this version"
            )
        nodes = list(forecast.graph.nodes)
        table = groups if isinstance(groups, GroupTable) else read_groups(groups, nodes)
        rows = [
            (name, column, np.flatnonzero(where == k))
            for column, names, where in table.columns
            for k, name in enumerate(names)
        ]
        rows.append((EVERY, TOTAL, np.arange(len(nodes))))
        there = np.isfinite(forecast.path[0])
        member = _indicator([row[2] for row in rows], len(nodes))

        def at(path: np.ndarray) -> np.ndarray:
            return forecast._at(times, path)

        sums = Sums(forecast.expected(), forecast.least())
        values = sums.groups(at, member)
        low, high = _ends(forecast, [(row[1], row[2]) for row in rows], member, sums, level)
        lower, upper = _shown(forecast, values, at(low), at(high), member)
        for part in (values, lower, upper):
            part[:, member @ there.astype(np.int64) == 0] = np.nan
        return cls(
            times=checked_times(times, ordered=False),
            features=forecast.features,
            names=tuple(row[0] for row in rows),
            levels=tuple(row[1] for row in rows),
            values=torch.from_numpy(values),
            lower=torch.from_numpy(lower),
            upper=torch.from_numpy(upper),
            notes=(*table.notes, *_absent([(row[0], row[2]) for row in rows], there.all(axis=1), nodes)),
        )


def _indicator(members: list[np.ndarray], n: int) -> sparse.csr_array:
    """1 where a node belongs to a group, shape (G, n)."""
    ends = np.cumsum([0, *(len(one) for one in members)])
    ones = np.ones(ends[-1], dtype=np.int64)
    return sparse.csr_array((ones, np.concatenate(members), ends), shape=(len(members), n))


def _ends(
    forecast: Forecast, groups: list[tuple[str, np.ndarray]], member: sparse.csr_array, sums: Sums, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of groups at all steps, two of shape (H + 1, G, d); residuals are pooled within a level."""
    there = np.isfinite(forecast.path[0])
    path = np.stack([member @ np.nan_to_num(step) for step in sums.path])
    low, high = path.copy(), path.copy()
    least = member @ np.nan_to_num(forecast.least(), neginf=0.0)
    for k, past in enumerate(forecast.past):
        for one in dict.fromkeys(name for name, _ in groups):
            rows = [g for g, (other, _) in enumerate(groups) if other == one]
            members = [nodes[there[nodes, k]] for _, nodes in (groups[g] for g in rows)]
            below, above = past.of_groups(members).margins(forecast.horizon, level)
            low[1:, rows, k] += below
            high[1:, rows, k] += above
        if forecast.lower[k] != "none":
            low[..., k] = np.maximum(low[..., k], least[:, k])
        if forecast.lower[k] == "last":
            low[..., k], high[..., k] = (np.maximum.accumulate(end[..., k], axis=0) for end in (low, high))
    return low, high


def _shown(
    forecast: Forecast, values: np.ndarray, low: np.ndarray, high: np.ndarray, member: sparse.csr_array
) -> tuple[np.ndarray, np.ndarray]:
    """Ends with six digits, rounded away from the value, whole numbers for counts; never below what is possible."""
    low, high = outward(low, high)
    least = member @ np.nan_to_num(forecast.least(), neginf=0.0)
    for k in range(values.shape[-1]):
        if forecast.whole[k]:
            low[..., k], high[..., k] = np.floor(low[..., k] + 1e-6), np.ceil(high[..., k] - 1e-6)
        if forecast.lower[k] != "none":
            low[..., k] = np.maximum(low[..., k], least[:, k])
    return np.minimum(low, values), np.maximum(high, values)


def _absent(groups: list[tuple[str, np.ndarray]], there: np.ndarray, nodes: list[Any]) -> list[str]:
    """Which nodes have no forecast and are therefore in no sum, and which groups have no other nodes."""
    lost = [nodes[i] for i in np.flatnonzero(~there).tolist()]
    if not lost:
        return []
    empty = [name for name, members in groups if not there[members].any()]
    notes = [f"{counted(len(lost), 'node')} without a forecast, never observed, and in no sum: {some(lost)}"]
    return (
        [*notes, f"{counted(len(empty), 'group')} without an observed node, left empty: {some(empty)}"]
        if empty
        else notes
    )
