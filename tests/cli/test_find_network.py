"""``ndcn find-network`` and ``ndcn inspect`` of states alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import output, parsed, refused

N = 8
RING = [(k, (k + 1) % N) for k in range(N)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Heat on a ring, in eight runs, as a long table; and edges of which one is missing and one is wrong."""
    monkeypatch.chdir(tmp_path)
    graph = ndcn.Graph.from_edges(RING, num_nodes=N, directed=True)
    times = np.linspace(0, 1, 15)
    rows = []
    for k, x0 in enumerate(np.random.default_rng(0).random((8, N, 1))):
        table = ndcn.simulate(ndcn.laws.Heat(), graph, x0, times).to_pandas()
        rows.append(table.assign(run=k, node="n" + table["node"].astype(str)))
    pd.concat(rows).to_csv("states.csv", index=False)
    listed = [*RING[1:], (0, 4)]
    Path("edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in listed))
    return tmp_path


def test_links_are_written(files: Path) -> None:
    said = output(
        "find-network",
        "states.csv",
        "--coupling",
        "x_j - x_i",
        "--no-calibrate",
        "--out",
        "found.csv",
        "--page",
        "p.html",
    )
    assert "decided" in said
    found = pd.read_csv("found.csv")
    assert {(s, t) for s, t in zip(found["source"], found["target"], strict=True)} == {
        (f"n{a}", f"n{b}") for a, b in RING
    }
    assert "<h1>" in Path("p.html").read_text()


def test_missing_and_spurious_links_are_named(files: Path) -> None:
    words = (
        "find-network",
        "states.csv",
        "--prior",
        "edges.csv",
        "--directed",
        "--coupling",
        "x_j - x_i",
        "--no-calibrate",
    )
    facts = parsed(*words)
    assert [link[:2] for link in facts["missing"]] == [["n0", "n1"]]
    assert [link[:2] for link in facts["spurious"]] == [["n0", "n4"]]
    assert "1 missing link: n0 -> n1" in output(*words, "--page", "p.html")
    assert "<h2>1 link missing in the given network</h2>" in Path("p.html").read_text()


def test_states_alone_are_inspected(files: Path) -> None:
    said = output("inspect", "states.csv")
    assert "the network is not known" in said
    assert "8 nodes, no edges" in said
    assert "isolated" not in said
    assert "ndcn find-network STATES" in said
    assert len(ndcn.read("states.csv").runs) == 8


def test_wide_states_alone_are_read(files: Path) -> None:
    pd.DataFrame({"time": [0.0, 1.0], "ann": [1.0, 2.0], "bob": [3.0, 5.0]}).to_csv("wide.csv", index=False)
    data = ndcn.read("wide.csv")
    assert list(data.trajectory.graph.nodes) == ["ann", "bob"]
    assert data.trajectory.graph.num_edges == 0
    pd.DataFrame(
        {"time": [0.0, 1.0], "a:v": [1.0, 2.0], "a:w": [3.0, 5.0], "b:v": [1.0, 2.0], "b:w": [3.0, 5.0]}
    ).to_csv("two.csv", index=False)
    assert ndcn.read("two.csv").trajectory.states.shape == (2, 2, 2)


def test_edges_in_the_place_of_states_are_refused(files: Path) -> None:
    said = refused("find-network", "edges.csv")
    assert "'source', 'target'; expected columns node, time and values" in said
    assert "find-network states.csv" in refused("fit", "states.csv")


def test_other_endings_are_refused(files: Path) -> None:
    assert ".csv" in refused("find-network", "states.csv", "--out", "found.txt")
