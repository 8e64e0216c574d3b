"""``ndcn inspect``: how a file of edges and a file of states are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from . import parts, reading
from .guard import BAD_INPUT, note
from .options import KEEP_OUTLIERS, PICTURES, Json, Kind, Period, check_output, option, print_json, write_picture

MOST = 50  # problems to show
STATES_HELP = f"File of states: {reading.TABLE_ENDINGS}; columns node, time and values, or time and one for each node."


@reading.reads_files
def inspect(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help=f"File of edges: {reading.EDGE_ENDINGS}.")],
    states: Annotated[Path | None, typer.Argument(metavar="STATES", help=STATES_HELP)] = None,
    out: Annotated[
        Path | None, option("Picture to write, .png, .pdf or .svg: degrees, curves, missing values.")
    ] = None,
    kind_of_data: Kind = None,
    period: Period = None,
    keep_outliers: Annotated[bool, option(KEEP_OUTLIERS, "--keep-outliers")] = False,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Show how the files of your own network are read: nodes, edges, times, gaps, missing values, and what is done about them.

    With one file alone, it is that of states, and the network is not known. Nothing is trained and no file is changed. If the files cannot be read, all their problems are listed. `ndcn fit
    EDGES STATES` reads the same files in the same way, and does what is listed, if it is given the same options.

    Example: ndcn inspect edges.csv states.csv --out picture.png
    """
    parts.refuse(edges, "inspect")
    check_output(out, PICTURES)
    from .. import io as tables

    try:
        data = how.read_states(edges) if states is None else how.read(edges, states)
    except (ValueError, FileNotFoundError, ModuleNotFoundError):
        found = [] if states is None else tables.problems(edges, states, **how.settings())
        if len(found) < 2:
            raise
        _tell(found, as_json)
        raise typer.Exit(BAD_INPUT) from None
    kind = None if kind_of_data is None else kind_of_data.value
    facts = tables.inspect(data, kind=kind, period=period, keep_outliers=keep_outliers)
    if out is not None:
        from .. import plot

        write_picture(plot.inspect(data), out)
    if as_json:
        print_json({**facts.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{facts}" + ("" if out is None else f"\n\npicture written to {out}"))


def _tell(problems: Sequence[str], as_json: bool) -> None:
    """List problems on standard error, and in one JSON object if that is wanted."""
    for problem in problems[:MOST]:
        note(f"error: {problem}")
    more = f", {len(problems) - MOST} more than shown" if len(problems) > MOST else ""
    note(f"{len(problems)} problems{more}; correct them and inspect the files again")
    if as_json:
        print_json({"problems": list(problems)})
