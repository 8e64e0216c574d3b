"""``ndcn inspect``: what was understood of a file of edges and a file of states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .options import Json, check_picture, print_json


@reading.reads_files
def inspect(
    edges: Annotated[
        Path,
        typer.Argument(metavar="EDGES", help=f"File of edges: {reading.EDGE_ENDINGS}."),
    ],
    states: Annotated[
        Path,
        typer.Argument(
            metavar="STATES",
            help=f"File of states: {reading.TABLE_ENDINGS}; columns node, time and values, or time and one for each node.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Picture to draw, .png, .pdf or .svg: degrees, curves, what is missing.")
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Tell what was understood of your own network: nodes, edges, times, gaps, what is missing, and what will be done.

    Nothing is learned and nothing is changed. `ndcn fit EDGES STATES` reads the same files in the same way.

    Example: ndcn inspect edges.csv states.csv --out picture.png
    """
    if out is not None:
        check_picture(out)
    data = how.read(edges, states)
    from .. import io as tables

    facts = tables.inspect(data)
    if out is not None:
        from .. import plot
        from .._support.files import write

        figure = plot.inspect(data)
        write(out, lambda new: figure.savefig(new, dpi=150))
    if as_json:
        print_json({**facts.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{facts}" + ("" if out is None else f"\n\npicture written to {out}"))
