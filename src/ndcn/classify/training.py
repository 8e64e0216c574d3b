"""Training a classifier of nodes: recipes, what its arguments must be, and the loop."""

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
from .._support.generators import seeded
from .._support.progress import Progress
from ..graph import Graph
from ..solve import IntegrationError, Solver
from ..training import History, TrainingError
from .diffusion import DiffusionOperator, LinearDiffusion, ReluDiffusion
from .features import FeatureTable
from .network import ACTIVATIONS, PUBLISHED, DiffusionClassifier

LONGEST = 1000  # time to diffuse for: by then everything that diffusion can do has been done
FIELDS = ("diffusion", "relu")


@dataclass(frozen=True)
class ClassifierRecipe:
    """Choices of a ``NodeClassifier`` that None leaves to the preset; described there.

    ``decay_all`` says whether weight decay holds for all weights, or for those of the encoder only.
    """

    T: float
    alpha: float
    hidden: int
    field: str | nn.Module
    source: float
    activation: str
    solver: Solver | str | None
    dropout: float
    hidden_dropout: float
    row_dropout: float
    passes: int
    consistency: float
    temperature: float
    epochs: int
    learning_rate: float
    weight_decay: float
    decay_all: bool


RECIPES = {
    # Chosen on the validation nodes of Cora and Citeseer: docs/classification.md.
    "default": ClassifierRecipe(
        T=8.0,
        alpha=0.5,
        hidden=64,
        field="diffusion",
        source=0.2,
        activation="relu",
        solver=None,
        dropout=0.5,
        hidden_dropout=0.5,
        row_dropout=0.7,
        passes=4,
        consistency=1.0,
        temperature=0.4,
        epochs=300,
        learning_rate=0.01,
        weight_decay=2e-3,
        decay_all=False,
    ),
    # What the published code does, with its inaccurate solver; T and alpha are those of Cora.
    "paper": ClassifierRecipe(
        T=1.2,
        alpha=0.0,
        hidden=256,
        field="relu",
        source=0.0,
        activation="tanh",
        solver=PUBLISHED,
        dropout=0.0,
        hidden_dropout=0.0,
        row_dropout=0.0,
        passes=1,
        consistency=0.0,
        temperature=1.0,
        epochs=100,
        learning_rate=0.01,
        weight_decay=0.024,
        decay_all=True,
    ),
}


def recipe_of(given: Mapping[str, Any]) -> ClassifierRecipe:
    """The recipe that the arguments of a ``NodeClassifier`` ask for, or an error that says what is wrong with them."""
    preset: ClassifierRecipe = named(RECIPES, "preset", given["preset"])
    chosen = {f.name: given[f.name] for f in fields(preset) if given.get(f.name) is not None}
    check_number("T", chosen.get("T"), f"a number > 0 and at most {LONGEST}", lambda v: 0 < v <= LONGEST)
    for name in ("learning_rate", "temperature"):
        check_number(name, chosen.get(name), "a number > 0", lambda v: v > 0)
    for name in ("source", "consistency", "weight_decay"):
        check_number(name, chosen.get(name), "a number >= 0", lambda v: v >= 0)
    check_number("alpha", chosen.get("alpha"), "between 0 and 1", lambda v: 0 <= v <= 1)
    for name in ("dropout", "hidden_dropout", "row_dropout"):
        check_number(name, chosen.get(name), "a probability in [0, 1)", lambda v: 0 <= v < 1)
    for name in ("hidden", "epochs", "passes"):
        check_whole(name, chosen.get(name), 1, optional=True)
    check_whole("patience", given["patience"], 1, optional=True)
    check_whole("seed", given["seed"], 0, LARGEST_SEED)
    recipe = replace(preset, **chosen)
    named(ACTIVATIONS, "activation", recipe.activation)
    if isinstance(recipe.field, str) and recipe.field not in FIELDS:
        raise ValueError(f"unknown field {recipe.field!r}; known are {', '.join(FIELDS)}, or pass an nn.Module")
    if not isinstance(recipe.field, (str, nn.Module)):
        raise TypeError(f"field must be a name or an nn.Module, got {type(recipe.field).__name__}")
    if recipe.solver is not None and not isinstance(recipe.solver, Solver) and recipe.solver != PUBLISHED:
        raise TypeError(
            f'solver must be an ndcn.Solver such as Solver("dopri5"), or "published", got {recipe.solver!r}'
        )
    linear = recipe.field == "diffusion"
    if not linear and given["source"] not in (None, 0):
        raise ValueError('source belongs to field="diffusion"; drop it, or put it into the field')
    if linear and recipe.source and given["solver"] is not None:
        raise ValueError("diffusion with a source is solved by its series: drop the solver, or use source=0")
    if given["learn_T"] and not (linear and given["solver"] is None):
        raise ValueError(
            'learn_T needs field="diffusion" without a solver: other solutions are not differentiated by T'
        )
    if given["learn_alpha"] and not isinstance(recipe.field, str):
        raise ValueError(
            "learn_alpha belongs to the fields diffusion and relu; a module of your own has its own parameters"
        )
    if linear and recipe.solver == PUBLISHED and given["solver"] is None:  # preset="paper", field="diffusion"
        recipe = replace(recipe, solver=None)
    if not linear and recipe.solver is None:
        recipe = replace(recipe, solver=Solver("dopri5"))
    return recipe


def build(
    recipe: ClassifierRecipe, features: int, classes: int, *, learn_T: bool, learn_alpha: bool, seed: int
) -> DiffusionClassifier:
    """The network of a recipe, its weights drawn from the seed."""
    operator = DiffusionOperator(recipe.alpha, learn=learn_alpha)
    field: nn.Module
    if isinstance(recipe.field, nn.Module):
        field = recipe.field
    else:
        field = LinearDiffusion(operator, recipe.source) if recipe.field == "diffusion" else ReluDiffusion(operator)
    with seeded(seed):
        model = DiffusionClassifier(
            features,
            recipe.hidden,
            classes,
            field,
            recipe.T,
            learn_T=learn_T,
            activation=recipe.activation,
            solver=recipe.solver,
            dropout=recipe.dropout,
            hidden_dropout=recipe.hidden_dropout,
            row_dropout=recipe.row_dropout,
        )
        if recipe.activation == "relu":
            for layer in (model.encoder, model.decoder):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    return model


@dataclass(frozen=True)
class Task:
    """What is learned from: features, the classes of some nodes, and nodes to stop by (perhaps none)."""

    table: FeatureTable
    graph: Graph
    labels: torch.Tensor
    train: torch.Tensor
    validation: torch.Tensor


def train(
    model: DiffusionClassifier,
    task: Task,
    recipe: ClassifierRecipe,
    history: History,
    *,
    patience: int | None,
    seed: int,
    progress: bool | None,
) -> None:
    """Minimise the cross-entropy at T, plus the consistency of the passes; ends with the last, or the best validated, weights.

    Best is the highest accuracy on the validation nodes and, of equals, the lowest cross-entropy there. Ctrl-C keeps the
    best weights so far.

    Raises:
        TrainingError: the loss became NaN or infinite; the model has the last weights that gave a finite one.
    """
    rest = [p for name, p in model.named_parameters() if recipe.decay_all or name != "encoder.weight"]
    groups: list[dict[str, Any]] = [{"params": rest, "weight_decay": recipe.weight_decay if recipe.decay_all else 0.0}]
    if not recipe.decay_all:
        groups.append({"params": [model.encoder.weight], "weight_decay": recipe.weight_decay})
    device = task.labels.device
    optimizer = torch.optim.Adam(groups, lr=recipe.learning_rate, fused=device.type in ("cpu", "cuda"))
    model.generator = torch.Generator(device).manual_seed(seed)
    tensors = list(model.parameters())
    good = [p.detach().clone() for p in tensors]
    best, best_value, best_epoch = good, (-math.inf, -math.inf), 0
    began = time.monotonic()
    with Progress(recipe.epochs, 0, progress) as bar:
        try:
            for epoch in range(recipe.epochs):
                if patience is not None and len(task.validation) and epoch - best_epoch >= patience:
                    history.stopped = "early"
                    break
                optimizer.zero_grad()
                model.train()
                try:
                    loss = _loss(model(task.table, task.graph, recipe.passes), task, recipe)
                    value, reason = loss.item(), ""
                except IntegrationError as error:
                    value, reason = math.nan, f" ({error})"
                if not math.isfinite(value):
                    _restore(tensors, good)
                    history.stopped = "failed"
                    raise TrainingError(
                        f"the loss became {value} in epoch {epoch + 1} of {recipe.epochs}{reason}; the weights of epoch "
                        f"{epoch} are kept. Try a smaller learning_rate, or a smaller T"
                    )
                good = [p.detach().clone() for p in tensors]
                loss.backward()
                optimizer.step()
                history.loss.append(value)
                if len(task.validation):
                    accuracy, entropy = _validated(model, task)
                    history.validation.append((epoch + 1, entropy))
                    if (accuracy, -entropy) > best_value:
                        best, best_value, best_epoch = (
                            [p.detach().clone() for p in tensors],
                            (accuracy, -entropy),
                            epoch,
                        )
                history.seconds = time.monotonic() - began
                bar.update(epoch + 1, value)
        except KeyboardInterrupt:
            history.stopped = "interrupted"
            if not len(task.validation):
                best = good
            warnings.warn(
                f"interrupted after {len(history.loss)} of {recipe.epochs} epochs: the best weights so far are kept",
                RuntimeWarning,
                stacklevel=4,
            )
        finally:
            model.eval()
            model.generator = None
            for p in tensors:
                p.grad = None
    if len(task.validation) or history.stopped == "interrupted":
        _restore(tensors, best)


def _loss(logits: torch.Tensor, task: Task, recipe: ClassifierRecipe) -> torch.Tensor:
    """Mean cross-entropy of the passes on the training nodes + weight * mean squared distance of each pass from the target.

    The target, on all nodes, is the mean of the passes' probabilities, sharpened: p^(1/temperature), normalised.
    """
    passes, _, classes = logits.shape
    known = logits[:, task.train].reshape(-1, classes)
    loss = functional.cross_entropy(known, task.labels[task.train].repeat(passes))
    if passes > 1 and recipe.consistency > 0:
        p = (
            logits.transpose(1, 2).contiguous().softmax(dim=1)
        )  # (passes, c, n): twenty times faster than along a short axis
        target = (p.detach().mean(dim=0).clamp_min(1e-12).log() / recipe.temperature).softmax(dim=0)
        loss = loss + recipe.consistency * (p - target).square().sum(dim=1).mean()
    return loss


@torch.no_grad()
def _validated(model: DiffusionClassifier, task: Task) -> tuple[float, float]:
    """Accuracy and cross-entropy on the validation nodes."""
    model.eval()
    logits, labels = model(task.table, task.graph)[0, task.validation], task.labels[task.validation]
    accuracy = (logits.argmax(dim=1) == labels).double().mean().item()
    return accuracy, functional.cross_entropy(logits, labels).item()


@torch.no_grad()
def _restore(tensors: list[nn.Parameter], kept: list[torch.Tensor]) -> None:
    for tensor, value in zip(tensors, kept, strict=True):
        tensor.copy_(value)
