"""Trajectories as pandas tables and xarray arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from ..graph import Graph, label_index
from .checks import in_days

if TYPE_CHECKING:
    import xarray as xr

    from .trajectory import Trajectory


def to_pandas(trajectory: Trajectory, layout: str, dates: bool) -> pd.DataFrame:
    """See ``Trajectory.to_pandas``."""
    times: Any = trajectory.times.numpy()
    if dates and trajectory.calendar is not None:
        times = trajectory.calendar.dates(times)
    states = trajectory.states.detach().cpu().numpy()
    T, n, d = states.shape
    labels = label_index(trajectory.graph.nodes)
    if layout == "long":
        columns: dict[str, object] = {"time": times.repeat(n), "node": labels[np.tile(np.arange(n), T)]}
        columns.update({name: states[:, :, k].reshape(-1) for k, name in enumerate(trajectory.features)})
        return pd.DataFrame(columns)
    if layout == "wide":
        index = pd.Index(times, name="time")
        if d == 1:
            return pd.DataFrame(states[:, :, 0], index=index, columns=labels.rename("node"))
        both = pd.MultiIndex.from_product([labels, trajectory.features], names=["node", "feature"])
        return pd.DataFrame(states.reshape(T, n * d), index=index, columns=both)
    raise ValueError(f'layout must be "long" or "wide", got {layout!r}')


def from_pandas(table: pd.DataFrame, graph: Graph, layout: str, time: str, node: str) -> dict[str, Any]:
    """Arguments of the Trajectory that a table holds; see ``Trajectory.from_pandas``."""
    if layout == "wide":
        _check_times(table.index, "table.index")
        if isinstance(table.columns, pd.MultiIndex):
            long = table.stack(level=0, future_stack=True)
            features = list(pd.unique(table.columns.get_level_values(1)))
            long = long.rename_axis(index=["time", "node"]).reset_index()[["time", "node", *features]]
        else:
            T, n = table.shape
            clock, names = np.repeat(table.index.to_numpy(), n), table.columns[np.tile(np.arange(n), T)]
            long = pd.DataFrame({"time": clock, "node": names, "x": table.to_numpy().reshape(-1)})
        return from_pandas(long, graph, "long", "time", "node")
    if layout != "long":
        raise ValueError(f'layout must be "long" or "wide", got {layout!r}')

    absent = [name for name in (time, node) if name not in table.columns]
    if absent:
        raise ValueError(f"the table has no column {absent[0]!r}; its columns are {list(table.columns)}")
    features = [name for name in table.columns if name not in (time, node)]
    if not features:
        raise ValueError(f"the table has no column of values beside {time!r} and {node!r}")
    position = label_index(graph.nodes).get_indexer(label_index(table[node]))
    unknown = pd.unique(table[node][position < 0])
    if len(unknown):
        shown = ", ".join(repr(label) for label in list(unknown)[:5])
        raise ValueError(f"{len(unknown)} nodes of the table are not in the graph: {shown}")
    _check_times(table[time], f"table[{time!r}]")
    for name in features:
        if table[name].dtype.kind in "cmM":
            raise ValueError(
                f"times and values must be numbers, but column {name!r} holds {table[name].dtype}; "
                "keep real and imaginary part as two columns, or turn durations into numbers"
            )
    try:
        clock = table[time].to_numpy(dtype=np.float64)
        values = np.stack([table[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in features], axis=1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"times and values must be numbers: {error}") from None
    if np.isnan(clock).any():
        raise ValueError(f"the time is missing in row {int(np.flatnonzero(np.isnan(clock))[0])}")
    times, step = np.unique(clock, return_inverse=True)
    cell = step * graph.num_nodes + position
    counts = np.bincount(cell)
    if counts.max(initial=0) > 1:
        t, i = divmod(int(counts.argmax()), graph.num_nodes)
        raise ValueError(f"node {graph.nodes[i]!r} occurs {counts.max()} times at time {times[t]:g}; keep one row each")
    wide = any(table[name].dtype.kind == "f" and table[name].dtype.itemsize == 8 for name in features)
    states = np.full((len(times) * graph.num_nodes, len(features)), np.nan, dtype=np.float64 if wide else np.float32)
    states[cell] = values
    tensor = torch.from_numpy(states.reshape(len(times), graph.num_nodes, len(features)))
    return {"times": times, "states": tensor, "graph": graph, "mask": ~tensor.isnan(), "features": features}


def _check_times(times: pd.Series | pd.Index, name: str) -> None:
    """Refuse dates and durations, which numpy would silently count in nanoseconds, and complex numbers."""
    kind = pd.api.types.infer_dtype(times)
    if kind in ("datetime64", "datetime", "date", "timedelta64", "timedelta"):
        raise ValueError(f"times must be numbers, but these are of kind {kind}; {in_days(name)}")
    if kind == "complex":
        raise ValueError("times must be real numbers, but these are complex")


def to_xarray(trajectory: Trajectory) -> xr.DataArray:
    """See ``Trajectory.to_xarray``."""
    nodes = label_index(trajectory.graph.nodes).to_numpy()
    axes = {"time": trajectory.times.numpy(), "node": nodes, "feature": list(trajectory.features)}
    return _xarray().DataArray(trajectory.states.detach().cpu().numpy(), dims=tuple(axes), coords=axes)


def from_xarray(array: xr.DataArray, graph: Graph) -> dict[str, Any]:
    """Arguments of the Trajectory that an array holds; see ``Trajectory.from_xarray``."""
    _xarray()
    if not {"time", "node"} <= set(array.dims) <= {"time", "node", "feature"}:
        raise ValueError(f"the array needs dimensions time, node and perhaps feature; it has {array.dims}")
    if "feature" not in array.dims:
        array = array.expand_dims(feature=["x"])
    array = array.transpose("time", "node", "feature")
    found, wanted = label_index(array["node"].to_numpy()), label_index(graph.nodes)
    if not found.is_unique:
        raise ValueError(f"node {found[found.duplicated()][0]!r} occurs more than once in the array; keep one")
    for mine, others, holder, other in ((wanted, found, "graph", "array"), (found, wanted, "array", "graph")):
        if len(lost := mine.difference(others, sort=False)):
            raise ValueError(f"node {lost[0]!r} of the {holder} is not in the {other}")
    position = found.get_indexer(wanted)
    states = torch.as_tensor(np.ascontiguousarray(array.to_numpy()[:, position]))
    names = [str(name) for name in array["feature"].to_numpy()] if "feature" in array.coords else None
    times = array["time"].to_numpy()
    return {"times": times, "states": states, "graph": graph, "mask": ~states.isnan(), "features": names}


def _xarray() -> Any:
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("this needs xarray: pip install 'ndcn[xarray]'") from error
    return xarray
