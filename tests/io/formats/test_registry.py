"""A new file format is one function and one line: registered, it is read everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
import torch

import ndcn
from commands import run
from ndcn._support.registries import GRAPH_FORMATS, TABLE_FORMATS
from ndcn.io.arrow_table import ArrowTable
from ndcn.io.edge_list import EdgeList, from_networkx
from ndcn.io.table import HeaderHint, Table

STATES = pd.DataFrame({"time": [0.0, 1.0, 2.0], "a": [1.0, 2, 3], "b": [4.0, 5, 6]})


def read_toy(path: Path, hint: HeaderHint) -> Table:
    """A table in which rows are separated by / and cells by =."""
    heads, *rows = (line.split("=") for line in path.read_text().split("/"))
    return ArrowTable.from_pandas(pd.DataFrame(rows, columns=heads), path.name)


def read_toygraph(path: Path) -> EdgeList:
    """A graph whose edges are written a>b c>d."""
    return from_networkx(nx.DiGraph(pair.split(">") for pair in path.read_text().split()), path.name)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    TABLE_FORMATS.add(".toy", f"{__name__}:read_toy")
    GRAPH_FORMATS.add(".toygraph", f"{__name__}:read_toygraph")
    Path("edges.toy").write_text("source=target/a=b")
    Path("edges.toygraph").write_text("a>b")
    Path("states.toy").write_text("time=a=b/0=1=4/1=2=5/2=3=6")
    yield tmp_path
    TABLE_FORMATS.remove(".toy")
    GRAPH_FORMATS.remove(".toygraph")


@pytest.mark.parametrize("edges", ["edges.toy", "edges.toygraph"])
def test_a_format_of_ones_own(toy: Path, edges: str) -> None:
    data = ndcn.read(edges, "states.toy")
    assert data.trajectory.graph.nodes == ("a", "b")
    assert torch.equal(data.trajectory.states[..., 0], torch.tensor([[1.0, 4], [2, 5], [3, 6]], dtype=torch.float64))
    assert data.trajectory.graph.directed == (edges == "edges.toygraph")  # as the file says
    assert ndcn.datasets.node_tables(edges).graph.num_edges == 1
    assert "2 nodes, 1 edge" in run("inspect", edges, "states.toy").stdout


def test_an_unknown_ending_is_refused_with_those_that_are_known(toy: Path) -> None:
    Path("edges.what").write_text("a>b")
    with pytest.raises(ValueError, match=r"edges are read from files that end in .*\.toy, \.toygraph"):
        ndcn.read("edges.what", STATES)
    with pytest.raises(ValueError, match=r"states are read from files that end in .*\.toy, \.tsv"):  # graphs hold none
        ndcn.read("edges.toy", "edges.toygraph")


def test_every_format_lives_where_the_registry_says() -> None:
    assert all(callable(read) for formats in (TABLE_FORMATS, GRAPH_FORMATS) for read in formats.values())


@pytest.mark.parametrize("command", ["inspect", "classify"])
def test_help_lists_the_registered_formats(command: str) -> None:
    said = run(command, "--help").output.replace("\u2502", " ").split()
    assert {*TABLE_FORMATS, *GRAPH_FORMATS} <= {word.rstrip(",.;") for word in said}
