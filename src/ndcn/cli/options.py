"""Names that options accept, options that several commands share, checks of output paths, and how results are printed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from enum import Enum, EnumMeta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.horizon import LONGEST
from .._support.outputs import check_data_folder
from .._support.registries import (
    ACTIVATIONS,
    LAWS,
    LOSSES,
    MODELS,
    NEED_PYG as NEED_PYG,
    NETWORKS,
    NODE_MODELS,
    NOT_TRAINED as NOT_TRAINED,
    OPERATORS,
    PRESETS,
    SERIES_KINDS,
)
from .given import refuse_inputs

if TYPE_CHECKING:
    import pandas as pd

    from ..classify import NodeClassifier
    from ..data import Calendar
    from ..regressor import DynamicsRegressor

TABLES = (".csv", ".parquet")
PICTURES = (".png", ".pdf", ".svg")
PAGES = (".html", ".htm")
OTHERS = (*TABLES, *PICTURES, *PAGES, ".gz", ".json", ".tsv", ".txt", ".xls", ".xlsx")  # endings that no model has


class _FromNames(EnumMeta):
    """Makes a member of each of ``names``; a registry is an iterable of names."""

    @classmethod
    def __prepare__(metacls, cls: str, bases: tuple[type, ...], **more: Any) -> Any:  # type: ignore[override]  # EnumMeta takes no names
        members = super().__prepare__(cls, bases)
        for name in more.get("names", ()):
            members[name] = name
        return members

    def __new__(metacls, cls: str, bases: tuple[type, ...], members: Any, names: Iterable[str] = ()) -> Any:
        return super().__new__(metacls, cls, bases, members)

    if TYPE_CHECKING:  # the members are known at run time only

        def __getattr__(cls, name: str) -> Any: ...


class Choice(str, Enum, metaclass=_FromNames):
    """One of the names that an option accepts: ``class LawName(Choice, names=LAWS)``.

    Example:
        >>> class Size(Choice, names=("small", "large")): ...
        >>> list(Size), Size("large").value
        ([<Size.small: 'small'>, <Size.large: 'large'>], 'large')
    """


class LawName(Choice, names=LAWS):
    """Laws of ``ndcn.laws.NAMED``."""


class NetworkName(Choice, names=NETWORKS):
    """Networks of ``ndcn.networks.NAMED``."""


class ModelName(Choice, names=MODELS):
    """Models of dynamics."""


class OperatorName(Choice, names=OPERATORS):
    """Operators of ``ndcn.operators.NAMED``."""


class Activation(Choice, names=ACTIVATIONS):
    """Activations of fields."""


class NodeModel(Choice, names=NODE_MODELS):
    """NodeClassifier, and the models of ``ndcn.NodeBaseline``."""


class Order(Choice, names=("auto", "modularity", "louvain", "none")):
    """How the nodes of a network are ordered."""


class Sampling(Choice, names=("irregular", "regular")):
    """How the times of snapshots are chosen."""


class Preset(Choice, names=PRESETS):
    """Training recipes of ``ndcn.training.recipes.RECIPES``."""


class KindOfData(Choice, names=SERIES_KINDS):
    """Kinds of data, as in ``ndcn.data.KINDS``."""


class Duplicates(Choice, names=("error", "sum", "first")):
    """What to do with repeated edges, as in ``Graph.from_edges``."""


class ClassWeights(Choice, names=("none", "balanced")):
    """Weights of classes in training."""


class Loss(Choice, names=LOSSES):
    """Running losses of ``ndcn.Objective``."""


class Precision(Choice, names=("float32", "float64")):
    """Floating types to compute in."""


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help text, in which brackets are no markup; one without a default says in the text what None means."""
    return typer.Option(*names, help=text.replace("[", r"\["), **more)


Json = Annotated[bool, option("Print one JSON object on standard output, and nothing else.", "--json")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")]
FOLDER = "Folder with data, as `ndcn simulate` or Trajectory.save write it; or, with STATES, a file of edges."
Data = Annotated[Path, typer.Argument(metavar="DATA", help=FOLDER)]
STATES = "File of states, if DATA is a file of edges; see `ndcn inspect`."
States = Annotated[Path | None, typer.Argument(metavar="STATES", help=STATES)]
KIND = "What the values are: totals so far, counts, or other values. Default: found out from the data."
PERIOD = "Steps after which the pattern repeats, as 7 for days. Default: found out from the data."
LAW = "Look for a law first, and take it where it explains the data to their noise."
KEEP_OUTLIERS = "Use wrong cells too, which `ndcn inspect` lists and forecasts hold out by default."
HORIZON = f"Forecast horizon in steps. Default: {LONGEST}, or a quarter of the snapshots if that is less."
EPOCHS = "Full-batch gradient steps. Default: 2000."
Horizon = Annotated[int | None, option(HORIZON, min=1)]
Kind = Annotated[KindOfData | None, option(KIND, "--kind")]
Period = Annotated[int | None, option(PERIOD, min=2)]


def check_output(path: Path | None, suffixes: tuple[str, ...] = ()) -> None:
    """Check that a file, if there is one to write, can be written, before any work is done.

    Raises:
        FileNotFoundError: its folder does not exist.
        ValueError: the command reads it, it is a device, a pipe or a folder, or its name ends in none of the suffixes, which name formats.
        OSError: nothing can be written into its folder.
    """
    if path is None:
        return
    refuse_inputs(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: the name must end in {' or '.join(suffixes)}, which decides the format")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a device or pipe; give the name of a file")
    check_parent(path)


def check_place(path: Path | None) -> None:
    """Check that a folder, if there is one to write, is none of the inputs and has a place; what it holds is left to who writes it."""
    if path is not None:
        refuse_inputs(path)
        check_parent(path)


def check_model_output(path: Path) -> None:
    """Check like ``check_output`` that a model can be written; a name that says another format is refused."""
    if path.suffix.lower() in OTHERS:
        raise ValueError(f"{path}: a model is no {path.suffix} file; give it another ending, as {path.stem}.ndcn")
    check_output(path)


def write_picture(figure: Any, path: Path) -> None:
    """Write a figure in the format that the suffix names."""
    from .._support.files import write

    write(path, lambda new: figure.savefig(new, dpi=150))


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV or Parquet, by its suffix."""
    from .._support.files import write

    if path.suffix.lower() == ".csv":
        write(path, lambda new: new.write_text(csv_of(table), encoding="utf-8"))
    else:
        write(path, lambda new: table.to_parquet(new, index=False))


def csv_of(table: pd.DataFrame) -> str:
    """A table as CSV; a whole number has no decimal point, so that counts look like counts."""
    return str(table.to_csv(index=False, float_format=lambda x: str(x).removesuffix(".0")))


def load_dynamics(path: Path) -> DynamicsRegressor:
    """Read a model of dynamics.

    Raises:
        ValueError: the file holds a node classifier, is damaged or is no model file.
    """
    import ndcn

    found = ndcn.load(path)
    if not isinstance(found, ndcn.DynamicsRegressor):
        raise ValueError(
            f"{path} holds a {type(found).__name__}, which has no dynamics to predict; `ndcn classify --out` writes the classes "
            "of nodes, and ndcn.load reads this file in Python"
        )
    return found


def load_classifier(path: Path) -> NodeClassifier:
    """Read a node classifier.

    Raises:
        ValueError: the file holds a model of dynamics, is damaged or is no model file.
    """
    import ndcn

    found = ndcn.load(path)
    if not isinstance(found, ndcn.NodeClassifier):
        raise ValueError(
            f"{path} holds a {type(found).__name__}, which has no classes; `ndcn classify --save` writes a classifier"
        )
    return found


def check_data_output(folder: Path) -> None:
    """Check that data can be written to a folder, which is new or holds nothing but ndcn data, before any work is done."""
    refuse_inputs(folder)
    check_data_folder(folder)
    check_parent(folder)


def check_folder_output(folder: Path) -> None:
    """Check that files can be written to a folder, which is made if it is not there, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder")
    check_parent(folder / "file" if folder.is_dir() else folder)


def check_parent(path: Path) -> None:
    """Check that the folder of a path exists and that something of this name can be made in it, by making it."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"there is no folder {parent} to write {path.name} into; make it first")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent):
            pass
    except OSError as error:
        reason = f"{error.strerror or error} in the folder {parent}; nothing was changed"
        raise OSError(error.errno, f"could not write {path}: {reason}") from None


def time_text(time: float, calendar: Calendar | None) -> str:
    """A time as the data have it: a date, or t = 5."""
    from ..data import time_text as text

    return text(time, calendar)


def print_columns(headings: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None) -> None:
    """Print rows of text, the first cell a name at the left, the others numbers under their headings."""
    from rich.console import Console
    from rich.table import Table

    style: dict[str, Any] = {"box": None, "pad_edge": False, "header_style": "bold", "title_style": ""}
    table = Table("", title=title, title_justify="left", **style)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    typer.echo(json.dumps(content, allow_nan=False))
