"""Files of Geom-GCN: read, damaged, missing, and the real ones where they are at hand."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

from ndcn.classify.datasets import geom_gcn_names
from ndcn.datasets import geom_gcn
from places import SHARED

REAL = SHARED / "data" / "heterophily"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five pages in a ring, two of which link to each other both ways; one links to itself."""
    (tmp_path / "ring_out1_graph_edges.txt").write_text("node_id\tnode_id\n0\t1\n1\t0\n1\t2\n2\t3\n3\t4\n4\t0\n4\t4\n")
    rows = ["1,0,1\t0", "0,0,1\t1", "0,1,0\t0", "1,1,1\t1", "0,0,0\t0"]
    lines = [f"{k}\t{row}\n" for k, row in enumerate(rows)]
    (tmp_path / "ring_out1_node_feature_label.txt").write_text("node_id\tfeature\tlabel\n" + "".join(lines[::-1]))
    masks = {"train_mask": [1, 1, 0, 0, 0], "val_mask": [0, 0, 1, 0, 0], "test_mask": [0, 0, 0, 1, 1]}
    np.savez(tmp_path / "ring_split_0.6_0.2_3.npz", **{k: np.array(v, dtype=np.uint8) for k, v in masks.items()})
    return tmp_path


def test_pages_links_and_masks(folder: Path) -> None:
    data = geom_gcn("ring", folder, split=3)
    assert repr(data) == "NodeDataset(ring: 5 nodes, 3 features, 2 classes; 2 train, 1 validation, 2 test)"
    matrix = data.graph.to_scipy().toarray()
    assert (matrix == matrix.T).all()
    assert sorted(map(tuple, np.argwhere(np.triu(matrix)).tolist())) == [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4), (4, 4)]
    assert matrix.max() == 1  # a link there and back is one edge
    assert data.labels.tolist() == [0, 1, 0, 1, 0]  # by the numbers of the nodes, not of the lines
    assert data.features.toarray().tolist() == [[1, 0, 1], [0, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]]
    assert data.test_mask.tolist() == [False, False, False, True, True]
    assert geom_gcn_names(folder) == ["ring"]


def test_places_of_the_ones(folder: Path) -> None:
    path = folder / "ring_out1_node_feature_label.txt"
    path.write_text("node_id\tfeature(feature_amount:6)\tlabel\n0\t1,5\t0\n1\t0\t1\n2\t2,2\t0\n3\t3\t1\n4\t4\t0\n")
    features = geom_gcn("ring", folder, split=3).features
    assert features.shape == (5, 7)
    assert [row.nonzero()[0].tolist() for row in features.toarray()] == [[1, 5], [0], [2], [3], [4]]
    assert features.max() == 1


def test_what_is_missing_is_named(folder: Path) -> None:
    (folder / "film_split_0.6_0.2_0.npz").touch()
    with pytest.raises(FileNotFoundError, match=r"ring_split_0.6_0.2_0.npz; there are 'ring_split_0.6_0.2_3.npz'$"):
        geom_gcn("ring", folder, split=0)
    with pytest.raises(FileNotFoundError, match=r"square_out1_graph_edges.txt; there are 'ring_out1_graph_edges.txt'"):
        geom_gcn("square", folder)
    with pytest.raises(FileNotFoundError, match="put the files of Geom-GCN there"):
        geom_gcn("ring", folder / "nowhere")


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\t7\n", r"nodes outside of 0\.\.4"),
        ("out1_graph_edges.txt", "node_id\tnode_id\n0,1\n", "two nodes in each line"),
        ("out1_graph_edges.txt", "node_id\n\u00e9\n", "not plain text"),
        ("out1_node_feature_label.txt", "node_id\tfeature\tlabel\n0\t1,x\t0\n", "node, features and label"),
        ("out1_node_feature_label.txt", "node_id\tfeature\tlabel\n1\t1,0\t0\n", r"each of the nodes 0, 1, \.\.\."),
        ("out1_node_feature_label.txt", "h\n" + "".join(f"{k}\t1\t-2\n" for k in range(5)), "do not fit together"),
        ("split_0.6_0.2_3.npz", "no archive", "must hold the arrays train_mask"),
    ],
)
def test_damaged_files_are_told(folder: Path, ending: str, content: str, message: str) -> None:
    (folder / f"ring_{ending}").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        geom_gcn("ring", folder, split=3)


def test_masks_of_another_graph(folder: Path) -> None:
    np.savez(folder / "ring_split_0.6_0.2_3.npz", **{f"{k}_mask": np.zeros(4) for k in ("train", "val", "test")})
    with pytest.raises(ValueError, match=r"train_mask has shape \(4,\), but there are 5 nodes"):
        geom_gcn("ring", folder, split=3)


@pytest.mark.skipif(not REAL.is_dir(), reason="the files of Geom-GCN are not here")
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features"),
    [("texas", 183, 295, 1703), ("wisconsin", 251, 466, 1703), ("film", 7600, 26752, 932)],
)
def test_the_real_files(name: str, nodes: int, edges: int, features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("ndcn.classify.datasets.geom_gcn")  # the package's name is the function
    for table in ("_node_table", "_whole_numbers"):  # read once: splits differ in their masks alone
        monkeypatch.setattr(module, table, functools.cache(getattr(module, table)))
    seen = torch.zeros(nodes)
    for split in range(10):
        data = geom_gcn(name, REAL, split=split)
        seen += data.test_mask
    assert (data.graph.num_nodes, data.graph.num_edges, data.features.shape[1]) == (nodes, edges, features)
    assert len(data.classes) == 5
    assert seen.max() > 1  # splits are drawn anew
