"""What a model predicts as a table: one function for ``reg.table``, `ndcn predict` and its JSON, so that digits agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from ..data import Trajectory, plain_labels
from .query import check_level

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

Levels = float | Sequence[float] | None
USUAL = 0.9  # level of intervals where none is asked for


@dataclass(frozen=True)
class Answered:
    """A prediction, and by a word what stands beside each feature: std, lower, upper, lower_50, changed, ..."""

    mean: Trajectory
    beside: dict[str, torch.Tensor] = field(default_factory=dict)

    def table(self, *, texts: bool = False) -> pd.DataFrame:
        """A row for each time and node: time, node, and of each feature FEATURE, FEATURE_lower, FEATURE_upper, ...

        Times are dates where the data had dates, with ``texts`` as ISO text.

        Raises:
            ValueError: two columns would have the same name.
        """
        mean = self.mean
        table = mean.to_pandas()
        for word, states in self.beside.items():
            for k, feature in enumerate(mean.features):
                name = f"{feature}_{word}"
                if name in table:
                    raise ValueError(f"the features {feature} and {name} leave no name for the column {name}")
                table[name] = states[:, :, k].reshape(-1).numpy()
        if texts and mean.calendar is not None:
            table["time"] = np.repeat(
                np.array(mean.calendar.texts(mean.times.numpy()), dtype=object), mean.graph.num_nodes
            )
        return table

    def about(self) -> dict[str, Any]:
        """Times, dates, nodes and features, for JSON."""
        mean, labels = self.mean, plain_labels(self.mean.graph)
        return {
            "times": mean.times.tolist(),
            **({} if mean.calendar is None else {"dates": list(mean.calendar.texts(mean.times.numpy()))}),
            "nodes": list(range(mean.graph.num_nodes)) if labels is None else list(labels),
            "features": list(mean.features),
        }

    def to_json(self) -> dict[str, Any]:
        """Nested lists (time, node, feature) with the digits of the table; None where a value is missing."""
        return {"states": lists(self.mean.states), **{word: lists(states) for word, states in self.beside.items()}}


def answered(estimator: DynamicsRegressor, times: Any, level: Levels, where: Mapping[str, Any]) -> Answered:
    """The prediction with the standard deviation of an ensemble, and ends of intervals at the levels asked for.

    Args:
        estimator: fitted.
        times: as in ``predict``.
        level: one level for columns lower and upper; several for lower_50, upper_50, lower_90, ...; None for none.
        where: ``graph``, ``x0``, ``t0`` and ``inputs`` of ``predict``, by name.

    Raises:
        ValueError: as ``predict``; a level outside (0, 1); the model knows no spread.
    """
    levels = checked_levels(level)
    fitted = estimator.fitted_
    several = len(fitted.modules) > 1 and fitted.can.spread and not changes_graph(estimator, where)
    asked = (times, *(where.get(name) for name in ("graph", "x0", "t0", "inputs")))
    found = estimator._answer(*asked, spread=bool(levels) or several)
    beside: dict[str, torch.Tensor] = {}
    if several and found.std is not None:
        beside["std"] = found.std.states
    for one in levels:
        suffix = "" if isinstance(level, float) else f"_{100 * one:.10g}"
        lower, upper = found.intervals(one)
        beside |= {f"lower{suffix}": lower.states, f"upper{suffix}": upper.states}
    return Answered(found.mean, beside)


def usual_level(estimator: DynamicsRegressor) -> float | None:
    """The level that is shown unasked: 90 % where the model knows its spread."""
    return USUAL if estimator.fitted_.can.spread and not changes_graph(estimator, {}) else None


def changes_graph(estimator: DynamicsRegressor, where: Mapping[str, Any]) -> bool:
    """Whether a prediction goes from graph to graph; then no spread is known."""
    graphs = estimator.graphs_
    elsewhere = any(name != "inputs" for name in where)
    return not elsewhere and graphs is not None and len(graphs) > 1 and estimator.fitted_.can.any_graph


def checked_levels(level: Levels) -> list[float]:
    """Levels of intervals, each in (0, 1) and once."""
    if level is None:
        return []
    levels = list(level) if isinstance(level, Sequence) and not isinstance(level, str) else [level]
    for one in levels:
        check_level(one)
    if not levels or len(set(levels)) != len(levels):
        raise ValueError(f"level must be a number such as 0.9, or different ones such as [0.5, 0.9]; got {level!r}")
    return levels


def lists(states: torch.Tensor) -> list[Any]:
    """Nested lists with None for NaN, which JSON does not know; the shortest digits that are this number, as in tables."""
    values = states.detach().cpu().numpy()
    if values.dtype != np.float64:
        values = values.astype(str).astype(np.float64)
    return [[[None if x != x else x for x in node] for node in snapshot] for snapshot in values.tolist()]
