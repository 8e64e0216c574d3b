"""``ndcn inspect``: how a file of edges and a file of states are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .options import Json, check_picture, print_json


@reading.reads_files
def inspect(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help=f"File of edges: {reading.EDGE_ENDINGS}.")],
    states: Annotated[
        Path,
        typer.Argument(
            metavar="STATES",
            help=f"File of states: {reading.TABLE_ENDINGS}; columns node, time and values, or time and one for each node.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write, .png, .pdf or .svg: degrees, curves, missing values.")
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Show how the files of your own network are read: nodes, edges, times, gaps, missing values, and what is done about them.

    Nothing is trained and no file is changed. `ndcn fit EDGES STATES` reads the same files in the same way.

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
