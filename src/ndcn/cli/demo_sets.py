"""``ndcn demo NAME``: what can be found out about a data set that comes with the package."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .guard import note
from .options import print_columns, print_json, write_picture, write_table

if TYPE_CHECKING:
    from ..data import Dataset, Trajectory
    from ..regressor import DynamicsRegressor

HORIZON = 14
LEVEL = 0.9
STEPS = (1, 3, 7, 14)
SHUFFLES = 99
MAP_DAYS = (-57, -29, -1)  # shown on the map, counted from the day after the last one that the forecast has seen
FILES = ("forecast.png", "nodes.csv", "edges.csv", "states.csv", "forecast.csv", "model.ndcn", "report.html")
LAW_FILES = ("prediction.png", "data", "model.ndcn", "report.html")
MAP_NODES = ("Colorado", "Texas", "Florida", "New York")


def check_folder(name: str, out: Path) -> None:
    """Refuse a folder with other files than those of an earlier demonstration, which would be replaced.

    Raises:
        ValueError: it has some.
    """
    held = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if held and held != set(FILES if name == "epidemic" else LAW_FILES):
        raise ValueError(f"{out} holds other files, such as {min(held)}; give a new folder with --out")


def demo_epidemic(out: Path, seed: int, as_json: bool) -> None:
    """Forecast the last two weeks of the simulated epidemic, with intervals, and test whether the network matters."""
    import ndcn

    from ..report import write_report

    began = time.monotonic()
    data = ndcn.datasets.epidemic(seed=seed)
    run = data.trajectory
    cut = len(run) - HORIZON
    known = ndcn.Dataset((run[:cut],), calendar=data.calendar, notes=data.notes)
    assert data.calendar is not None
    last = data.calendar.texts(run.times[cut - 1 : cut].numpy())[0]
    note(f"a simulated epidemic in {run.graph.num_nodes} US states: forecasting {HORIZON} days after {last} ...")
    model = ndcn.DynamicsRegressor(model=ndcn.forecast.Auto(horizon=HORIZON), seed=seed).fit(known)
    times = run.times[cut:]
    forecast = model.predict(times)
    lower, upper = model.intervals(times, LEVEL)
    errors, coverage = _past_errors(run, cut, forecast, lower, upper)
    network = model.network_test(shuffles=SHUFFLES)

    out.mkdir(exist_ok=True)
    files = {name: out / name for name in FILES}
    _draw(files["forecast.png"], data, (forecast, lower, upper), cut)
    write_table(ndcn.datasets.us_states().rename_axis("node").reset_index(), files["nodes.csv"])
    write_table(run.graph.to_pandas().drop(columns="weight"), files["edges.csv"])
    write_table(_dated(run[:cut], data), files["states.csv"])
    table = _dated(forecast, data)
    for word, end in (("lower", lower), ("upper", upper)):
        table[f"cases_{word}"] = end.states.flatten().numpy()
    write_table(table, files["forecast.csv"])
    model.save(files["model.ndcn"])
    words = [*(str(files[f"{name}.csv"]) for name in ("edges", "states")), "--nodes", str(files["nodes.csv"])]
    write_report(model, files["report.html"], data, model_name=str(files["model.ndcn"]), data_words=words)
    if as_json:
        answer = {name: getattr(network, name) for name in ("helps", "gain", "p_value", "sentence")}
        about = {"errors": errors, "coverage": coverage, "level": LEVEL, "network": answer}
        print_json({**about, "files": [str(file) for file in files.values()], "seconds": time.monotonic() - began})
        return
    rows = [[name, *(f"{row[str(step)]:.0f}" for step in STEPS)] for name, row in errors.items()]
    print_columns([f"day {step}" for step in STEPS], rows, "mean |error| of a state's cases")
    typer.echo(
        f"\n{100 * coverage:.0f} % of the {HORIZON} days lay in the {100 * LEVEL:g} % intervals\n{network.sentence}\n"
    )
    _say(out, files, {
        "forecast.png": "the network over time, its forecast, and what came",
        "edges.csv": f"the same by hand: ndcn fit {' '.join(words)} --out model.ndcn",
        "forecast.csv": f"forecast and {100 * LEVEL:g} % interval of each state and day",
    })  # fmt: skip


def demo_law(name: str, out: Path, seed: int, as_json: bool) -> None:
    """Find the law of a simulated data set, or what is unknown of it, and predict the rest with it."""
    import ndcn

    from ..report import write_report

    began = time.monotonic()
    data, train, rest, model = _law_task(name, seed)
    note(f"{name}: {data!r}, finding the law from {len(train)} snapshots ...")
    model.fit(train)
    equation = str(model.equations())
    errors = {"law": ndcn.metrics.normalized_l1(model.predict(rest.times), rest)}
    for baseline in ("persistence", "linear"):
        guess = ndcn.DynamicsRegressor(model=baseline).fit(train).predict(rest.times)
        errors[baseline] = ndcn.metrics.normalized_l1(guess, rest)

    out.mkdir(exist_ok=True)
    files = {name: out / name for name in LAW_FILES}
    until, last = train.times[-1].item(), data.num_features - 1
    ax = ndcn.plot.trajectories(data, model.predict(data.times), feature=last, train_until=until)
    write_picture(ax.figure, files["prediction.png"])
    data.save(files["data"])
    model.save(files["model.ndcn"])
    names: dict[str, Any] = {"model_name": str(files["model.ndcn"]), "data_words": [str(files["data"])]}
    write_report(model, files["report.html"], data, **names)
    if as_json:
        about = {"equation": equation, "errors": errors, "files": [str(file) for file in files.values()]}
        print_json({**about, "seconds": time.monotonic() - began})
        return
    typer.echo(f"{equation}\n")
    rows = [[title, f"{100 * error:.3g}"] for title, error in errors.items()]
    print_columns(["error, %"], rows, f"normalised l1 error at {len(rest)} later times")
    typer.echo()
    _say(out, files, {"prediction.png": "curves of some nodes, and the law's"})


def _law_task(name: str, seed: int) -> tuple[Trajectory, Trajectory, Trajectory, DynamicsRegressor]:
    """Data, what the law is found from, what it then predicts, and the model."""
    import ndcn

    if name == "opinions":
        data = ndcn.datasets.opinions(seed=seed)
        model = ndcn.DynamicsRegressor(model="interaction", seed=seed)
    else:
        from ..datasets import grid_and_power

        data = ndcn.datasets.power_grid()
        law = ndcn.laws.Swing(power=grid_and_power()[1], damping=None, k=None)
        model = ndcn.DynamicsRegressor(model=law, seed=seed)
    cut = len(data) * 3 // 5
    return data, data[:cut], data[cut:], model


def _past_errors(
    run: Trajectory, cut: int, forecast: Trajectory, lower: Trajectory, upper: Trajectory
) -> tuple[dict[str, dict[str, float]], float]:
    """Mean absolute errors at some steps, of the forecast and of two simple guesses; the share inside the intervals."""
    import torch

    came, seen = run.states[cut:], run.states[:cut]
    weekly = torch.cat([seen[-7:]] * -(-HORIZON // 7))[:HORIZON]
    guesses = {"forecast": forecast.states, "last value": seen[-1:].expand_as(came), "same day last week": weekly}
    errors = {
        name: {str(step): (guess[step - 1] - came[step - 1]).abs().mean().item() for step in STEPS}
        for name, guess in guesses.items()
    }
    inside = (came >= lower.states) & (came <= upper.states)
    return errors, inside.double().mean().item()


def _draw(path: Path, data: Dataset, forecast: tuple[Trajectory, Trajectory, Trajectory], cut: int) -> None:
    import ndcn

    states = ndcn.datasets.us_states()
    assert data.calendar is not None
    places = ndcn.plot.maps.albers(states["lat"].to_numpy(), states["lon"].to_numpy())
    people = states["population"].to_numpy(dtype=float)
    shown = ndcn.plot.maps.MapForecast(data.trajectory, forecast, data.calendar, places, people, LEVEL)
    write_picture(ndcn.plot.maps.forecast_maps(shown, [cut + day for day in MAP_DAYS], MAP_NODES), path)


def _dated(run: Trajectory, data: Dataset) -> Any:
    """A long table with dates."""
    assert data.calendar is not None
    table = run.to_pandas()
    dates = [text for text in data.calendar.texts(run.times.numpy()) for _ in range(run.graph.num_nodes)]
    return table.assign(time=dates).rename(columns={"time": "date"})


def _say(out: Path, files: dict[str, Path], about: dict[str, str]) -> None:
    about = {
        **about,
        "report.html": f"the interactive page: open {files['report.html'].absolute().as_uri()} in a browser",
    }
    width = max(map(len, about))
    lines = [f"  {name:{width}}  {text}" for name, text in about.items()]
    typer.echo("\n".join([f"written to {out}/", *lines]))
