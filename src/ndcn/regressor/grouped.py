"""A forecast with groups of nodes as a table: nodes, groups and the total, whose values add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from ..data import Trajectory, numbers_of
from ..forecast import GroupForecast
from ..io import GroupTable, read_groups
from .tables import Answered, Levels, answered, checked_levels, lists

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

LEVEL = "level"  # the column that tells nodes, groups and the total apart
NODE = "node"


@dataclass(frozen=True)
class Grouped:
    """Expected values of nodes and groups, with ends of intervals beside them by a word: lower, upper, lower_50, ..."""

    nodes: Answered
    groups: GroupForecast
    beside: dict[str, torch.Tensor]

    @property
    def mean(self) -> Trajectory:
        """Expected values of the nodes."""
        return self.nodes.mean

    def table(self, *, texts: bool = False) -> pd.DataFrame:
        """A row for each time and node, then each group, then all nodes: time, level, node, FEATURE, FEATURE_lower, ...

        Raises:
            ValueError: two columns would have the same name.
        """
        own, sums = self.nodes.table(texts=texts), self.groups
        if LEVEL in own:
            raise ValueError(
                f"the feature {LEVEL} leaves no name for the column that tells nodes from groups; rename it"
            )
        T, n, G = len(sums.times), self.nodes.mean.graph.num_nodes, len(sums.names)
        rows = {
            "time": own["time"].to_numpy()[:: max(n, 1)].repeat(G),
            LEVEL: list(sums.levels) * T,
            NODE: list(sums.names) * T,
        }
        for k, feature in enumerate(sums.features):
            rows[feature] = sums.values[:, :, k].reshape(-1).numpy()
            rows |= {f"{feature}_{word}": part[:, :, k].reshape(-1).numpy() for word, part in self.beside.items()}
        own.insert(1, LEVEL, NODE)
        own[NODE] = own[NODE].astype(str)  # one kind of names in a column, as Parquet needs
        both = pd.concat([own, pd.DataFrame(rows)[list(own)]], ignore_index=True)
        order = np.argsort(np.concatenate([np.repeat(np.arange(T), n), np.repeat(np.arange(T), G)]), kind="stable")
        return both.iloc[order].reset_index(drop=True)

    def about(self) -> dict[str, Any]:
        """Times, dates, nodes, features and groups, for JSON."""
        named = [
            {LEVEL: level, "name": name} for level, name in zip(self.groups.levels, self.groups.names, strict=True)
        ]
        return {**self.nodes.about(), "groups": named, "notes": list(self.groups.notes)}

    def to_json(self) -> dict[str, Any]:
        """Nested lists (time, node or group, feature) with the digits of the table."""
        sums = {"states": self.groups.values, **self.beside}
        return {**self.nodes.to_json(), "sums": {word: lists(part) for word, part in sums.items()}}


def grouped(estimator: DynamicsRegressor, times: Any, level: Levels, groups: Any, by: Sequence[str] = ()) -> Grouped:
    """Expected values of all nodes and of their sums over groups, with ends of intervals at the levels asked for.

    The ends of nodes are those of ``intervals``, moved where they would leave out the expected value.

    Raises:
        ValueError: the model is no forecast, or one from a file without past errors; as ``Forecast.groups``.
    """
    found = estimator.fitted_.forecast
    if found is None:
        raise ValueError(
            "groups need the past errors of a forecast, which this model does not have: fit one with forecast.Auto(law=False) "
            "(`ndcn fit --no-law`, without --model)"
        )
    asked = estimator.fitted_.ahead.times if times is None and estimator.fitted_.ahead else times
    numbers = numbers_of(asked, estimator.calendar_)
    nodes = answered(estimator, asked, level, {})
    table = groups if isinstance(groups, GroupTable) else read_groups(groups, list(found.graph.nodes), by)
    levels = checked_levels(level)
    sums = [found.groups(table, numbers, one) for one in levels or [0.9]]
    mean = nodes.mean.replaced(states=found.mean(numbers).states, mask=nodes.mean.mask)
    beside: dict[str, torch.Tensor] = {}
    own = dict(nodes.beside)
    for one, part in zip(levels, sums, strict=False):
        suffix = "" if isinstance(level, float) else f"_{100 * one:.10g}"
        beside |= {f"lower{suffix}": part.lower, f"upper{suffix}": part.upper}
        own[f"lower{suffix}"] = torch.minimum(own[f"lower{suffix}"], mean.states)
        own[f"upper{suffix}"] = torch.maximum(own[f"upper{suffix}"], mean.states)
    return Grouped(replace(nodes, mean=mean, beside=own), sums[0], beside)
