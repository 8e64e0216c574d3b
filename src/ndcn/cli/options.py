"""Names that options accept, checks of output paths, and printing for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from enum import Enum, EnumMeta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.registries import ACTIVATIONS, LAWS, MODELS, NETWORKS, NODE_MODELS, OPERATORS
from .._support.registries import NEED_PYG as NEED_PYG

if TYPE_CHECKING:
    import pandas as pd

    from ..data import Calendar
    from ..regressor import DynamicsRegressor

TABLE_SUFFIXES = (".csv", ".parquet")
PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


class _FromNames(EnumMeta):
    """Makes a member of each of ``names``; a registry is an iterable of names."""

    @classmethod
    def __prepare__(metacls, cls: str, bases: tuple[type, ...], **more: Any) -> Any:  # type: ignore[override]
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


class Order(Choice, names=("modularity", "louvain", "none")):
    """How the nodes of a network are ordered."""


class Sampling(Choice, names=("irregular", "regular")):
    """How the times of snapshots are chosen."""


class Preset(Choice, names=("default", "paper")):
    """Training recipes of ``ndcn.training.recipes.RECIPES``."""


class Duplicates(Choice, names=("error", "sum", "first")):
    """What to do with repeated edges, as in ``Graph.from_edges``."""


class Loss(Choice, names=("l1", "l2", "huber")):
    """Running losses of ``ndcn.Objective``."""


class Precision(Choice, names=("float32", "float64")):
    """Floating types to compute in."""


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
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise ValueError(
            f"{path}: the name of the picture must end in {', '.join(PICTURE_SUFFIXES)}, which decides the format"
        )
    check_output(path)


def check_table_output(path: Path) -> None:
    """Refuse a table that cannot be written to, or whose name does not say its format."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise ValueError(f"{path}: the name must end in {' or '.join(TABLE_SUFFIXES)}, which decides the format")
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
