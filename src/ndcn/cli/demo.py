"""``ndcn demo``: the paper's first experiment beside the law, or one of the data sets that come with the package."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.registries import DATASETS
from .demo_sets import check_folder, demo_epidemic, demo_law
from .guard import note
from .options import Choice, Json, check_data_output, check_folder_output, option, print_columns, print_json

if TYPE_CHECKING:
    from ..data import Split
    from ..regressor import DynamicsRegressor
    from ..report import Comparison

# Normalised l1 errors in percent of the paper's table for heat diffusion on the grid: interpolation, extrapolation.
PAPER = {"ndcn": (3.2, 4.1), "no_graph": (41.9, 30.5)}
TITLES = {"ndcn": "NDCN", "no_graph": "NDCN without the graph", "interaction": "the law"}
END = 5.0
NODES = 400
FRAMES = 76


class DemoName(Choice, names=("heat", *DATASETS)):
    """What can be shown: heat on a grid, or a data set that comes with the package."""


def demo(
    name: Annotated[DemoName, typer.Argument(help="What to show.")] = DemoName.heat,
    out: Annotated[
        Path | None, option("Output folder; created if missing. By default demo, for data sets demo_NAME.")
    ] = None,
    epochs: Annotated[int, option("heat only: training epochs of each of the two neural models.", min=1)] = 2000,
    seed: Annotated[int, option("Seed of the data and of the weights.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Learn heat diffusion on a grid with NDCN, with NDCN without the graph, and as a law; or show a data set.

    heat: a 400-node grid, 80 irregular snapshots; takes about a minute. epidemic: forecast daily cases in the US states, and
    test whether the network matters. power_grid, opinions: find the law, and predict with it. Each writes an interactive
    page, a picture, the model and the data.

    Example: ndcn demo epidemic --out demo_epidemic
    """
    out = out if out is not None else Path("demo" if name is DemoName.heat else f"demo_{name.value}")
    check_folder_output(out)
    if out.is_dir():
        check_data_output(out / "data")
    if name is not DemoName.heat:
        check_folder(name.value, out)
    if name is DemoName.heat:
        _demo_heat(out, epochs, seed, as_json)
    elif name is DemoName.epidemic:
        demo_epidemic(out, seed, as_json)
    else:
        demo_law(name.value, out, seed, as_json)


def _demo_heat(out: Path, epochs: int, seed: int, as_json: bool) -> None:
    import ndcn

    from .._support.files import write
    from ..report import write_report

    began = time.monotonic()
    graph = ndcn.networks.grid(NODES)
    law = ndcn.laws.Heat()
    x0 = ndcn.laws.initial_state(graph)
    data = ndcn.simulate(law, graph, x0, ndcn.sampling.irregular_times(END, seed=seed))
    parts = ndcn.split(data, seed=seed)
    note(f"heat diffusion on a {NODES}-node grid: learning from {len(parts.train)} snapshots at irregular times")
    models = {name: _learn(name, parts, epochs, seed) for name in PAPER}
    models["interaction"] = _find_law(parts, seed)
    errors = {name: _errors(model, parts) for name, model in models.items()}
    equation = str(models["interaction"].equations())
    side_by_side = _comparison(errors, equation, epochs)

    until = parts.train.times[-1].item()
    moments = ndcn.sampling.regular_times(END, FRAMES)
    truth = ndcn.simulate(law, graph, x0, moments)
    prediction = models["ndcn"].predict(moments)
    names = ("compare.png", "animation.gif", "model.ndcn", "law.ndcn", "data", "report.html")
    files = {name: out / name for name in names}
    out.mkdir(exist_ok=True)
    figure = ndcn.plot.compare(truth, prediction, train_until=until, label="NDCN")[0, 0].figure
    write(files["compare.png"], lambda new: figure.savefig(new, dpi=150, format="png"))
    ndcn.plot.animate(truth, prediction, files["animation.gif"], frames=FRAMES, train_until=until, label="NDCN")
    models["ndcn"].save(files["model.ndcn"])
    models["interaction"].save(files["law.ndcn"])
    data.save(files["data"])
    words: dict[str, Any] = {"model_name": str(files["model.ndcn"]), "data_words": [str(files["data"])]}
    write_report(models["ndcn"], files["report.html"], data, **words, comparison=side_by_side)

    if as_json:
        named: dict[str, dict[str, float | str]] = {
            name: {"interpolation": inside, "extrapolation": after} for name, (inside, after) in errors.items()
        }
        for name in PAPER:
            named[name]["epochs"] = len(models[name].history_.loss)
        named["interaction"]["equation"] = equation
        paper = {name: {"interpolation": a / 100, "extrapolation": b / 100} for name, (a, b) in PAPER.items()}
        seconds = time.monotonic() - began
        print_json({**named, "paper": paper, "files": [str(file) for file in files.values()], "seconds": seconds})
        return
    print_columns(side_by_side.headings, side_by_side.rows, side_by_side.title)
    typer.echo(
        f"\n{side_by_side.note}\n\nwritten to {out}/\n"
        "  compare.png    truth, NDCN and their difference at six times\n"
        "  animation.gif  truth beside NDCN\n"
        f"  model.ndcn     NDCN:     ndcn predict {files['model.ndcn']} --times 0.5,1.25,6\n"
        f"  law.ndcn       the law:  ndcn predict {files['law.ndcn']} --times 0.5,1.25,6\n"
        f"  data/          the data: ndcn evaluate {files['law.ndcn']} {files['data']}\n"
        f"  report.html    the interactive page: open {files['report.html'].absolute().as_uri()} in a browser"
    )


def _learn(name: str, parts: Split, epochs: int, seed: int) -> DynamicsRegressor:
    import ndcn

    note(f"training {TITLES[name]}, {epochs} epochs" + ("" if sys.stderr.isatty() else " ..."))
    model = ndcn.DynamicsRegressor(model=name, epochs=epochs, seed=seed).fit(parts.train)
    if model.history_.stopped == "interrupted":
        raise KeyboardInterrupt
    note(f"trained in {model.history_.seconds:.1f} s")
    return model


def _errors(model: DynamicsRegressor, parts: Split) -> list[float]:
    """Normalised l1 errors on the interpolation and extrapolation times."""
    import ndcn

    held_back = [part for part in (parts.interpolation, parts.extrapolation) if part is not None]
    return [ndcn.metrics.normalized_l1(model.predict(part.times), part) for part in held_back]


def _find_law(parts: Split, seed: int) -> DynamicsRegressor:
    import ndcn

    note("finding the law ...")
    began = time.monotonic()
    model = ndcn.DynamicsRegressor(model="interaction", seed=seed).fit(parts.train)
    note(f"found in {time.monotonic() - began:.1f} s")
    return model


def _comparison(errors: dict[str, list[float]], equation: str, epochs: int) -> Comparison:
    """The errors in percent, each beside the paper's; the equation below."""
    from ..report import Comparison

    rows = []
    for name, ours in errors.items():
        paper = PAPER.get(name, ("", ""))
        rows.append([TITLES[name], *(text for e, p in zip(ours, paper, strict=True) for text in (_percent(e), f"{p}"))])
    title = f"Normalised l1 error in %, NDCN after {epochs} epochs"
    return Comparison(title, ("interpolation", "paper", "extrapolation", "paper"), rows, f"The law: {equation}")


def _percent(error: float) -> str:
    """Two digits, or six decimals of what is nearly nothing."""
    return f"{100 * error:.2g}" if error >= 1e-4 else f"{100 * error:.6f}"
