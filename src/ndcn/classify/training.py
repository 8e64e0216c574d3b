"""Training on the classes of nodes; network and task of a ``NodeClassifier``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .._support.generators import initial_weights, seeded
from ..graph import Graph
from ..solve import IntegrationError
from ..training import Score, SinceBest, Stopping, Task, as_text
from .averages import Averages
from .calibration import temperature_of
from .diffusion import DiffusionOperator, ReluDiffusion
from .features import FeatureTable
from .network import DiffusionClassifier
from .node_data import TRAIN, VALIDATION
from .recipes import LINEAR, ClassifierRecipe

# Of the alignment to the training nodes' shares: on Citeseer without validation nodes accuracy on these is 72 % with 0.5 and with 1, and 38
# % without; on Cora 81.6, 80.8 and 82.0 %.
UNCHECKED = 0.5


def build(
    recipe: ClassifierRecipe, features: int, classes: int, learn_T: bool, learn_alpha: bool, seed: int
) -> DiffusionClassifier:
    """The network of a recipe, its weights drawn from the seed."""
    field = recipe.field
    if not isinstance(field, nn.Module):
        operator = DiffusionOperator(recipe.alpha, learn=learn_alpha)
        field = LINEAR[field](operator, recipe.source) if field in LINEAR else ReluDiffusion(operator)
    same = ("T", "activation", "solver", "dropout", "hidden_dropout", "row_dropout", "members")
    choices: dict[str, Any] = {name: getattr(recipe, name) for name in same}
    with initial_weights(seed):
        model = DiffusionClassifier(features, recipe.hidden, classes, field, learn_T=learn_T, **choices)
        if recipe.activation == "relu":
            _initialise(model)
    return model


@torch.no_grad()
def _initialise(model: DiffusionClassifier) -> None:
    """Biases 0, and the weights of each member by Glorot's rule, as if it were alone."""
    for block in model.encoder.weight.chunk(model.members):
        nn.init.xavier_uniform_(block)
    blocks = model.decoder.weight.unflatten(1, (len(model.signs), model.members, -1))  # (c, p, m, h)
    for member in range(model.members):
        block = blocks[:, :, member]
        block.copy_(nn.init.xavier_uniform_(block.flatten(1).clone()).view_as(block))
    for layer in (model.encoder, model.decoder):
        nn.init.zeros_(layer.bias)


@dataclass(frozen=True)
class LabelledNodes:
    """What is learned from: features, the classes of some nodes, and nodes to validate on (perhaps none)."""

    table: FeatureTable
    graph: Graph
    labels: torch.Tensor
    classes: np.ndarray
    train: torch.Tensor
    validation: torch.Tensor
    class_weights: torch.Tensor | None = None

    def weight_as(self, logits: torch.Tensor) -> torch.Tensor | None:
        """The weights of the classes where the logits are, in their precision."""
        return None if self.class_weights is None else self.class_weights.to(logits)

    def class_shares(self) -> torch.Tensor:
        """The share of each class among the validation nodes, or the training nodes without any, shape (c,).

        One node more counts of each class, so that no share is 0.
        """
        nodes = self.validation if len(self.validation) else self.train
        counts = torch.bincount(self.labels[nodes], minlength=len(self.classes)) + 1
        return counts.double() / counts.sum()

    def split(self) -> torch.Tensor:
        """What each node is for, as a place in ``SPLITS``, shape (n,)."""
        codes = torch.zeros(self.graph.num_nodes, dtype=torch.int64)
        codes[self.train.cpu()], codes[self.validation.cpu()] = TRAIN, VALIDATION
        return codes

    def fingerprints(self) -> list[str]:
        """What identifies these data: a checkpoint of other data raises ValueError."""
        parts = [self.table.values, *self.table.rows, self.labels, self.train, self.validation]
        if self.class_weights is not None:
            parts.append(self.class_weights)
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
        """Accuracy and cross-entropy on the validation nodes; the worst if the integration fails."""
        nodes = self.data.validation
        labels = self.data.labels[nodes]
        try:
            logits = self.logits()[nodes]
        except IntegrationError:
            return Score(math.inf, (0.0, -math.inf))
        accuracy = (logits.argmax(dim=1) == labels).double().mean().item()
        entropy = functional.cross_entropy(logits, labels).item()
        return Score(entropy, (accuracy, -entropy))

    def temperature(self) -> float | None:
        """What logits are divided by, as the validation nodes ask for; None without any, or if the integration fails."""
        nodes = self.data.validation
        if not len(nodes):
            return None
        try:
            with torch.no_grad():
                return temperature_of(self.logits()[nodes], self.data.labels[nodes])
        except IntegrationError:
            return None

    def close(self) -> None:
        """Drop what is needed in training only."""
        for p in self.model.parameters():
            p.grad = None


class ClassifierTask(NodeTask):
    """The cross-entropy of the training nodes at T, plus the consistency of the passes."""

    advice = "Try a smaller learning_rate, or a smaller T"
    model: DiffusionClassifier

    def __init__(self, model: DiffusionClassifier, data: LabelledNodes, recipe: ClassifierRecipe, seed: int) -> None:
        super().__init__(model, data, recipe.hidden * recipe.members)
        self.recipe, self.seed = recipe, seed
        self.generator = torch.Generator(data.labels.device).manual_seed(seed)
        model.generator = self.generator
        self.averages = Averages(model, recipe.average) if recipe.average else None

    def losses(self, epoch: int) -> Iterator[torch.Tensor]:
        """The loss of one run of the network; the weights that the last step made are averaged first."""
        if self.averages is not None and epoch > 0:
            self.averages.add(epoch)
        return super().losses(epoch)

    def score(self) -> Score:
        """Accuracy and cross-entropy on the validation nodes, by averaged weights."""
        if self.averages is None:
            return super().score()
        with self.averages.in_use():
            return super().score()

    def loss(self) -> torch.Tensor:
        """Mean cross-entropy of the passes on the training nodes, weighted by class, + weight * mean squared distance of each pass from the target.

        It is summed over the members, so that weight decay is for each what it is for one alone.

        The target, on all nodes, is the mean of the passes' probabilities, aligned and sharpened: (p q)^(1/temperature),
        normalised. q_k = (pi_k / mean_i p_ik)^alignment, so that class k gets its share pi_k of the validation nodes in the mean:
        consistency alone drifts towards classes that happen to begin strong. Training nodes are often as many of each class by
        design; where there are no others, their shares count half.
        """
        data, recipe = self.data, self.recipe
        logits = self.model(data.table, data.graph, recipe.passes)
        passes, _, classes = logits.shape
        known = logits[:, data.train].reshape(-1, classes)
        labels = data.labels[data.train].repeat(passes)
        loss = functional.cross_entropy(known, labels, weight=data.weight_as(known))
        if passes > 1 and recipe.consistency > 0:
            # (passes, c, n): twenty times faster than along a short axis
            p = logits.transpose(1, 2).contiguous().softmax(dim=1)
            target = p.detach().mean(dim=0).clamp_min(1e-12).log()
            if recipe.alignment:
                strength = recipe.alignment if self.held_out else UNCHECKED * recipe.alignment
                drift = data.class_shares().to(p).log() - target.exp().mean(dim=1).log()
                target = target + strength * drift.unsqueeze(1)
            target = (target / recipe.temperature).softmax(dim=0)
            loss = loss + recipe.consistency * (p - target).square().sum(dim=1).mean()
        return loss * recipe.members if recipe.members > 1 else loss

    def logits(self) -> torch.Tensor:
        """Logits of all nodes, shape (n, c)."""
        return self.model(self.data.table, self.data.graph)[0]

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Weight decay for all weights, or for those of the encoder only."""
        if self.recipe.decay_all:
            return [{"params": list(self.model.parameters()), "weight_decay": weight_decay}]
        rest = [p for name, p in self.model.named_parameters() if name != "encoder.weight"]
        return [
            {"params": rest, "weight_decay": 0.0},
            {"params": [self.model.encoder.weight], "weight_decay": weight_decay},
        ]

    def stopping(self, patience: int | None) -> Stopping:
        """The best epoch itself counts among those waited for."""
        return SinceBest(None if patience is None else patience - 1)

    def drawing(self, epoch: int) -> AbstractContextManager[None]:
        """A field of one's own may draw from the global generators."""
        own = isinstance(self.recipe.field, nn.Module)
        return seeded(self.seed + epoch, self.data.labels.device) if own else nullcontext()

    def generators(self) -> list[torch.Generator]:
        """That of what is dropped."""
        return [self.generator]

    def close(self) -> None:
        """Drop what is needed in training only."""
        super().close()
        self.model.generator = None
        if self.averages is not None:
            self.averages.keep()
            self.averages = None
        if self.model.members > 1:
            self.model.merge()
