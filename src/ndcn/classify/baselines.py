"""NodeBaseline: what others do with features and a few classes of nodes, under the protocol of NodeClassifier."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from scipy import sparse
from torch.nn import functional

from .._support.checks import named
from .._support.generators import drawing_from, initial_weights, on_device
from .._support.registries import NOT_TRAINED
from .._support.threads import threads_for
from ..training import History, NothingAsGood, Stopping
from .baseline_networks import AGNN, GAT, GCN, MLP, NodeNetwork, label_propagation
from .class_weights import ClassWeight
from .node_data import UNKNOWN, checked_features
from .node_estimator import NodeEstimator
from .recipes import overridden
from .training import LabelledNodes, NodeTask


@dataclass(frozen=True)
class BaselineRecipe:
    """Choices of a ``NodeBaseline`` that None leaves to the publication; described there."""

    hidden: int
    epochs: int
    learning_rate: float
    weight_decay: float
    dropout: float
    patience: int | None
    # Rows of features are divided by their sums, as in the code of GCN and GAT. No field: it is no choice, and runs are known by fields.
    normalize: ClassVar[bool] = True


PUBLISHED = {
    "gcn": BaselineRecipe(16, 200, 0.01, 5e-4, 0.5, None),
    "gat": BaselineRecipe(8, 1000, 0.005, 5e-4, 0.6, 100),
    "agnn": BaselineRecipe(16, 1000, 0.01, 5e-4, 0.5, 100),
    "mlp": BaselineRecipe(16, 200, 0.01, 5e-4, 0.5, None),
    "label_propagation": BaselineRecipe(0, 500, 0.0, 0.0, 0.0, None),
}
NETWORKS: dict[str, type[GCN] | type[GAT] | type[AGNN] | type[MLP]] = {"gcn": GCN, "gat": GAT, "agnn": AGNN, "mlp": MLP}
OF_NETWORKS = ("hidden", "learning_rate", "weight_decay", "dropout", "patience", "class_weight", "checkpoint")


def recipe_of(given: Mapping[str, Any]) -> BaselineRecipe:
    """The recipe that the arguments of a ``NodeBaseline`` ask for, or an error that says what is wrong with them."""
    recipe: BaselineRecipe = overridden(named(PUBLISHED, "model", given["model"]), given)
    unused = [name for name in OF_NETWORKS if given[name] is not None]
    if unused and given["model"] in NOT_TRAINED:
        raise ValueError(f"{given['model']} does not use {', '.join(unused)}; remove {'them' if unused[1:] else 'it'}")
    return recipe


class BaselineTask(NodeTask):
    """The cross-entropy of the training nodes; layers of others draw from torch's global generators, lent to them."""

    fused = False
    model: NodeNetwork

    def __init__(self, model: NodeNetwork, data: LabelledNodes, width: int, generators: list[torch.Generator]) -> None:
        super().__init__(model, data, width)
        self.own_generators = generators

    def loss(self) -> torch.Tensor:
        """Cross-entropy."""
        nodes = self.data.train
        logits = self.logits()[nodes]
        return functional.cross_entropy(logits, self.data.labels[nodes], weight=self.data.weight_as(logits))

    def logits(self) -> torch.Tensor:
        """Logits of all nodes, shape (n, c)."""
        return self.model(self.data.table, self.data.graph)

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

    def drawing(self, epoch: int) -> AbstractContextManager[None]:
        """From this task's own generators."""
        return drawing_from(self.own_generators)

    def generators(self) -> list[torch.Generator]:
        """Those of the CPU and of the device."""
        return self.own_generators


@dataclass(eq=False, repr=False)
class NodeBaseline(NodeEstimator):
    """P(class | F, G) by a graph network, by features alone, or by the graph alone: to compare ``NodeClassifier`` with.

    - "gcn": softmax(Phi ReLU(Phi F W + b) W' + b'), Phi = ``operators.kipf`` (Kipf and Welling)
    - "gat": attention to neighbours, 8 heads (Veličković et al.)
    - "agnn": two steps of attention by cosine (Thekumparampil et al.)
    - "mlp": softmax(ReLU(F W + b) W' + b'), which does not look at the graph
    - "label_propagation": Y <- 0.95 S Y + 0.05 Y_0, S = D^-1/2 A D^-1/2, which does not look at features

    The first three take their layers from PyTorch Geometric: ``pip install 'ndcn[pyg]'``. Rows of F are divided by their sums.
    gat and agnn do not look at the weights of edges.

    None means the usual value, shown as (gcn and mlp; gat; agnn): gcn's and gat's published values (gat with at most 1000 epochs),
    gcn's for mlp, and for agnn values that we could not check against its code.

    Args:
        model: one of the five.
        hidden: width of the hidden layer (16; 8 in each head; 16).
        epochs: of Adam (200; 1000; 1000), or steps of label propagation (500, by which it has converged).
        learning_rate: (0.01; 0.005; 0.01).
        weight_decay: 0.0005, for gcn and mlp on the first weights, for the others on all.
        dropout: the probability that an entry is dropped in training (0.5; 0.6, also of attention; 0.5).
        patience: with validation nodes, epochs to wait until either their accuracy or their cross-entropy is as good as the
            best so far (never stops early; 100; 100).
        class_weight: of the classes in the cross-entropy on the training nodes, as in scikit-learn: None for all alike, "balanced"
            for the inverse of their sizes, or a mapping from classes to numbers > 0 (1 for those that it does not name). Label propagation has no
            use for it.
        seed: of the first weights and of what is dropped.
        device: where to compute.
        checkpoint: a file in which the run is kept about every 20 seconds, for ``fit(..., resume=True)``; not used by label
            propagation.
        progress: whether to show a progress bar; None shows it on a terminal.

    Attributes:
        model_: the trained network; None for label propagation.
        classes_: the classes, in the order of the columns of ``predict_proba``.
        probability_temperature_: what logits are divided by, as the validation nodes ask for; None without them, and for label
            propagation.
        history_: training loss, (epoch, validation cross-entropy), why it stopped, seconds.

    Raises:
        ValueError: a number out of its range, an unknown name, or an argument that the model does not use; when made and in ``fit``.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> baseline = ndcn.NodeBaseline("label_propagation")
        >>> baseline = baseline.fit(data.graph, data.features, data.labels, data.train_mask)
        >>> baseline.predict_proba().shape
        torch.Size([34, 2])
        >>> baseline.score(data.test_mask) > 0.9
        True
    """

    model: str = "gcn"
    _: KW_ONLY
    hidden: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    dropout: float | None = None
    patience: int | None = None
    class_weight: ClassWeight = None
    seed: int = 0
    device: str | torch.device = "cpu"
    checkpoint: str | Path | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        self.recipe()  # says at once what is wrong

    def recipe(self) -> BaselineRecipe:
        """How it is trained: the publication's values with the arguments given, or an error that says what is wrong with them."""
        return recipe_of(self.get_params(deep=False))

    def _checked_features(self, features: Any, n: int) -> sparse.csr_array:
        none_needed = self.model in NOT_TRAINED and features is None
        return sparse.csr_array((n, 0)) if none_needed else checked_features(features, n)

    def _learn(self, recipe: Any, nodes: LabelledNodes, features: sparse.csr_array, resume: bool) -> None:
        history = History()
        network: NodeNetwork | None = None
        temperature: float | None = None
        device = nodes.labels.device
        classes = len(nodes.classes)
        if self.model in NOT_TRAINED:
            began = time.monotonic()
            known = torch.full_like(nodes.labels, UNKNOWN)
            known[nodes.train] = nodes.labels[nodes.train]
            probabilities = label_propagation(nodes.graph, known, classes, steps=recipe.epochs).float()
            history.seconds = time.monotonic() - began
        else:
            width = recipe.hidden * NETWORKS[self.model].heads
            with initial_weights(int(self.seed)) as own:
                network = NETWORKS[self.model](features.shape[1], recipe.hidden, classes, recipe.dropout).to(device)
            generators = on_device(own, int(self.seed), device)  # training goes on where the weights end
            with threads_for(nodes.graph.num_nodes * width):
                task = BaselineTask(network, nodes, width, generators)
                self._train(task, recipe, recipe.patience, history, resume, self.checkpoint)
                temperature = task.temperature()
                with torch.no_grad():
                    probabilities = (task.logits() / (temperature or 1.0)).softmax(dim=1)
        self.probability_temperature_ = temperature
        self.model_: NodeNetwork | None = network
        self.history_ = history
        self.classes_ = nodes.classes
        self.codes_, self.split_ = nodes.labels.cpu(), nodes.split()
        self.probabilities_: torch.Tensor = probabilities.cpu()

    def predict_proba(self) -> torch.Tensor:
        """Probabilities of the classes, shape (n, c), in the order of ``classes_``; NotFittedError before fit."""
        self._fitted()
        return self.probabilities_.clone()
