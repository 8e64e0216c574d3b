"""One network in one process and in 2, 4 and 8: the same states, losses and gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ndcn
from ndcn import distributed
from parts_cases import graphs, operators, results
from ranks import together

CODE = """
sys.path.insert(0, words["tests"])
from parts_cases import operators, results
out = {}
for name in words["graphs"]:
    graph = distributed.read_part(words["folder"] + "/" + name)
    total = graph.num_nodes_total
    out[name] = {**operators(graph, total), **results(graph, total)}
say(out if world.first else None)
"""


@pytest.mark.parametrize(
    ("size", "method"),
    [
        pytest.param(2, "streaming", marks=pytest.mark.slow),
        (4, "blocks"),
        pytest.param(8, "streaming", marks=pytest.mark.slow),
    ],
)
def test_parts_compute_what_the_whole_graph_does(size: int, method: str, tmp_path: Path) -> None:
    some = {2: tuple(graphs()), 4: ("signed", "islands"), 8: ("grid",)}[size]
    known = {name: graphs()[name] for name in some}
    for name, graph in known.items():
        distributed.write_parts(graph, tmp_path / name, size, method=method)
    words = {"tests": str(Path(__file__).parents[1]), "graphs": list(known), "folder": str(tmp_path)}
    said = together(size, CODE, words, cwd=tmp_path, seconds=240)
    found = said[0].said
    for name, graph in known.items():
        n = graph.num_nodes
        for what, values in {**operators(graph, n), **results(graph, n)}.items():
            np.testing.assert_allclose(found[name][what], values, rtol=1e-10, atol=1e-10, err_msg=f"{name}: {what}")


def test_an_operator_that_reaches_further_is_refused(tmp_path: Path) -> None:
    distributed.write_parts(ndcn.networks.grid(16), tmp_path / "parts", 2, method="blocks")
    code = """
graph = distributed.read_part(words["folder"])
try:
    graph.operator_of(lambda a: a @ a)
except ValueError as error:
    say(str(error))
"""
    for rank in together(2, code, {"folder": str(tmp_path / "parts")}, cwd=tmp_path):
        assert "joins nodes that are no neighbours" in rank.said


def test_the_bytes_that_are_sent_are_those_of_the_plan(tmp_path: Path) -> None:
    partition = distributed.write_parts(ndcn.networks.grid(100), tmp_path / "parts", 3)
    code = """
graph = distributed.read_part(words["folder"])
x = torch.rand(graph.num_nodes, 7, requires_grad=True)
ndcn.operators.laplacian(graph)
before = graph.world.sent
y = ndcn.operators.laplacian(graph) @ x
forwards = graph.world.sent - before
y.sum().backward()
say([forwards, graph.world.sent - before - forwards])
"""
    said = [rank.said for rank in together(3, code, {"folder": str(tmp_path / "parts")}, cwd=tmp_path)]
    planned = partition.bytes_per_evaluation(width=7, itemsize=4)
    assert sum(forwards for forwards, _ in said) == planned
    assert sum(back for _, back in said) == planned


def test_what_needs_the_whole_graph_says_so(tmp_path: Path) -> None:
    distributed.write_parts(ndcn.networks.grid(16), tmp_path / "parts", 1)
    graph = distributed.read_part(tmp_path / "parts")
    with pytest.raises(TypeError, match="no process holds the whole graph"):
        graph.to_scipy()
    with pytest.raises(TypeError, match="no process has the whole"):
        _ = graph.adjacency.csr
    x0 = ndcn.laws.initial_state(graph)
    with pytest.raises(ValueError, match="bdf needs the whole graph"):
        ndcn.integrate(ndcn.laws.Heat(), graph, x0, [1.0], solver=ndcn.Solver("bdf"))
