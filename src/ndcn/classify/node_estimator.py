"""NodeEstimator: what all that classifies nodes has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator

from .._support.checks import device_named, dtype_named
from .._support.fitted import check_fitted
from ..graph import Graph
from ..training import History, Plan, fingerprint, train
from .calibration import Calibration, calibration_of
from .choice import FieldChoice
from .class_weights import ClassWeight, class_weights
from .features import FeatureTable
from .node_data import TEST, TRAIN, UNKNOWN, check_graph, checked_features, checked_mask, checked_masks, coded_labels
from .training import LabelledNodes, NodeTask


class NodeEstimator(BaseEstimator, ABC):
    """Learns the classes of a graph's nodes.

    ``fit`` sets ``classes_``, ``codes_``, the place of each node's class there, and ``split_``, the place of what it was for in
    ``SPLITS``.
    """

    patience: int | None
    class_weight: ClassWeight
    device: str | torch.device
    checkpoint: str | Path | None
    progress: bool | None
    dtype: str | torch.dtype = "float32"
    history_: History
    classes_: np.ndarray
    codes_: torch.Tensor
    split_: torch.Tensor
    probability_temperature_: float | None
    choice_: FieldChoice | None = None

    @abstractmethod
    def recipe(self) -> Any:
        """The recipe that the arguments ask for, or an error that says what is wrong with them."""

    def fit(
        self, graph: Graph, features: Any, labels: Any, train_mask: Any, val_mask: Any = None, *, resume: bool = False
    ) -> Self:
        """Learn from the nodes in ``train_mask``; the features of all nodes take part.

        Args:
            graph: n nodes, weights >= 0.
            features: F, shape (n, d): a scipy.sparse matrix (which stays sparse), an array or a tensor; label propagation also
                takes None.
            labels: the class of each node, shape (n,): whole numbers, with negative ones for unknown, or strings, with None, NaN
                or "" for unknown. Classes are sorted, but those of a pandas categorical of strings stay in its order.
            train_mask: the nodes whose class may be used, shape (n,), bool.
            val_mask: nodes by which the best epoch is chosen, shape (n,), bool: that of the highest accuracy and, of equals, the
                lowest cross-entropy. Without them training runs its epochs. Label propagation has no use for them.
            resume: continue from ``checkpoint`` if that file exists; the result is bit for bit that of an uninterrupted fit.

        Ctrl-C ends after the current epoch with the best weights so far, and a second Ctrl-C at once.

        Raises:
            ImportError: the model needs PyTorch Geometric, which is not installed.
            TypeError: ``graph`` is no Graph.
            ValueError: shapes that do not fit, features that are NaN, masks that overlap or hold a node without a class, fewer
                than two classes among the training nodes, or a weight of what is no class; with ``resume``, a checkpoint of other
                data or settings.
            TrainingError: the loss became NaN or infinite; a ``NodeClassifier`` keeps the last weights that gave a finite one.

        A fit that fails, or is stopped, before it has learned anything leaves the estimator as it was.
        """
        recipe = self.recipe()
        device = device_named(self.device)
        check_graph(graph)
        csr = self._checked_features(features, graph.num_nodes)
        classes, codes = coded_labels(labels, graph.num_nodes)
        train_nodes, val_nodes = checked_masks(train_mask, val_mask, classes, codes)
        if self.patience is not None and not val_nodes.any():
            raise ValueError("patience needs validation nodes: fit(..., val_mask=...)")
        with torch.inference_mode(False), torch.enable_grad():
            taught, held = (nodes.nonzero().flatten().to(device) for nodes in (train_nodes, val_nodes))
            weights = class_weights(self.class_weight, classes, codes[train_nodes])
            nodes = LabelledNodes(self._table(csr, recipe), graph, codes.to(device), classes, taught, held, weights)
            self._learn(recipe, nodes, csr, resume)
        return self

    def _checked_features(self, features: Any, n: int) -> sparse.csr_array:
        return checked_features(features, n)

    def _table(self, features: sparse.csr_array, recipe: Any, like: sparse.csr_array | None = None) -> FeatureTable:
        """Features as a recipe wants them; with ``like``, at the scale of those features."""
        dtype, device = dtype_named(self.dtype), device_named(self.device)
        return FeatureTable(features, normalize=recipe.normalize, like=like, dtype=dtype, device=device)

    @abstractmethod
    def _learn(self, recipe: Any, nodes: LabelledNodes, features: sparse.csr_array, resume: bool) -> None:
        """Learn from checked data, and set the attributes that end in an underscore."""

    @abstractmethod
    def predict_proba(self) -> torch.Tensor:
        """Probabilities of the classes, shape (n, c), in the order of ``classes_``."""

    def predict(self) -> Any:
        """The likeliest class of each node, shape (n,): a tensor, or an array of strings if the labels were strings."""
        return self._likeliest(self.predict_proba())

    def _likeliest(self, probabilities: torch.Tensor) -> Any:
        found = self.classes_[probabilities.argmax(dim=1).numpy()]
        return found if found.dtype.kind in "UO" else torch.from_numpy(found)

    def score(self, mask: Any = None, labels: Any = None) -> float:
        """The share of nodes in ``mask`` whose class is predicted right.

        Args:
            mask: the nodes, shape (n,), bool; all whose class is known by default.
            labels: the classes of the nodes, if not those given to ``fit``.

        Raises:
            NotFittedError: before fit.
            ValueError: the mask is empty or holds a node without a class.
        """
        self._fitted()
        codes = self.codes_
        if labels is not None:
            classes, found = coded_labels(labels, len(codes))
            place = {name: k for k, name in enumerate(self.classes_.tolist())}
            known = torch.tensor([place.get(name, len(place)) for name in classes.tolist()])
            codes = torch.where(found == UNKNOWN, found, known[found.clamp_min(0)])
        nodes = codes != UNKNOWN if mask is None else checked_mask("mask", mask, codes)
        if not nodes.any():
            raise ValueError("the mask holds no node: there is nothing to score")
        best = self.predict_proba().argmax(dim=1)
        return (best[nodes] == codes[nodes]).double().mean().item()

    def calibration(self, mask: Any = None) -> Calibration:
        """How far the probabilities are from the accuracies: the expected calibration error, and its bins.

        Args:
            mask: the nodes, shape (n,), bool; by default those held out: the test nodes that the estimator knows of, or all of
                known class that it was neither trained nor validated on.

        Raises:
            NotFittedError: before fit.
            ValueError: the mask is empty or holds a node without a class.
        """
        self._fitted()
        nodes = self.held_out() if mask is None else checked_mask("mask", mask, self.codes_)
        if not nodes.any():
            raise ValueError("the mask holds no node: there is nothing to measure")
        temperature = self.probability_temperature_
        return calibration_of(self.predict_proba()[nodes], self.codes_[nodes], temperature=temperature)

    def held_out(self) -> torch.Tensor:
        """The nodes to judge by, shape (n,), bool: the test nodes that it knows of, or all others of known class.

        Raises:
            NotFittedError: before fit.
            ValueError: there are none, or a file of 0.2 does not say which were trained on.
        """
        self._fitted()
        if not (self.split_ == TRAIN).any():
            raise ValueError(
                "the file does not say which nodes were for training: fit again, or give a mask of nodes to judge by"
            )
        test = self.split_ == TEST
        found = test if test.any() else (self.split_ == 0) & (self.codes_ != UNKNOWN)
        if not found.any():
            raise ValueError(
                "no node of known class was held out: fit with some test nodes, or give a mask of nodes to judge by"
            )
        return found

    def _train(
        self,
        task: NodeTask,
        recipe: Any,
        patience: int | None,
        history: History,
        resume: bool,
        checkpoint: str | Path | None,
    ) -> None:
        """Train; a checkpoint is identified by a fingerprint of the settings, the first weights and the data."""
        known_by = ""
        if checkpoint is not None:
            given = {**self.get_params(deep=False), **vars(recipe), "device": str(self.device)}
            # without effect on the result, or told by the model's weights or the data
            elsewhere = ("checkpoint", "progress", "dtype", "class_weight")
            settings = {name: value for name, value in given.items() if name not in elsewhere}
            known_by = fingerprint(settings, task.model, task.data.fingerprints())
        plan = Plan(
            epochs=recipe.epochs,
            learning_rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            patience=patience,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            fingerprint=known_by,
            progress=self.progress,
        )
        try:
            train(task, plan, history, resume=resume)
        finally:
            task.close()

    def _fitted(self) -> None:
        check_fitted(self, "codes_")
