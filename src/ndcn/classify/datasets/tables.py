"""Node classification on one's own data: edges, features and classes from tables, matched by the names of the nodes."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import sparse

from ..._support.checks import LARGEST_SEED
from ..._support.wording import some
from ...io import (
    EdgeList,
    build_graph,
    is_whole,
    isolated_note,
    labels_as_in,
    labels_for,
    number,
    read_edges,
    refuse_strangers,
    spelling_hint,
)
from ..node_data import UNKNOWN
from .held_out import checked_shares, hold_out
from .node_rows import NodeRows
from .nodes import NodeDataset
from .table_features import feature_matrix, read_features
from .table_labels import class_codes, read_labels


def node_tables(
    edges: Any,
    features: str | Path | pd.DataFrame | None = None,
    labels: str | Path | pd.DataFrame | None = None,
    *,
    test: float | None = None,
    validation: float | None = None,
    seed: int = 0,
    directed: bool | None = None,
    duplicates: str = "error",
    fill: float | None = None,
    scale: bool = True,
    name: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    node: str | None = None,
    label: str | None = None,
) -> NodeDataset:
    """A graph A, features F and classes y from up to three tables, whose rows name the nodes.

    Files are read as ``ndcn.read`` reads them: every format, separator, encoding and word for a missing value. Names are
    compared by their text, so that the number 7 in one and the text "7" in another are the same node. Nodes are in the
    order of their names; a node that is in no edge is isolated, with a warning that lists such nodes. ``notes`` of the
    result says how the files were understood, and the arguments overrule it.

    Args:
        edges: what ``ndcn.read`` takes as edges: a file, a pandas table, a graph or a matrix; times of edges are not used.
        features: a column of nodes and features: first all columns of numbers (true and false are 1 and
            0), then for each column of text one of zeros and ones for each text in it; a missing text is none of them.
            Without a table F = I: only its position in the graph describes a node.
        labels: a column of nodes and one called ``label``, of text or whole numbers. The class of a node that is
            missing, or has an empty label or a negative number, is not known. A column ``split`` may say which nodes
            are for "train", "validation" and "test"; the others are for none of them. Without a table no class is known.
        test: the share of labelled nodes that is held out for test, 0.2 by default. Each class gives its share, but keeps one
            node for training at least.
        validation: the share that is held out for validation in the same way; none by default.
        seed: of which nodes are held out.
        directed: whether an edge (u, v) means that u acts on v only; by default as the file says, else not.
        duplicates: what to do with a repeated edge: "error", "sum" its weights, keep the "first", or "merge" as
            ``ndcn.read`` does: equal ones count once, the weights of others add up.
        fill: the number in place of a missing one, also for nodes without a row of features; None makes it an error.
        scale: whether to make columns comparable: numbers that are mostly zero are divided by the largest, and measurements
            such as an age or a year become indicators of up to eight quantiles. Without it they stay as they are.
        name: what the data set is called; the file name of the edges by default.
        source, target, weight: columns of the edges, by name; detected by default.
        node: the column of nodes in features and labels; detected by default.
        label: the column of labels; detected by default.

    Returns:
        The data set; F is sparse, float32; ``classes`` are the labels as text, sorted, numbers by their size.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: features or labels that are neither a file name nor a pandas table, or edges of another type.
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
    shares = checked_shares(test, validation)
    if fill is not None and not math.isfinite(fill):
        raise ValueError(f"fill must be a finite number, got {fill!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    columns = {"source": source, "target": target, "weight": weight}
    links = read_edges(edges, columns=columns, use_time=False)
    known = {*links.labels, *(other for others in links.aliases.values() for other in others)}
    rows = None if features is None else read_features(features, known, node)
    marks = None if labels is None else read_labels(labels, known, node, label)
    tables = [table.rows for table in (rows, marks) if table is not None]
    named = {other for table in tables for other in table.names}
    if isinstance(edges, (str, Path)) and links.heading is not None and set(links.heading) <= named:
        links = read_edges(edges, columns=columns, use_time=False, headless=True)  # its first line names two nodes
    edge_labels, notes, cautions = _matched(links, tables)
    cautions += _no_nodes(links, edge_labels, named)
    everyone = labels_for({*edge_labels, *named})
    place = {str(name): k for k, name in enumerate(everyone)}
    where = np.array([place[name] for name in edge_labels], dtype=np.int64)
    is_directed = False if directed is None and links.directed is None else directed
    if is_directed is not directed:
        notes.append(f"{links.title}: edges act both ways; if they do not, say directed=True (--directed)")
    graph, _, built = build_graph(links, where, everyone, is_directed, repeated=duplicates)
    classes: tuple[str, ...] = ()
    codes, part = torch.full((len(everyone),), UNKNOWN), None
    if marks is not None:
        if rows is not None and marks.heading in rows.rows.headings:
            raise ValueError(
                f"{rows.rows.title} has a column {marks.heading!r}, as {marks.rows.title} has, which would give the classes "
                "away; drop it, or give it another name if it is something else"
            )
        classes, codes, part = class_codes(marks, place)
        cautions += marks.cautions
    if part is None:
        part, few = hold_out(codes, classes, shares, seed)
        cautions += few
    elif test is not None or validation is not None:
        raise ValueError('the column "split" of the labels decides what is held out: drop it, or test and validation')
    matrix = sparse.eye_array(len(everyone), dtype="float32", format="csr")
    if rows is not None:
        matrix = feature_matrix(rows, place, fill, scale)
    for caution in cautions:
        warnings.warn(caution, UserWarning, stacklevel=2)
    return NodeDataset(
        name=name or (Path(edges).stem if isinstance(edges, (str, Path)) else "tables"),
        graph=graph,
        features=matrix,
        labels=codes,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
        classes=classes,
        notes=(*links.notes, *built, *(note for table in tables for note in table.notes), *notes),
    )


def _no_nodes(links: EdgeList, edge_labels: list[str], named: set[str]) -> list[str]:
    """A warning if one end of the edges holds no node that the tables name, and names of another kind: numbers for text, say."""
    for end, where in (("source", links.source), ("target", links.target)):
        there = [edge_labels[k] for k in np.unique(where).tolist()]
        if named.isdisjoint(there) and named and _kind_of(there) != _kind_of(named):
            what = f"{links.title}: no {end} is a node that the other tables name, but {some(there, 3)}"
            return [f"{what}; is this the table of edges? If so, name its columns with --source and --target"]
    return []


def _kind_of(names: Collection[str]) -> str:
    """What most names are: "whole" numbers, "number" or "text"."""
    kinds = Counter("whole" if is_whole(x) else "text" if number(x) is None else "number" for x in names)
    return kinds.most_common(1)[0][0]


def _matched(links: EdgeList, tables: list[NodeRows]) -> tuple[list[str], list[str], list[str]]:
    """The labels of the edges under the names that the tables use, what was understood, and what to warn about."""
    named = list(dict.fromkeys(name for table in tables for name in table.names))
    edge_labels, notes = labels_as_in(links, named)
    cautions = [links.unused] if links.unused else []
    linked = set(edge_labels)
    unnamed = [name for name in edge_labels if name not in set(named)] if len(tables) else []
    for table in tables:
        refuse_strangers(links.title, edge_labels, table.title, list(dict.fromkeys(table.names)))
        alone = [name for name in dict.fromkeys(table.names) if name not in linked]
        if alone:
            hint = spelling_hint(links.title, unnamed, table.title, alone)
            cautions.append(isolated_note(links.title, table.title, alone) + (f"; {hint}" if hint else ""))
    return edge_labels, notes, cautions
