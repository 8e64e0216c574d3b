"""``ndcn inspect``: what was understood of a file of edges and a file of states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .options import Json, check_output, print_json

PICTURES = (".png", ".pdf", ".svg")


def inspect(
    edges: Annotated[
        Path,
        typer.Argument(metavar="EDGES", help="CSV, TSV, Parquet, GraphML, GML, JSON, npz or Matrix Market."),
    ],
    states: Annotated[
        Path,
        typer.Argument(
            metavar="STATES", help="CSV, TSV, Parquet or NetCDF; node, time, values, or a column for each node."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Picture to draw, .png, .pdf or .svg: degrees, curves, what is missing.")
    ] = None,
    directed: reading.Directed = None,
    source: reading.Source = None,
    target: reading.Target = None,
    weight: reading.Weight = None,
    edge_time: reading.EdgeTime = None,
    one_graph: reading.OneGraph = False,
    node: reading.Node = None,
    time: reading.Time = None,
    values: reading.Values = None,
    run: reading.Run = None,
    date_format: reading.DateFormat = None,
    unit: reading.TimeUnit = None,
    step: reading.Step = None,
    duplicates: reading.Duplicates = reading.Repeats.error,
    infinite: reading.InfiniteValues = reading.Infinite.auto,
    same_names: reading.SameNames = False,
    as_json: Json = False,
) -> None:
    """Tell what was understood of your own network: nodes, edges, times, gaps, what is missing, and what will be done.

    Nothing is learned and nothing is changed. `ndcn fit EDGES STATES` reads the same files in the same way.

    Example: ndcn inspect edges.csv states.csv --out picture.png
    """
    if out is not None:
        if out.suffix.lower() not in PICTURES:
            raise ValueError(
                f"{out}: the name of the picture must end in {', '.join(PICTURES)}, which decides the format"
            )
        check_output(out)
    data = reading.read_files(
        edges,
        states,
        directed=directed,
        source=source,
        target=target,
        weight=weight,
        edge_time=edge_time,
        one_graph=one_graph,
        node=node,
        time=time,
        values=values,
        run=run,
        date_format=date_format,
        unit=unit,
        step=step,
        duplicates=duplicates,
        infinite=infinite,
        same_names=same_names,
    )
    from .. import tables

    facts = tables.inspect(data)
    if out is not None:
        from .. import plot
        from ..files import write

        figure = plot.inspect(data)
        write(out, lambda new: figure.savefig(new, dpi=150))
    if as_json:
        print_json({**facts.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{facts}" + ("" if out is None else f"\n\npicture written to {out}"))
