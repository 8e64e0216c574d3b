"""NodeEstimator: what all that classifies nodes has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .node_data import UNKNOWN, checked_mask, coded_labels


class NodeEstimator(BaseEstimator, ABC):
    """Learns the classes of a graph's nodes; ``fit`` sets ``classes_`` and ``codes_``, the place of each node's class there."""

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

    def _fitted(self) -> None:
        if not hasattr(self, "codes_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit first")
