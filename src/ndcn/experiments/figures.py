"""The paper's figures and animations, drawn from the results of the regular table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import numpy as np

import ndcn

from ..files import write
from ..plot.style import PREDICTION, STATE_MAP
from ..progress import Progress
from .classify import Classification
from .run import truth, unpack
from .spec import Table, read_toml
from .store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..trajectory import Trajectory


def draw(table: Table, store: Path, out: Path, progress: bool | None = None) -> list[Path]:
    """Draw all figures of the cells and models of a table whose first runs are done.

    Args:
        table: the regular one, narrowed as you like.
        store: holds its runs.
        out: folder for the pictures; made if it is not there.
        progress: show a progress bar; by default on a terminal only.

    Returns:
        The files: adjacency matrices; for each dynamics panels of truth and NDCN as surfaces and as heat maps, and the
        errors of all trained models over time; for each cell an animation of truth and all trained models, as GIF and, if
        ffmpeg is there, as MP4.
    """
    settings = read_toml("figures")
    with Store(store, create=False) as there:
        cells = {cell: _cell(table, there, *cell) for cell in table.cells}
        errors = {cell: _errors(table, there, *cell) for cell in table.cells}
    out.mkdir(parents=True, exist_ok=True)
    trained = {model.name: model.title for model in table.models if "preset" in model.settings}
    laws = list(dict.fromkeys(law for law, _ in table.cells))
    movies = [".gif", ".mp4"] if which("ffmpeg") else [".gif"]
    files: list[Path] = []
    steps: list[tuple[Path, Callable[[Path], None]]] = []

    graphs = {network: cells[law, network].data.graph for law, network in cells}
    steps.append((out / "adjacency.png", lambda path: _save(_matrices(graphs), path)))
    for law in laws:
        here = {network: cells[law, network] for name, network in cells if name == law}
        shown = {network: cell for network, cell in here.items() if settings["panel"] in cell.models}
        for kind in ("surface", "heat_map") if shown else ():
            steps.append((out / f"{law}_{kind}.png", _panels(law, shown, kind, settings)))
        curves = {network: errors[law, network] for network in here if errors[law, network]}
        if curves:
            steps.append((out / f"{law}_error.png", _error_figure(law, curves, here)))
        for network, cell in here.items():
            named = {trained[name]: states for name, states in cell.models.items() if name in trained}
            for suffix in movies if named else ():
                steps.append((out / f"{law}_{network}{suffix}", _movie(cell, named, settings["frames"])))
    with Progress(len(steps), 0, progress, unit="figures", name="drawing") as bar:
        for k, (path, step) in enumerate(steps):
            step(path)
            files.append(path)
            bar.update(k + 1)
    return files


class _Cell:
    """Truth and predictions of one dynamics on one network."""

    def __init__(self, data: Trajectory, until: float, models: dict[str, Trajectory]) -> None:
        self.data, self.until, self.models = data, until, models


def _cell(table: Table, store: Store, dynamics: str, network: str) -> _Cell:
    parts, data = truth(table.cell_runs(dynamics, network, table.models[0])[0].settings)
    models = {}
    for model in table.models:
        for result in store.results(table.cell_runs(dynamics, network, model)[:1], states=True):
            if result.states is not None:
                models[model.name] = unpack(result.states, data)
    return _Cell(data, parts.train.times[-1].item(), models)


def _errors(table: Table, store: Store, dynamics: str, network: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times and, for all runs that are done, the normalised l1 error at each of them in percent, by title of the model."""
    found = {}
    for model in (
        m for m in table.models if "preset" in m.settings
    ):  # the others have no error where they are given it
        results = store.results(table.narrowed(runs=MOST_RUNS).cell_runs(dynamics, network, model), per_time=True)
        if results:
            times = np.array(results[0].per_time["times"])
            values = [np.array(r.per_time["l1"]) / np.array(r.per_time["truth"]) for r in results]
            found[model.title] = (times, 100 * np.stack(values))
    return found


MOST_RUNS = 20  # of a model in the figure of errors


def _matrices(graphs: dict[str, ndcn.Graph]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(graphs), 2.9), layout="constrained")
    for ax, (name, graph) in zip(np.atleast_1d(figure.subplots(1, len(graphs))), graphs.items(), strict=True):
        ndcn.plot.adjacency(graph, title=name.replace("_", " "), ax=ax)
    return figure


def _panels(law: str, cells: dict[str, _Cell], kind: str, settings: dict[str, object]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        name, shares = str(settings["panel"]), settings["shares"]
        figure = ndcn.plot.panels(
            {network: cell.data for network, cell in cells.items()},
            {network: cell.models[name] for network, cell in cells.items()},
            shares=shares,  # type: ignore[arg-type]  # numbers of the TOML file
            kind=kind,
            train_until={network: cell.until for network, cell in cells.items()},
            label="NDCN",
            title=f"{LAWS[law]}: truth and NDCN",
        )
        _save(figure, path)

    return make


LAWS = {"heat": "Heat diffusion", "mutualistic": "Mutualistic interaction", "gene": "Gene regulation"}


def _error_figure(
    law: str, errors: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]], cells: dict[str, _Cell]
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1.2 + 3.1 * len(errors), 3.6), layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, len(errors)))
        for k, (ax, (network, curves)) in enumerate(zip(axes, errors.items(), strict=True)):
            ndcn.plot.error_curves(
                curves,
                train_until=cells[network].until,
                ylabel="normalised l1 error, %" if k == 0 else "",
                legend=False,
                ax=ax,
            )
            ax.set_title(network.replace("_", " "), fontsize=10)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
        figure.suptitle(f"{LAWS[law]}: error over time, median and spread of the runs", fontsize=11)
        _save(figure, path)

    return make


def _movie(cell: _Cell, models: dict[str, Trajectory], frames: int) -> Callable[[Path], None]:
    return lambda path: ndcn.plot.animate(
        cell.data, models, path, frames=frames, train_until=cell.until, progress=False
    )


def draw_sweep(table: Classification, store: Path, out: Path) -> list[Path]:
    """For each data set and model of the sweep: accuracy over T at the best alpha, and over T and alpha.

    Args:
        table: node classification, narrowed as you like; models without T and alpha are left out.
        store: holds its runs.
        out: folder for the pictures; made if it is not there.
    """
    files = []
    out.mkdir(parents=True, exist_ok=True)
    with Store(store, create=False) as there:
        for dataset in table.datasets:
            for model in table.sweep_models():
                found = [
                    (T, alpha, [100 * r.scores["test"]["accuracy"] for r in there.results(runs)])
                    for T, alpha, runs in table.sweep_runs(dataset, model)
                ]
                if all(values for _, _, values in found):
                    figure = _accuracy(found, f"{table.titles[dataset]}: {model.title}")
                    path = out / f"{dataset}_{model.name}.png"
                    _save(figure, path)
                    files.append(path)
    return files


def _accuracy(found: Sequence[tuple[float, float, list[float]]], title: str) -> Figure:
    from matplotlib.figure import Figure

    times, alphas = sorted({T for T, _, _ in found}), sorted({alpha for _, alpha, _ in found})
    by_place = {(T, alpha): np.mean(values) for T, alpha, values in found}
    means = np.array([by_place[T, alpha] for T in times for alpha in alphas])
    means = means.reshape(len(times), len(alphas))
    best = alphas[int(means.max(axis=0).argmax())]
    figure = Figure(figsize=(12.6, 3.9), layout="constrained")
    grid = figure.add_gridspec(1, 3, width_ratios=[1.1, 1, 1.2])

    ax = figure.add_subplot(grid[0])
    values = [next(v for T, a, v in found if (T, a) == (t, best)) for t in times]
    spread = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values]
    ax.errorbar(times, [np.mean(v) for v in values], yerr=spread, marker="o", capsize=3, color=PREDICTION)
    ax.set(xscale="log", xlabel="terminal time T", ylabel="test accuracy, %", title=f"alpha = {best:g}")
    ax.set_xticks(times, [f"{t:g}" for t in times])
    ax.minorticks_off()
    ax.text(0.03, 0.04, f"mean ± standard deviation of {len(values[0])} runs", transform=ax.transAxes, fontsize=8)

    ax = figure.add_subplot(grid[1])
    image = ax.imshow(means, origin="lower", aspect="auto", cmap=STATE_MAP)
    ax.set_xticks(range(len(alphas)), [f"{a:g}" for a in alphas])
    ax.set_yticks(range(len(times)), [f"{t:g}" for t in times])
    ax.set(xlabel="alpha", ylabel="terminal time T", title="mean accuracy, %")
    middle = (means.min() + means.max()) / 2
    for (row, column), value in np.ndenumerate(means):
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color="w" if value < middle else "k")
    figure.colorbar(image, ax=ax)

    space = figure.add_subplot(grid[2], projection="3d")
    x, y = np.meshgrid(alphas, np.log2(times))
    space.plot_surface(x, y, means, cmap=STATE_MAP, edgecolor="w", linewidth=0.3)
    space.set_yticks(np.log2(times), [f"{t:g}" for t in times])
    space.set(xlabel="alpha", ylabel="T", zlabel="accuracy, %")
    space.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=11)
    return figure


def _save(figure: Figure, path: Path) -> None:
    write(path, lambda new: figure.savefig(new, dpi=200, format="png"))
