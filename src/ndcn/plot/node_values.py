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
    """Each number that varies among nodes: as colours on the network, and against an attribute with +- 2 standard errors.

    Args:
        estimator: a fitted ``DynamicsRegressor`` whose ``node_values_`` is a table, or such a table.
        against: an attribute of the graph by its name, or a number for each node in the table's order, for the horizontal axes. By default
            the attribute that a number follows, else the degree: the sum of the weights that act on a node.
        name: of numbers that are given.
        graph: the network; needed with a table alone.
        ax: where to draw, two axes for each number that varies.

    Returns:
        the axes, shape (q, 2).

    Raises:
        ValueError: nodes are alike, so that there is nothing to draw, sizes do not fit, the graph is missing, or has no such attribute.

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
    given = None if against is None or isinstance(against, str) else np.asarray(against, dtype=float)
    if given is not None and given.shape != (len(table),):
        raise ValueError(f"against must have a number for each of {len(table)} nodes, got shape {given.shape}")
    axes = _axes(ax, len(names))
    relations = getattr(getattr(estimator, "law_", None), "relations", ())
    for k, (row, column) in enumerate(zip(axes, names, strict=True)):
        followed = next((one.attribute for one in relations if one.number == k), "degree")
        attribute = against if isinstance(against, str) else followed
        x = where.attribute(attribute) if given is None else given
        label = f"${latex_name(column)}$"
        values = table[column].to_numpy()
        network(where, values=values, ax=row[0])
        row[0].set_title(label)
        if ax is None:
            row[0].figure.colorbar(row[0].collections[-1], ax=row[0], shrink=0.8)
        errors = BAND * table[f"{column}{ERROR}"].to_numpy()
        row[1].errorbar(x, values, yerr=errors, fmt=".", color=PREDICTION, ecolor=QUIET, elinewidth=0.8, markersize=5)
        row[1].set_xlabel(name or (attribute if given is None else "value"))
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
