"""Zachary's karate club: a small graph that needs no files."""

from __future__ import annotations

import torch
from scipy import sparse

from ..._support.lazy import networkx as nx
from ...graph import Graph
from .nodes import NodeDataset


def karate_club() -> NodeDataset:
    """34 members of a karate club that split in two; who was friends with whom says who went where.

    The classes are the two sides of the split, the instructor's ("Mr. Hi") and the president's ("Officer"). The
    features are one-hot: F = I. Only the two leaders, nodes 0 and 33, are for training; all others are for test.

    W. W. Zachary, An information flow model for conflict and fission in small groups, J. Anthropol. Res. 33 (1977).

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> data.graph
        Graph(34 nodes, 78 edges, undirected)
        >>> data.train_mask.nonzero().flatten()
        tensor([ 0, 33])
    """
    club = nx.karate_club_graph()
    classes = ("Mr. Hi", "Officer")
    labels = torch.tensor([classes.index(side) for _, side in club.nodes(data="club")])
    train = torch.zeros(len(labels), dtype=torch.bool)
    train[[0, 33]] = True
    return NodeDataset(
        name="karate club",
        graph=Graph.from_networkx(club, weight=None),
        features=sparse.eye_array(len(labels), dtype="float32", format="csr"),
        labels=labels,
        train_mask=train,
        val_mask=torch.zeros_like(train),
        test_mask=~train,
        classes=classes,
    )
