"""``ndcn classify``: the classes of a graph's nodes from their features and a few of their classes."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import reading
from .checkpoints import Files, fit_nodes
from .classified import end_runs, measured, print_classified, written
from .guard import note, notes, uninterrupted
from .options import (
    NEED_PYG,
    NOT_TRAINED,
    TABLES,
    ClassWeights,
    Duplicates,
    Json,
    NodeModel,
    Preset,
    check_model_output,
    check_output,
    option,
    print_json,
)

if TYPE_CHECKING:
    from ..classify import NodeBaseline, NodeClassifier, NodeDataset

CITATIONS = ("cora", "citeseer", "pubmed")
GRAPH = f"A data set (NAME: of files of Geom-GCN in --data), or your own file of edges: {reading.EDGE_ENDINGS}."
FEATURES = "With EDGES: table of the nodes' features, numbers or text. Default: a node's own indicator."
LABELS = "With EDGES: table of nodes and labels, with gaps; perhaps a column split (train, test, ...)."
SIMILAR = (
    "ndcn only: also join a node to up to so many nodes of similar features, if labelled nodes show that such nodes share "
    "classes; 0 for none. Default: 5."
)
ALPHA = "ndcn only: weight of a node's own state, in [0, 1]. Default: 0.5; paper 0."
CLASS_WEIGHT = "Weights of the classes in training; balanced: the inverse of their sizes."
OUT = "Table to write, .csv or .parquet: node, predicted class, probabilities, label if known, split; by the first run."
RESUME = "With --save: continue from SAVE.checkpoint if it is there; the result is that of a run never interrupted."


@reading.reads_files
def classify(
    graph: Annotated[str, typer.Argument(metavar="karate|cora|citeseer|pubmed|NAME|EDGES", help=GRAPH)] = "karate",
    features: Annotated[Path | None, option(FEATURES)] = None,
    labels: Annotated[Path | None, option(LABELS)] = None,
    data: Annotated[
        Path | None, option("Folder with the files of Cora and others, by default ~/.cache/ndcn/planetoid, or of NAME.")
    ] = None,
    split: Annotated[int | None, option("With NAME: which of its published splits, from 0. Default: 0.", min=0)] = None,
    model: Annotated[NodeModel, option("NDCN, or a baseline in the same protocol.")] = NodeModel.ndcn,
    preset: Annotated[
        Preset, option("ndcn only: training recipe; paper is the published one, with its inaccurate solver.")
    ] = Preset.default,
    terminal: Annotated[float | None, option("ndcn only: terminal time. Default: 8; paper 1.2.", "--T")] = None,
    alpha: Annotated[float | None, option(ALPHA)] = None,
    similar: Annotated[int | None, option(SIMILAR, min=0)] = None,
    hidden: Annotated[int | None, option("Width of the hidden state. Default: the model's own.", min=1)] = None,
    epochs: Annotated[int | None, option("Training epochs. Default: the model's own.", min=1)] = None,
    runs: Annotated[int, option("Independent runs, from SEED, SEED + 1, ..., on one split.", min=1)] = 1,
    jobs: Annotated[int | None, option("Processes, one thread each. Default: one for each core.", min=1)] = None,
    class_weight: Annotated[ClassWeights, option(CLASS_WEIGHT)] = ClassWeights.none,
    test: Annotated[
        float | None, option("With EDGES: share of labelled nodes held out for test. Default: 0.2.")
    ] = None,
    validation: Annotated[
        float | None, option("With EDGES: share of labelled nodes to choose the best epoch by. Default: 0.")
    ] = None,
    fill: Annotated[float | None, option("With EDGES: number in place of missing features. Default: refuse.")] = None,
    duplicates: Annotated[Duplicates, option("With EDGES: what to do with repeated edges.")] = Duplicates.error,
    seed: Annotated[int, option("Seed of the first run, and of what is held out.", min=0)] = 0,
    out: Annotated[Path | None, option(OUT)] = None,
    save: Annotated[Path | None, option("File to write the classifier of the first run to.")] = None,
    resume: Annotated[bool, option(RESUME, "--resume")] = False,
    how: reading.NodeTableOptions = reading.NODE_TABLES,
    as_json: Json = False,
) -> None:
    """Classify the nodes of a graph, and measure the accuracy on those held out for test.

    Runs start from fresh weights and share one split. Where there are validation nodes, they choose the best epoch (but
    not with the paper's preset).

    With --save, a checkpoint of each run is kept beside the model about every 20 seconds while it trains. After Ctrl-C or a
    crash, the same command with --resume continues from there. Ctrl-C ends a run in this process after the current epoch, with
    a checkpoint of it, and runs in several processes at once. Those that finished before are reported and written, beside
    files that were there before.

    Example: ndcn classify edges.csv --features features.csv --labels labels.csv --out predictions.csv
    """
    kind = _kind(graph, data)
    of_own: dict[str, object] = {
        "--features": features, "--labels": labels, "--test": test, "--validation": validation, "--fill": fill,
        "--duplicates": None if duplicates is Duplicates.error else duplicates,
        **dict.fromkeys((word for word in how.words() if word.startswith("--")), True),
    }  # fmt: skip
    _check_data(kind, graph, data, split, of_own)
    by_name = {"T": terminal, "alpha": alpha, "similar": similar}
    of_ndcn: dict[str, object] = {f"--{name}": value for name, value in by_name.items()}
    of_ndcn["--preset"] = None if preset is Preset.default else preset
    _check_model(model, runs, save, of_ndcn)
    if preset is Preset.paper and validation:
        raise ValueError("--validation: the paper's preset runs all its epochs, without validation nodes")
    if save is not None and out is not None and out.absolute() == save.absolute():
        raise ValueError(f"--out and --save both name {out}")
    check_output(out, TABLES)
    if save is not None:
        check_model_output(save)
    if save is None and resume:
        raise ValueError("--resume continues from the checkpoint beside a saved model: name the model with --save")
    settings: dict[str, Any] = {"hidden": hidden, "epochs": epochs, "progress": None if runs == 1 else False}
    if kind == "citations" and (model is not NodeModel.ndcn or preset is Preset.paper):
        settings |= _read("models", model.value, graph) or {}  # as published for this graph
    if model is NodeModel.ndcn:
        given = {name: value for name, value in by_name.items() if value is not None}
        settings |= {**given, "preset": preset.value}
    if class_weight is not ClassWeights.none:
        settings["class_weight"] = class_weight.value
    estimators = [_estimator(model, seed=seed + k, **settings) for k in range(runs)]
    held_out = {"test": test, "validation": validation, "seed": seed}
    given_tables = {**held_out, "fill": fill, "duplicates": duplicates.value}
    found = _data(kind, graph, features, labels, data, split, given_tables, how)
    notes(found.notes)
    validated = preset is not Preset.paper and bool(found.val_mask.any())
    if not sys.stderr.isatty():
        note(f"training {model.value} on {found!r}")
    began = time.monotonic()
    files = None if save is None else Files(save, runs)
    done = fit_nodes(estimators, found, validated, jobs, files, resume)
    with uninterrupted() if len(done) < runs else nullcontext():
        facts: dict[str, Any] = {
            "dataset": graph,
            "model": model.value,
            "preset": preset.value if model is NodeModel.ndcn else None,
            "runs_asked": runs,
            **measured(found, done),
            "validated": validated,
            "paper": _paper(graph, model) if kind == "citations" else None,
            "seconds": time.monotonic() - began,
            "seed": seed,
            **written(done, runs, found, out, files),
        }
        (print_json if as_json else partial(print_classified, data=found))(facts)
        end_runs(facts, out, files)


# What is asked for ----------------------------------------------------------------------------------------------


def _kind(graph: str, data: Path | None) -> str:
    """Which kind of data: "karate", "citations", "geom_gcn" or "own"."""
    if graph == "karate":
        return graph
    if graph in CITATIONS:
        return "citations"
    if data is not None and data.is_dir():
        from ..classify import datasets

        if graph in datasets.geom_gcn_names(data):
            return "geom_gcn"
    from ..io import file_and_sheet

    if not file_and_sheet(Path(graph))[0].exists():
        known = ", ".join(("karate", *CITATIONS))
        raise FileNotFoundError(
            f"there is no file {graph}, and no data set of that name; known are {known}, and with --data FOLDER the graphs "
            "whose files of Geom-GCN are there"
        )
    return "own"


def _data(
    kind: str, graph: str, features: Path | None, labels: Path | None, folder: Path | None, split: int | None,
    given: dict[str, Any], how: reading.NodeTableOptions,
) -> NodeDataset:  # fmt: skip
    """The data set that was asked for, from its files."""
    from ..classify import datasets

    if kind == "own":
        return datasets.node_tables(graph, features, labels, **given, **asdict(how))
    if kind == "geom_gcn" and folder is not None:
        return datasets.geom_gcn(graph, folder, split=split or 0)
    return datasets.karate_club() if kind == "karate" else datasets.planetoid(graph, folder)


def _check_data(kind: str, graph: str, data: Path | None, split: int | None, of_own: dict[str, object]) -> None:
    """Raise ValueError for options that these data do not use."""
    idle = [name for name, value in of_own.items() if value is not None and kind != "own"]
    if idle:
        raise ValueError(f"{', '.join(idle)}: for edges of your own; {graph} comes with features and labels")
    if kind == "own" and of_own["--labels"] is None:
        raise ValueError("say which classes are known: --labels labels.csv, a table of nodes and labels")
    if data is not None and kind not in ("citations", "geom_gcn"):
        raise ValueError(f"--data: for {', '.join(CITATIONS)}, and for graphs whose files of Geom-GCN it holds")
    if split is not None and kind != "geom_gcn":
        raise ValueError(f"--split: for graphs in the files of Geom-GCN, with --data; {graph} has one split")
    if data is not None and not data.is_dir():
        raise FileNotFoundError(f"there is no folder {data} with the files of {graph}; make it to download them there")


def _check_model(model: NodeModel, runs: int, save: Path | None, of_ndcn: dict[str, Any]) -> None:
    """Raise ValueError for options that the model does not use."""
    idle = [name for name, value in of_ndcn.items() if value is not None and model is not NodeModel.ndcn]
    if idle:
        raise ValueError(f"{model.value} does not use {', '.join(idle)}; remove it")
    if model is not NodeModel.ndcn and save is not None:
        raise ValueError(f"--save writes ndcn's classifiers; {model.value} has no file of its own")
    if model.value in NOT_TRAINED and runs > 1:
        raise ValueError(f"--runs: {model.value} draws nothing at random, so that all runs are the same")
    if model.value in NEED_PYG and find_spec("torch_geometric") is None:
        raise ModuleNotFoundError(f"{model.value} needs PyTorch Geometric: pip install 'ndcn[pyg]'")


def _estimator(model: NodeModel, **settings: Any) -> NodeClassifier | NodeBaseline:
    import ndcn

    return ndcn.NodeClassifier(**settings) if model is NodeModel.ndcn else ndcn.NodeBaseline(model.value, **settings)


def _read(*keys: str) -> Any:
    """What the table of the paper's settings and results holds under some keys; None if nothing."""
    from ..experiments import read_toml

    found: Any = read_toml("classification")
    for key in keys:
        found = found.get(key) if found is not None else None
    return found


def _paper(graph: str, model: NodeModel) -> dict[str, float | None] | None:
    """The paper's mean and, where it has one, standard deviation, as shares."""
    percent = _read("paper", graph, model.value)
    return percent and {"accuracy": percent[0] / 100, "std": percent[1] / 100 if len(percent) > 1 else None}
