"""Classes with gaps, and masks."""

from __future__ import annotations

import pandas as pd
import pytest

import ndcn
from ndcn.classify.node_data import coded_labels


@pytest.mark.parametrize(
    "labels",
    [
        [0, None, 1, 0],
        [0.0, float("nan"), 1.0, 0.0],
        ["x", None, "y", "x"],
        ["x", float("nan"), "y", "x"],
        ["x", "", "y", "x"],
        pd.array(["x", pd.NA, "y", "x"], dtype="string"),
        pd.Series([0, pd.NA, 1, 0], dtype="Int64"),
    ],
    ids=str,
)
def test_gaps_in_labels(labels: object) -> None:
    classes, codes = coded_labels(labels, 4)
    assert len(classes) == 2
    assert codes.tolist() == [0, -1, 1, 0]


def test_classes_of_a_categorical_stay_in_its_order() -> None:
    marks = pd.Categorical(["9", None, "10", "9"], categories=["9", "10", "11"])
    classes, codes = coded_labels(marks, 4)
    assert (classes.tolist(), codes.tolist()) == (["9", "10"], [0, -1, 1, 0])


def test_labels_that_are_none() -> None:
    with pytest.raises(ValueError, match="whole numbers or strings"):
        coded_labels([0.0, float("inf"), 1.0], 3)
    with pytest.raises(ValueError, match="all strings or all whole numbers"):
        coded_labels(["a", 1, 2], 3)


def test_one_class_and_wrong_masks_are_refused() -> None:
    data = ndcn.datasets.karate_club()
    with pytest.raises(ValueError, match="nothing to tell apart"):
        ndcn.NodeClassifier().fit(data.graph, data.features, [0] * 34, data.train_mask)
    for mask in (None, "all"):
        with pytest.raises(ValueError, match="train_mask must say True or False for each of the 34 nodes"):
            ndcn.NodeClassifier().fit(data.graph, data.features, data.labels, mask)
