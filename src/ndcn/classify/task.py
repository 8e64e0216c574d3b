"""Training on the classes of nodes: what the loop minimises, and by what the best epoch is chosen."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from ..graph import Graph
from ..solve import IntegrationError
from ..training import Score, Task, as_text
from .features import FeatureTable


@dataclass(frozen=True)
class LabelledNodes:
    """What is learned from: features, the classes of some nodes, and nodes to validate on (perhaps none)."""

    table: FeatureTable
    graph: Graph
    labels: torch.Tensor
    train: torch.Tensor
    validation: torch.Tensor

    def fingerprints(self) -> list[str]:
        """What tells these data from others: a checkpoint is refused with others."""
        parts = (self.table.values, *self.table.rows, self.labels, self.train, self.validation)
        return [self.graph.fingerprint, *(as_text(part) for part in parts)]


class NodeTask(Task):
    """The classes of the training nodes. Best is the highest accuracy on the validation nodes, then the lowest cross-entropy."""

    def __init__(self, model: nn.Module, data: LabelledNodes, width: int) -> None:
        self.model = model
        self.data = data
        self.size = data.graph.num_nodes * width
        self.held_out = len(data.validation) > 0

    def losses(self, epoch: int) -> Iterator[torch.Tensor]:
        """The loss of one run of the network."""
        yield self.loss()

    @abstractmethod
    def loss(self) -> torch.Tensor:
        """What is minimised on the training nodes."""

    @abstractmethod
    def logits(self) -> torch.Tensor:
        """Logits of all nodes, shape (n, c)."""

    def score(self) -> Score:
        """Accuracy and cross-entropy on the validation nodes; the worst where the solution cannot be followed."""
        nodes = self.data.validation
        labels = self.data.labels[nodes]
        try:
            logits = self.logits()[nodes]
        except IntegrationError:
            return Score(math.inf, (0.0, -math.inf))
        accuracy = (logits.argmax(dim=1) == labels).double().mean().item()
        entropy = functional.cross_entropy(logits, labels).item()
        return Score(entropy, (accuracy, -entropy))

    def close(self) -> None:
        """Drop what is needed in training only."""
        for p in self.model.parameters():
            p.grad = None
