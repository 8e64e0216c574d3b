"""Graphs, features and classes from tables of one's own."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ndcn.datasets import NodeDataset, node_tables

import ndcn

pytestmark = pytest.mark.filterwarnings("ignore:too few labelled nodes")

EDGES = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "e"]})
FEATURES = pd.DataFrame({"node": list("edcba"), "size": [5.0, 4, 3, 2, 1], "kind": ["x", "y", None, "y", "x"]})
LABELS = pd.DataFrame({"node": list("abde"), "label": ["red", "red", "blue", "blue"]})


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def classes_of(data: NodeDataset) -> dict[object, str | None]:
    return {
        node: None if code < 0 else data.classes[code]
        for node, code in zip(data.graph.nodes, data.labels.tolist(), strict=True)
    }


def test_tables_are_matched_by_names() -> None:
    data = node_tables(EDGES, FEATURES, LABELS, scale=False)
    assert data.graph.nodes == ("a", "b", "c", "d", "e")
    assert data.graph == ndcn.Graph.from_edges(EDGES)
    assert data.features.dtype == np.float32
    assert data.features.toarray().tolist() == [[1, 1, 0], [2, 0, 1], [3, 0, 0], [4, 0, 1], [5, 1, 0]]
    assert classes_of(data) == {"a": "red", "b": "red", "c": None, "d": "blue", "e": "blue"}
    assert data.classes == ("blue", "red")


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


def test_without_features_and_without_labels() -> None:
    data = node_tables(EDGES)
    assert data.features.toarray().tolist() == np.eye(5).tolist()
    assert (data.classes, data.labels.tolist()) == ((), [-1] * 5)
    assert not (data.train_mask | data.val_mask | data.test_mask).any()


@pytest.mark.parametrize("form", ["csv", "tsv", "txt", "csv.gz", "parquet", "semicolons"])
def test_files(tmp_path: Path, form: str) -> None:
    paths = []
    for name, table in (("edges", EDGES), ("features", FEATURES), ("labels", LABELS)):
        path = tmp_path / f"{name}.{form}"
        if form == "parquet":
            table.to_parquet(path, index=False)
        elif form == "semicolons":
            path = tmp_path / f"{name}.csv"
            table.to_csv(path, index=False, sep=";")
        else:
            table.to_csv(path, index=False, sep="," if "csv" in form else "\t")
        paths.append(path)
    found, wanted = node_tables(*paths), node_tables(EDGES, FEATURES, LABELS)
    assert found.name == ("edges.csv" if form == "csv.gz" else "edges")
    assert found.graph == wanted.graph
    assert (found.features != wanted.features).nnz == 0
    for part in ("labels", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(getattr(found, part), getattr(wanted, part))


def test_files_without_a_header(tmp_path: Path) -> None:
    edges = written(tmp_path, "edges.txt", "# from somewhere\n# nodes: 4\n0 1\n1 2\n2 10\n")
    features = written(tmp_path, "features.csv", "0,1.5,0\n1,0,1\n2,0,0\n10,3,1\n")
    labels = written(tmp_path, "labels.csv", "10,yes\n0,no\n1,yes\n2,no\n")
    data = node_tables(edges, features, labels, scale=False)
    assert data.graph.nodes == (0, 1, 2, 10)
    assert data.graph.num_edges == 3
    assert data.features.toarray().tolist() == [[1.5, 0], [0, 1], [0, 0], [3, 1]]
    assert classes_of(data) == {0: "no", 1: "yes", 2: "no", 10: "yes"}
    # names that are no numbers: the first line names nodes that occur below it
    named = written(tmp_path, "named.csv", "ann,bob\nbob,cid\ncid,ann\n")
    marks = written(tmp_path, "marks.csv", "ann,x\nbob,y\ncid,x\n")
    data = node_tables(named, labels=marks)
    assert data.graph.num_edges == 3
    assert classes_of(data) == {"ann": "x", "bob": "y", "cid": "x"}


def test_a_header_of_other_names_and_a_column_of_weights(tmp_path: Path) -> None:
    edges = written(tmp_path, "edges.csv", "from,to,strength\na,b,0.5\nb,c,2\n")
    assert node_tables(edges).graph.to_pandas()["weight"].tolist() == [0.5, 2.0]
    more = EDGES.assign(weight=[1, 2, 3, 4], since="May")
    with pytest.warns(UserWarning, match="columns 'since' are not used"):
        assert node_tables(more).graph.weighted
    with pytest.warns(
        UserWarning, match="columns 'since' are not used"
    ):  # as in ndcn.read: the only numbers are weights
        assert node_tables(EDGES.assign(since="May", x=[5, 6, 7, 8])).graph.to_pandas()["weight"].tolist() == [
            5,
            6,
            7,
            8,
        ]
    with pytest.warns(UserWarning, match="columns 'x', 'y' are not used"):
        assert not node_tables(EDGES.assign(x=1, y=2)).graph.weighted


@given(st.lists(st.integers(-5, 10**6), min_size=3, max_size=8, unique=True), st.permutations(range(8)), st.booleans())
def test_names_are_the_same_as_text_and_as_numbers(names: list[int], order: list[int], gaps: bool) -> None:
    edges = pd.DataFrame({"source": names[:-1], "target": names[1:]})
    shuffled = [names[k] for k in order if k < len(names)]
    kind = float if gaps else str
    labels = pd.DataFrame(
        {"who": [kind(name) for name in shuffled], "label": [f"c{names.index(n) % 2}" for n in shuffled]}
    )
    features = pd.DataFrame({"node": [f" {name} " for name in shuffled], "place": [names.index(n) for n in shuffled]})
    data = node_tables(edges, features, labels, test=0.0, scale=False)
    assert list(data.graph.nodes) == sorted(names)
    assert data.features.toarray()[:, 0].tolist() == [names.index(n) for n in sorted(names)]
    assert classes_of(data) == {name: f"c{k % 2}" for k, name in enumerate(names)}
    assert data.graph == ndcn.Graph.from_edges(edges, nodes=sorted(names))


def test_zeros_in_front_make_another_name(tmp_path: Path) -> None:
    edges = written(tmp_path, "edges.csv", "source,target\n007,7\n7,NA\n")
    assert node_tables(edges).graph.nodes == ("007", "7", "NA")


# Names that do not match ----------------------------------------------------------------------------------------


def test_nodes_in_no_edge_are_isolated() -> None:
    labels = pd.concat([LABELS, pd.DataFrame({"node": ["zoe"], "label": ["red"]})])
    with pytest.warns(
        UserWarning,
        match="1 node of the table of labels without an edge in the table of edges, kept as isolated: 'zoe'",
    ):
        data = node_tables(EDGES, labels=labels)
    assert data.graph.num_nodes == 6
    assert data.graph.degrees[-1] == 0
    with pytest.raises(
        ValueError,
        match="no node has the same name in both files: the table of edges has 'a', 'b', 'c' and 2 more, the table of labels "
        "has '1', '2', '3' and 1 more",
    ):
        node_tables(EDGES, labels=LABELS.assign(node=[1, 2, 3, 4]))


def test_nodes_without_features() -> None:
    few = FEATURES[FEATURES.node != "b"]
    with pytest.raises(ValueError, match=r"1 node without a row in the table of features: 'b'; add the rows"):
        node_tables(EDGES, few, LABELS)
    data = node_tables(EDGES, few, LABELS, fill=7.0, scale=False)
    assert data.features.toarray()[1].tolist() == [7, 0, 0]
    many = pd.DataFrame({"source": range(20), "target": range(1, 21)})
    with pytest.raises(
        ValueError, match="20 nodes without a row in the table of features: '1', '2', '3', '4', '5' and 15 more"
    ):
        node_tables(many, pd.DataFrame({"node": [0], "x": [1]}))


# Features -------------------------------------------------------------------------------------------------------


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


# Labels and what is held out ------------------------------------------------------------------------------------


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


def ring(sizes: dict[str, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    marks = [name for name, size in sizes.items() for _ in range(size)]
    n = len(marks)
    edges = pd.DataFrame({"source": range(n), "target": [(k + 1) % n for k in range(n)]})
    return edges, pd.DataFrame({"node": range(n), "label": marks})


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=6),
    st.floats(0, 0.6),
    st.floats(0, 0.39),
    st.integers(0, 5),
)
def test_every_class_is_trained_on_and_gives_its_share(
    sizes: list[int], test: float, validation: float, seed: int
) -> None:
    edges, labels = ring({f"c{k}": size for k, size in enumerate(sizes)} | {"rest": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = node_tables(edges, labels=labels, test=test, validation=validation, seed=seed)
        again = node_tables(edges, labels=labels, test=test, validation=validation, seed=seed)
    assert torch.equal(data.test_mask, again.test_mask)
    assert set(data.labels[data.train_mask].tolist()) == set(range(len(sizes) + 1))
    assert bool((data.train_mask | data.val_mask | data.test_mask).all())
    for k, size in enumerate([*sizes, 2]):
        for mask, share in ((data.test_mask, test), (data.val_mask, validation)):
            assert int((data.labels[mask] == k).sum()) <= share * size + 1
    assert int(data.test_mask.sum()) <= round(test * (sum(sizes) + 2))


def test_imbalance() -> None:
    edges, labels = ring({"common": 95, "few": 4, "once": 1})
    with pytest.warns(UserWarning, match=r"as training comes first: class 'once' \(1\)"):
        data = node_tables(edges, labels=labels)
    assert torch.bincount(data.labels[data.test_mask], minlength=3).tolist() == [19, 1, 0]
    with pytest.warns(UserWarning, match="once"):
        other = node_tables(edges, labels=labels, seed=1)
    assert not torch.equal(data.test_mask, other.test_mask)
    assert not node_tables(edges, labels=labels, test=0.0).test_mask.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": 1.0}, r"test must be a share in \[0, 1\)"),
        ({"validation": -0.1}, "validation must be a share"),
        ({"test": float("nan")}, "test must be a share"),
        ({"test": 0.5, "validation": 0.5}, "leaves none for training"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"duplicates": "all"}, "duplicates must be"),
    ],
)
def test_arguments_that_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        node_tables(EDGES, labels=LABELS, **settings)


# Files that are wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"", "e.csv is empty"),
        ("e.csv", b"only\none\n", "e.csv has only one column"),
        ("e.csv", b"source,target\n", "e.csv holds no edges, only a header"),
        ("e.csv", b"source,target\na,\n", "e.csv line 2: column 'target' must name a node and is empty"),
        ("e.csv", b"source,target\na,b\na,b,3,4,5\n", "e.csv: the header names 2 columns, but rows have 5"),
        ("e.csv", b"source,target\na,b,9,9\n", "e.csv: the header names 2 columns, but rows have 4"),
        ("e.csv", b"\xff\xfe\x00\x81", "e.csv has only one column"),
        ("e.csv", b"source,target,weight\na,b,heavy\n", r"column 'weight' must hold numbers, but 1 cell does not \(line 2: 'heavy'\)"),
        ("e.csv", b"source,target\na,b\na,b\n", r"1 edge listed again \('a' to 'b', e.csv line 3\)"),
        ("e.parquet", b"PAR1 no", "e.parquet cannot be read as Parquet"),
        ("e.csv.gz", b"no gzip", "e.csv.gz is no whole gzip file"),
        ("e.csv.gz", gzip.compress(b"source,target\na,b\n", mtime=0)[:-9], "e.csv.gz is no whole gzip file"),
        ("e.xlsx", b"", "edges are read from files that end in .csv, .*; save a spreadsheet as CSV"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        node_tables(tmp_path / name)


def test_no_file_and_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.csv to read labels from"):
        node_tables(EDGES, labels="nowhere.csv")
    with pytest.raises(ValueError, match="is a folder or device; give the file with the edges"):
        node_tables(tmp_path)
    with pytest.raises(TypeError, match="features must be the name of a file or a pandas table, got list"):
        node_tables(EDGES, [1, 2])


def test_directed_and_repeated_edges() -> None:
    twice = pd.concat([EDGES, EDGES])
    assert node_tables(twice, duplicates="sum", directed=True).graph.to_pandas()["weight"].tolist() == [2.0] * 4


def test_what_it_gives_can_be_learned_from() -> None:
    data = node_tables(EDGES, FEATURES, LABELS, test=0.5)
    classifier = ndcn.NodeClassifier(T=1.0, hidden=4, epochs=3).fit(
        data.graph, data.features, data.labels, data.train_mask
    )
    assert classifier.predict_proba().shape == (5, 2)
