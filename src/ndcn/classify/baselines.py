"""NodeBaseline: what others do with features and a few classes of nodes, under the protocol of NodeClassifier."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from .._support.checks import device_named
from .._support.generators import seeded
from .._support.threads import threads_for
from ..graph import Graph
from ..training import History
from .baseline_networks import HEADS, NodeNetwork, label_propagation
from .baseline_training import NETWORKS, BaselineRecipe, BaselineTask, recipe_of
from .features import FeatureTable
from .node_data import UNKNOWN, check_graph, checked_features, checked_masks, coded_labels
from .node_estimator import NodeEstimator
from .task import LabelledNodes, learn


class NodeBaseline(NodeEstimator):
    """P(class | F, G) by a graph network, by features alone, or by the graph alone: to compare ``NodeClassifier`` with.

    - "gcn": softmax(Phi ReLU(Phi F W + b) W' + b'), Phi = ``operators.kipf`` (Kipf and Welling)
    - "gat": attention to neighbours, 8 heads (Veličković et al.)
    - "agnn": two steps of attention by cosine (Thekumparampil et al.)
    - "mlp": softmax(ReLU(F W + b) W' + b'), which does not look at the graph
    - "label_propagation": Y <- 0.95 S Y + 0.05 Y_0, S = D^-1/2 A D^-1/2, which does not look at features

    The first three take their layers from PyTorch Geometric: ``pip install 'ndcn[pyg]'``. Rows of F are divided by their sums.
    gat and agnn do not look at the weights of edges.

    What is None takes what is usual: gcn's and gat's published values (gat with at most 1000 epochs), gcn's for mlp, and for
    agnn values that we could not check against its code. In this order: gcn and mlp; gat; agnn.

    Args:
        model: one of the five.
        hidden: width of the hidden layer (16; 8 in each head; 16).
        epochs: of Adam (200; 1000; 1000), or steps of label propagation (500, by which it has converged).
        learning_rate: (0.01; 0.005; 0.01).
        weight_decay: 0.0005, for gcn and mlp on the first weights, for the others on all.
        dropout: the probability that an entry is dropped in training (0.5; 0.6, also of attention; 0.5).
        patience: with validation nodes, epochs to wait until either their accuracy or their cross-entropy is as good as the
            best so far (never stops early; 100; 100).
        seed: of the first weights and of what is dropped.
        device: where to compute.
        checkpoint: a file in which the run is kept about every 20 seconds, for ``fit(..., resume=True)``; not used by label
            propagation.
        progress: whether to show a progress bar; None shows it on a terminal.

    Attributes:
        model_: the trained network; None for label propagation.
        classes_: the classes, in the order of the columns of ``predict_proba``.
        history_: training loss, (epoch, validation cross-entropy), why it stopped, seconds.

    Raises:
        ValueError: a number out of its range, an unknown name, or a choice that has no effect; when made and again in ``fit``.

    Example:
        >>> import ndcn
        >>> from ndcn.classify.baselines import NodeBaseline
        >>> data = ndcn.datasets.karate_club()
        >>> baseline = NodeBaseline("label_propagation")
        >>> baseline = baseline.fit(data.graph, data.features, data.labels, data.train_mask)
        >>> baseline.predict_proba().shape
        torch.Size([34, 2])
        >>> baseline.score(data.test_mask) > 0.9
        True
    """

    def __init__(
        self,
        model: str = "gcn",
        *,
        hidden: int | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        dropout: float | None = None,
        patience: int | None = None,
        seed: int = 0,
        device: str | torch.device = "cpu",
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        self.model = model
        self.hidden = hidden
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.patience = patience
        self.seed = seed
        self.device = device
        self.checkpoint = checkpoint
        self.progress = progress
        self._recipe()  # says at once what is wrong

    model_: NodeNetwork | None
    history_: History
    probabilities_: torch.Tensor

    def _recipe(self) -> BaselineRecipe:
        return recipe_of(self.get_params(deep=False))

    def fit(
        self, graph: Graph, features: Any, labels: Any, train_mask: Any, val_mask: Any = None, *, resume: bool = False
    ) -> NodeBaseline:
        """Learn from the nodes in ``train_mask``; the features of all nodes take part.

        Args:
            graph: n nodes, weights >= 0.
            features: F, shape (n, d): a scipy.sparse matrix (which stays sparse), an array or a tensor; label propagation also
                takes None.
            labels: the class of each node, shape (n,): whole numbers, with negative ones for unknown, or strings, with None, NaN
                or "" for unknown.
            train_mask: the nodes whose class may be used, shape (n,), bool.
            val_mask: nodes by which the best epoch is chosen, shape (n,), bool: that of the highest accuracy and, of equals, the
                lowest cross-entropy. Without them training runs its epochs. Label propagation has no use for them.
            resume: go on from ``checkpoint`` if that file exists; the result is bit for bit that of an uninterrupted fit.

        Ctrl-C ends after the current epoch with the best weights so far, and a second Ctrl-C at once.

        Raises:
            ImportError: the model needs PyTorch Geometric, which is not installed.
            TypeError: ``graph`` is no Graph.
            ValueError: shapes that do not fit, features that are NaN, masks that overlap or hold a node without a class, or a class
                that no training node has; with ``resume``, a checkpoint of other data or settings.
            TrainingError: the loss became NaN or infinite.
        """
        recipe, device = self._recipe(), device_named(self.device)
        check_graph(graph)
        featureless = self.model == "label_propagation"
        csr = None if featureless and features is None else checked_features(features, graph.num_nodes)
        classes, codes = coded_labels(labels, graph.num_nodes)
        train_nodes, val_nodes = checked_masks(train_mask, val_mask, classes, codes)
        if self.patience is not None and not val_nodes.any():
            raise ValueError("patience needs validation nodes: fit(..., val_mask=...)")
        history, network = History(), None
        if featureless or csr is None:
            began = time.monotonic()
            known = torch.where(train_nodes, codes, UNKNOWN).to(device)
            probabilities = label_propagation(graph, known, len(classes), steps=recipe.epochs).float()
            history.seconds = time.monotonic() - began
        else:
            width = recipe.hidden * (HEADS if self.model == "gat" else 1)
            with seeded(int(self.seed), device), threads_for(graph.num_nodes * width):
                network = NETWORKS[self.model](csr.shape[1], recipe.hidden, len(classes), recipe.dropout).to(device)
                where = (nodes.nonzero().flatten().to(device) for nodes in (train_nodes, val_nodes))
                nodes = LabelledNodes(FeatureTable(csr, device=device), graph, codes.to(device), *where)
                task = BaselineTask(network, nodes, width)
                learn(task, self._plan(recipe, task, recipe.patience), history, resume=resume)
                with torch.no_grad():
                    probabilities = task.logits().softmax(dim=1)
        self.model_, self.history_, self.classes_, self.codes_ = network, history, classes, codes
        self.probabilities_ = probabilities.cpu()
        return self

    def predict_proba(self) -> torch.Tensor:
        """Probabilities of the classes, shape (n, c), in the order of ``classes_``.

        Raises:
            NotFittedError: before fit.
        """
        self._fitted()
        return self.probabilities_.clone()
