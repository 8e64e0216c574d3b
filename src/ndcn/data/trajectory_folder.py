"""Trajectories as a folder of Parquet and JSON files."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import torch

from .._support.checks import check_whole
from .._support.files import check_readable, replacing, restore
from .._support.outputs import check_data_folder
from .._support.parquet import read_parquet
from .._support.plain_json import from_json
from ..graph import Graph, label_index
from .inputs import Inputs

if TYPE_CHECKING:
    from .trajectory import Trajectory

FORMAT = "ndcn-data"
VERSION = 1
WITH_INPUTS = 2  # folders with inputs, which ndcn 0.2 and before would leave out
TABLES = ("states", "edges")
DTYPES = ("float16", "float32", "float64")
ATTEMPTS = 10  # at reading a folder that another process replaces meanwhile
PAUSE = 0.02  # seconds between them


def save(trajectory: Trajectory, folder: Path) -> None:
    """See ``Trajectory.save``."""
    check_data_folder(folder)
    graph = trajectory.graph
    labels = plain_labels(graph)
    known = labels is None or labels == list(graph.nodes)
    named = graph if known else Graph(graph.to_scipy(), nodes=labels, directed=graph.directed)
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "directed": graph.directed,
        "num_nodes": graph.num_nodes,
        "nodes": labels,
        "positions": _plain_positions(graph),
        "features": list(trajectory.features),
        "dtype": str(trajectory.states.dtype).removeprefix("torch."),
    }
    if graph.attributes:
        about["attributes"] = {name: _plain(values) for name, values in graph.attributes.items()}
    tables: tuple[str, ...] = TABLES
    if trajectory.inputs is not None:
        tables = (*TABLES, "inputs")
        about |= {"version": WITH_INPUTS, "inputs": trajectory.inputs.description()}
    states = trajectory.to_pandas(dates=False).assign(node=np.tile(label_index(named.nodes), len(trajectory)))
    with replacing(folder) as new:
        new.mkdir()
        states.to_parquet(new / "states.parquet", index=False)
        named.to_pandas().to_parquet(new / "edges.parquet", index=False)
        if trajectory.inputs is not None:
            _input_table(trajectory.inputs).to_parquet(new / "inputs.parquet", index=False)
        about["sha256"] = {name: _digest((new / f"{name}.parquet").read_bytes()) for name in tables}
        (new / "data.json").write_text(json.dumps(about, indent=1) + "\n")


def load(folder: Path) -> dict[str, Any]:
    """Arguments of the Trajectory that a folder holds; see ``Trajectory.load``."""
    if not folder.exists():
        restore(folder)  # a write that was killed may have moved it aside
    if not folder.exists():
        raise FileNotFoundError(f"there is no data folder {folder}; `ndcn simulate --out {folder.name}` makes one")
    about, tables = _read(folder)
    try:
        states, edges = (read_parquet(tables[name], f"{name}.parquet").to_pandas() for name in TABLES)
        if about["dtype"] not in DTYPES:
            raise ValueError(f"states are of type {', '.join(DTYPES)}, not {about['dtype']!r}")
        labels, count = about["nodes"], about["num_nodes"]
        check_whole("num_nodes", count, 1, max(len(states), 1))  # each node has a row at each time
        if labels is not None and (not isinstance(labels, list) or len(labels) != count):
            raise ValueError(f"nodes must name {count} nodes")
        graph = Graph.from_edges(
            edges, nodes=labels, num_nodes=count if labels is None else None, directed=about["directed"]
        )
        if about.get("positions") is not None:
            graph = graph.with_positions(np.array(about["positions"], dtype=np.float64))
        if about.get("attributes") is not None:
            graph = graph.with_attributes(about["attributes"])
        return _snapshots(states, graph, about["features"], about["dtype"]) | {"inputs": _inputs(about, tables)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the data in {folder} is damaged: {error}") from error


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a folder says of itself, and its tables, all of one write: another process may replace it meanwhile.

    Raises:
        ValueError: it is not ours, or damaged.
    """
    reason, about = "", None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        try:
            about = _about(folder)
            names = (*TABLES, "inputs") if about.get("inputs") is not None else TABLES
            tables = {name: _content(folder / f"{name}.parquet") for name in names}
        except OSError as error:  # not there, or not there any more
            reason = str(error)
            continue
        known = about.get("sha256")
        if not isinstance(known, Mapping) or all(known.get(name) == _digest(tables[name]) for name in names):
            return about, tables
        reason = "states.parquet or edges.parquet is not the one that was written with data.json"
    if about is None:
        raise _not_ours(folder)
    raise ValueError(f"the data in {folder} is damaged: {reason}")


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = from_json(_content(folder / "data.json"))
    except ValueError:
        raise _not_ours(folder) from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _not_ours(folder)
    expected = VERSION if about.get("inputs") is None else WITH_INPUTS
    if about.get("version") != expected:
        found = f"{folder} has format version {about.get('version')}"
        raise ValueError(f"{found}, this ndcn reads version {expected}; use a newer ndcn")
    return about


def _not_ours(folder: Path) -> ValueError:
    return ValueError(f"{folder} is not an ndcn data folder: it has no data.json written by ndcn")


def _content(path: Path) -> bytes:
    check_readable(path, "file")
    return path.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _snapshots(table: pd.DataFrame, graph: Graph, features: list[str], dtype: str) -> dict[str, Any]:
    """From a row for every node, in the order of the graph, of one snapshot after the other; times may repeat."""
    n = graph.num_nodes
    T, left = divmod(len(table), n)
    nodes = label_index(graph.nodes).get_indexer(label_index(table["node"]))
    clock = table["time"].to_numpy(dtype=np.float64)
    times = clock[::n].copy()
    if left or (nodes != np.tile(np.arange(n), T)).any() or (clock != np.repeat(times, n)).any():
        raise ValueError("states.parquet does not hold every node of the graph once at each time, in order")
    states = torch.from_numpy(table[features].to_numpy(dtype=dtype, copy=True).reshape(T, n, len(features)))
    ordered = bool((np.diff(times) > 0).all())
    mask = ~states.isnan()
    return {"times": times, "states": states, "graph": graph, "mask": mask, "features": features, "ordered": ordered}


def _input_table(inputs: Inputs) -> pd.DataFrame:
    """A row for each driver, time and place of a node, 0 where all nodes have it in common."""
    parts = []
    for k, one in enumerate(inputs.drivers):
        times, places = len(one.times), one.values.shape[1]
        parts.append(
            pd.DataFrame(
                {
                    "driver": np.full(times * places, k),
                    "time": np.repeat(one.times.numpy(), places),
                    "place": np.tile(np.arange(places), times),
                    "value": one.values.numpy().reshape(-1),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _inputs(about: Mapping[str, Any], tables: Mapping[str, bytes]) -> Inputs | None:
    if "inputs" not in tables:
        return None
    table = read_parquet(tables["inputs"], "inputs.parquet").to_pandas()
    tensors: dict[str, torch.Tensor] = {}
    for k, part in table.groupby("driver"):
        places = int(part["place"].max()) + 1
        values = part["value"].to_numpy(dtype=np.float64).reshape(-1, places)
        tensors |= {
            f"{k}.times": torch.from_numpy(part["time"].to_numpy(dtype=np.float64)[::places].copy()),
            f"{k}.values": torch.from_numpy(values.copy()),
        }
    return Inputs.restored(about["inputs"], tensors)


def plain_labels(graph: Graph) -> list[str | int | float] | None:
    """Labels as JSON can hold them: None for 0..n-1, themselves if all are text or all numbers, else their text."""
    if isinstance(graph.nodes, range):
        return None
    nodes = list(graph.nodes)
    for kind in (str, int, float):
        if all(type(node) is kind for node in nodes):
            return cast(list[str | int | float], nodes)
    texts = [str(node) for node in nodes]
    if len(set(texts)) != len(texts):
        raise ValueError("node labels cannot be saved: two different labels have the same text; use text or numbers")
    return list(texts)


def _plain_positions(graph: Graph) -> list[list[float | None]] | None:
    """Positions as JSON can hold them, None where there is none."""
    if graph.positions is None:
        return None
    return [_plain(pair) for pair in graph.positions]


def _plain(values: np.ndarray) -> list[float | None]:
    return [None if x != x else x for x in values.tolist()]
