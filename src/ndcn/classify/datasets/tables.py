"""Node classification on one's own data: edges, features and classes from tables, matched by the names of the nodes."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy import sparse

from ..._support.checks import LARGEST_SEED
from ...graph import Graph
from .nodes import UNKNOWN, NodeDataset
from .table_features import count, feature_matrix, listed
from .table_files import is_whole, plain_name, read_table

if TYPE_CHECKING:
    from .table_files import Table

TEST = 0.2
PARTS = {"train": 0, "training": 0, "validation": 1, "val": 1, "test": 2}


def node_tables(
    edges: str | Path | pd.DataFrame,
    features: str | Path | pd.DataFrame | None = None,
    labels: str | Path | pd.DataFrame | None = None,
    *,
    test: float | None = None,
    validation: float | None = None,
    seed: int = 0,
    directed: bool = False,
    duplicates: str = "error",
    fill: float | None = None,
    scale: bool = True,
    name: str | None = None,
) -> NodeDataset:
    """A graph A, features F and classes y from up to three tables, whose rows name the nodes.

    A table is a file (.csv, .tsv, .txt or .parquet; the text ones also as .gz) or a pandas table. Names are compared by
    their text, so that the number 7 in one and the text "7" in another are the same node. Nodes are in the order of their
    names; a node that is in no edge is isolated, with a warning that lists such nodes. A file may have no header if the
    first line has whole numbers, or names of nodes, where the header would name the columns of nodes.

    Args:
        edges: columns source, target and perhaps weight, or two or three columns in that order.
        features: a column ``node``, or the first one, and features: first all columns of numbers (true and false are 1 and
            0), then for each column of text one of zeros and ones for each text in it; a missing text is none of them.
            Without a table F = I: a node is known by its place in the graph alone.
        labels: a column ``node``, or the first one, and one ``label``, of text or whole numbers. The class of a node that is
            missing, or has an empty label or a negative number, is not known. A column ``split`` may say which nodes
            are for "train", "validation" and "test"; the others are for none of them. Without a table no class is known.
        test: the share of labelled nodes that is held out for test, 0.2 by default. Each class gives its share, but keeps one
            node for training at least.
        validation: the share that is held out for validation in the same way; none by default.
        seed: of which nodes are held out.
        directed: whether a row (u, v) means that u acts on v only.
        duplicates: what to do with a repeated edge: "error", "sum" its weights, or keep the "first".
        fill: the number in place of a missing one, also for nodes without a row of features; None makes it an error.
        scale: whether to make columns comparable: numbers that are mostly zero are divided by the largest, and measurements
            such as an age or a year become indicators of up to eight quantiles. Without it they stay as they are.
        name: what the data set is called; the file name of the edges by default.

    Returns:
        The data set; F is sparse, float32; ``classes`` are the labels as text, sorted, numbers by their size.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: a table that is neither a file name nor a pandas table.
        ValueError: a table that cannot be read or lacks columns, names that do not match, features that are missing or infinite,
            a node with several labels, a single class, or shares that leave nothing for training.

    Example:
        >>> import ndcn, pandas as pd
        >>> edges = pd.DataFrame({"source": ["ann", "bob", "cid", "dan"], "target": ["bob", "cid", "dan", "eve"]})
        >>> labels = pd.DataFrame({"node": ["ann", "bob", "dan", "eve"], "label": ["red", "red", "blue", "blue"]})
        >>> data = ndcn.datasets.node_tables(edges, labels=labels, test=0.5)
        >>> data
        NodeDataset(tables: 5 nodes, 5 features, 2 classes; 2 train, 0 validation, 2 test)
        >>> data.classes, data.graph.nodes[0]
        (('blue', 'red'), 'ann')
    """
    shares = _checked_shares(test, validation)
    if fill is not None and not math.isfinite(fill):
        raise ValueError(f"fill must be a finite number, got {fill!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    links = read_table(edges, "edges", ("source", "target"), columns=("weight",))
    linked = list(dict.fromkeys([*links.keys[0], *links.keys[1]]))
    known = set(linked)
    rows = None if features is None else read_table(features, "features", ("node",), known=known)
    marks = None
    if labels is not None:
        marks = read_table(labels, "labels", ("node",), columns=("label",), known=known, text=True)
    for table in (rows, marks):
        if table is not None:
            _check_names(table, known, linked)
    found = known.union(*(table.names for table in (rows, marks) if table is not None))
    numbered = all(map(is_whole, found))
    everyone = sorted(found, key=int) if numbered else sorted(found)
    place = {node: k for k, node in enumerate(everyone)}
    graph = Graph.from_edges(
        _edges(links, numbered),
        nodes=[int(node) for node in everyone] if numbered else everyone,
        directed=directed,
        duplicates=duplicates,
    )
    classes: tuple[str, ...] = ()
    codes, part = torch.full((len(everyone),), UNKNOWN), None
    if marks is not None:
        column, classes, codes, part = _labels(marks, place)
        if rows is not None and column in rows.rest.columns:
            raise ValueError(
                f"{rows.title} has a column {column!r}, as {marks.title} has, which would give the classes away; drop it, or "
                "give it another name if it is something else"
            )
    if part is None:
        part = _held_out(codes, classes, shares, seed)
    elif test is not None or validation is not None:
        raise ValueError('the column "split" of the labels decides what is held out: drop it, or test and validation')
    matrix = sparse.eye_array(len(everyone), dtype="float32", format="csr")
    if rows is not None:
        matrix = feature_matrix(rows, everyone, place, fill, scale)
    return NodeDataset(
        name=name or (Path(edges).stem if isinstance(edges, (str, Path)) else "tables"),
        graph=graph,
        features=matrix,
        labels=codes,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
        classes=classes,
    )


def _note(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)


# Names and edges ------------------------------------------------------------------------------------------------


def _check_names(table: Table, known: set[str], linked: list[str]) -> None:
    """Refuse a table none of whose nodes is in an edge; say which nodes are in none."""
    alone = [name for name in dict.fromkeys(table.names) if name not in known]
    if len(alone) == len(set(table.names)):
        raise ValueError(
            f"no node of {table.title} is in an edge: it names {listed(alone, 3) or 'none'}, the edges {listed(linked, 3)}; "
            'its first column, or one called "node", must have the names that the edges have'
        )
    if alone:
        _note(f"{count(len(alone), 'node')} of {table.title} in no edge, so isolated: {listed(alone)}")


def _edges(links: Table, numbered: bool) -> pd.DataFrame:
    """The edges as ``Graph.from_edges`` takes them."""
    table = pd.DataFrame(dict(zip(("source", "target"), links.keys, strict=True)))
    if table.empty:
        raise ValueError(f"{links.title} has no rows: there is no edge")
    if numbered:
        table = table.astype("int64")
    rest = links.rest
    if "weight" in rest.columns:
        spare = [column for column in rest.columns if column != "weight"]
        if spare:
            _note(f"{links.title}: columns without use: {listed(spare)}")
        table["weight"] = rest["weight"].to_numpy()
    elif rest.shape[1] == 1:
        table["weight"] = rest.iloc[:, 0].to_numpy()
    elif rest.shape[1] > 1:
        raise ValueError(
            f"{links.title} has the columns {listed(list(rest.columns))} beside source and target; call the one of weights "
            '"weight", or drop them'
        )
    return table


# Features -------------------------------------------------------------------------------------------------------


WHOLE_LABEL = re.compile(r"(0|-?[1-9]\d*)(\.0*)?")
NUMBER = re.compile(r"-?\d*\.?\d+(e[+-]?\d+)?", re.IGNORECASE)


def _labels(table: Table, place: dict[str, int]) -> tuple[object, tuple[str, ...], torch.Tensor, torch.Tensor | None]:
    """The column of labels, the classes, the class of each node, and which part it is in if the table says so."""
    rest = table.rest
    others = [column for column in rest.columns if column != "split"]
    if "label" not in others and len(others) != 1:
        raise ValueError(
            f'{table.title} needs the columns "node" and "label"; beside nodes it has {listed(others) or "none"}'
        )
    column = "label" if "label" in others else others[0]
    labels = _plain_labels(rest[column], table)
    parts = _parts(rest["split"], table) if "split" in rest.columns else None
    said: dict[str, tuple[str | None, int]] = {}
    for name, label, part in zip(table.names, labels, parts or [UNKNOWN] * len(labels), strict=True):
        if said.setdefault(name, (label, part)) != (label, part):
            raise ValueError(f"{table.title} has rows that disagree about node {name!r}; keep one of them")
    known = {label for label in labels if label is not None}
    classes = sorted(known, key=int) if all(map(WHOLE_LABEL.fullmatch, known)) else sorted(known)
    if len(classes) < 2:
        raise ValueError(f"{table.title} must have two classes or more, but has {listed(classes) or 'none'}")
    code = {label: k for k, label in enumerate(classes)}
    codes = torch.full((len(place),), UNKNOWN)
    split = None if parts is None else torch.full((len(place),), UNKNOWN)
    for name, (label, part) in said.items():
        if label is not None:
            codes[place[name]] = code[label]
        if split is not None:
            if label is None and part != UNKNOWN:
                raise ValueError(f"{table.title}: node {name!r} has a part in the split, but no label")
            split[place[name]] = part
    return column, tuple(classes), codes, split


def _plain_labels(column: pd.Series, table: Table) -> list[str | None]:
    """Labels as text, whole numbers without a decimal point; None where there is none."""
    labels = [
        None if missing else plain_name(value) or None for value, missing in zip(column, column.isna(), strict=True)
    ]
    known = [label for label in labels if label is not None]
    if not all(map(WHOLE_LABEL.fullmatch, known)):
        if all(map(NUMBER.fullmatch, known)) and any("." in label for label in known):
            wrong = next(label for label in known if not WHOLE_LABEL.fullmatch(label))
            raise ValueError(
                f"{table.title}: classes are whole numbers or text, got {wrong}; round or bin such numbers first"
            )
        return labels
    plain = [None if label is None else label.partition(".")[0] for label in labels]
    negative = [name for name, label in zip(table.names, plain, strict=True) if label is not None and label[0] == "-"]
    if negative:
        _note(f"negative labels mean that the class is not known: {count(len(negative), 'node')}, {listed(negative)}")
    return [None if label is None or label[0] == "-" else label for label in plain]


def _parts(column: pd.Series, table: Table) -> list[int]:
    parts = []
    for value, missing in zip(column, column.isna(), strict=True):
        word = "" if missing else str(value).strip().lower()
        if word and word not in PARTS:
            raise ValueError(f"{table.title}: split is train, validation, test or empty, got {value!r}")
        parts.append(PARTS[word] if word else UNKNOWN)
    return parts


# What is held out -----------------------------------------------------------------------------------------------


def _checked_shares(test: float | None, validation: float | None) -> tuple[float, float]:
    shares = (TEST if test is None else test, 0.0 if validation is None else validation)
    for name, share in zip(("test", "validation"), shares, strict=True):
        if not 0 <= share < 1:
            raise ValueError(f"{name} must be a share in [0, 1), got {share!r}")
    if sum(shares) >= 1:
        raise ValueError(
            f"test and validation take {sum(shares):g} of the labelled nodes, which leaves none for training"
        )
    return shares


def _held_out(codes: torch.Tensor, classes: tuple[str, ...], shares: tuple[float, float], seed: int) -> torch.Tensor:
    """0 for training, 1 for validation, 2 for test, -1 where the class is not known; every class is trained on."""
    draw = np.random.default_rng(seed)
    members = [draw.permutation(np.flatnonzero(codes.numpy() == k)) for k in range(len(classes))]
    sizes = np.array([len(nodes) for nodes in members], dtype=np.int64)
    test = _portions(sizes, sizes - 1, shares[0], draw)
    validation = _portions(sizes, sizes - 1 - test, shares[1], draw)
    part = torch.where(codes == UNKNOWN, UNKNOWN, 0)
    for nodes, tested, validated in zip(members, test, validation, strict=True):
        part[nodes[:tested]] = 2
        part[nodes[tested : tested + validated]] = 1
    untested = [f"{name!r} ({size})" for name, size, count in zip(classes, sizes, test, strict=True) if count == 0]
    if untested and shares[0] > 0:
        _note(
            f"too few labelled nodes to hold one out for test, as training comes first: class{'es' * (len(untested) > 1)} "
            + ", ".join(untested[:5])
            + (f" and {len(untested) - 5} more" if len(untested) > 5 else "")
        )
    return part


def _portions(sizes: np.ndarray, room: np.ndarray, share: float, draw: np.random.Generator) -> np.ndarray:
    """How many of each class: its share, rounded so that the sum is right, where there is room."""
    wanted = share * sizes
    count = np.minimum(np.floor(wanted + 1e-9).astype(np.int64), room)
    order = np.lexsort((draw.random(len(sizes)), -(wanted - count)))
    left = round(share * int(sizes.sum())) - int(count.sum())
    for k in order:
        if left > 0 and count[k] < room[k]:
            count[k], left = count[k] + 1, left - 1
    return count
