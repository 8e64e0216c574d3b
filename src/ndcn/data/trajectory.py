"""Trajectory: the states of all nodes of a graph at some times."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._support.wording import counted
from ..graph import Graph
from . import trajectory_folder, trajectory_table
from .calendar import Calendar
from .checks import checked_states, checked_times, feature_names
from .html import trajectory_html
from .inputs import Inputs, checked_inputs

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from .sampling import SplitRule


NO_ARRAY = (  # what NumPy and scikit-learn are told
    "snapshots of a network are no array of samples and features: take .states of a run for its numbers. Scikit-learn's scalers "
    "are not needed, for models choose units by themselves; GridSearchCV takes a list of runs, and ndcn.backtest(data, model) "
    "compares models on one"
)


@dataclass(frozen=True)
class Statistics:
    """What a solve cost: calls of the field, steps kept, steps tried again with a smaller size."""

    evaluations: int
    accepted_steps: int
    rejected_steps: int


class Trajectory:
    """Snapshots X(t_1), ..., X(t_T) of n nodes with d features each.

    Args:
        times: shape (T,), in increasing order, from 0 on; kept in float64.
        states: shape (T, n, d), or (T, n) for one feature; kept in its floating type, else float32.
        graph: the graph on which they live.
        mask: True where an entry was observed, shape as states or (T, n); all True by default.
        features: d names other than "time" and "node"; "x", or "x1", "x2", ... by default.
        ordered: False admits times in any order and repeated ones, as in the answer to such a query.
        statistics: how the solver fared, if a solver made the states.
        calendar: what the times mean, where they are dates; runs that ``ndcn.read`` made and predictions of them have it.
        inputs: what acted on the network from outside; known at least from the first to the last time.
        copy: False takes complete states as they are, which saves memory; nobody else may change them then.

    Attributes:
        split_rule: how other snapshots were held out, of the training part of ``ndcn.split``.

    Guarantees: T, n, d >= 1; times are finite, >= 0 and (with ``ordered``) strictly increasing; observed states are
    finite; entries that were not observed are NaN and nothing computes with them; shapes fit the graph; ``mask`` is
    None where everything was observed.

    Raises:
        ValueError: one of these does not hold; the message says which and what to do.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(4)
        >>> ndcn.Trajectory(times=torch.tensor([0.0, 0.5]), states=torch.rand(2, 4, 1), graph=graph)
        Trajectory(2 snapshots of 4 nodes, 1 feature, t = 0 .. 0.5)
    """

    def __init__(
        self,
        *,
        times: Any,
        states: Any,
        graph: Graph,
        mask: Any = None,
        features: Sequence[str] | None = None,
        ordered: bool = True,
        statistics: Statistics | None = None,
        calendar: Calendar | None = None,
        inputs: Inputs | None = None,
        copy: bool = True,
    ) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}; see Graph.from_networkx etc.")
        self.graph = graph
        self.times = checked_times(times, ordered=ordered)
        self.states, self.mask = checked_states(states, mask, len(self.times), graph.num_nodes, copy)
        self.features = feature_names(features, self.states.shape[2])
        self.statistics = statistics
        self.calendar = calendar
        self.inputs = checked_inputs(inputs, self.times, graph, calendar)
        self.split_rule: SplitRule | None = None

    def __len__(self) -> int:
        return len(self.times)

    @property
    def num_features(self) -> int:
        """d."""
        return self.states.shape[2]

    def __getitem__(self, index: Any) -> Trajectory:
        """Some of the snapshots, by position: an integer, a slice, a list, or an index or boolean array."""
        if isinstance(index, (int, np.integer)):
            index = [range(len(self))[index]]
        if isinstance(index, (list, np.ndarray)):
            index = torch.as_tensor(np.asarray(index, dtype=None if len(index) else np.int64))
        times = self.times[index]
        if len(times) == 0:
            raise ValueError(f"this selects none of the {len(self)} snapshots")
        return self.replaced(
            times=times, states=self.states[index], mask=None if self.mask is None else self.mask[index]
        )

    def replaced(self, **changes: Any) -> Trajectory:
        """The same with other times, states, graph, mask, features, calendar or inputs; times may come in any order."""
        names = ("times", "states", "graph", "mask", "features", "calendar", "inputs")
        same = {name: getattr(self, name) for name in names} | changes
        return Trajectory(**same, ordered=bool((same["times"].diff() > 0).all()))

    def first_state(self) -> torch.Tensor:
        """X(t_1), shape (n, d), with entries that were not observed taken from that node's next observation.

        A node never observed gets the mean of the others in that feature.
        """
        if self.graph.everywhere(self.mask is None):
            return self.states[0]
        mask = ~self.states.isnan() if self.mask is None else self.mask
        first = mask.int().argmax(dim=0, keepdim=True)
        filled = self.states.gather(0, first)[0]
        means = filled.nanmean(dim=0, keepdim=True).nan_to_num(0.0)
        if self.graph.in_parts:
            known = ~filled.isnan()
            sums = torch.stack([filled.nan_to_num(0.0).double().sum(0), known.double().sum(0)]).cpu()
            total, count = self.graph.total(sums)
            means = (total / count.clamp(min=1)).to(filled).unsqueeze(0)
        return torch.where(filled.isnan(), means, filled)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of times, states, mask, inputs and graph, in hexadecimal."""
        digest = hashlib.sha256(self.graph.fingerprint.encode())
        driven = () if self.inputs is None else self.inputs.tensors().values()
        if self.inputs is not None:
            digest.update(repr(self.inputs.description()).encode())
        for part in (self.times, self.states, *driven):
            digest.update(repr((part.dtype, tuple(part.shape))).encode())
            digest.update(part.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        count, nodes = counted(len(self), "snapshot"), counted(self.graph.num_nodes, "node")
        features = counted(self.num_features, "feature")
        missing = "" if self.mask is None else f", {100 * (1 - self.mask.double().mean().item()):.3g} % missing"
        low, high = self.times.min().item(), self.times.max().item()
        when = f"t = {low:.4g} .. {high:.4g}"
        if self.calendar is not None and self.calendar.dated:
            when = " .. ".join(self.calendar.texts([low, high]))
        driven = "" if self.inputs is None else f", inputs {', '.join(self.inputs.names)}"
        return f"Trajectory({count} of {nodes}, {features}, {when}{missing}{driven})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(NO_ARRAY)

    def _repr_html_(self) -> str:
        return trajectory_html(self)

    # Tables -----------------------------------------------------------------------------------------------------

    def to_pandas(self, layout: str = "long", *, dates: bool = True) -> pd.DataFrame:
        """As a table with the graph's node labels; entries that were not observed are NaN.

        Args:
            layout: "long" has columns time, node and one per feature, a row for each time and node; "wide" has a row
                for each time and a column for each node (for several features: a column for each node and feature).
            dates: whether times are dates where the trajectory has a calendar; False gives numbers.

        Example:
            >>> import ndcn, torch
            >>> pair = ndcn.Graph.from_edges([("a", "b")])
            >>> ndcn.Trajectory(times=[0.0], states=torch.tensor([[[1.0], [2.0]]]), graph=pair).to_pandas()
               time node    x
            0   0.0    a  1.0
            1   0.0    b  2.0
        """
        return trajectory_table.to_pandas(self, layout, dates)

    @classmethod
    def from_pandas(
        cls, table: pd.DataFrame, graph: Graph, *, layout: str = "long", time: str = "time", node: str = "node"
    ) -> Trajectory:
        """From a table, long or wide as in ``to_pandas``. Rows in any order; what is absent or NaN is missing.

        Raises:
            ValueError: a node that the graph does not have, a row that occurs twice, or times or values that are not
                real numbers; dates must be turned into numbers first, and the message says how.

        Example:
            >>> import ndcn, pandas
            >>> pair = ndcn.Graph.from_edges([("a", "b")])
            >>> table = pandas.DataFrame({"time": [0, 0, 1], "node": ["a", "b", "a"], "heat": [3.0, 1.0, 2.5]})
            >>> ndcn.Trajectory.from_pandas(table, pair)
            Trajectory(2 snapshots of 2 nodes, 1 feature, t = 0 .. 1, 25 % missing)
        """
        return cls(**trajectory_table.from_pandas(table, graph, layout, time, node))

    def to_xarray(self) -> xr.DataArray:
        """As an xarray.DataArray with dimensions time, node, feature (needs xarray: ``pip install ndcn[xarray]``)."""
        return trajectory_table.to_xarray(self)

    @classmethod
    def from_xarray(cls, array: xr.DataArray, graph: Graph) -> Trajectory:
        """From an xarray.DataArray with dimensions time, node and, if there are several, feature; NaN is missing."""
        return cls(**trajectory_table.from_xarray(array, graph))

    # Files ------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write ``states.parquet``, ``edges.parquet``, ``inputs.parquet`` if there are any, and ``data.json`` into a folder, all or nothing.

        A folder that holds such data is replaced; any other existing folder or file is an error.
        """
        trajectory_folder.save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Trajectory:
        """Read what ``save`` wrote.

        Raises:
            FileNotFoundError: there is no such folder.
            ValueError: the folder is not ours, is of another version, or is damaged.
        """
        return cls(**trajectory_folder.load(Path(folder)))
