"""NodeDataset: a graph, features and classes of its nodes, and which of them are for training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy import sparse

from ..._support.wording import counted
from ...graph import Graph
from ..node_data import UNKNOWN


@dataclass(frozen=True, eq=False)
class NodeDataset:
    """A graph whose nodes have features F (n, d) and classes y (n,).

    Attributes:
        name: what it is called.
        graph: n nodes.
        features: F, a scipy.sparse CSR array, shape (n, d); a row without entries is a node of which nothing is known.
        labels: the class of each node, shape (n,), int64, from 0 to c - 1; -1 where it is not known.
        train_mask, val_mask, test_mask: the nodes for training, validation and test, shape (n,), bool, no two of which overlap.
        classes: c names; ``classes[labels[i]]`` is the class of node i.
        notes: how files were understood, if the data come from files.

    Raises:
        ValueError: shapes that do not fit, masks that overlap or hold a node without a class.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> data
        NodeDataset(karate club: 34 nodes, 34 features, 2 classes; 2 train, 0 validation, 32 test)
        >>> data.classes[data.labels[0]]
        'Mr. Hi'
    """

    name: str
    graph: Graph
    features: sparse.csr_array
    labels: torch.Tensor
    train_mask: torch.Tensor
    val_mask: torch.Tensor
    test_mask: torch.Tensor
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = self.graph.num_nodes
        if self.features.shape[0] != n:
            raise ValueError(f"the graph has {n} nodes, but there are {self.features.shape[0]} rows of features")
        masks = {"train_mask": self.train_mask, "val_mask": self.val_mask, "test_mask": self.test_mask}
        for what, value in {"labels": self.labels, **masks}.items():
            if tuple(value.shape) != (n,):
                raise ValueError(f"the graph has {n} nodes, but {what} has shape {tuple(value.shape)}")
        if not (int(self.labels.min()) >= UNKNOWN and int(self.labels.max()) < len(self.classes)):
            count = len(self.classes)
            raise ValueError(f"labels must be from -1 to {count - 1}: there are {count} classes")
        if int(torch.stack(list(masks.values())).sum(dim=0).max()) > 1:
            raise ValueError("train_mask, val_mask and test_mask overlap")
        for what, mask in masks.items():
            if bool((self.labels[mask] == UNKNOWN).any()):
                raise ValueError(f"{what} holds a node whose class is not known")

    def __repr__(self) -> str:
        train, val, test = (int(mask.sum()) for mask in (self.train_mask, self.val_mask, self.test_mask))
        n, d = self.features.shape
        return (
            f"NodeDataset({self.name}: {counted(n, 'node')}, {counted(d, 'feature')}, {len(self.classes)} classes; "
            f"{train} train, {val} validation, {test} test)"
        )
