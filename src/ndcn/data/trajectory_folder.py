"""Trajectories as a folder of Parquet and JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import torch

from .._support.files import replacing
from ..graph import Graph, label_index

if TYPE_CHECKING:
    from .trajectory import Trajectory

FORMAT = "ndcn-data"
VERSION = 1


def save(trajectory: Trajectory, folder: Path) -> None:
    """See ``Trajectory.save``."""
    if folder.exists() and not _is_ours(folder):
        raise ValueError(f"{folder} exists and is not ndcn data; choose another name or remove it")
    graph = trajectory.graph
    labels = plain_labels(graph)
    known = labels is None or labels == list(graph.nodes)
    named = graph if known else Graph(graph.to_scipy(), nodes=labels, directed=graph.directed)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "directed": graph.directed,
        "num_nodes": graph.num_nodes,
        "nodes": labels,
        "positions": _plain_positions(graph),
        "features": list(trajectory.features),
        "dtype": str(trajectory.states.dtype).removeprefix("torch."),
    }
    states = trajectory.to_pandas().assign(node=np.tile(label_index(named.nodes), len(trajectory)))
    with replacing(folder) as new:
        new.mkdir()
        states.to_parquet(new / "states.parquet", index=False)
        named.to_pandas().to_parquet(new / "edges.parquet", index=False)
        (new / "data.json").write_text(json.dumps(about, indent=1) + "\n")


def load(folder: Path) -> dict[str, Any]:
    """Arguments of the Trajectory that a folder holds; see ``Trajectory.load``."""
    if not folder.exists():
        raise FileNotFoundError(f"there is no data folder {folder}; `ndcn simulate --out {folder.name}` makes one")
    if not _is_ours(folder):
        raise ValueError(f"{folder} is not an ndcn data folder: it has no data.json written by ndcn")
    about = json.loads((folder / "data.json").read_text())
    if about.get("version") != VERSION:
        found = f"{folder} has format version {about.get('version')}"
        raise ValueError(f"{found}, this ndcn reads version {VERSION}; use a newer ndcn")
    try:
        states, edges = (pd.read_parquet(folder / f"{name}.parquet") for name in ("states", "edges"))
        count = about["num_nodes"] if about["nodes"] is None else None
        graph = Graph.from_edges(edges, nodes=about["nodes"], num_nodes=count, directed=about["directed"])
        if about.get("positions") is not None:
            graph = graph.with_positions(np.array(about["positions"], dtype=np.float64))
        return _snapshots(states, graph, about["features"], about["dtype"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the data in {folder} is damaged: {error}") from error


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
    return [[None if x != x else x for x in pair] for pair in graph.positions.tolist()]


def _is_ours(folder: Path) -> bool:
    try:
        about = json.loads((folder / "data.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT
