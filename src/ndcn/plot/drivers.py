"""An unknown driver that a law was found with: its curve, and how strongly it acts on each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .notebook import AxesArray, axes_array
from .style import PREDICTION, QUIET


def driver(estimator: Any, *, ax: Sequence[Axes] | np.ndarray | None = None) -> AxesArray:
    """The curve u(t) of the driver that nodes have in common, and the loadings b_i of nodes, in order of size.

    Args:
        estimator: a fitted ``DynamicsRegressor`` whose ``driver_`` is not None, or such a driver.
        ax: where to draw, two axes.

    Returns:
        the axes, shape (2,).

    Raises:
        ValueError: the law has no unknown driver, or there are not two axes.

    Example:
        >>> import ndcn, pandas as pd
        >>> curve = pd.DataFrame({"time": [0.0, 1.0, 2.0], "value": [0.0, 1.0, 0.5]})
        >>> found = ndcn.regressor.CommonDriver(curve, pd.Series([0.8, 1.2], index=["a", "b"]))
        >>> axes = ndcn.plot.driver(found)
        >>> axes[0].get_ylabel(), axes[1].get_ylabel()
        ('driver', 'loading')
    """
    found = getattr(estimator, "driver_", estimator)
    if found is None:
        raise ValueError("there is no driver to draw: the law was found without an unknown one")
    axes = np.asarray(Figure(figsize=(8.0, 3.0), layout="constrained").subplots(1, 2) if ax is None else ax).reshape(-1)
    if len(axes) != 2:
        raise ValueError(f"a driver needs 2 axes, got {len(axes)}")
    axes[0].axhline(0.0, color=QUIET, linewidth=0.8)
    axes[0].plot(found.curve["time"], found.curve["value"], color=PREDICTION)
    axes[0].set_xlabel("time")
    axes[0].set_ylabel("driver")
    loadings = np.sort(found.loadings.to_numpy())
    axes[1].axhline(1.0, color=QUIET, linewidth=0.8)
    axes[1].plot(np.arange(1, len(loadings) + 1), loadings, ".", color=PREDICTION)
    axes[1].set_xlabel("nodes, by loading")
    axes[1].set_ylabel("loading")
    return axes_array(axes)
