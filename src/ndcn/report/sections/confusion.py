"""Which classes are taken for which: the confusion matrix of the nodes that the classifier is judged by."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..section import ClassContext, Section

MOST_CLASSES = 24  # as a matrix; of more, the pairs that are confused most often


def part(page: ClassContext) -> dict[str, Any] | None:
    """Counts by label and prediction; None without nodes to judge by."""
    if not page.judged.any():
        return None
    labels = page.classifier.codes_[page.judged].numpy()
    predicted = page.probabilities.argmax(dim=1)[page.judged].numpy()
    c = len(page.classifier.classes_)
    found: dict[str, Any] = {"labelled": np.bincount(labels, minlength=c).tolist()}
    pairs, counts = np.unique(labels * c + predicted, return_counts=True)
    if c <= MOST_CLASSES:
        matrix = np.zeros(c * c, dtype=np.int64)
        matrix[pairs] = counts
        return {**found, "matrix": matrix.reshape(c, c).tolist(), "pairs": None}
    wrong = pairs // c != pairs % c
    pairs, counts = pairs[wrong], counts[wrong]
    most = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    rows = [[int(pair // c), int(pair % c), int(count)] for pair, count in zip(pairs[most], counts[most], strict=True)]
    return {**found, "matrix": None, "pairs": rows}


SECTION = Section("Confusion matrix", "confusion.js", part)
