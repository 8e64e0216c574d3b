"""A partitioned network in a folder: one sub-folder for each part, from which one process reads all it needs.

    partition.json              what it is: parts, nodes, cut, times, features, and the partition's id
    part-00000/rows.safetensors     rows of A, halo and exchange plan of the part
    part-00000/states.safetensors   states of its nodes, (time, node, feature), NaN where nothing was observed; if there are any
    part-00000/nodes.parquet        labels of its nodes, if they have any but their numbers

Every file carries a checksum and the id. No file holds code.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from .._support.files import replacing
from .._support.parquet import read_parquet
from .._support.plain_json import from_json
from .._support.tensor_files import read_tensors, write_tensors
from .._support.world import World
from ..data import Dataset, Trajectory, plain_labels
from ..graph import Graph, Part, PartGraph, Partition, csr_of_parts

FORMAT = "ndcn-partition"
VERSION = 1
ABOUT = "partition.json"
AT_ONCE = 8  # parts that are cut out of the whole graph together: few copies of it, and few passes over it


def is_parts_folder(folder: str | Path) -> bool:
    """Whether a folder holds a partitioned network.

    Example:
        >>> is_parts_folder("no such folder")
        False
    """
    return (Path(folder) / ABOUT).is_file()


def write_parts(
    data: Trajectory | Dataset | Graph, folder: str | Path, parts: int | Partition, *, method: str = "auto"
) -> Partition:
    """Cut a network, with its states if there are any, into parts and write a folder from which each process reads one.

    Args:
        data: a trajectory, a dataset of one run on one graph, or a graph alone.
        folder: made anew, or replaced if it holds such parts.
        parts: how many, or a partition of the graph.
        method: of ``Graph.partition``.

    Raises:
        ValueError: several runs, inputs, or a folder that holds something else.

    Example:
        >>> import ndcn, tempfile
        >>> folder = tempfile.mkdtemp() + "/parts"
        >>> write_parts(ndcn.networks.grid(9), folder, 1).parts
        1
        >>> read_part(folder)
        PartGraph(9 nodes of 9 nodes, part 0 of 1)
    """
    run = _one_run(data)
    if isinstance(run, Trajectory) and run.inputs is not None:
        raise ValueError(
            f"networks in parts cannot have inputs, and these data have {', '.join(run.inputs.names)}: fit them in one process, or leave the "
            "inputs away if nothing depends on them (data.replaced(inputs=None); on the command line without --inputs)"
        )
    graph = run.graph if isinstance(run, Trajectory) else run
    partition = graph.partition(parts, method=method) if isinstance(parts, int) else parts
    if partition.graph != graph:
        raise ValueError("the partition is of another graph than the data; make it by data.graph.partition(parts)")
    folder = Path(folder)
    if folder.exists() and not is_parts_folder(folder):
        raise ValueError(f"{folder} exists and holds no partitioned network; choose another name or remove it")
    labels = plain_labels(graph)
    digest = hashlib.sha256((run.fingerprint + str(partition.parts)).encode())
    digest.update(partition.assignment.tobytes())
    about = {
        "format": FORMAT,
        "version": VERSION,
        "id": digest.hexdigest()[:32],
        "directed": graph.directed,
        "labels": labels is not None,
        **partition.report(),
        "nodes": graph.num_nodes,
        "times": run.times.tolist() if isinstance(run, Trajectory) else None,
        "features": list(run.features) if isinstance(run, Trajectory) else None,
    }
    with replacing(folder) as new:
        new.mkdir()
        for first in range(0, partition.parts, AT_ONCE):
            wanted = range(first, min(first + AT_ONCE, partition.parts))
            for k, part in zip(wanted, partition.some(wanted), strict=True):
                _write_part(new / _name(k), k, part, about, run, labels)
        (new / ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    return partition


def _one_run(data: Any) -> Trajectory | Graph:
    if isinstance(data, Dataset):
        if len(data.runs) != 1 or (data.graphs is not None and len(data.graphs) > 1):
            raise ValueError("a partitioned network has one run on one graph: write a folder for each run")
        data = data.runs[0]
    if not isinstance(data, (Trajectory, Graph)) or (isinstance(data, Graph) and data.in_parts):
        raise TypeError(f"expected a Trajectory, a Dataset or a whole Graph, got {type(data).__name__}")
    return data


def _name(k: int) -> str:
    return f"part-{k:05d}"


def _head(about: dict[str, Any], k: int, **more: Any) -> str:
    return json.dumps({"id": about["id"], "part": k, "parts": about["parts"], **more})


def _write_part(folder: Path, k: int, part: Part, about: dict[str, Any], run: Any, labels: Any) -> None:
    folder.mkdir()
    rows = {name: torch.from_numpy(value) for name, value in part.arrays().items()}
    write_tensors(folder / "rows.safetensors", _head(about, k, inner=part.inner), rows)
    if isinstance(run, Trajectory):
        states = run.states.detach().cpu()[:, torch.from_numpy(part.own)]
        write_tensors(folder / "states.safetensors", _head(about, k), {"states": states})
    if labels is not None:
        table = pd.DataFrame({"node": [labels[i] for i in part.own.tolist()]})
        table.to_parquet(folder / "nodes.parquet", index=False)


def read_part(folder: str | Path, *, world: World | None = None) -> Trajectory | PartGraph:
    """The part of a partitioned network that belongs to this process: a trajectory of its nodes, or its graph if there are no states.

    All processes of the group call it. If one finds its part missing, damaged or of another partition, all say so.

    Args:
        folder: as ``write_parts`` made it.
        world: the processes; those of the initialised group by default.

    Raises:
        ValueError: another number of processes than parts, or a part that cannot be used, in any process.
    """
    world, folder = world or World.current(), Path(folder)
    with world.agreed():
        about = _about(folder)
        if about["parts"] != world.size:
            raise ValueError(_count_advice(folder, about["parts"], world.size))
        found = _read(folder, about, world)
    first, *others = world.texts(graph_of(found).identity)
    different = [str(rank) for rank, one in enumerate(others, 1) if one != first]
    if different:
        raise ValueError(
            f"{folder} is of partition {first} in rank 0 and of another in rank{'s' * (len(different) > 1)} {', '.join(different)}: "
            "copy all parts and partition.json of one partition"
        )
    return found


def graph_of(found: Trajectory | PartGraph) -> PartGraph:
    """The graph of what was read."""
    graph = found.graph if isinstance(found, Trajectory) else found
    assert isinstance(graph, PartGraph)
    return graph


def _count_advice(folder: Path, parts: int, size: int) -> str:
    return (
        f"{folder} has {parts} parts and {size} process{'es' * (size != 1)} came: start it by "
        f"`torchrun --nproc-per-node {parts} -m ndcn ...`, or cut it anew with `ndcn partition --parts {size}`"
    )


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = from_json((folder / ABOUT).read_text())
    except FileNotFoundError:
        raise ValueError(
            f"{folder} holds no partitioned network: it has no {ABOUT}; `ndcn partition` makes one"
        ) from None
    except ValueError as error:
        raise ValueError(f"{folder / ABOUT} is damaged: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{folder / ABOUT} is not what `ndcn partition` writes")
    if about.get("version") != VERSION:
        raise ValueError(
            f"{folder} has format version {about.get('version')}, this ndcn reads {VERSION}; use a newer ndcn"
        )
    if lacking := [
        name for name in ("id", "parts", "nodes", "directed", "labels", "times", "features") if name not in about
    ]:
        raise ValueError(
            f"{folder / ABOUT} is damaged: it says nothing of {', '.join(lacking)}; make the partition anew"
        )
    return about


def _missing(path: Path) -> str:
    return f"{path} is missing: copy it from where the partition was made, or make it anew"


def _tensors(path: Path, about: dict[str, Any], k: int) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if not path.is_file():
        raise ValueError(_missing(path))
    text, tensors = read_tensors(path, "part")
    head = from_json(text)
    if head.get("id") != about["id"] or head.get("part") != k or head.get("parts") != about["parts"]:
        raise ValueError(
            f"{path} is part {head.get('part')} of partition {head.get('id')}, expected part {k} of {about['id']}: "
            "parts of two partitions were mixed; copy all of one"
        )
    return head, tensors


def _read(folder: Path, about: dict[str, Any], world: World) -> Trajectory | PartGraph:
    place, k = folder / _name(world.rank), world.rank
    head, rows = _tensors(place / "rows.safetensors", about, k)
    part = Part(**{name: value.numpy() for name, value in rows.items()}, inner=int(head["inner"]))
    csr_of_parts(  # refuses indices that lead out of it
        part.weights, part.indices, part.indptr, shape=(len(part.own), len(part.own) + len(part.halo))
    )
    counts, own = (part.send_counts, part.receive_counts), len(part.own)
    planned = [len(one) == world.size and one.min() >= 0 for one in counts] + [
        one.sum() == len(rows) for one, rows in zip(counts, (part.send, part.halo), strict=True)
    ]
    if not all(planned) or (len(part.send) and not 0 <= part.send.min() <= part.send.max() < own):
        raise ValueError(f"{place} is damaged: its exchange plan does not fit its nodes")
    nodes = None
    if about["labels"]:
        names = place / "nodes.parquet"
        try:
            nodes = read_parquet(names.read_bytes(), "nodes.parquet").to_pandas()["node"].tolist()
        except FileNotFoundError:
            raise ValueError(_missing(names)) from None
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{names} is damaged: {error}") from error
        if len(nodes) != own:
            raise ValueError(
                f"{names} has {len(nodes)} names for {own} nodes: parts of two partitions were mixed; copy all of one"
            )
    graph = PartGraph(
        part,
        world,
        identity=about["id"],
        directed=bool(about["directed"]),
        num_nodes_total=int(about["nodes"]),
        nodes=nodes,
    )
    if about["times"] is None:
        return graph
    states = _tensors(place / "states.safetensors", about, k)[1]["states"]
    mask = None if not states.isnan().any() else ~states.isnan()
    times = np.array(about["times"], dtype=np.float64)
    return Trajectory(times=times, states=states, graph=graph, mask=mask, features=about["features"])
