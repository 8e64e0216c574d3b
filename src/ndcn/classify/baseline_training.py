"""Training the baselines of node classification: published recipes, what the arguments must be, and the loop."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .._support.checks import LARGEST_SEED, check_number, check_whole, named
from .._support.progress import Progress
from ..training import History, TrainingError
from .baseline_networks import AGNN, GAT, GCN, MLP, NodeNetwork
from .training import Task


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
OF_NETWORKS = ("hidden", "learning_rate", "weight_decay", "dropout", "patience")


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
    idle = [name for name in OF_NETWORKS if name in chosen] if given["model"] == "label_propagation" else []
    if idle:
        raise ValueError(
            f"{', '.join(idle)}: of no effect on label_propagation; drop {'it' if len(idle) == 1 else 'them'}"
        )
    return replace(published, **chosen)


def train(network: NodeNetwork, task: Task, recipe: BaselineRecipe, history: History, *, progress: bool | None) -> None:
    """Minimise the cross-entropy on the training nodes; ends with the last, or the best validated, weights.

    Best is the highest accuracy on the validation nodes and, of equals, the lowest cross-entropy there; it stops when for
    ``recipe.patience`` epochs neither was as good as it had been. Ctrl-C keeps the best weights so far.

    Raises:
        TrainingError: the loss became NaN or infinite.
    """
    tensors = list(network.parameters())
    rest = [p for p in tensors if p is not network.weight]
    groups: list[dict[str, Any]] = [
        {"params": [network.weight], "weight_decay": recipe.weight_decay},
        {"params": rest, "weight_decay": recipe.weight_decay if network.decay_all else 0.0},
    ]
    optimizer = torch.optim.Adam(groups, lr=recipe.learning_rate)
    validated = len(task.validation) > 0
    kept, best, reached, waited = _copied(tensors), (-math.inf, -math.inf), [-math.inf, -math.inf], 0
    began = time.monotonic()
    with Progress(recipe.epochs, 0, progress) as bar:
        try:
            for epoch in range(1, recipe.epochs + 1):
                network.train()
                optimizer.zero_grad()
                logits = network(task.table, task.graph)[task.train]
                loss = functional.cross_entropy(logits, task.labels[task.train])
                value = loss.item()
                if not math.isfinite(value):
                    raise TrainingError(
                        f"the loss became {value} in epoch {epoch} of {recipe.epochs}. Try a smaller learning_rate"
                    )
                loss.backward()
                optimizer.step()
                history.loss.append(value)
                if validated:
                    accuracy, entropy = _validated(network, task)
                    history.validation.append((epoch, entropy))
                    found = (accuracy, -entropy)
                    if found > best:
                        kept, best = _copied(tensors), found
                    waited = 0 if any(new >= old for new, old in zip(found, reached, strict=True)) else waited + 1
                    reached = [max(new, old) for new, old in zip(found, reached, strict=True)]
                bar.update(epoch, value)
                if recipe.patience is not None and waited >= recipe.patience:
                    history.stopped = "early"
                    break
        except KeyboardInterrupt:
            history.stopped = "interrupted"
            warnings.warn(
                f"interrupted after {len(history.loss)} of {recipe.epochs} epochs: the best weights so far are kept",
                RuntimeWarning,
                stacklevel=3,
            )
        finally:
            history.seconds = time.monotonic() - began
            network.eval()
            for p in tensors:
                p.grad = None
    if validated:
        with torch.no_grad():
            for p, good in zip(tensors, kept, strict=True):
                p.copy_(good)


@torch.no_grad()
def _validated(network: NodeNetwork, task: Task) -> tuple[float, float]:
    """Accuracy and cross-entropy on the validation nodes."""
    network.eval()
    logits, labels = network(task.table, task.graph)[task.validation], task.labels[task.validation]
    accuracy = (logits.argmax(dim=1) == labels).double().mean().item()
    return accuracy, functional.cross_entropy(logits, labels).item()


def _copied(tensors: list[nn.Parameter]) -> list[torch.Tensor]:
    return [p.detach().clone() for p in tensors]
