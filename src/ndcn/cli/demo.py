"""``ndcn demo``: the paper's first experiment, from simulation to an interactive page."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .guard import note
from .options import Json, check_data_output, check_folder_output, option, print_columns, print_json

if TYPE_CHECKING:
    from ..data import Split
    from ..regressor import DynamicsRegressor

# Normalised l1 errors in percent of the paper's table for heat diffusion on the grid: interpolation, extrapolation.
PAPER = {"ndcn": (3.2, 4.1), "no_graph": (41.9, 30.5)}
TITLES = {"ndcn": "NDCN", "no_graph": "without the graph"}
END = 5.0
NODES = 400
FRAMES = 76


def demo(
    out: Annotated[Path, option("Output folder; created if missing.")] = Path("demo"),
    epochs: Annotated[int, option("Training epochs of each of the two models.", min=1)] = 2000,
    seed: Annotated[int, option("Seed of the times, of the split and of the weights.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Learn heat diffusion on a 400-node grid from 80 irregular snapshots, with and without the graph.

    Writes an interactive page, a figure, an animation, the model and the data. Takes about a minute.

    Example: ndcn demo --out demo
    """
    check_folder_output(out)
    if out.is_dir():
        check_data_output(out / "data")
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
    errors = {name: _errors(model, parts) for name, model in models.items()}

    until = parts.train.times[-1].item()
    moments = ndcn.sampling.regular_times(END, FRAMES)
    truth = ndcn.simulate(law, graph, x0, moments)
    prediction = models["ndcn"].predict(moments)
    files = {name: out / name for name in ("compare.png", "animation.gif", "model.ndcn", "data", "report.html")}
    out.mkdir(exist_ok=True)
    figure = ndcn.plot.compare(truth, prediction, train_until=until, label="NDCN")[0, 0].figure
    write(files["compare.png"], lambda new: figure.savefig(new, dpi=150, format="png"))
    ndcn.plot.animate(truth, prediction, files["animation.gif"], frames=FRAMES, train_until=until, label="NDCN")
    models["ndcn"].save(files["model.ndcn"])
    data.save(files["data"])
    write_report(
        models["ndcn"], files["report.html"], data, model_name=str(files["model.ndcn"]), data_words=[str(files["data"])]
    )

    if as_json:
        named = {
            name: {"interpolation": inside, "extrapolation": after, "epochs": len(models[name].history_.loss)}
            for name, (inside, after) in errors.items()
        }
        paper = {name: {"interpolation": a / 100, "extrapolation": b / 100} for name, (a, b) in PAPER.items()}
        seconds = time.monotonic() - began
        print_json({**named, "paper": paper, "files": [str(file) for file in files.values()], "seconds": seconds})
        return
    headings = ("interpolation", "paper", "extrapolation", "paper")
    print_columns(headings, map(_row, errors, errors.values()), f"normalised l1 error in %, {epochs} epochs each")
    typer.echo(
        f"\nwritten to {out}/\n"
        "  compare.png    truth, NDCN and their difference at six times\n"
        "  animation.gif  truth beside NDCN\n"
        f"  model.ndcn     the model: ndcn predict {files['model.ndcn']} --times 0.5,1.25,6\n"
        f"  data/          the data:  ndcn evaluate {files['model.ndcn']} {files['data']}\n"
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


def _row(name: str, errors: list[float]) -> list[str]:
    """The errors in percent, each beside the paper's."""
    pairs = zip(errors, PAPER[name], strict=True)
    return [TITLES[name], *(text for ours, theirs in pairs for text in (f"{100 * ours:.2f}", f"{theirs}"))]
