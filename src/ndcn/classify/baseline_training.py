"""Training a ``NodeBaseline``: published recipes, what its arguments must be, and its task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch.nn import functional

from .._support.checks import LARGEST_SEED, check_number, check_whole, named
from ..training import NothingAsGood, Stopping
from .baseline_networks import AGNN, GAT, GCN, MLP, NodeNetwork
from .task import LabelledNodes, NodeTask


@dataclass(frozen=True)
class BaselineRecipe:
    """Choices of a ``NodeBaseline`` that None leaves to the publication; described there."""

    hidden: int
    epochs: int
    learning_rate: float
    weight_decay: float
    dropout: float
    patience: int | None


PUBLISHED = {
    "gcn": BaselineRecipe(16, 200, 0.01, 5e-4, 0.5, None),
    "gat": BaselineRecipe(8, 1000, 0.005, 5e-4, 0.6, 100),
    "agnn": BaselineRecipe(16, 1000, 0.01, 5e-4, 0.5, 100),
    "mlp": BaselineRecipe(16, 200, 0.01, 5e-4, 0.5, None),
    "label_propagation": BaselineRecipe(0, 500, 0.0, 0.0, 0.0, None),
}
NETWORKS: dict[str, type[GCN] | type[GAT] | type[AGNN] | type[MLP]] = {"gcn": GCN, "gat": GAT, "agnn": AGNN, "mlp": MLP}
OF_NETWORKS = ("hidden", "learning_rate", "weight_decay", "dropout", "patience", "checkpoint")


def recipe_of(given: Mapping[str, Any]) -> BaselineRecipe:
    """The recipe that the arguments of a ``NodeBaseline`` ask for, or an error that says what is wrong with them."""
    published: BaselineRecipe = named(PUBLISHED, "model", given["model"])
    check_number("learning_rate", given["learning_rate"], "a number > 0", lambda v: v > 0)
    check_number("weight_decay", given["weight_decay"], "a number >= 0", lambda v: v >= 0)
    check_number("dropout", given["dropout"], "a probability in [0, 1)", lambda v: 0 <= v < 1)
    for name in ("hidden", "epochs", "patience"):
        check_whole(name, given[name], 1, optional=True)
    check_whole("seed", given["seed"], 0, LARGEST_SEED)
    chosen = {f.name: given[f.name] for f in fields(published) if given[f.name] is not None}
    unused = [name for name in OF_NETWORKS if given[name] is not None]
    if unused and given["model"] == "label_propagation":
        raise ValueError(
            f"label_propagation does not use {', '.join(unused)}; remove {'it' if len(unused) == 1 else 'them'}"
        )
    return replace(published, **chosen)


class BaselineTask(NodeTask):
    """The cross-entropy of the training nodes; entries are dropped by torch's global generators."""

    fused = False
    model: NodeNetwork

    def __init__(self, network: NodeNetwork, data: LabelledNodes, width: int) -> None:
        self.model = network
        self.data = data
        self.size = data.graph.num_nodes * width
        self.held_out = len(data.validation) > 0

    def loss(self) -> torch.Tensor:
        """Cross-entropy."""
        nodes = self.data.train
        return functional.cross_entropy(self.logits()[nodes], self.data.labels[nodes])

    def logits(self) -> torch.Tensor:
        """Logits of all nodes, shape (n, c)."""
        logits: torch.Tensor = self.model(self.data.table, self.data.graph)
        return logits

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Weight decay for all weights, or for the first only, as the network was published."""
        rest = [p for p in self.model.parameters() if p is not self.model.weight]
        return [
            {"params": [self.model.weight], "weight_decay": weight_decay},
            {"params": rest, "weight_decay": weight_decay if self.model.decay_all else 0.0},
        ]

    def stopping(self, patience: int | None) -> Stopping:
        """Stop when neither accuracy nor cross-entropy is as good as it was (Veličković et al.)."""
        return NothingAsGood(patience)

    def generators(self) -> list[torch.Generator]:
        """The global one of the CPU, and that of the device."""
        device = self.data.labels.device
        if device.type != "cuda":
            return [torch.default_generator]
        return [torch.default_generator, torch.cuda.default_generators[device.index or 0]]
