"""What the commands do as one of several processes that share a network."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from . import guard

if TYPE_CHECKING:
    from ..data import Trajectory
    from ..graph import Graph
    from ..laws import Law
    from ..regressor import DynamicsRegressor, Kind


def is_parts(folder: Path | None) -> bool:
    """Whether a folder holds a partitioned network; in one process nothing heavy is imported to find out.

    Raises:
        ValueError: ``torchrun`` started several processes, and in one of them it does not.
    """
    here = folder is not None and (folder / "partition.json").is_file()
    if folder is None or "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("WORLD_SIZE", "1") == "1":
        return here
    from ..distributed import World

    begin()
    with World.current().agreed():
        if not here:
            raise ValueError(f"{folder} holds no partitioned network: `ndcn partition` makes one")
    return here


def refuse(folder: Path | None, command: str) -> None:
    """Say that a command needs the whole network, where a folder holds parts of it.

    Raises:
        ValueError: it does.
    """
    if folder is not None and (folder / "partition.json").is_file():
        raise ValueError(
            f"{folder} is a network in parts, and {command} needs it whole: give the data that it was cut from, in one process; the "
            "model is the same"
        )


def begin() -> None:
    """Join the other processes; all but the first are silent from now on, but for errors."""
    from ..distributed import World, start_processes

    start_processes()
    if not World.current().first:
        guard.silence()
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
        atexit.register(sys.stdout.close)


def read(folder: Path) -> Trajectory:
    """The snapshots of this process's part.

    Raises:
        ValueError: the parts hold a graph alone, or cannot be used.
    """
    from ..data import Trajectory
    from ..distributed import read_part

    begin()
    found = read_part(folder)
    if not isinstance(found, Trajectory):
        raise ValueError(f"{folder} holds a network without states: `ndcn simulate --data {folder}` makes some")
    return found


def is_shared(folder: Path, kind: Kind) -> bool:
    """``is_parts``, of a kind of model that is to be fitted on them.

    Raises:
        ValueError: it cannot be.
    """
    shared = is_parts(folder)
    if shared and not kind.can.in_parts:
        raise ValueError(
            f"`{kind.name}` cannot be fitted on a network in parts: name ndcn, no_encode, no_graph, no_control, interaction or closed_form, or fit it in one "
            f"process on the data that {folder} was cut from"
        )
    return shared


def nodes_of(graph: Graph) -> str:
    """How many nodes a network has, also one in parts."""
    from .._support.wording import counted
    from ..graph import PartGraph

    if isinstance(graph, PartGraph):
        return f"{counted(graph.num_nodes_total, 'node')} in {counted(graph.world.size, 'part')}"
    return counted(graph.num_nodes, "node")


def restarted() -> bool:
    """Whether ``torchrun`` started this run again after a fault."""
    from ..distributed import restarts

    return restarts() > 0


def writes() -> bool:
    """Whether this process writes files for all."""
    from ..distributed import World

    return World.current().first


def simulated(rule: Law, folder: Path, times: Any, seed: int, out: Path) -> dict[str, Any]:
    """Simulate a law on a partitioned network and write partitioned Parquet; facts for the output.

    Where the parts have states, their first is the initial state; else that of the law, drawn for all nodes as in one process.
    """
    from scipy import sparse

    import ndcn

    from ..data import Trajectory
    from ..distributed import World, read_part, write_answers

    begin()
    found = read_part(folder)
    if isinstance(found, Trajectory):
        data = ndcn.simulate(rule, found.graph, found.first_state(), times)
    else:
        n = found.num_nodes_total  # initial states ask a graph for the number of its nodes, and for no more
        whole = rule.initial_state(ndcn.Graph(sparse.csr_array((n, n))), seed=seed)
        data = ndcn.simulate(rule, found, found.own_of(whole), times)
    count = write_answers(data, out)
    return {"nodes": count, "snapshots": len(data), "parts": World.current().size}


def predicted(
    estimator: DynamicsRegressor,
    part: Trajectory,
    times: list[float],
    nodes: list[str] | None,
    out: Path | None,
    *,
    plain: bool,
) -> None:
    """Predict on a partitioned network from its first state, and write partitioned Parquet.

    Raises:
        ValueError: no folder to write to was named; or more than plain predictions was asked for.
    """
    from .._support.wording import counted
    from ..distributed import write_answers

    if not plain:
        raise ValueError("--level, --what-if and --json need the whole network in one process: drop them, or --data")
    if out is None or out.suffix:
        raise ValueError("--out: predictions of a partitioned network go into a folder, as --out predicted")
    answer = estimator.predict(times, graph=part.graph, x0=part.first_state(), t0=part.times[0].item())
    count = write_answers(answer, out, nodes=nodes)
    typer.echo(
        f"{counted(len(times), 'time')}, {counted(count, 'node')}\nwritten to {out}, a Parquet file for each process"
    )
