"""``ndcn classify``: the classes of a graph's nodes from their features and a few of their classes."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import reading
from .checkpoints import fit_nodes
from .guard import note
from .options import (
    NEED_PYG,
    Duplicates,
    Json,
    NodeModel,
    Preset,
    check_output,
    check_table_output,
    print_json,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..classify import NodeBaseline, NodeClassifier, NodeDataset, NodeRun

CITATIONS = ("cora", "citeseer", "pubmed")


@reading.reads_files
def classify(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="karate|cora|citeseer|pubmed|EDGES",
            help=f"A data set, or your own file of edges: {reading.EDGE_ENDINGS}.",
        ),
    ] = "karate",
    features: Annotated[
        Path | None,
        typer.Option(
            help="With EDGES: table of the nodes' features, numbers or text. Default: a node's own indicator."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="With EDGES: table of nodes and labels, with gaps; perhaps a column split (train, test, ...)."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the files of Cora and others. Default: ~/.cache/ndcn/planetoid.")
    ] = None,
    model: Annotated[NodeModel, typer.Option(help="NDCN, or a baseline in the same protocol.")] = NodeModel.ndcn,
    preset: Annotated[
        Preset, typer.Option(help="ndcn only: training recipe; paper is the published one, with its inaccurate solver.")
    ] = Preset.default,
    terminal: Annotated[
        float | None, typer.Option("--T", help="ndcn only: terminal time. Default: 8; paper 1.2.", show_default=False)
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="ndcn only: weight of a node's own state, in [0, 1]. Default: 0.5; paper 0.", show_default=False
        ),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(min=1, help="Width of the hidden state. Default: the model's own.", show_default=False)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Training epochs. Default: the model's own.", show_default=False)
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Independent runs, from SEED, SEED + 1, ..., on one split.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes, one thread each. Default: one for each core.", show_default=False),
    ] = None,
    test: Annotated[
        float | None,
        typer.Option(
            help="With EDGES: share of labelled nodes to hold out for test. Default: 0.2.", show_default=False
        ),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            help="With EDGES: share of labelled nodes to choose the best epoch by. Default: 0.", show_default=False
        ),
    ] = None,
    fill: Annotated[
        float | None, typer.Option(help="With EDGES: number in place of missing features. Default: refuse.")
    ] = None,
    duplicates: Annotated[Duplicates, typer.Option(help="With EDGES: what to do with repeated edges.")] = (
        Duplicates.error
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run, and of what is held out.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Table to write, .csv or .parquet: node, predicted class, probabilities, the class if known, and what the "
            "node was for; by the first run."
        ),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="File to write the classifier of the first run to.")] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --save: go on from SAVE.checkpoint if it is there; the result is that of a run never interrupted.",
        ),
    ] = False,
    how: reading.NodeTableOptions = reading.NODE_TABLES,
    as_json: Json = False,
) -> None:
    """Classify the nodes of a graph, and measure the accuracy on those held out for test.

    Runs start from fresh weights and share one split. Where there are validation nodes, they choose the best epoch (but
    not with the paper's preset).

    With --save, a checkpoint of each run is kept beside the model about every 20 seconds while it trains. After Ctrl-C, which
    ends after the current epoch, or a crash, the same command with --resume goes on from there.

    Example: ndcn classify edges.csv --features features.csv --labels labels.csv --out predictions.csv
    """
    kind = _kind(graph)
    _check_options(kind, graph, model, preset, data, runs, save, validation,
                   {"--T": terminal, "--alpha": alpha, "--preset": None if preset is Preset.default else preset},
                   {"--features": features, "--labels": labels, "--test": test, "--validation": validation, "--fill": fill,
                    "--duplicates": None if duplicates is Duplicates.error else duplicates,
                    **dict.fromkeys((word for word in how.words() if word.startswith("--")), True)})  # fmt: skip
    if out is not None:
        check_table_output(out)
    if save is not None:
        check_output(save)
        if out is not None and out.absolute() == save.absolute():
            raise ValueError(f"--out and --save both name {out}")
    elif resume:
        raise ValueError("--resume goes on from the checkpoint beside a saved model: name the model with --save")
    estimators = [
        _estimator(
            graph, model, preset, terminal, alpha, hidden, epochs, seed + k, progress=None if runs == 1 else False
        )
        for k in range(runs)
    ]
    from ..classify import datasets

    if kind == "own":
        held_out: dict[str, Any] = {"test": test, "validation": validation, "seed": seed}
        reader: dict[str, Any] = {"fill": fill, "duplicates": duplicates.value, **asdict(how)}
        found = datasets.node_tables(graph, features, labels, **held_out, **reader)
    else:
        found = datasets.karate_club() if kind == "karate" else datasets.planetoid(graph, data)
    for line in found.notes:
        note(f"note: {line}")
    validated = preset is not Preset.paper and bool(found.val_mask.any())
    if not sys.stderr.isatty():
        note(f"training {model.value} on {found!r}")
    began = time.monotonic()
    done = fit_nodes(estimators, found, validated, jobs, save, resume)
    seconds = time.monotonic() - began
    if out is not None:
        write_table(_table(done[0].estimator, found), out)
    if save is not None:
        _save(done[0].estimator, found, save)
    paper = _paper(graph, model) if kind == "citations" else None
    _report(graph, model, preset, found, done, validated, paper, seconds, seed, out, save, as_json)


# What is asked for ----------------------------------------------------------------------------------------------


def _kind(graph: str) -> str:
    """Which kind of data: "karate", "citations" or "own"."""
    if graph == "karate":
        return graph
    if graph in CITATIONS:
        return "citations"
    if not Path(graph).exists():
        raise FileNotFoundError(
            f"there is no file {graph}, and no data set of that name; known are karate, {', '.join(CITATIONS)}"
        )
    return "own"


def _check_options(
    kind: str,
    graph: str,
    model: NodeModel,
    preset: Preset,
    data: Path | None,
    runs: int,
    save: Path | None,
    validation: float | None,
    of_ndcn: dict[str, object],
    of_own: dict[str, object],
) -> None:
    """Raise ValueError for options that the data or the model do not use."""
    idle = [name for name, value in of_own.items() if value is not None and kind != "own"]
    if idle:
        raise ValueError(f"{', '.join(idle)}: for edges of your own; {graph} comes with features and labels")
    if kind == "own" and of_own["--labels"] is None:
        raise ValueError("say which classes are known: --labels labels.csv, a table of nodes and labels")
    if data is not None:
        if kind != "citations":
            raise ValueError(f"--data: for {', '.join(CITATIONS)}")
        if not data.is_dir():
            raise FileNotFoundError(
                f"there is no folder {data} with the files of {graph}; make it to download them there"
            )
    idle = [name for name, value in of_ndcn.items() if value is not None and model is not NodeModel.ndcn]
    if idle:
        raise ValueError(f"{model.value} does not use {', '.join(idle)}; remove it")
    if model is not NodeModel.ndcn and save is not None:
        raise ValueError(f"--save writes ndcn's classifiers; {model.value} has no file of its own")
    if model is NodeModel.label_propagation and runs > 1:
        raise ValueError("--runs: label_propagation draws nothing at random, so that all runs are the same")
    if preset is Preset.paper and validation:
        raise ValueError("--validation: the paper's preset runs all its epochs, without validation nodes")
    if model.value in NEED_PYG:
        from importlib.util import find_spec

        if find_spec("torch_geometric") is None:
            raise ModuleNotFoundError(f"{model.value} needs PyTorch Geometric: pip install 'ndcn[pyg]'")


def _estimator(
    graph: str,
    model: NodeModel,
    preset: Preset,
    terminal: float | None,
    alpha: float | None,
    hidden: int | None,
    epochs: int | None,
    seed: int,
    *,
    progress: bool | None,
) -> NodeClassifier | NodeBaseline:
    import ndcn

    if model is not NodeModel.ndcn:
        return ndcn.NodeBaseline(model.value, hidden=hidden, epochs=epochs, seed=seed, progress=progress)
    special: dict[str, float] = {}
    if preset is Preset.paper and graph in CITATIONS:
        from ..experiments import read_toml

        special = read_toml("classification")["models"]["ndcn"][graph]
    return ndcn.NodeClassifier(
        T=special.get("T") if terminal is None else terminal,
        alpha=special.get("alpha") if alpha is None else alpha,
        preset=preset.value,
        hidden=hidden,
        epochs=epochs,
        seed=seed,
        progress=progress,
    )


def _paper(graph: str, model: NodeModel) -> list[float] | None:
    """The paper's mean and, where it has one, standard deviation, as shares."""
    from ..experiments import read_toml

    percent = read_toml("classification")["paper"][graph].get(model.value)
    return None if percent is None else [value / 100 for value in percent]


def _save(estimator: NodeClassifier, data: NodeDataset, path: Path) -> None:
    import numpy as np

    estimator.classes_ = np.array(data.classes)  # it was trained on their places among these
    estimator.save(path)


# What is said ---------------------------------------------------------------------------------------------------


def _table(estimator: NodeClassifier | NodeBaseline, data: NodeDataset) -> pd.DataFrame:
    """For each node: the predicted class, the probability of each, the class if it is known, and what the node was for."""
    import numpy as np
    import pandas as pd

    classes = np.array([*data.classes, ""], dtype=object)
    probabilities = estimator.predict_proba().numpy()
    part = np.full(len(probabilities), "", dtype=object)
    for word, mask in (("train", data.train_mask), ("validation", data.val_mask), ("test", data.test_mask)):
        part[mask.numpy()] = word
    columns = {f"p({name})": probabilities[:, k] for k, name in enumerate(data.classes)}
    return pd.DataFrame(
        {
            "node": list(data.graph.nodes),
            "predicted": classes[probabilities.argmax(axis=1)],
            **columns,
            "known": (data.labels >= 0).numpy(),
            "label": classes[data.labels.numpy()],  # -1 is the last: none
            "split": part,
        }
    )


def _report(
    graph: str,
    model: NodeModel,
    preset: Preset,
    data: NodeDataset,
    done: list[NodeRun],
    validated: bool,
    paper: list[float] | None,
    seconds: float,
    seed: int,
    out: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    accuracies = [run.accuracy for run in done if run.accuracy is not None]
    chosen = [run.validation for run in done if run.validation is not None]
    accuracy = mean(accuracies) if accuracies else None
    spread = stdev(accuracies) if len(accuracies) > 1 else None
    common = _commonest(data) if accuracies else None
    recall = {name: mean(run.recall[name] for run in done) for name in done[0].recall}
    if as_json:
        print_json(
            {
                "dataset": graph,
                "model": model.value,
                "preset": preset.value if model is NodeModel.ndcn else None,
                "accuracy": accuracy,
                "std": spread,
                "runs": len(done),
                "accuracies": accuracies,
                "validation_accuracy": mean(chosen) if chosen else None,
                "validated": validated,
                "commonest_class": common,
                "balanced_accuracy": mean(recall.values()) if recall else None,
                "recall": recall,
                "paper": None if paper is None else {"accuracy": paper[0], "std": paper[1] if len(paper) > 1 else None},
                "seconds": seconds,
                "seed": seed,
                "nodes": data.graph.num_nodes,
                "edges": data.graph.num_edges,
                "features": int(data.features.shape[1]),
                "classes": list(data.classes),
                "split": {
                    "train": int(data.train_mask.sum()),
                    "validation": int(data.val_mask.sum()),
                    "test": int(data.test_mask.sum()),
                },
                "out": None if out is None else str(out),
                "save": None if save is None else str(save),
            }
        )
        return
    name = f"{model.value}, the paper's preset" if preset is Preset.paper else model.value
    typer.echo(f"{name} on {data!r}")
    if accuracy is None:
        typer.echo("no test nodes: the accuracy is not known")
    else:
        several = f" over {len(done)} runs" if len(done) > 1 else ", one run"
        theirs = "" if paper is None else f"; the paper: {_percent(paper[0], paper[1] if len(paper) > 1 else None)}"
        count = int(data.test_mask.sum())
        typer.echo(f"test accuracy {_percent(accuracy, spread)} of {count} nodes{several}{theirs}")
        worst = min(recall, key=lambda name: recall[name])
        typer.echo(
            f"balanced accuracy {_percent(mean(recall.values()), None)}; lowest recall: {worst}, {_percent(recall[worst], None)}"
        )
        typer.echo(f"(always the most common class of training: {_percent(common or 0.0, None)})")
    typer.echo(f"{seconds:.1f} s" + "".join(f"\nwritten to {path}" for path in (out, save) if path is not None))


def _percent(value: float, spread: float | None) -> str:
    return f"{100 * value:.1f}" + ("" if spread is None else f" ± {100 * spread:.1f}") + " %"


def _commonest(data: NodeDataset) -> float:
    """The share of test nodes in the class that is most common in training."""
    best = data.labels[data.train_mask].bincount().argmax()
    return (data.labels[data.test_mask] == best).double().mean().item()
