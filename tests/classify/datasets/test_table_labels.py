"""Labels from tables: classes, gaps, and a split of one's own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ndcn.datasets import node_tables
from node_files import EDGES, LABELS, classes_of, written

pytestmark = pytest.mark.filterwarnings("ignore:too few labelled nodes")


def test_gaps_and_numbers_as_labels(tmp_path: Path) -> None:
    labels = written(tmp_path, "labels.csv", "node,label\na,10.0\nb,\nc,2.0\nd,NA\ne,2\n")
    data = node_tables(EDGES, labels=labels)
    assert data.classes == ("2", "10")
    assert classes_of(data) == {"a": "10", "b": None, "c": "2", "d": None, "e": "2"}
    with pytest.warns(UserWarning, match="negative labels mean that the class is not known: 1 node, 'b'"):
        data = node_tables(EDGES, labels=LABELS.assign(label=[0, -1, 1, 1]))
    assert classes_of(data)["b"] is None
    assert node_tables(EDGES, labels=LABELS.assign(label=["01", "1", "01", "1"])).classes == ("01", "1")
    assert node_tables(EDGES, labels=LABELS.assign(label=[True, False, True, False])).classes == ("False", "True")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (LABELS.assign(label=[0.5, 1.5, 2, 3]), "whole numbers or text, got 0.5; round or bin"),
        (LABELS.assign(label="red"), "two classes or more, but has 'red'"),
        (LABELS.assign(label=None), "two classes or more, but has none"),
        (LABELS.rename(columns={"label": "x"}).assign(y=1), 'needs the columns "node" and "label"; beside nodes it has \'x\', \'y\''),
        (LABELS[["node"]], "beside nodes it has none"),
        (LABELS.assign(node=list("abda")), "rows that disagree about node 'a'"),
        (LABELS.assign(split=["train", "dev", "test", ""]), "split is train, validation, test or empty, got 'dev'"),
        (LABELS.assign(split="train", label=["red", None, "blue", "blue"]), "node 'b' has a part in the split, but no label"),
    ],
)  # fmt: skip
def test_labels_that_are_refused(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        node_tables(EDGES, labels=table)


def test_a_split_of_ones_own() -> None:
    labels = LABELS.assign(split=["train", "test", "Validation", None])
    data = node_tables(EDGES, labels=labels)
    assert [mask.nonzero().flatten().tolist() for mask in (data.train_mask, data.val_mask, data.test_mask)] == [
        [0],
        [3],
        [1],
    ]
    assert data.labels[4] == 0  # known, but for nothing
    with pytest.raises(ValueError, match='the column "split" of the labels decides'):
        node_tables(EDGES, labels=labels, test=0.1)
