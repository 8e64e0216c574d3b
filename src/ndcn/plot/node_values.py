"""Values of nodes that a law was found with: on the network, and against the degree or another number of each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..graph import Graph
from ..laws import latex_name
from .network import network
from .notebook import AxesArray, axes_array
from .style import PREDICTION, QUIET

BAND = 2  # standard errors on each side
ERROR = " error"


def node_values(
    estimator: Any,
    against: Any = None,
    *,
    name: str | None = None,
    graph: Graph | None = None,
    ax: Sequence[Axes] | np.ndarray | None = None,
) -> AxesArray:
    """Each number that varies among nodes: as colours on the network, and against the degree with +- 2 standard errors.

    Args:
        estimator: a fitted ``DynamicsRegressor`` whose ``node_values_`` is a table, or such a table.
        against: a number for each node for the horizontal axes, in the table's order; by default the sum of the weights that act on it.
        name: of these numbers.
        graph: the network; needed with a table alone.
        ax: where to draw, two axes for each number that varies.

    Returns:
        the axes, shape (q, 2).

    Raises:
        ValueError: nodes are alike, so that there is nothing to draw, sizes do not fit, or the graph is missing.

    Example:
        >>> import ndcn, pandas as pd
        >>> graph = ndcn.networks.grid(4)
        >>> table = pd.DataFrame({"b_i": [1.0, 2.0, 3.0, 4.0], "b_i error": 0.1})
        >>> axes = ndcn.plot.node_values(table, graph=graph)
        >>> axes[0, 1].get_xlabel(), axes[0, 1].get_ylabel()
        ('degree', '$b_i$')
    """
    table = getattr(estimator, "node_values_", estimator)
    if table is None:
        raise ValueError("there are no values of nodes to draw: the law that was found is the same at every node")
    where = graph or (estimator.train_[0].graph if hasattr(estimator, "train_") else None)
    if where is None:
        raise ValueError("a table of values needs the network: node_values(table, graph=graph)")
    names = [column for column in table.columns if f"{column}{ERROR}" in table.columns]
    if where.num_nodes != len(table):
        raise ValueError(f"the table has {len(table)} nodes, the graph {where.num_nodes}")
    x = where.degrees.numpy() if against is None else np.asarray(against, dtype=float)
    if x.shape != (len(table),):
        raise ValueError(f"against must have a number for each of {len(table)} nodes, got shape {x.shape}")
    axes = _axes(ax, len(names))
    for row, column in zip(axes, names, strict=True):
        label = f"${latex_name(column)}$"
        values = table[column].to_numpy()
        network(where, values=values, ax=row[0])
        row[0].set_title(label)
        if ax is None:
            row[0].figure.colorbar(row[0].collections[-1], ax=row[0], shrink=0.8)
        errors = BAND * table[f"{column}{ERROR}"].to_numpy()
        row[1].errorbar(x, values, yerr=errors, fmt=".", color=PREDICTION, ecolor=QUIET, elinewidth=0.8, markersize=5)
        row[1].set_xlabel(name or ("degree" if against is None else "value"))
        row[1].set_ylabel(label)
    return axes_array(axes)


def _axes(ax: Any, rows: int) -> np.ndarray:
    if ax is None:
        figure = Figure(figsize=(8.0, 3.2 * rows), layout="constrained")
        return np.asarray(figure.subplots(rows, 2, squeeze=False))
    given = np.asarray(ax, dtype=object).reshape(-1)
    if len(given) != 2 * rows:
        raise ValueError(f"{rows} values need {2 * rows} axes, got {len(given)}")
    return given.reshape(rows, 2)
