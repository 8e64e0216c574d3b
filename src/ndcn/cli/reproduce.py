"""``ndcn reproduce``: the paper's tables and figures, one command for each."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .guard import FAILED, note
from .options import NEED_PYG, check_output, print_json

if TYPE_CHECKING:
    from ..experiments import Classification, Outcome, Row, Run, Table


class What(str, Enum):
    """What to reproduce, or to look at."""

    extrapolation = "extrapolation"
    interpolation = "interpolation"
    regular = "regular"
    parameters = "parameters"
    classification = "classification"
    all = "all"
    figures = "figures"
    sweep = "sweep"
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


HELP = """A table (extrapolation, interpolation, regular, parameters, classification), all of them, figures (pictures and
animations of the dynamics), sweep (accuracy of classification over T and alpha), or status."""


def reproduce(
    what: Annotated[What, typer.Argument(metavar="WHAT", help=" ".join(HELP.split()))],
    only: Annotated[
        str,
        typer.Option(help="Cells such as heat/grid,gene/random, a dynamics such as heat, or cora.", show_default="all"),
    ] = "",
    models: Annotated[str, typer.Option(help="Rows such as ndcn,no_graph.", show_default="all")] = "",
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each figure.", show_default="the paper's: 20, classification 100"),
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
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the files of Cora and others.", show_default="~/.cache/ndcn/planetoid"),
    ] = None,
    ray: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: its address, or auto for that of this machine."),
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    nodes: Annotated[int | None, typer.Option(min=4, help="Nodes of the networks.", show_default="400")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Training epochs.", show_default="the paper's")] = None,
) -> None:
    """Reproduce a table of the paper, the paper's figure beside ours; or all of them, or its figures.

    Each result is kept in the store as soon as it is there. The same command goes on where it was stopped; several
    commands can share a store. `ndcn reproduce status` shows what is done and how long the rest will take.

    Example: ndcn reproduce extrapolation --only heat/grid,gene/random --runs 3
    """
    check_output(store)
    if as_json:
        form = Form.json
    wanted, cells = _words(models), _words(only)
    _check_names(what, wanted, cells)
    from ..experiments import TABLES, load_classification, load_table, read_toml

    names = {What.all: TABLES, What.status: TABLES, What.figures: (read_toml("figures")["table"],)}.get(
        what, (what.value,)
    )
    tables = [
        load_table(name).narrowed(
            only=cells,
            models=wanted,
            runs=1 if what is What.figures and runs is None else runs,
            nodes=nodes,
            epochs=epochs,
            printed=mutualistic is Equation.paper,
        )
        for name in names
        if name in TABLES
    ]
    classes = load_classification().narrowed(
        only=cells, models=wanted, runs=runs, epochs=epochs, folder=None if data is None else str(data.absolute())
    )
    if what not in (What.classification, What.sweep, What.all, What.status):
        classes = classes.narrowed(only=("none",))
    elif what is not What.status and not stored:
        classes = _at_hand(classes, named=[*cells, *wanted])
    if what is What.status:
        _status(tables, classes, store, jobs, form)
        return
    found = [run for table in tables for run in table.all_runs()]
    if what is What.sweep:
        kinds = classes.sweep_models()
        found = [
            run
            for name in classes.datasets
            for m in kinds
            for _, _, some in classes.sweep_runs(name, m)
            for run in some
        ]
    else:
        found += classes.all_runs()
    if found and not stored:
        _carry_out(found, store, jobs, ray)
    if what in (What.figures, What.sweep):
        _figures(tables, classes, store, out, form)
        return
    parameters = what in (What.parameters, What.all)
    _print_tables(tables, classes, store, form, mutualistic, _parameters(wanted, nodes) if parameters else [])


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_names(what: What, models: list[str], cells: list[str]) -> None:
    """Refuse rows and cells that none of the tables has."""
    from ..experiments import TABLES, read_toml

    sources = {
        What.all: (*TABLES, "parameters", "classification"),
        What.status: (*TABLES, "classification"),
        What.figures: (read_toml("figures")["table"],),
        What.sweep: ("classification",),
    }.get(what, (what.value,))
    contents = [read_toml(name) for name in sources]
    rows = list(dict.fromkeys(model for content in contents for model in content["models"]))
    places: dict[str, None] = {}
    for content in contents:
        for law, networks in content.get("terminal_time", {}).items():
            places |= dict.fromkeys([law, *(f"{law}/{network}" for network in networks)])
        places |= dict.fromkeys(content.get("datasets", ()))
    for kind, words, known in (("model", models, rows), ("cell", cells, list(places))):
        for word in words:
            if word not in known:
                raise ValueError(f"{what.value} has no {kind} {word!r}; known are {', '.join(known) or 'none'}")


def _at_hand(classes: Classification, named: list[str]) -> Classification:
    """Those data sets and models whose files and extras are there; what was asked for by name must be."""
    from importlib.util import find_spec

    from ..classify import planetoid

    datasets = []
    for name in classes.datasets:
        try:
            planetoid(name, classes.folder)
            datasets.append(name)
        except ConnectionError as error:
            if name in named:
                raise
            note(f"note: {name} is left out: {error}")
    needs = [] if find_spec("torch_geometric") else [m.name for m in classes.models if m.name in NEED_PYG]
    left_out = [name for name in needs if name not in named]
    if left_out and datasets:
        note(f"note: {', '.join(left_out)} are left out: they need PyTorch Geometric, pip install 'ndcn[pyg]'")
    keep = [m.name for m in classes.models if m.name not in left_out]
    return classes.narrowed(only=datasets or ["none"], models=keep)


def _carry_out(runs: list[Run], store: Path, jobs: int | None, ray: str) -> None:
    from .._support.progress import Progress
    from .._support.threads import cores
    from .._support.work import workers_for
    from ..experiments import Result, Store, attempt, missing, seconds_left, sweep

    runs = list({run.key: run for run in runs}.values())
    left, seconds = runs, None
    if store.exists():
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
        note(f"what is done is in {store}: the same command goes on from there")
        raise


def _parameters(models: list[str], nodes: int | None) -> list[Row]:
    from ..experiments import parameter_rows

    return parameter_rows(models, nodes)


def _print_tables(
    tables: list[Table],
    classes: Classification,
    store: Path,
    form: Form,
    mutualistic: Equation,
    parameters: list[Row],
) -> None:
    from ..experiments import Store, layout, read_toml, report

    rows: list[Row] = []
    titles = {"parameters": read_toml("parameters")["title"], classes.name: classes.title}
    notes: dict[str, list[str]] = {"parameters": [], classes.name: [CLASSES]}
    reasons: dict[str, str] = {}
    if tables or classes.datasets:
        with Store(store, create=False) as there:
            for table in tables:
                rows += report.rows_of(table, there)
                titles[table.name], notes[table.name] = table.title, _notes(table, mutualistic)
            rows += report.class_rows(classes, there)
            every: list[Table | Classification] = [*tables, classes]
            keys = {run.key: run for table in every for run in table.all_runs()}
            reasons = {keys[key].name: reason for key, reason in there.failures().items() if key in keys}
    rows += parameters
    if form is Form.json:
        typer.echo(report.as_json(rows))
    elif form is Form.csv:
        typer.echo(report.as_csv(rows))
    else:
        typer.echo(layout.FORMATS[form.value](layout.grids(rows, titles, notes)))
    for name, reason in reasons.items():
        note(f"failed: {name}: {reason}")
    if reasons:
        raise typer.Exit(FAILED)


MUTUALISTIC = {
    Equation.code: "mutualistic law as in the published code, which exchanges e and h of the printed equation; "
    "--mutualistic paper runs that",
    Equation.paper: "mutualistic law as printed; the paper's figures are of its published code, which exchanges e and h",
}
CLASSES = (
    "independent runs from fresh weights on the standard split; the published configuration includes a solver that is far "
    "from the solution at T"
)


def _notes(table: Table, mutualistic: Equation) -> list[str]:
    notes = [MUTUALISTIC[mutualistic]] if any(law == "mutualistic" for law, _ in table.cells) else []
    changed = {"nodes": table.nodes, "epochs": table.epochs}
    other = ", ".join(f"{name} = {value}" for name, value in changed.items() if value is not None)
    return [*notes, f"not the paper's setting: {other}"] if other else notes


def _status(tables: list[Table], classes: Classification, store: Path, jobs: int | None, form: Form) -> None:
    from .._support.threads import cores
    from ..experiments import Store, missing, seconds_left

    found: dict[str, dict[str, float | int | None]] = {}
    with Store(store if store.exists() else ":memory:") as there:
        failures = there.failures()
        shown: list[Table | Classification] = [*tables, classes]
        every = {table.name: list({run.key: run for run in table.all_runs()}.values()) for table in shown}
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


def _figures(tables: list[Table], classes: Classification, store: Path, out: Path, form: Form) -> None:
    from ..experiments import draw, draw_sweep

    files = [file for table in tables for file in draw(table, store, out)]
    if classes.datasets:
        files += draw_sweep(classes, store, out)
    if len(files) <= len(tables):  # nothing, or the networks alone
        note(f"note: {store} holds no runs for these figures; without --stored they are made first")
    if form is Form.json:
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
