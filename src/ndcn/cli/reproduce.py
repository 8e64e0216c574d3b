"""``ndcn reproduce``: the paper's tables and figures, one command for each."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .guard import FAILED, note
from .options import check_output

if TYPE_CHECKING:
    from ..experiments.pool import Outcome
    from ..experiments.report import Row
    from ..experiments.spec import Run, Table
    from ..experiments.sweep import Workers


class What(str, Enum):
    """What to reproduce, or to look at."""

    extrapolation = "extrapolation"
    interpolation = "interpolation"
    regular = "regular"
    parameters = "parameters"
    all = "all"
    figures = "figures"
    status = "status"


class Form(str, Enum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"


class Equation(str, Enum):
    """Which form of the mutualistic law is simulated."""

    code = "code"
    paper = "paper"


def reproduce(
    what: Annotated[What, typer.Argument(metavar="WHAT", help=f"One of {', '.join(w.value for w in What)}.")],
    only: Annotated[
        str, typer.Option(help="Cells such as heat/grid,gene/random, or a dynamics such as heat.", show_default="all")
    ] = "",
    models: Annotated[str, typer.Option(help="Rows such as ndcn,no_graph.", show_default="all")] = "",
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each figure; the paper has 20.", show_default="20")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes, one thread each.", show_default="one for each core")
    ] = None,
    store: Annotated[Path, typer.Option(help="Results are kept here; what is there is not run again.")] = Path(
        "results.sqlite"
    ),
    stored: Annotated[bool, typer.Option("--stored", help="Show what the store holds, and run nothing.")] = False,
    form: Annotated[Form, typer.Option("--format", help="How to print the tables.")] = Form.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    mutualistic: Annotated[
        Equation, typer.Option(help="The mutualistic law as in the published code, or as printed in the paper.")
    ] = Equation.code,
    ray: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: its address, or auto for that of this machine."),
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    nodes: Annotated[int | None, typer.Option(min=4, help="Nodes of the networks.", show_default="400")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Training epochs.", show_default="2000")] = None,
) -> None:
    """Reproduce a table of the paper, the paper's figure beside ours; or all of them, or its figures.

    Each result is kept in the store as soon as it is there. The same command goes on where it was stopped; several
    commands can share a store. `ndcn reproduce status` shows what is done and how long the rest will take.

    Example: ndcn reproduce extrapolation --only heat/grid,gene/random --runs 3
    """
    check_output(store)
    if as_json:
        form = Form.json
    from ..experiments.spec import TABLES, load_table

    names = TABLES if what in (What.all, What.status) else ("regular",) if what is What.figures else (what.value,)
    wanted = [word.strip() for word in models.split(",") if word.strip()]
    tables = [
        load_table(name).narrowed(
            only=[word.strip() for word in only.split(",") if word.strip()],
            models=wanted,
            runs=1 if what is What.figures else runs,
            nodes=nodes,
            epochs=epochs,
            printed=mutualistic is Equation.paper,
        )
        for name in names
        if name in TABLES
    ]
    _check_models(wanted, names, what)
    if what is What.status:
        _status(tables, store, jobs, form)
        return
    if tables and not stored:
        _carry_out(tables, store, jobs, ray)
    if what is What.figures:
        _figures(tables[0], store, out, form)
        return
    _print_tables(
        tables,
        store,
        form,
        mutualistic,
        with_parameters=what in (What.all, What.parameters),
        models=wanted,
        nodes=nodes,
    )


def _check_models(wanted: list[str], names: tuple[str, ...], what: What) -> None:
    from ..experiments.spec import read_toml

    sources = {*names, "parameters"} if what in (What.all, What.status) else set(names)
    known = list(dict.fromkeys(model for name in sorted(sources) for model in read_toml(name)["models"]))
    for name in wanted:
        if name not in known:
            raise ValueError(f"{what.value} has no model {name!r}; known are {', '.join(known)}")


def _carry_out(tables: list[Table], store: Path, jobs: int | None, ray: str) -> None:
    from ..experiments.pool import Processes, cores
    from ..experiments.run import Result
    from ..experiments.store import Store
    from ..experiments.sweep import missing, seconds_left, sweep
    from ..progress import Progress

    runs = list({run.key: run for table in tables for run in table.all_runs()}.values())
    left, seconds = runs, None
    if store.exists():
        with Store(store) as there:
            left = missing(runs, there)
            seconds = seconds_left(left, there, jobs or cores())
    if not left:
        return
    workers: Workers = _cluster(ray) if ray else Processes(jobs)
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
        note(f"what is done is in {store}: the same command goes on from there")
        raise


def _cluster(address: str) -> Workers:
    from ..experiments.cluster import Ray

    return Ray(address)


def _print_tables(
    tables: list[Table],
    store: Path,
    form: Form,
    mutualistic: Equation,
    *,
    with_parameters: bool,
    models: list[str],
    nodes: int | None,
) -> None:
    from ..experiments import report
    from ..experiments.store import Store

    rows: list[Row] = []
    titles: dict[str, str] = {"parameters": "Learnable parameters"}
    notes: dict[str, list[str]] = {"parameters": []}
    reasons: dict[str, str] = {}
    if tables:
        with Store(store, create=False) as there:
            for table in tables:
                rows += report.rows_of(table, there)
                titles[table.name], notes[table.name] = table.title, []
            keys = {run.key: run for table in tables for run in table.all_runs()}
            reasons = {keys[key].name: reason for key, reason in there.failures().items() if key in keys}
    if with_parameters:
        rows += report.parameter_rows(models, nodes)
    for table in tables:
        if any(law == "mutualistic" for law, _ in table.cells):
            notes[table.name].append(MUTUALISTIC[mutualistic])
        changed = {"nodes": nodes, "epochs": table.epochs}
        other = ", ".join(f"{name} = {value}" for name, value in changed.items() if value is not None)
        if other:
            notes[table.name].append(f"not the paper's setting: {other}")
    if form is Form.json:
        typer.echo(report.as_json(rows))
    elif form is Form.csv:
        typer.echo(report.as_csv(rows))
    else:
        typer.echo(report.FORMATS[form.value](report.grids(rows, titles, notes)))
    for name, reason in reasons.items():
        note(f"failed: {name}: {reason}")
    if reasons:
        raise typer.Exit(FAILED)


MUTUALISTIC = {
    Equation.code: "mutualistic law as in the published code, which exchanges e and h of the printed equation; --mutualistic paper runs that",
    Equation.paper: "mutualistic law as printed; the paper's figures are of its published code, which exchanges e and h",
}


def _status(tables: list[Table], store: Path, jobs: int | None, form: Form) -> None:
    from ..experiments.pool import cores
    from ..experiments.store import Store
    from ..experiments.sweep import missing, seconds_left
    from .options import print_json

    found: dict[str, dict[str, float | int | None]] = {}
    with Store(store, create=False) as there:
        failures = there.failures()
        every = {table.name: list({run.key: run for run in table.all_runs()}.values()) for table in tables}
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
        time = (
            "no estimate: nothing like it was run yet"
            if seconds is None
            else f"about {_span(seconds)}"
            if row["left"]
            else "done"
        )
        failed = f", {row['failed']} failed" if row["failed"] else ""
        typer.echo(f"{name:14}{row['done']:5} of {row['runs']:5} runs{failed:14}{time}")
    typer.echo("extrapolation and interpolation are two views of the same runs")


def _figures(table: Table, store: Path, out: Path, form: Form) -> None:
    from ..experiments.figures import draw

    files = draw(table, store, out)
    if form is Form.json:
        from .options import print_json

        print_json({"files": [str(file) for file in files]})
    else:
        typer.echo(f"written to {out}/\n" + "\n".join(f"  {file.relative_to(out)}" for file in files))


def _span(seconds: float) -> str:
    """A time that people can grasp."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
