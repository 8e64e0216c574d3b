"""Node tables: nodes matched by name, and every kind of file that ndcn.read reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import torch
from hypothesis import given, strategies as st
from scipy import sparse

import ndcn
from ndcn.datasets import node_tables
from ndcn.io.cells import MISSING
from node_files import EDGES, FEATURES, LABELS, classes_of, written

pytestmark = pytest.mark.filterwarnings("ignore:too few labelled nodes")


def test_tables_are_matched_by_names() -> None:
    data = node_tables(EDGES, FEATURES, LABELS, scale=False)
    assert data.graph.nodes == ("a", "b", "c", "d", "e")
    assert data.graph == ndcn.Graph.from_edges(EDGES)
    assert data.features.dtype == np.float32
    assert data.features.toarray().tolist() == [[1, 1, 0], [2, 0, 1], [3, 0, 0], [4, 0, 1], [5, 1, 0]]
    assert classes_of(data) == {"a": "red", "b": "red", "c": None, "d": "blue", "e": "blue"}
    assert data.classes == ("blue", "red")


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


# What ndcn.read reads is read here


@pytest.mark.parametrize("form", ["graphml", "gml", "json", "npz", "mtx"])
def test_graph_files(tmp_path: Path, form: str) -> None:
    graph = nx.from_pandas_edgelist(EDGES)
    path = tmp_path / f"edges.{form}"
    matrix = sparse.coo_array(nx.to_scipy_sparse_array(graph))
    writers = {
        "graphml": lambda: nx.write_graphml(graph, path),
        "gml": lambda: nx.write_gml(graph, path),
        "json": lambda: path.write_text(json.dumps(nx.node_link_data(graph, edges="links"))),
        "npz": lambda: sparse.save_npz(path, matrix),
        "mtx": lambda: scipy.io.mmwrite(path, matrix),
    }
    writers[form]()
    places = dict(zip("abcde", range(1, 6), strict=True))  # a matrix has no names: tables count its nodes, here from 1
    features, labels = FEATURES, LABELS
    if form in ("npz", "mtx"):
        features, labels = (table.assign(node=table.node.map(places)) for table in (FEATURES, LABELS))
    data = node_tables(path, features, labels, scale=False)
    assert data.features.toarray().tolist() == [[1, 1, 0], [2, 0, 1], [3, 0, 0], [4, 0, 1], [5, 1, 0]]
    assert torch.equal(data.graph.to_dense(), ndcn.Graph.from_edges(EDGES).to_dense())
    assert list(classes_of(data).values()) == ["red", "red", None, "blue", "blue"]
    assert data.graph == node_tables(graph if form not in ("npz", "mtx") else matrix, labels=labels).graph


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    texts = {
        "edges.csv": "von;nach;Stärke\nÄnne;bob;1,5\nbob;çid;2,0\n",
        "features.csv": "node;größe\nÄnne;1,5\nbob;2,5\nçid;3,5\n",
        "labels.csv": "node;label\nÄnne;rot\nbob;grün\nçid;grün\n",
    }
    paths = [tmp_path / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_bytes(text.encode(encoding))
    data = node_tables(*paths, test=0.0, scale=False)
    assert classes_of(data) == {"bob": "grün", "Änne": "rot", "çid": "grün"}
    assert data.features.toarray().tolist() == [[2.5], [1.5], [3.5]]
    assert data.graph.to_pandas()["weight"].tolist() == [1.5, 2.0]
    assert any("not UTF-8" in note for note in data.notes) == (encoding in ("latin-1", "cp1252"))


@pytest.mark.parametrize("word", MISSING)
def test_words_for_missing(tmp_path: Path, word: str) -> None:
    """Each word that is missing in states is missing in numbers, texts and labels."""
    features = written(tmp_path, "features.csv", f"node,x,kind\na,1,p\nb,2,q\nc,{word},{word}\nd,4,q\ne,5,p\n")
    labels = written(tmp_path, "labels.csv", f"node,label\na,red\nb,red\nc,{word}\nd,blue\ne,blue\n")
    data = node_tables(EDGES, features, labels, fill=-1.0, scale=False)
    assert data.features.toarray()[2].tolist() == [-1, 0, 0]
    assert classes_of(data)["c"] is None
    assert data.classes == ("blue", "red")
    assert any(f"{word!r} in column 'label': taken as missing" in note for note in data.notes) == bool(word)


def test_columns_that_are_named(tmp_path: Path) -> None:
    edges = written(tmp_path, "edges.csv", "w1,w2,p,q\n7,1,a,b\n8,2,b,c\n")
    table = written(tmp_path, "all.csv", "x,who,team,rank\n1,a,red,1\n2,b,blue,2\n3,c,red,3\n")
    chosen = {"source": "p", "target": "q", "weight": "w1", "node": "who", "label": "team"}
    with pytest.warns(UserWarning, match="columns 'w2' are not used"):
        data = node_tables(edges, labels=table, test=0.0, **chosen)
    assert data.graph.to_pandas()["weight"].tolist() == [7, 8]
    assert classes_of(data) == {"a": "red", "b": "blue", "c": "red"}
    with pytest.raises(
        ValueError, match=r"edges.csv has no column 'r' \(--source\); its columns are 'w1', 'w2', 'p', 'q'"
    ):
        node_tables(edges, source="r")
    with pytest.raises(ValueError, match=r"all.csv has no column 'y' \(--label\)"):
        node_tables(edges, labels=table, **{**chosen, "label": "y"})


def test_the_column_of_nodes_is_found() -> None:
    """By its name, or first; a column that could hold names but repeats them is none."""
    edges = pd.DataFrame({"source": range(9), "target": range(1, 10)})
    table = pd.DataFrame({"paper": range(9, -1, -1), "unit": [1, 2] * 5, "label": list("xyxyxyxyxy")})
    assert classes_of(node_tables(edges, labels=table[["paper", "label"]], test=0.0))[9] == "x"
    features = node_tables(edges, table[["paper", "unit"]], scale=False).features.toarray()
    assert features[:, 0].tolist() == [2, 1] * 5
    first = node_tables(edges, table[["unit", "paper"]], node="paper", scale=False).features.toarray()
    assert first.tolist() == features.tolist()
    with pytest.raises(ValueError, match="the table of features has no column that names nodes"):
        node_tables(edges, pd.DataFrame(np.eye(10)).astype(pd.SparseDtype("float64", 0.0)))
    indexed = pd.DataFrame(np.eye(10), index=pd.RangeIndex(10, name="n")).astype(pd.SparseDtype("float64", 0.0))
    assert node_tables(edges, indexed).features.toarray().tolist() == np.eye(10).tolist()


def test_direction_is_as_the_file_says(tmp_path: Path) -> None:
    assert not node_tables(EDGES).graph.directed
    gephi = EDGES.assign(Type="Directed")
    assert node_tables(gephi).graph.directed
    assert not node_tables(gephi, directed=False).graph.directed
    both = pd.concat([EDGES, EDGES[:1].rename(columns={"source": "target", "target": "source"})])
    assert not node_tables(both).graph.directed


def test_a_hint_where_names_differ_by_capitals() -> None:
    with pytest.warns(UserWarning, match="kept as isolated: 'C'; 'C' and 'c' may be the same node: write them alike"):
        node_tables(EDGES, labels=LABELS.assign(node=list("abCd")))


# Names that do not match


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


# Files that are wrong


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
        ("e.csv.gz", b"no gzip", "e.csv.gz is not a complete gzip file"),
        ("e.csv.gz", gzip.compress(b"source,target\na,b\n", mtime=0)[:-9], "e.csv.gz is not a complete gzip file"),
        ("e.ods", b"", "edges are read from files that end in .csv, .*; save the spreadsheet as .xlsx or CSV"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        node_tables(tmp_path / name)


def test_tables_of_nodes_with_only_a_header(tmp_path: Path) -> None:
    labels, features = written(tmp_path, "l.csv", "node,label\n"), written(tmp_path, "f.csv", "node,a\n")
    with pytest.raises(ValueError, match=r"l\.csv has no rows, only a header; expected a line for each node"):
        node_tables(EDGES, labels=labels)
    with pytest.raises(ValueError, match=r"f\.csv has no rows"):
        node_tables(EDGES, features, LABELS)


def test_a_table_of_features_in_place_of_edges() -> None:
    with pytest.warns(
        UserWarning, match="no target is a node that the other tables name, but '5', '4', '3' and 2 more"
    ):
        node_tables(FEATURES[["node", "size"]], labels=LABELS, test=0)


def test_edges_act_both_ways_by_default() -> None:
    assert any("edges act both ways; if they do not, say directed=True" in note for note in node_tables(EDGES).notes)
    assert not any("both ways" in note for note in node_tables(EDGES, directed=False).notes)


def test_no_file_and_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.csv to read labels from"):
        node_tables(EDGES, labels="nowhere.csv")
    with pytest.raises(ValueError, match="is a folder; give the file with the edges"):
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
