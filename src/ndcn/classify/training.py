"""Training on the classes of nodes; recipes, network and task of a ``NodeClassifier``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .._support.checks import LARGEST_SEED, check_number, check_whole, named
from .._support.generators import initial_weights, seeded
from ..graph import Graph
from ..solve import IntegrationError, Solver
from ..training import Score, SinceBest, Stopping, Task, as_text
from .averages import Averages
from .calibration import temperature_of
from .class_weights import check_class_weight
from .diffusion import DiffusionOperator, LinearDiffusion, NoDiffusion, ReluDiffusion, SignedDiffusion
from .features import FeatureTable
from .network import ACTIVATIONS, PUBLISHED, DiffusionClassifier
from .node_data import TRAIN, VALIDATION

LONGEST = 1000  # time to diffuse for: by then everything that diffusion can do has been done
FIELDS = ("auto", "diffusion", "signed", "features", "relu")
LINEAR = {"diffusion": LinearDiffusion, "signed": SignedDiffusion, "features": NoDiffusion}  # solved by a series in Phi
# Of the alignment to the training nodes' shares: on Citeseer without validation nodes accuracy on these is 72 % with 0.5 and with 1, and 38
# % without; on Cora 81.6, 80.8 and 82.0 %.
UNCHECKED = 0.5
NORMALIZE = (True, False, "euclidean", "columns")


@dataclass(frozen=True)
class ClassifierRecipe:
    """Choices of a ``NodeClassifier`` that None leaves to the preset; described there.

    The values here were chosen on the validation nodes of Cora, Citeseer and Pubmed: docs/classification.md. ``decay_all`` says
    whether weight decay holds for all weights, or for those of the encoder only.
    """

    T: float = 8.0
    alpha: float = 0.5
    hidden: int = 64
    field: str | nn.Module = "auto"
    source: float = 0.2
    activation: str = "relu"
    solver: Solver | str | None = None
    dropout: float = 0.5
    hidden_dropout: float = 0.5
    row_dropout: float = 0.7
    passes: int = 4
    consistency: float = 2.0
    temperature: float = 0.3
    normalize: bool | str = "euclidean"
    alignment: float | None = 1.0
    average: float | None = 0.9
    members: int = 1
    similar: int = 5
    unit_weights: bool = True  # whether edges count in units of their mean weight
    epochs: int = 120
    learning_rate: float = 0.01
    weight_decay: float = 2e-3
    decay_all: bool = False


RECIPES = {
    "default": ClassifierRecipe(),
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
        normalize=True,
        alignment=None,
        average=None,
        similar=0,
        unit_weights=False,
        epochs=100,
        learning_rate=0.01,
        weight_decay=0.024,
        decay_all=True,
    ),
}

# What differs for fields that are compared where the graph may not help: most nodes have labels there, and rows that are dropped would
# be missed by no neighbour. The others were chosen by benchmarks/choose_heterophily.py: see docs/classification.md.
WHERE_LABELS_ABOUND: dict[str, Any] = {
    "row_dropout": 0.0,
    "passes": 1,
    "consistency": 0.0,
    "normalize": "columns",
    "weight_decay": 5e-3,
    "members": 4,
    "similar": 0,
}
MANY = 1000  # training nodes: Film has 3,648, Texas and Wisconsin 87 and 120, to which these settings do no good
WITH_MANY_LABELS: dict[str, Any] = {"weight_decay": 5e-4, "hidden_dropout": 0.8, "source": 1.0}
# Where F has few columns (``has_few_columns``), dropping most rows and entries leaves too little to learn from in 120 epochs. Six graphs of
# 150 and 300 nodes with five measurements, 40 % labelled: 74.4 % of the others right with these, 55.8 % without (a GCN: 77.3 %); on three
# graphs that these were not chosen on, 63.1, 49.0 and 69.3 %. Few columns also say less of a node than its neighbours do, so that nothing holds
# on to X(0): 65 to 92 % with T = 8, alpha = 0.5 and a source, 75 to 99 % so on the block graphs of docs/classification.md.
WITH_FEW_COLUMNS: dict[str, Any] = {
    "T": 4.0,
    "alpha": 0.0,
    "source": 0.0,
    "row_dropout": 0.3,
    "consistency": 0.0,
    "learning_rate": 0.03,
}
# Of fields that are compared (choice.COMPARED), what differs from their own settings.
COMPARING: dict[str, dict[str, Any]] = {
    "consistent": {"passes": 4, "consistency": 2.0, "members": 1, "row_dropout": 0.5},
    "diffusion": {"T": 2.0, "alpha": 0.0, "source": 0.0},
}
NO_OTHER_EDGES = {"similar": 0}  # for fields that are not ours, or not linear
OF_FIELD: dict[str, dict[str, Any]] = {
    "signed": {"T": 2.0, "alpha": 0.0, "source": 0.0, **WHERE_LABELS_ABOUND},
    "features": WHERE_LABELS_ABOUND,
    "relu": NO_OTHER_EDGES,
}


def overridden(recipe: Any, given: Mapping[str, Any]) -> Any:
    """The recipe with those choices that were given in place of its own, or an error that says which is out of its range."""
    check_number("T", given.get("T"), f"a number > 0 and at most {LONGEST}", lambda v: 0 < v <= LONGEST)
    for name in ("learning_rate", "temperature"):
        check_number(name, given.get(name), "a number > 0", lambda v: v > 0)
    for name in ("source", "consistency", "weight_decay", "alignment"):
        check_number(name, given.get(name), "a number >= 0", lambda v: v >= 0)
    check_number("alpha", given.get("alpha"), "between 0 and 1", lambda v: 0 <= v <= 1)
    for name in ("dropout", "hidden_dropout", "row_dropout", "average"):
        check_number(name, given.get(name), "a probability in [0, 1)", lambda v: 0 <= v < 1)
    for name in ("hidden", "epochs", "passes", "members", "patience"):
        check_whole(name, given.get(name), 1, optional=True)
    check_whole("similar", given.get("similar"), 0, optional=True)
    check_whole("seed", given["seed"], 0, LARGEST_SEED)
    check_class_weight(given["class_weight"])
    return replace(recipe, **{f.name: given[f.name] for f in fields(recipe) if given.get(f.name) is not None})


def recipe_of(
    given: Mapping[str, Any],
    field: str | None = None,
    labels: int = 0,
    few_columns: bool = False,
    comparing: bool = False,
) -> ClassifierRecipe:
    """The recipe that the arguments of a ``NodeClassifier`` ask for, or an error that says what is wrong with them.

    ``field`` is the one to take for "auto"; ``labels`` says how many training nodes there are, ``few_columns`` whether F is narrow,
    ``comparing`` whether the field is one of those that are compared.
    """
    preset: ClassifierRecipe = named(RECIPES, "preset", given["preset"])
    candidate, field = field, "signed" if field == "consistent" else field
    wanted = field or (preset.field if given["field"] is None else given["field"])
    if wanted == "auto" and given["solver"] is not None:  # the only field of the three that a solver integrates
        wanted = "diffusion"
    own = OF_FIELD.get(wanted, {}) if isinstance(wanted, str) else NO_OTHER_EDGES
    if wanted in ("signed", "features") and labels >= MANY:
        own = own | WITH_MANY_LABELS
    if wanted == "diffusion" and few_columns and preset is RECIPES["default"]:
        own = own | WITH_FEW_COLUMNS
    if comparing:
        own = own | COMPARING.get(candidate or "", {})
    if candidate == "consistent" and few_columns:
        own = own | {"row_dropout": 0.0}  # 64 and 58 % of two such graphs with 0.5, 66 and 65 with 0
    recipe: ClassifierRecipe = overridden(replace(preset, **own), {**given, "field": wanted})
    if not any(recipe.normalize is known for known in NORMALIZE[:2]) and recipe.normalize not in NORMALIZE[2:]:
        raise ValueError(f'normalize must be True, False, "euclidean" or "columns", got {recipe.normalize!r}')
    named(ACTIVATIONS, "activation", recipe.activation)
    if isinstance(recipe.field, str) and recipe.field not in FIELDS:
        raise ValueError(f"unknown field {recipe.field!r}; known are {', '.join(FIELDS)}, or pass an nn.Module")
    if not isinstance(recipe.field, (str, nn.Module)):
        raise TypeError(f"field must be a name or an nn.Module, got {type(recipe.field).__name__}")
    if recipe.solver is not None and not isinstance(recipe.solver, Solver) and recipe.solver != PUBLISHED:
        raise TypeError(f'solver must be an ndcn.Solver, say Solver("dopri5"), or "published", got {recipe.solver!r}')
    linear = recipe.field in ("auto", *LINEAR)
    if not linear and given["source"] not in (None, 0):
        raise ValueError('source belongs to field="diffusion"; drop it, or put it into the field')
    if linear and recipe.field != "diffusion" and given["solver"] is not None:
        raise ValueError(f'field="{recipe.field}" is solved by its series: drop the solver, or use field="diffusion"')
    if recipe.members > 1 and not (linear and given["solver"] is None):
        raise ValueError("several members are trained side by side where the solution is a series: drop members")
    if linear and recipe.source and given["solver"] is not None:
        raise ValueError("diffusion with a source is solved by its series: drop the solver, or use source=0")
    if given["learn_T"] and not (linear and given["solver"] is None):
        raise ValueError('learn_T needs field="diffusion" without a solver: others are not differentiated by T')
    if given["learn_alpha"] and not isinstance(recipe.field, str):
        raise ValueError("learn_alpha belongs to the fields diffusion and relu; your module has its own parameters")
    if linear and recipe.solver == PUBLISHED and given["solver"] is None:  # preset="paper", field="diffusion"
        recipe = replace(recipe, solver=None)
    if not linear and recipe.solver is None:
        recipe = replace(recipe, solver=Solver("dopri5"))
    return recipe


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
