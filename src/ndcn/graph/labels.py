"""Labels of nodes: distinct, and found again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd


def checked_labels(nodes: Sequence[Hashable] | None, n: int) -> Sequence[Hashable]:
    """n distinct labels: range(n) where they are 0..n-1 in order, else a tuple, or a ValueError."""
    if nodes is None or (isinstance(nodes, range) and nodes == range(n)):
        return range(n)
    labels = tuple(node.item() if isinstance(node, np.generic) else node for node in nodes)
    if len(labels) != n:
        raise ValueError(f"{len(labels)} node labels were given for {n} nodes")
    if len(set(labels)) != n:
        twice = next(label for label, count in Counter(labels).items() if count > 1)
        raise ValueError(f"node labels must be distinct, but {twice!r} occurs more than once")
    return range(n) if labels == tuple(range(n)) else labels


def place_of(nodes: Sequence[Hashable], name: Hashable) -> int | None:
    """The place of the node with this label, or whose label reads the same as text; None if there is none.

    Example:
        >>> place_of(["ann", 7], "7")
        1
    """
    return next((k for k, label in enumerate(nodes) if label == name or str(label) == str(name)), None)


def label_index(labels: Any) -> pd.Index:
    """Labels as a flat pandas index, also where they are tuples."""
    return pd.Index(labels, tupleize_cols=False)
