"""Predicted or simulated states as a folder of Parquet files, one written by each process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .._support.agreed import Agreed
from .._support.files import replacing
from .._support.world import World
from ..data import Trajectory
from ..graph import PartGraph, label_index

ABOUT = "_answers.json"  # readers of Parquet pass over names that begin so
FORMER_ABOUT = "answers.json"
FORMAT = "ndcn-answers"


def write_answers(trajectory: Trajectory, folder: str | Path, *, nodes: Sequence[object] | None = None) -> int:
    """Write states as ``part-00000.parquet``, ...: columns time, node and one for each feature; each process writes its nodes.

    pandas, pyarrow, Spark and DuckDB read the folder as one table. All processes call it.

    Args:
        trajectory: of the nodes of this process.
        folder: made anew, or replaced if it holds such files.
        nodes: labels of the only nodes to write; all by default.

    Returns:
        how many nodes were written, by all processes.

    Raises:
        ValueError: none of the processes has one of these nodes, or the folder holds something else.

    Example:
        >>> import ndcn, tempfile
        >>> graph = ndcn.Graph.from_edges([("a", "b")])
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, [[1.0], [0.0]], [0.0, 1.0])
        >>> folder = tempfile.mkdtemp() + "/out"
        >>> write_answers(data, folder, nodes=["b"])
        1
        >>> read_answers(folder).round(2)
           time node     x
        0   0.0    b  0.00
        1   1.0    b  0.43
    """
    graph, folder = trajectory.graph, Path(folder)
    world = graph.world if isinstance(graph, PartGraph) else World(0, 1)
    table = trajectory.to_pandas()
    count = graph.num_nodes
    if nodes is not None:
        wanted = {str(node) for node in nodes}
        labels = [str(label) for label in graph.nodes]
        here = wanted & set(labels)
        known = {name for text in world.texts("\0".join(here)) for name in text.split("\0")}
        if unknown := sorted(wanted - known):
            raise Agreed(f"there is no node {unknown[0]!r}; nodes are named as in the data")
        keep = label_index(graph.nodes)[[label in wanted for label in labels]]
        table, count = table[table["node"].isin(keep)].reset_index(drop=True), len(here)
    with world.agreed():
        if world.first:
            _begin(folder, world.size)
    with world.agreed(), replacing(folder / f"part-{world.rank:05d}.parquet") as new:
        table.to_parquet(new, index=False)
    return sum(int(text) for text in world.texts(str(count)))


def _begin(folder: Path, size: int) -> None:
    """An empty folder that says what it is."""
    if folder.exists() and not _about(folder).is_file():
        raise ValueError(f"{folder} exists and holds no predictions; choose another name or remove it")
    with replacing(folder) as new:
        new.mkdir()
        (new / ABOUT).write_text(json.dumps({"format": FORMAT, "version": 1, "parts": size}) + "\n")


def _about(folder: Path) -> Path:
    return folder / FORMER_ABOUT if (folder / FORMER_ABOUT).is_file() else folder / ABOUT


def read_answers(folder: str | Path) -> pd.DataFrame:
    """What ``write_answers`` wrote, as one table in the order of times and then of parts.

    Raises:
        ValueError: a part is missing, or the folder holds something else.
    """
    folder = Path(folder)
    try:
        about = json.loads(_about(folder).read_text())
        places = [folder / f"part-{k:05d}.parquet" for k in range(about["parts"])]
        tables = [pd.read_parquet(place) for place in places]
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{folder} does not hold all parts of a prediction: {error}") from error
    table = pd.concat(tables, ignore_index=True)
    return table.sort_values("time", kind="stable", ignore_index=True)
