"""NodeEstimator: what all that classifies nodes has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..training import Plan, fingerprint
from .node_data import UNKNOWN, checked_mask, coded_labels

if TYPE_CHECKING:
    from .baseline_training import BaselineRecipe
    from .task import NodeTask
    from .training import ClassifierRecipe


class NodeEstimator(BaseEstimator, ABC):
    """Learns the classes of a graph's nodes; ``fit`` sets ``classes_`` and ``codes_``, the place of each node's class there."""

    device: str | torch.device
    checkpoint: str | Path | None
    progress: bool | None
    classes_: np.ndarray
    codes_: torch.Tensor

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

    def _plan(self, recipe: ClassifierRecipe | BaselineRecipe, task: NodeTask, patience: int | None) -> Plan:
        """How to train; with a checkpoint, it is known by a fingerprint of the settings, the first weights and the data."""
        known_by = ""
        if self.checkpoint is not None:
            given = {**self.get_params(deep=False), **vars(recipe), "device": str(self.device)}
            elsewhere = ("checkpoint", "progress", "dtype")  # without effect on the result, or told by the weights
            settings = {name: value for name, value in given.items() if name not in elsewhere}
            known_by = fingerprint(settings, task.model, task.data.fingerprints())
        return Plan(
            epochs=recipe.epochs,
            learning_rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            patience=patience,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            fingerprint=known_by,
            progress=self.progress,
        )

    def _fitted(self) -> None:
        if not hasattr(self, "codes_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit first")
