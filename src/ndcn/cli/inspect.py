"""``ndcn inspect``: how a file of edges and a file of states are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .options import PICTURES, Json, check_output, option, print_json, write_picture

STATES_HELP = f"File of states: {reading.TABLE_ENDINGS}; columns node, time and values, or time and one for each node."


@reading.reads_files
def inspect(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help=f"File of edges: {reading.EDGE_ENDINGS}.")],
    states: Annotated[Path, typer.Argument(metavar="STATES", help=STATES_HELP)],
    out: Annotated[
        Path | None, option("Picture to write, .png, .pdf or .svg: degrees, curves, missing values.")
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Show how the files of your own network are read: nodes, edges, times, gaps, missing values, and what is done about them.

    Nothing is trained and no file is changed. `ndcn fit EDGES STATES` reads the same files in the same way.

    Example: ndcn inspect edges.csv states.csv --out picture.png
    """
    check_output(out, PICTURES)
    data = how.read(edges, states)
    from .. import io as tables

    facts = tables.inspect(data)
    if out is not None:
        from .. import plot

        write_picture(plot.inspect(data), out)
    if as_json:
        print_json({**facts.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{facts}" + ("" if out is None else f"\n\npicture written to {out}"))
