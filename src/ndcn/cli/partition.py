"""``ndcn partition``: cut a network into parts, one for each process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import parts as parts_of_network, reading
from .guard import data_notes, note
from .options import Choice, Data, Json, States, check_place, option, print_json


class Method(Choice, names=("auto", "metis", "streaming", "blocks")):
    """How nodes are assigned to parts."""


METHOD = (
    "metis has the smallest cut and needs pip install 'ndcn[metis]'; streaming is our own; blocks are consecutive nodes; auto takes "
    "metis where it is installed, else streaming."
)


@reading.reads_files
def partition(
    data: Data,
    states: States = None,
    parts: Annotated[int, option("How many parts: as many as processes will share the network.", min=1)] = 2,
    method: Annotated[Method, option(METHOD)] = Method.auto,
    width: Annotated[int, option("Features of the hidden state, for the bytes that are reported.", min=1)] = 20,
    out: Annotated[Path, option("Folder to write; one that holds parts is replaced.")] = Path("parts"),
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Cut a network and its states into parts, for processes on one or several machines.

    Each part is a folder of its own, with the rows of its nodes, their states, and which boundary states it sends to whom;
    copy part K to the machine on which rank K will run, with partition.json, or keep all on a shared disk.

    Example: ndcn partition data --parts 2 --out parts, then: torchrun --nproc-per-node 2 -m ndcn fit parts --out model.ndcn
    """
    if parts_of_network.is_parts(data):
        raise ValueError(f"{data} is cut into parts already: give the data that it was cut from")
    check_place(out)
    from ..distributed import write_parts

    known = how.read(data, states)
    data_notes(known, [data, states, *how.words()])
    if left := known.runs[0].graph.attributes:
        note(f"note: networks in parts have no attributes of nodes: {', '.join(left)} left aside")
    found = write_parts(known, out, parts, method=method.value)
    facts = found.report(width)
    if as_json:
        print_json({"out": str(out), **facts})
        return
    halo = ", ".join(str(count) for count in facts["halo"][:8]) + (", ..." if parts > 8 else "")
    typer.echo(
        f"{found!r}\nbusiest part: {100 * (facts['work_imbalance'] - 1):.2g} % more entries than the mean; boundary nodes "
        f"received by each: {halo}\n{facts['bytes_per_evaluation'] / 1e6:.3g} MB cross the cut when a field of {width} features "
        f"is evaluated, as many for its gradient (float32)\nwritten to {out}; next: torchrun --nproc-per-node {parts} -m ndcn "
        f"fit {out} --out model.ndcn"
    )
