"""Names that options accept, checks of where output goes, and printing for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from ..data import Calendar
    from ..regressor import DynamicsRegressor

TABLES = (".csv", ".parquet")
PICTURES = (".png", ".pdf", ".svg")


class LawName(str, Enum):
    """Laws of ``ndcn.laws.NAMED``."""

    heat = "heat"
    mutualistic = "mutualistic"
    gene = "gene"
    sis = "sis"
    sir = "sir"
    kuramoto = "kuramoto"
    consensus = "consensus"
    lotka_volterra = "lotka_volterra"
    wilson_cowan = "wilson_cowan"
    fitzhugh_nagumo = "fitzhugh_nagumo"
    michaelis_menten = "michaelis_menten"


class NetworkName(str, Enum):
    """Networks of ``ndcn.networks.NAMED``."""

    grid = "grid"
    random = "random"
    power_law = "power_law"
    small_world = "small_world"
    community = "community"


class Order(str, Enum):
    """How the nodes of a network are ordered."""

    modularity = "modularity"
    louvain = "louvain"
    none = "none"


class Sampling(str, Enum):
    """How the times of snapshots are chosen."""

    irregular = "irregular"
    regular = "regular"


class ModelName(str, Enum):
    """Models of ``ndcn.regressor.named_models.NAMED``."""

    ndcn = "ndcn"
    no_encode = "no_encode"
    no_graph = "no_graph"
    no_control = "no_control"
    residual_gnn = "residual_gnn"
    rnn_gnn = "rnn_gnn"
    gru_gnn = "gru_gnn"
    lstm_gnn = "lstm_gnn"
    persistence = "persistence"
    linear = "linear"
    spline = "spline"
    interaction = "interaction"
    closed_form = "closed_form"
    free_form = "free_form"
    auto = "auto"


class OperatorName(str, Enum):
    """Operators of ``ndcn.operators.NAMED``."""

    normalized_laplacian = "normalized_laplacian"
    signed_laplacian = "signed_laplacian"
    laplacian = "laplacian"
    normalized_adjacency = "normalized_adjacency"
    adjacency = "adjacency"
    kipf = "kipf"


class Activation(str, Enum):
    """Activations of ``ndcn.regressor.named_models.ACTIVATIONS``."""

    relu = "relu"
    tanh = "tanh"
    softplus = "softplus"


class Preset(str, Enum):
    """Training recipes of ``ndcn.training.recipes.RECIPES``."""

    default = "default"
    paper = "paper"


class NodeModel(str, Enum):
    """NodeClassifier, and the models of ``ndcn.NodeBaseline``."""

    ndcn = "ndcn"
    gcn = "gcn"
    gat = "gat"
    agnn = "agnn"
    mlp = "mlp"
    label_propagation = "label_propagation"


NEED_PYG = ("gcn", "gat", "agnn")  # of the node models, those with layers of PyTorch Geometric


class Duplicates(str, Enum):
    """What to do with repeated edges, as in ``Graph.from_edges``."""

    error = "error"
    sum = "sum"
    first = "first"


class Loss(str, Enum):
    """Running losses of ``ndcn.Objective``."""

    l1 = "l1"
    l2 = "l2"
    huber = "huber"


class Precision(str, Enum):
    """Floating types to compute in."""

    float32 = "float32"
    float64 = "float64"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on standard output.")]


def check_output(path: Path) -> None:
    """Refuse a file name that cannot be written to, before any work is done for it.

    Raises:
        FileNotFoundError: its folder does not exist.
        ValueError: it is a folder.
        PermissionError: its folder must not be written to.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    check_parent(path)


def check_picture(path: Path) -> None:
    """Refuse a name of a picture that no format goes by, and what ``check_output`` refuses."""
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"{path}: the name of the picture must end in {', '.join(PICTURES)}, which decides the format")
    check_output(path)


def check_table_output(path: Path) -> None:
    """Refuse a table that cannot be written to, or whose name does not say its format."""
    if path.suffix.lower() not in TABLES:
        raise ValueError(f"{path}: the name must end in {' or '.join(TABLES)}, which decides the format")
    check_output(path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV or Parquet, as its name says."""
    from .._support.files import write

    if path.suffix.lower() == ".csv":
        write(path, lambda new: table.to_csv(new, index=False))
    else:
        write(path, lambda new: table.to_parquet(new, index=False))


def load_dynamics(path: Path) -> DynamicsRegressor:
    """Read a model of dynamics; refuse a classifier of nodes.

    Raises:
        ValueError: the file holds a classifier, is damaged or not ours.
    """
    import ndcn

    found = ndcn.load(path)
    if not isinstance(found, ndcn.DynamicsRegressor):
        raise ValueError(
            f"{path} holds a {type(found).__name__}, which has no dynamics to predict; `ndcn classify --out` writes the classes "
            "of nodes, and ndcn.load reads this file in Python"
        )
    return found


def check_data_output(folder: Path) -> None:
    """Refuse a data folder that exists and holds something else, before any work is done for it."""
    if folder.exists() and not (folder / "data.json").is_file():
        raise ValueError(f"{folder} exists and is not ndcn data; choose another name or remove it")
    check_parent(folder)


def check_parent(path: Path) -> None:
    """Refuse a path whose folder does not exist or must not be written to."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"there is no folder {parent} to write {path.name} into; make it first")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"could not write {path}: the folder {parent} is not writable; nothing was changed")


def time_text(time: float, calendar: Calendar | None) -> str:
    """A time as the data have it: a date, or t = 5."""
    return f"t = {time:.15g}" if calendar is None else calendar.texts([time])[0]


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(content, allow_nan=False))
