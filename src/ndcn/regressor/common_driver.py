"""CommonDriver: an unknown driver that a law was found with, as a curve and loadings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data import Inputs
from ..identify import UNKNOWN
from .initial import InitialCondition


@dataclass(frozen=True, eq=False)
class CommonDriver:
    """b_i u(t) in the rate of node i: u(t) was found from what nodes have in common, b_i is how strongly it acts on each.

    Loadings have a mean of 1, so that the curve is in the unit of the rate of a typical node.

    Attributes:
        curve: a table with columns "time" and "value"; straight lines lie between.
        loadings: b_i by the name of the node.
    """

    curve: pd.DataFrame
    loadings: pd.Series

    @classmethod
    def of(cls, initial: InitialCondition) -> CommonDriver:
        """From the input of a trajectory."""
        assert initial.inputs is not None
        driver = initial.inputs[UNKNOWN]
        values = driver.values.numpy()
        top = int(np.abs(values).max(axis=1).argmax())
        centre = float(values[top].mean())
        unit = centre if abs(centre) > 0.1 * np.abs(values[top]).max() else float(np.abs(values[top]).max())
        loadings = np.broadcast_to(values[top] / unit, initial.graph.num_nodes)
        curve = values @ values[top] / (values[top] @ values[top]) * unit
        table = pd.DataFrame({"time": driver.times.numpy(), "value": curve})
        return cls(table, pd.Series(loadings, index=list(initial.graph.nodes), name="loading"))

    def inputs(self, times: Any, values: Any) -> Inputs:
        """Values of the driver at later times, shape (K,), as ``predict(times, inputs=...)`` takes them."""
        equal = bool((self.loadings == self.loadings.iloc[0]).all())
        curve = np.asarray(values, dtype=float)
        each = curve * float(self.loadings.iloc[0]) if equal else np.outer(curve, self.loadings)
        return Inputs(times, {UNKNOWN: each}, between="linear")
