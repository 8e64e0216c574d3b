"""Features from tables: numbers, indicators of texts, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ndcn
from ndcn.datasets import node_tables
from node_files import EDGES, FEATURES, LABELS, written

pytestmark = pytest.mark.filterwarnings("ignore:too few labelled nodes")


def test_kinds_of_columns() -> None:
    table = pd.DataFrame(
        {
            "node": list("abcde"),
            "yes": [True, False, True, True, False],
            "text": ["1", "2", "1", "2", "1"],
            "some": pd.array([1, 2, 3, 4, 5], dtype="Int64"),
            "any": np.array([1, 2.5, 3, 4, 5], dtype=object),
            "category": pd.Categorical(["p", "q", "p", None, "q"]),
        }
    )
    data = node_tables(EDGES, table, scale=False)
    assert data.features.toarray().tolist() == [
        [1, 1, 1, 1, 0, 1, 0],
        [0, 2, 2.5, 0, 1, 0, 1],
        [1, 3, 3, 1, 0, 1, 0],
        [1, 4, 4, 0, 1, 0, 0],
        [0, 5, 5, 1, 0, 0, 1],
    ]


def test_sparse_columns_stay_sparse() -> None:
    values = pd.DataFrame(np.eye(5)).astype(pd.SparseDtype("float64", 0.0))
    data = node_tables(EDGES, pd.concat([pd.Series(list("abcde"), name="node"), values], axis=1))
    assert data.features.nnz == 5
    assert data.features.toarray().tolist() == np.eye(5).tolist()


def test_missing_numbers() -> None:
    gaps = FEATURES.assign(size=[5.0, None, 3, 2, None])
    with pytest.raises(
        ValueError,
        match="the table of features: 2 numbers missing or infinite, the first for node 'd' in column 'size'",
    ):
        node_tables(EDGES, gaps)
    assert node_tables(EDGES, gaps, fill=0.0, scale=False).features.toarray()[:, 0].tolist() == [0, 2, 3, 0, 5]
    with pytest.raises(ValueError, match="missing or infinite"):
        node_tables(EDGES, FEATURES.assign(size=np.inf), fill=0.0)
    with pytest.raises(ValueError, match="fill must be a finite number"):
        node_tables(EDGES, gaps, fill=float("nan"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            FEATURES.assign(size=["5", "4", "three", "2", "1"]),
            "column 'size' must hold numbers, but 1 cell does not .row 3: 'three'.",
        ),
        (FEATURES.assign(size=pd.to_datetime("2020-01-01")), "column 'size' must hold numbers, and holds timestamp"),
        (FEATURES.assign(size=1j), "column 'size' holds complex numbers"),
        (FEATURES[["node"]], "no column beside that of the nodes"),
        (pd.concat([FEATURES, FEATURES[:2]]), "more than one row for 2 nodes: 'e', 'd'"),
        (FEATURES.assign(node=[None, *"dcba"]), "row 1: column 'node' must name a node and is empty .1 such"),
        (FEATURES.assign(label=1), "column 'label', as the table of labels has, which would give the classes away"),
    ],
)
def test_features_that_are_refused(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        node_tables(EDGES, table, LABELS)


def test_columns_are_made_comparable() -> None:
    """Measurements become indicators of their quantiles; what is mostly zero, or has two values, keeps its zeros."""
    table = pd.DataFrame(
        {
            "node": list("abcde"),
            "year": [1990, 2001, 1995, 2020, 1980],
            "word": [0, 4, 0, 0, 2],
            "yes": [1, 1, 0, 1, 1],
            "same": [7, 7, 7, 7, 7],
        }
    )
    found = node_tables(EDGES, table, LABELS).features.toarray()
    assert found[:, 0].tolist() == [0, 1, 0, 0, 0.5]
    assert found[:, 1].tolist() == [1, 1, 0, 1, 1]
    assert found[:, 2].tolist() == [1, 1, 1, 1, 1]
    assert (found[:, 3:].sum(axis=1) == 1).all()
    order = found[:, 3:].argmax(axis=1)
    assert [list("abcde")[k] for k in order.argsort(kind="stable")] == ["e", "a", "c", "b", "d"]


def test_a_measurement_is_learned_from() -> None:
    """One positive column would be the same for every node once its row is divided by its sum."""
    draw = np.random.default_rng(0)
    second = np.arange(60) >= 30
    ring = pd.DataFrame({"source": range(60), "target": [(k + 1) % 30 + 30 * (k >= 30) for k in range(60)]})
    table = pd.DataFrame({"node": range(60), "year": 1990 + 20 * second + draw.integers(-3, 4, 60)})
    labels = pd.DataFrame({"node": range(60), "label": np.where(second, "new", "old")})
    data = node_tables(ring, table, labels, test=0.5)
    clf = ndcn.NodeClassifier(epochs=60, seed=0, progress=False)
    clf.fit(data.graph, data.features, data.labels, data.train_mask)
    assert clf.score(data.test_mask) > 0.9


def test_rows_without_content_are_left_out(tmp_path: Path) -> None:
    features = written(tmp_path, "features.csv", "node,x,kind\na,1,p\nb,2,q\n,,\nc,3,p\nd,4,p\ne,5,p\n,,\n")
    data = node_tables(EDGES, features, scale=False)
    assert data.features.toarray()[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert "features.csv: 2 empty rows are left out" in data.notes
    written(tmp_path, "features.csv", "node,x\na,1\n,2\nc,3\n")
    with pytest.raises(ValueError, match=r"features.csv line 3: column 'node' must name a node and is empty"):
        node_tables(EDGES, features)


def test_true_and_false_in_text(tmp_path: Path) -> None:
    features = written(tmp_path, "features.csv", "node,yes\na,True\nb,false\nc,TRUE\nd,False\ne,true\n")
    assert node_tables(EDGES, features, scale=False).features.toarray().tolist() == [[1], [0], [1], [0], [1]]


def test_wide_tables_are_quick_and_stay_sparse() -> None:
    """A bag of words: 2000 nodes, 2000 words of pandas' sparse kind, beside a dense column."""
    words = sparse.random_array((2000, 2000), density=0.005, rng=np.random.default_rng(0), format="csr")
    frame = pd.DataFrame.sparse.from_spmatrix(words)
    frame.insert(0, "node", range(2000))
    frame.insert(1000, "age", np.arange(2000) % 7)
    edges = pd.DataFrame({"source": range(1999), "target": range(1, 2000)})
    began = time.monotonic()
    data = node_tables(edges, frame, scale=False)
    assert time.monotonic() - began < 20  # 1 s on one core
    assert data.features.shape == (2000, 2001)
    assert data.features[:, [999]].toarray().ravel().tolist() == (np.arange(2000) % 7).tolist()
    without = data.features[:, [k for k in range(2001) if k != 999]]
    assert abs(without - words.astype(np.float32)).max() == 0
