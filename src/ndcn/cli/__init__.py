"""The command line: ``ndcn demo | simulate | inspect | fit | predict | evaluate | report | ...``, one file for each.

Exit codes: 0 fine, 1 failed or interrupted, 2 wrong usage or bad input.
"""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    backtest,
    classify,
    demo,
    doctor,
    evaluate,
    explain,
    find_network,
    fit,
    inspect,
    network_test,
    partition,
    predict,
    report,
    reproduce,
    simulate,
)
from .given import remembered
from .guard import Guarded

ABOUT = (  # as the README says it
    "Give it a network and its time series. It tells you the law behind them, what comes next, and whether the network matters."
)

app = typer.Typer(
    name="ndcn",
    cls=Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from .._support.version import __version__

        typer.echo(f"ndcn {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT, epilog="Start with: ndcn demo")
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


def _help(text: str) -> str:
    """A docstring with its paragraphs unwrapped, so that they fill the terminal."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


for _command in (
    demo.demo, simulate.simulate, inspect.inspect, fit.fit, predict.predict, evaluate.evaluate, backtest.backtest, report.report,
    network_test.network_test, find_network.find_network, classify.classify, explain.explain, partition.partition, reproduce.reproduce,
    doctor.doctor,
):  # fmt: skip
    _class = simulate.NamesParameters if _command is simulate.simulate else None
    app.command(help=_help(_command.__doc__ or ""), cls=_class)(remembered(_command))


def main() -> None:
    """Run the command line."""
    app()
