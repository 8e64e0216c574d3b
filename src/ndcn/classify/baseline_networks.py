"""Baselines that classify nodes: an MLP, and GCN, GAT and AGNN with the layers of PyTorch Geometric; label propagation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from ..graph import Graph, kipf, normalized_adjacency

if TYPE_CHECKING:
    from .features import FeatureTable


class NodeNetwork(nn.Module, ABC):
    """logits = f(F, G), where F enters as F W only, so that it can stay sparse.

    Args:
        features: d, columns of F.
        width: columns of W.
        dropout: the probability, in training, that an entry of F, or of what the last layer reads, is dropped.

    Raises:
        ImportError: its layers are those of PyTorch Geometric, which is not installed.
    """

    decay_all = True  # whether weight decay holds for all weights, or for W only
    heads = 1  # side by side, each of the hidden width

    def __init__(self, features: int, width: int, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, width)))
        self.dropout = dropout

    @abstractmethod
    def forward(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """Logits, shape (n, c)."""

    def first(self, table: FeatureTable) -> torch.Tensor:
        """F W, shape (n, width); entries of F are dropped in training."""
        return table.times(self.weight, self.dropout if self.training else 0.0)

    def dropped(self, x: torch.Tensor) -> torch.Tensor:
        """The same with entries dropped in training."""
        return functional.dropout(x, self.dropout, self.training)


class MLP(NodeNetwork):
    """logits = ReLU(F W + b) W' + b': features only, the graph is not looked at.

    Example:
        >>> import ndcn
        >>> from ndcn.classify.features import FeatureTable
        >>> data = ndcn.datasets.karate_club()
        >>> MLP(34, 16, 2, dropout=0.5)(FeatureTable(data.features), data.graph).shape
        torch.Size([34, 2])
    """

    decay_all = False

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__(features, hidden, dropout)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.readout = _linear(hidden, classes)

    def forward(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """Logits, shape (n, c)."""
        return self.readout(self.dropped(torch.relu(self.first(table) + self.bias)))


class GCN(NodeNetwork):
    """logits = Phi ReLU(Phi F W + b) W' + b' with Phi = ``operators.kipf``.

    T. Kipf, M. Welling, Semi-supervised classification with graph convolutional networks, ICLR 2017.

    Raises:
        ValueError: when called with a graph that has negative weights.
    """

    decay_all = False

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        layer = _layer("GCNConv")
        super().__init__(features, hidden, dropout)
        self.inner = _after_the_product(layer(hidden, hidden, normalize=False))
        self.outer = layer(hidden, classes, normalize=False)

    def forward(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """Logits, shape (n, c)."""
        pointers, source, weight = (part.to(self.weight.device) for part in kipf(graph).arrays(self.weight.dtype))
        target = torch.arange(graph.num_nodes, device=weight.device).repeat_interleave(pointers.diff().long())
        edges = torch.stack([source.long(), target])
        x = torch.relu(self.inner(self.first(table), edges, weight))
        return self.outer(self.dropped(x), edges, weight)


class GAT(NodeNetwork):
    """x_i = ELU(sum_j a_ij (F W)_j + b) in 8 heads side by side, then one more such layer, without ELU, that gives the logits.

    a_ij is the softmax over j, the nodes that act on i and i itself, of LeakyReLU(u . (F W)_i + v . (F W)_j), with u, v learned
    for each head; it is dropped like entries. ``hidden`` is the width of a head. Weights of edges are not looked at.

    P. Veličković et al., Graph attention networks, ICLR 2018.
    """

    heads = 8

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        layer = _layer("GATConv")
        super().__init__(features, self.heads * hidden, dropout)
        self.inner = _after_the_product(layer(self.heads * hidden, hidden, heads=self.heads, dropout=dropout))
        self.outer = layer(self.heads * hidden, classes, heads=1, concat=False, dropout=dropout)

    def forward(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """Logits, shape (n, c)."""
        edges = _edges(graph, self.weight.device)
        x = functional.elu(self.inner(self.first(table), edges))
        return self.outer(self.dropped(x), edges)


class AGNN(NodeNetwork):
    """logits = P_2 P_1 ReLU(F W + b) W' + b', where P_ij is the softmax over j of beta cos(x_i, x_j).

    j are the nodes that act on i and i itself; beta is 1 in P_1 and learned in P_2. Weights of edges are not looked at.

    K. Thekumparampil et al., Attention-based graph neural network for semi-supervised learning, 2018.
    """

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        layer = _layer("AGNNConv")
        super().__init__(features, hidden, dropout)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.inner, self.outer = layer(requires_grad=False), layer(requires_grad=True)
        self.readout = _linear(hidden, classes)

    def forward(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """Logits, shape (n, c)."""
        edges = _edges(graph, self.weight.device)
        x = torch.relu(self.first(table) + self.bias)
        x = self.outer(self.inner(x, edges), edges)
        return self.readout(self.dropped(x))


def label_propagation(
    graph: Graph, labels: torch.Tensor, classes: int, *, alpha: float = 0.95, steps: int = 500
) -> torch.Tensor:
    """Y <- alpha S Y + (1 - alpha) Y_0 with S = D^-1/2 A D^-1/2: tends to (1 - alpha) (I - alpha S)^-1 Y_0.

    Y_0 has a 1 for the class of each node whose class is known. Rows of the result are divided by their sum; nodes that
    nothing reaches get the shares of the known classes.

    D. Zhou et al., Learning with local and global consistency, NIPS 2003.

    Args:
        graph: n nodes, weights >= 0.
        labels: the class of each node, from 0 to c - 1, shape (n,); -1 where it is not known.
        classes: c.
        alpha: in [0, 1): how much a node listens to others; 0.95 is the best for the validation nodes of Cora and Citeseer
            together, of 0.5, 0.8, 0.9, 0.95 and 0.99.
        steps: how often at most; it ends when nothing changes by more than 1e-10.

    Returns:
        Probabilities, shape (n, c), float64.

    Raises:
        ValueError: the graph has negative weights.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 3)])
        >>> label_propagation(path, torch.tensor([0, -1, -1, 1]), classes=2).argmax(dim=1)
        tensor([0, 0, 1, 1])
    """
    operator = normalized_adjacency(graph)
    known = (labels >= 0).nonzero().flatten()
    start = torch.zeros(len(labels), classes, dtype=torch.float64, device=labels.device)
    start[known, labels[known]] = 1.0
    y = start
    for _ in range(steps):
        before, y = y, alpha * (operator @ y) + (1 - alpha) * start
        if (y - before).abs().max() < 1e-10:
            break
    total = y.sum(dim=1, keepdim=True)
    return torch.where(total > 0, y / total.clamp_min(torch.finfo(y.dtype).tiny), start.sum(dim=0) / len(known))


def _edges(graph: Graph, device: torch.device) -> torch.Tensor:
    """PyTorch Geometric's edge_index, (source, target): shape (2, nnz)."""
    target, source = graph.edge_index(device)
    return torch.stack([source, target])


def _linear(columns: int, classes: int) -> nn.Linear:
    layer = nn.Linear(columns, classes)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _after_the_product(layer: Any) -> Any:
    """A layer that is given F W instead of F, because it would need F dense."""
    layer.lin = nn.Identity()
    return layer


def _layer(name: str) -> Any:
    try:
        import torch_geometric.nn as pyg  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError(f"{name} is a layer of PyTorch Geometric: pip install 'ndcn[pyg]'") from error
    return getattr(pyg, name)
