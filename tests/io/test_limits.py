"""Small files that ask for much memory or time are refused, with the limit and what to do about it."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

import ndcn
from ndcn._support import limits
from ndcn.io import files

STATES = pd.DataFrame({"time": [0.0, 1.0], "0": [1.0, 2.0], "1": [1.0, 2.0]})


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (limits, files):
        monkeypatch.setattr(module, "FREE", 2**16)


def refused(path: Path, states: object = STATES) -> str:
    with pytest.raises(ValueError) as caught:
        ndcn.read(path, states)
    return str(caught.value)


def test_a_header_that_declares_a_hundred_million_nodes(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n100000000 100000000 1\n1 2 1.0\n")
    said = refused(path)
    assert (
        "a.mtx line 2 declares 100000000 nodes and holds 1 edges; more than 10000000 nodes are read only with" in said
    )


def test_a_dense_matrix_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix array real general\n10000 10000\n1.0\n")
    assert "10000 x 10000 entries were announced, 1 are there" in refused(path)


@pytest.mark.parametrize("size", [10**8, 10**12])
def test_a_sparse_matrix_of_very_many_nodes(tmp_path: Path, size: int) -> None:
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(([1.0], ([0], [1])), shape=(size, size)))
    assert f"declares {size} nodes and holds 1 edges" in refused(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("part", "value"), [("indptr", 10**9), ("indptr", -1), ("indices", 10**9), ("indices", -1), ("indices", 64)]
)
@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_indices_that_lead_out_of_a_matrix(tmp_path: Path, form: str, part: str, value: int) -> None:
    matrix = sparse.csr_array(np.ones((8, 8))).asformat(form)
    getattr(matrix, part)[1] = value
    sparse.save_npz(tmp_path / "a.npz", matrix)
    assert "a.npz: the sparse matrix is damaged: " in refused(tmp_path / "a.npz")


def test_a_sparse_matrix_that_unpacks_to_far_more(tmp_path: Path, low_limit: None) -> None:
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.ones((400, 400))))
    said = refused(tmp_path / "a.npz")
    assert "over 100 times its size: write it with save_npz(..., compressed=False) to read it nonetheless" in said


def test_text_that_unpacks_to_far_more(tmp_path: Path, low_limit: None) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"source,target\n" + 400_000 * b"a,b\n")
    assert "over 100 times its size: unpack it to read it nonetheless" in refused(tmp_path / "a.csv.gz")


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}<graph edgedefault="directed">{}</graph></graphml>'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json.gz", '{"links": [], "nodes": [' + ",".join(20_000 * ["{}"]) + "]}"),
        ("a.gml.gz", "graph [" + 20_000 * "node [ id 1 ]\n" + "]"),
        ("a.graphml.gz", GRAPHML.format("", 20_000 * '<node id="1"/>')),
        ("a.json", '{"links": [], "nodes": [' + ",".join(20_000 * ["{}"]) + "]}"),  # 300 bytes in memory for each
    ],
)
def test_graphs_that_need_far_more_than_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setattr(limits, "FREE_GRAPH", 2**20)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert re.search(r"holds 2000\d nodes, edges and attributes.*write its edges as CSV or Parquet", refused(path))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_anywhere_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    head = f"<?xml version='1.0' encoding='{encoding}'?>"
    text = (
        head
        + f'<!--{100_000 * "x"}--><!DOCTYPE g [<!ENTITY a "{1000 * "b"}">]>'
        + GRAPHML.format("", '<node id="&a;"/>')
    )
    (tmp_path / "a.graphml").write_bytes(text.encode(encoding))
    assert "a.graphml defines XML entities" in refused(tmp_path / "a.graphml")


def test_text_that_compresses_as_usual_is_read(tmp_path: Path, low_limit: None) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(20_000)))
    states = pd.DataFrame({"time": [0.0, 1.0], "3": [1.0, 2.0], "4": [1.0, 2.0]})
    assert ndcn.read(tmp_path / "a.csv.gz", states).trajectory.graph.num_nodes == 2


def test_a_table_that_repeats_a_number_very_often(tmp_path: Path) -> None:
    column = pa.array(np.zeros(20_000_000, dtype=np.int8))
    pa.parquet.write_table(pa.table({"source": column, "target": column}), tmp_path / "a.parquet")
    assert "grows to more than 0.25 GiB in memory" in refused(tmp_path / "a.parquet")


def test_a_long_text_that_repeats_is_kept_once(tmp_path: Path) -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 10_000, pa.int32()), pa.array(["a" * 10**5, "b" * 10**5]))
    pa.parquet.write_table(pa.table({"source": names, "target": names}), tmp_path / "a.parquet")
    with pytest.raises(ValueError):
        ndcn.read(tmp_path / "a.parquet", STATES)
    assert pa.default_memory_pool().max_memory() < 1e9  # written out it is 4 GB


def test_very_many_columns(tmp_path: Path) -> None:
    count = limits.MOST_COLUMNS + 1
    (tmp_path / "s.csv").write_text(",".join(f"n{k}" for k in range(count)) + "\n" + ",".join("1" * count) + "\n")
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    with pytest.raises(
        ValueError, match=r"s.csv has 100001 columns, more than the 100000 that are read; write it as a long"
    ):
        ndcn.read(edges, tmp_path / "s.csv")
