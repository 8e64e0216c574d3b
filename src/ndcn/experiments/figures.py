"""The paper's figures and animations, drawn from the results of the regular table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import ndcn

from .._support.files import write
from .._support.progress import Progress
from ..data import Trajectory
from ..plot import style
from .classify import Classification
from .run import truth, unpack
from .spec import ErrorTable, load_table, read_toml
from .store import Store


def draw(table: ErrorTable, store: Path, out: Path, progress: bool | None = None) -> list[Path]:
    """Draw all figures of the cells and models of the regular table whose first runs are in the store.

    Returns:
        The files: adjacency matrices; for each dynamics panels of truth and NDCN as surfaces and as heat maps, and the
        errors of all trained models over time; for each cell an animation of truth and all trained models, as GIF and, if
        ffmpeg is there, as MP4.
    """
    settings = read_toml("figures")
    with Store(store, create=False, read_only=True) as there:
        cells = {cell: _cell(table, there, *cell) for cell in table.cells}
    graphs = {network: cell.data.graph for (_, network), cell in cells.items()}
    steps: dict[str, Callable[[Path], Any]] = {"adjacency.png": partial(_draw_matrices, graphs)}
    for law in dict.fromkeys(law for law, _ in cells):
        here = {network: cell for (name, network), cell in cells.items() if name == law}
        form = ", ".join(f"{key} = {value:g}" for key, value in table.laws[law].items())
        title = settings["laws"][law] + (f" ({form})" if form else "")
        shown = {network: cell for network, cell in here.items() if settings["panel"] in cell.states}
        if shown:
            for kind in ("surface", "heat_map"):
                steps[f"{law}_{kind}.png"] = partial(_draw_panels, title, shown, kind, settings)
        if any(cell.errors for cell in here.values()):
            steps[f"{law}_error.png"] = partial(_draw_errors, title, here)
        for network, cell in here.items():
            choices = {"frames": settings["frames"], "train_until": cell.until, "progress": False}
            for suffix in (".gif", ".mp4") if which("ffmpeg") else (".gif",):
                if cell.movie:
                    steps[f"{law}_{network}{suffix}"] = partial(ndcn.plot.animate, cell.data, cell.movie, **choices)
    out.mkdir(parents=True, exist_ok=True)
    with Progress(len(steps), 0, progress, unit="figures", name="drawing") as bar:
        for k, (name, step) in enumerate(steps.items()):
            step(out / name)
            bar.update(k + 1)
    return [out / name for name in steps]


@dataclass(frozen=True)
class _Cell:
    """One dynamics on one network."""

    data: Trajectory  # the truth
    until: float  # the last training time
    states: dict[str, Trajectory]  # predictions of the first run, by name of the model
    movie: dict[str, Trajectory]  # those of trained models, by title
    errors: dict[str, tuple[np.ndarray, np.ndarray]]  # times, and errors in percent in all runs, of trained models


def _cell(table: ErrorTable, store: Store, dynamics: str, network: str) -> _Cell:
    parts, data = truth(table.cell_runs(dynamics, network, table.models[0])[0].settings)
    states, movie, errors = {}, {}, {}
    all_runs = table.narrowed(runs=load_table(table.name).runs)
    for model in sorted(table.models, key=lambda m: not m.name.startswith("ndcn")):  # NDCN before the others
        for result in store.results(table.cell_runs(dynamics, network, model)[:1], states=True):
            if result.states is not None:
                states[model.name] = unpack(result.states, data)
        if "preset" not in model.settings:  # it learns nothing, and has no error where it is given the state
            continue
        if model.name in states:
            movie[model.title] = states[model.name]
        results = store.results(all_runs.cell_runs(dynamics, network, model), per_time=True)
        if results:
            values = [np.array(r.per_time["l1"]) / np.array(r.per_time["truth"]) for r in results]
            errors[model.title] = (np.array(results[0].per_time["times"]), 100 * np.stack(values))
    return _Cell(data, parts.train.times[-1].item(), states, movie, errors)


def _draw_matrices(graphs: dict[str, ndcn.Graph], path: Path) -> None:
    figure = Figure(figsize=(2.6 * len(graphs), 2.9), layout="constrained")
    for ax, (name, graph) in zip(np.atleast_1d(figure.subplots(1, len(graphs))), graphs.items(), strict=True):
        ndcn.plot.adjacency(graph, title=name.replace("_", " "), ax=ax)
    _save(figure, path)


def _draw_panels(title: str, cells: dict[str, _Cell], kind: str, settings: dict[str, Any], path: Path) -> None:
    figure = ndcn.plot.panels(
        {network: cell.data for network, cell in cells.items()},
        {network: cell.states[settings["panel"]] for network, cell in cells.items()},
        shares=settings["shares"],
        kind=kind,
        train_until={network: cell.until for network, cell in cells.items()},
        label="NDCN",
        title=f"{title}: truth and NDCN, published recipe, first run",
    )
    _save(figure, path)


def _draw_errors(title: str, cells: dict[str, _Cell], path: Path) -> None:
    shown = {network: cell for network, cell in cells.items() if cell.errors}
    figure = Figure(figsize=(1.6 + 2.9 * len(shown), 3.9), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(shown)))
    for ax, (network, cell) in zip(axes, shown.items(), strict=True):
        label = "error, % of the mean |truth| at that time" if ax is axes[0] else ""
        ndcn.plot.error_curves(cell.errors, train_until=cell.until, ylabel=label, scale="log", legend=False, ax=ax)
        ax.set_title(network.replace("_", " "), fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    counts = [len(next(iter(shown.values())).errors[name][1]) for name in labels]
    named = [f"{name} ({count} run{'s' * (count != 1)})" for name, count in zip(labels, counts, strict=True)]
    figure.legend(handles, named, loc="outside right center", fontsize=8, frameon=False, handlelength=3.4)
    figure.suptitle(
        f"{title}: error over time, median and middle half of the runs; "
        "temporal GNNs are one step ahead of true snapshots in training",
        fontsize=10,
    )
    _save(figure, path)


def draw_sweep(table: Classification, store: Path, out: Path) -> list[Path]:
    """For each data set and model that has T and alpha: accuracy over T at the best alpha, and over T and alpha."""
    files = []
    with Store(store, create=False, read_only=True) as there:
        for dataset in table.datasets:
            for model in table.sweep_models():
                results = {(T, alpha): there.results(runs) for T, alpha, runs in table.sweep_runs(dataset, model)}
                if all(results.values()):
                    found, judged = (
                        {at: [100 * r.scores[part]["accuracy"] for r in some] for at, some in results.items()}
                        for part in ("test", "validation")
                    )
                    best = max(judged, key=lambda at: float(np.mean(judged[at])))[1]
                    figure = _accuracy(found, best, f"{table.titles[dataset]}: {model.title}")
                    path = out / f"{dataset}_{model.name}.png"
                    out.mkdir(parents=True, exist_ok=True)
                    _save(figure, path)
                    files.append(path)
    return files


def _accuracy(found: dict[tuple[float, float], list[float]], best: float, title: str) -> Figure:
    """Test accuracies by T and alpha; the curve is at the alpha of the best validation accuracy."""
    times, alphas = sorted({T for T, _ in found}), sorted({alpha for _, alpha in found})
    means = np.array([np.mean(found[T, alpha]) for T in times for alpha in alphas]).reshape(len(times), len(alphas))
    figure = Figure(figsize=(12.6, 3.9), layout="constrained")
    grid = figure.add_gridspec(1, 3, width_ratios=[1.1, 1, 1.2])

    ax = figure.add_subplot(grid[0])
    values = [found[t, best] for t in times]
    spread = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values]
    ax.errorbar(times, [np.mean(v) for v in values], yerr=spread, marker="o", capsize=3, color=style.PREDICTION)
    ax.set(xscale="log", xlabel="terminal time T", ylabel="test accuracy, %")
    ax.set_title(f"alpha = {best:g}, best on validation nodes")
    ax.set_xticks(times, [f"{t:g}" for t in times])
    ax.minorticks_off()
    count = min(map(len, values))
    runs = "one run each" if count == 1 else f"mean ± standard deviation of {count} runs"
    ax.text(0.97, 0.04, runs, transform=ax.transAxes, fontsize=8, ha="right")

    ax = figure.add_subplot(grid[1])
    image = ax.imshow(means, origin="lower", aspect="auto", cmap=style.STATE_MAP)
    ax.set_xticks(range(len(alphas)), [f"{a:g}" for a in alphas])
    ax.set_yticks(range(len(times)), [f"{t:g}" for t in times])
    ax.set(xlabel="alpha", ylabel="terminal time T", title="mean accuracy, %")
    middle = (means.min() + means.max()) / 2
    for (row, column), value in np.ndenumerate(means):
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color="w" if value < middle else "k")
    figure.colorbar(image, ax=ax)

    space = figure.add_subplot(grid[2], projection="3d")
    x, y = np.meshgrid(alphas, np.log2(times))
    space.plot_surface(x, y, means, cmap=style.STATE_MAP, edgecolor="w", linewidth=0.3)
    space.set_yticks(np.log2(times), [f"{t:g}" for t in times])
    space.set(xlabel="alpha", ylabel="T", zlabel="accuracy, %")
    space.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=11)
    return figure


def _save(figure: Figure, path: Path) -> None:
    write(path, lambda new: figure.savefig(new, dpi=200, format="png"))
