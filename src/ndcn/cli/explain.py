"""``ndcn explain``: which nodes the class of a node came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import TABLES, Json, check_output, load_classifier, option, print_json, write_table

MODEL = "Classifier, as `ndcn classify --save` writes it."
OUT = "Table to write, .csv or .parquet: all nodes that count, with their exact contributions."


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL)],
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.")],
    top: Annotated[int, option("Rows to print, those that count most first.", min=1)] = 10,
    out: Annotated[Path | None, option(OUT)] = None,
    as_json: Json = False,
) -> None:
    """Tell which nodes, labelled or not, the class of a node came from.

    The log-odds of its likeliest class against the runner-up are a sum over all nodes, because the diffusion is linear:
    contributions and bias add up exactly. A share is a contribution as a part of the sum of all absolute contributions.

    Example: ndcn classify --save club.ndcn, then: ndcn explain club.ndcn 8
    """
    check_output(out, TABLES)
    found = load_classifier(model).explain(node)
    if out is not None:
        write_table(found.table, out)
    if not as_json:
        typer.echo(found.text(top) + ("" if out is None else f"\nwritten to {out}"))
        return
    rows = found.table.head(top).to_dict("records")
    print_json(
        {
            "node": str(found.node),
            "predicted": _plain(found.predicted),
            "runner_up": _plain(found.runner_up),
            "probability": found.probability,
            "runner_up_probability": found.runner_up_probability,
            "log_odds": found.log_odds,
            "parts": found.by_split(),
            "nodes": len(found.table),
            "table": [{name: _plain(value) for name, value in row.items()} for row in rows],
            "out": None if out is None else str(out),
        }
    )


def _plain(value: object) -> object:
    """A class or a cell as JSON has it."""
    return value.item() if hasattr(value, "item") else value
