"""``ndcn reproduce``: the paper's tables and figures, one command for each."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._support.registries import FIGURES, TABLES
from .guard import FAILED, note
from .options import Choice, check_folder_output, check_output, option, print_json

if TYPE_CHECKING:
    from ..experiments import Outcome, Request, Run, Target


class What(Choice, names=(*TABLES, "all", *FIGURES, "status")):
    """What to reproduce, or to look at."""


class Form(Choice, names=("text", "markdown", "latex", "csv", "json")):
    """How a table is printed."""


class Equation(Choice, names=("code", "paper")):
    """Which form of the mutualistic law is simulated."""


HELP = f"""A table ({", ".join(TABLES)}), all of them, figures (pictures and animations of the dynamics), sweep (accuracy
of classification over T and alpha), or status."""


def reproduce(
    what: Annotated[What, typer.Argument(metavar="WHAT", help=" ".join(HELP.split()))],
    only: Annotated[
        str, option("Cells such as heat/grid,gene/random, a dynamics such as heat, or cora.", show_default="all")
    ] = "",
    models: Annotated[str, option("Rows such as ndcn,no_graph.", show_default="all")] = "",
    runs: Annotated[
        int | None, option("Runs per cell.", min=1, show_default="the paper's: 20, classification 100, sweep 3")
    ] = None,
    jobs: Annotated[int | None, option("Processes, one thread each.", min=1, show_default="one for each core")] = None,
    store: Annotated[Path, option("Results are stored here; runs that it holds are not repeated.")] = Path(
        "results.sqlite"
    ),
    stored: Annotated[bool, option("Print what the store holds; run nothing.", "--stored")] = False,
    form: Annotated[Form, option("How to print the tables.", "--format")] = Form.text,
    as_json: Annotated[bool, option("The same as --format json.", "--json")] = False,
    mutualistic: Annotated[
        Equation, option("The mutualistic law as in the published code, or as printed in the paper.")
    ] = Equation.code,
    data: Annotated[
        Path | None, option("Folder with the files of Cora and others.", show_default="~/.cache/ndcn/planetoid")
    ] = None,
    ray: Annotated[
        str, option("Run on a Ray cluster: its address, or auto for this machine's.", metavar="ADDRESS")
    ] = "",
    out: Annotated[Path, option("Folder for the figures.")] = Path("figures"),
    nodes: Annotated[int | None, option("Nodes of the networks.", min=4, show_default="400")] = None,
    epochs: Annotated[int | None, option("Training epochs.", min=1, show_default="the paper's")] = None,
) -> None:
    """Reproduce a table of the paper, with the paper's values beside ours; or all tables; or the figures.

    Each result is stored as soon as its run ends. The same command resumes where it was stopped, and several commands
    can share a store. `ndcn reproduce status` shows which runs are done and how long the others will take.

    Example: ndcn reproduce extrapolation --only heat/grid,gene/random --runs 3
    """
    if not (stored or what is What.status):  # these only read it
        check_output(store)
    if what.value in FIGURES:
        check_folder_output(next(place for place in (out, *out.absolute().parents) if place.exists()))
    if as_json:
        form = Form.json
    from ..experiments import Request

    printed = mutualistic is Equation.paper
    folder = None if data is None else str(data.absolute())
    cells, rows = _words(only), _words(models)
    request = Request(only=cells, models=rows, runs=runs, nodes=nodes, epochs=epochs, printed=printed, folder=folder)
    targets = _targets(what.value, request)
    _check_names(what.value, targets, request)
    if what is What.status:
        _status([target for target in targets if target.trained], store, jobs, form)
        return
    if not stored:
        for target in targets:
            target.leave_out(note)
        _carry_out([run for target in targets for run in target.all_runs()], store, jobs, ray)
    if what.value in FIGURES:
        _figures(targets, store, out, form)
    else:
        _print_tables(targets, store, form)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _targets(what: str, request: Request) -> list[Target]:
    """All tables, or the one table or figure that was asked for."""
    if what in FIGURES:
        return [FIGURES[what](what, request)]
    names = (what,) if what in TABLES else tuple(TABLES)
    return [TABLES[name](name, request) for name in names]


def _check_names(what: str, targets: list[Target], request: Request) -> None:
    """Raise ValueError for rows and cells that no target has."""
    for kind, words in (("model", request.models), ("cell", request.only)):
        known = list(dict.fromkeys(name for target in targets for name in target.names()[kind]))
        for word in words:
            if word not in known:
                raise ValueError(f"{what} has no {kind} {word!r}; known are {', '.join(known) or 'none'}")


def _carry_out(runs: list[Run], store: Path, jobs: int | None, ray: str) -> None:
    from .._support.progress import Progress
    from .._support.threads import cores
    from .._support.work import workers_for
    from ..experiments import Result, Store, attempt, missing, seconds_left, sweep

    runs = list({run.key: run for run in runs}.values())
    left = runs
    seconds = None
    if runs and store.exists():
        with Store(store) as there:
            left = missing(runs, there)
            seconds = seconds_left(left, there, jobs or cores())
    if not left:
        return
    workers = workers_for(attempt, ray or jobs)
    ended: list[Run] = []
    estimate = "" if seconds is None else f", about {_span(seconds)} on {jobs or cores()} cores"
    note(f"{len(runs) - len(left)} of {len(runs)} runs are in {store}; {len(left)} to do{estimate}")

    def report(run: Run, outcome: Outcome) -> None:
        done = isinstance(outcome, Result)
        if done:
            ended.append(run)
            bar.update(len(ended))
        if not bar.show or not done:
            text = f"done in {outcome.seconds:.1f} s" if isinstance(outcome, Result) else outcome.reason
            note(f"[{len(ended)}/{len(left)}] {run.name}: {text}")

    try:
        with workers, Progress(len(left), 0, None, unit="runs", name="reproducing") as bar:
            sweep(left, store, workers, report)
    except KeyboardInterrupt:
        note(f"what is done is in {store}: the same command continues from there")
        raise


def _print_tables(targets: list[Target], store: Path, form: Form) -> None:
    from ..experiments import Store, layout, report

    keys = {run.key: run for target in targets for run in target.all_runs()}
    reasons: dict[str, str] = {}
    with Store(store, create=False, read_only=True) if keys else nullcontext() as there:
        rows = [row for target in targets for row in target.rows(there)]
        if there is not None:
            reasons = {keys[key].name: reason for key, reason in there.failures().items() if key in keys}
    if form is Form.json:
        typer.echo(report.as_json(rows))
    elif form is Form.csv:
        typer.echo(report.as_csv(rows))
    else:
        titles = {target.name: target.title for target in targets}
        notes = {target.name: list(target.notes) for target in targets}
        typer.echo(layout.FORMATS[form.value](layout.grids(rows, titles, notes)))
    for name, reason in reasons.items():
        note(f"failed: {name}: {reason}")
    if reasons:
        raise typer.Exit(FAILED)


def _status(targets: list[Target], store: Path, jobs: int | None, form: Form) -> None:
    from .._support.threads import cores
    from ..experiments import Store, missing, seconds_left

    found: dict[str, dict[str, float | int | None]] = {}
    with Store(store, read_only=True) if store.exists() else Store(":memory:") as there:
        failures = there.failures()
        every = {target.name: list({run.key: run for run in target.all_runs()}.values()) for target in targets}
        every["all"] = list({run.key: run for runs in every.values() for run in runs}.values())
        for name, runs in every.items():
            left = missing(runs, there)
            found[name] = {
                "runs": len(runs),
                "done": len(runs) - len(left),
                "left": len(left),
                "failed": sum(run.key in failures for run in left),
                "seconds_left": seconds_left(left, there, jobs or cores()),
            }
    if form is Form.json:
        print_json(found)
        return
    for name, row in found.items():
        seconds = row["seconds_left"]
        failed = f"{row['failed']} failed, " if row["failed"] else ""
        rest = "no estimate yet" if seconds is None else f"about {_span(seconds)} left" if row["left"] else "done"
        typer.echo(f"{name:15}{row['done']:5} of {row['runs']:5} runs   {failed}{rest}")
    typer.echo("extrapolation and interpolation are two views of the same runs")


def _figures(targets: list[Target], store: Path, out: Path, form: Form) -> None:
    files = [file for target in targets for file in target.draw(store, out)]
    if all(file.name == "adjacency.png" for file in files):  # of the networks, which need no runs
        note(f"note: {store} holds no runs for these figures; leave out --stored to run them first")
    if form is Form.json:
        print_json({"files": [str(file) for file in files]})
    elif files:
        typer.echo(f"written to {out}/\n" + "\n".join(f"  {file.relative_to(out)}" for file in files))


def _span(seconds: float) -> str:
    """A duration in a readable unit."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
