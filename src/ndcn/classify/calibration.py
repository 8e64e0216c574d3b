"""Probabilities that mean what they say: the temperature that validation nodes ask for, and the expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import brentq

from .._support.wording import counted, percent

BINS = 15  # as in Guo et al., "On Calibration of Modern Neural Networks" (2017)
# Temperatures beyond which nothing changes that matters: above 100 all classes are as good as equally likely, below 1e-4 the
# likeliest is as good as certain. The first is reached where guessing would beat the model on the validation nodes.
HOTTEST, COLDEST = 100.0, 1e-4


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far confidence is from accuracy: ECE = sum_b (n_b / n) |accuracy_b - confidence_b| over bins of confidence.

    The confidence of a node is the probability of its likeliest class. Bin b holds confidences in (b / B, (b + 1) / B].

    Attributes:
        ece: the expected calibration error, from 0 to 1.
        edges: of the bins, shape (B + 1,).
        counts: n_b, shape (B,).
        confidence, accuracy: mean confidence and share of right classes in each bin, shape (B,); NaN in empty ones.
        temperature: by which logits were divided; None where the probabilities are as trained.

    Example:
        >>> import torch
        >>> found = calibration_of(torch.tensor([[0.9, 0.1], [0.4, 0.6]]), torch.tensor([0, 0]), bins=2)
        >>> round(found.ece, 3), found.counts.tolist()
        (0.25, [0, 2])
    """

    ece: float
    edges: np.ndarray
    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    temperature: float | None = None

    @property
    def mean_confidence(self) -> float:
        """Of all nodes."""
        return float(np.nansum(self.counts * self.confidence) / self.counts.sum())

    @property
    def mean_accuracy(self) -> float:
        """Of all nodes."""
        return float(np.nansum(self.counts * self.accuracy) / self.counts.sum())

    def __str__(self) -> str:
        how = "as trained: no validation nodes" if self.temperature is None else f"temperature {self.temperature:.3g}"
        nodes = counted(int(self.counts.sum()), "node")
        return (
            f"expected calibration error {percent(self.ece)} on {nodes}: accuracy {percent(self.mean_accuracy)}, "
            f"mean confidence {percent(self.mean_confidence)} ({how})"
        )


def calibration_of(
    probabilities: torch.Tensor, codes: torch.Tensor, *, temperature: float | None = None, bins: int = BINS
) -> Calibration:
    """Confidence and accuracy of nodes, from probabilities (m, c) and the classes (m,) as their places."""
    sure, best = probabilities.double().max(dim=1)
    right = (best == codes).double()
    edges = np.linspace(0, 1, bins + 1)
    place = torch.from_numpy(np.searchsorted(edges[1:-1], sure.numpy(), side="left"))
    counts = torch.bincount(place, minlength=bins)
    confidence, accuracy = (torch.bincount(place, weights=x, minlength=bins) / counts for x in (sure, right))
    gaps = (accuracy - confidence).abs().nan_to_num()
    ece = (counts * gaps).sum().item() / len(sure)
    return Calibration(ece, edges, counts.numpy(), confidence.numpy(), accuracy.numpy(), temperature)


def temperature_of(logits: torch.Tensor, codes: torch.Tensor) -> float:
    """The temperature t that minimises the cross-entropy of softmax(logits / t) on some nodes.

    It is convex in s = 1 / t, with the slope mean_i(sum_c p_ic z_ic - z_i,y_i), whose root is found. Where every node is right the
    cross-entropy falls for ever as s grows; then a class counts as right with (m + 1) / (m + 2), m being the number of
    nodes (Platt 1999), which has a minimum.

    Args:
        logits: z, shape (m, c).
        codes: y, the classes as their places, shape (m,).

    Example:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
        >>> found = temperature_of(logits, torch.tensor([0, 0, 0, 1]))  # right in 3 of 4
        >>> (logits[0] / found).softmax(dim=0)
        tensor([0.7500, 0.2500])
    """
    z = logits.detach().double().cpu()
    nodes, classes = z.shape
    target = torch.nn.functional.one_hot(codes.cpu(), classes).double()
    if bool((z.argmax(dim=1) == codes.cpu()).all()):
        missed = 1 / (nodes + 2)
        target = target * (1 - missed) + (1 - target) * missed / (classes - 1)
    wanted = (target * z).sum(dim=1).mean()

    def slope(s: float) -> float:
        return float(((s * z).softmax(dim=1) * z).sum(dim=1).mean() - wanted)

    low, high = 1 / HOTTEST, 1 / COLDEST
    if slope(low) >= 0:
        return HOTTEST
    if slope(high) <= 0:
        return COLDEST
    return 1 / float(brentq(slope, low, high, xtol=1e-12, rtol=1e-12))
