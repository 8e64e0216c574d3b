"""The five generators against networkx, and re-ordering by community."""

from __future__ import annotations

import random
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch

from ndcn import Graph, networks

# each of the paper's networks with its parameters, as networkx draws it
DRAWN: dict[str, Callable[[int, int], nx.Graph]] = {
    "random": lambda n, seed: nx.erdos_renyi_graph(n, 0.1, seed=seed),
    "power_law": lambda n, seed: nx.barabasi_albert_graph(n, 5, seed=seed),
    "small_world": lambda n, seed: nx.newman_watts_strogatz_graph(n, 5, 0.5, seed=seed),
    "community": lambda n, seed: nx.random_partition_graph(
        [n // 3, n // 3, n // 4, n - 2 * (n // 3) - n // 4], 0.25, 0.01, seed=seed
    ),
}


def _spectrum(graph: Graph) -> np.ndarray:
    return np.linalg.eigvalsh(graph.to_dense().numpy())


def test_the_grid_touches_eight_neighbours() -> None:
    side = 6
    other = nx.strong_product(nx.path_graph(side), nx.path_graph(side))
    expected = nx.to_numpy_array(other, nodelist=[(r, c) for r in range(side) for c in range(side)])
    assert np.array_equal(networks.grid(side * side).to_dense(), expected)


@pytest.mark.parametrize(("n", "edges"), [(1, 0), (2, 1), (3, 3), (4, 6), (7, 13), (400, 1482)])
def test_edge_count_of_the_grid(n: int, edges: int) -> None:
    assert networks.grid(n).num_edges == edges


def test_a_grid_cut_short_is_the_first_nodes_of_the_square() -> None:
    assert torch.equal(networks.grid(23).to_dense(), networks.grid(25).to_dense()[:23, :23])


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", [0, 3])
def test_undisturbed_order_is_the_graph_of_networkx(name: str, seed: int) -> None:
    expected = nx.to_numpy_array(DRAWN[name](100, seed), nodelist=range(100))
    assert np.array_equal(networks.NAMED[name](100, seed=seed, order=None).to_dense(), expected)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("order", ["modularity", "louvain"])
def test_re_ordering_keeps_the_graph(name: str, order: str) -> None:
    drawn, ordered = (networks.NAMED[name](100, seed=1, order=o) for o in (None, order))
    assert ordered.num_edges == drawn.num_edges
    assert ordered != drawn
    assert sorted(ordered.degrees.tolist()) == sorted(drawn.degrees.tolist())
    np.testing.assert_allclose(_spectrum(ordered), _spectrum(drawn), atol=1e-9)


def test_the_paper_counts_at_400_nodes() -> None:
    assert networks.power_law(400, seed=0, order=None).num_edges == (400 - 5) * 5
    assert networks.small_world(400, seed=0, order=None).num_edges >= 800


@pytest.mark.parametrize("name", DRAWN)
def test_same_seed_same_graph_other_seed_other_graph(name: str) -> None:
    make = networks.NAMED[name]
    assert make(60, seed=4) == make(60, seed=4)
    assert make(60, seed=4) != make(60, seed=5)


@pytest.mark.parametrize("name", networks.NAMED)
@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_any_number_of_nodes(name: str, n: int) -> None:
    graph = networks.NAMED[name](n)
    assert graph.num_nodes == n
    assert not graph.directed
    assert not graph.weighted
    assert torch.equal(graph.to_dense().diagonal(), torch.zeros(n, dtype=torch.float64))


@pytest.mark.parametrize(("n", "edges"), [(1, 0), (2, 1), (5, 4), (6, 5)])
def test_few_nodes_make_a_star_of_a_power_law(n: int, edges: int) -> None:
    assert networks.power_law(n).num_edges == edges


@pytest.mark.parametrize(("n", "edges"), [(1, 0), (3, 3), (5, 10)])
def test_few_nodes_make_a_small_world_complete(n: int, edges: int) -> None:
    assert networks.small_world(n).num_edges == edges


@pytest.mark.parametrize("name", DRAWN)
def test_an_unknown_order_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match='order must be "auto", "modularity", "louvain" or None, got \'alphabet\''):
        networks.NAMED[name](10, order="alphabet")


def test_large_networks_are_left_as_drawn_unless_an_order_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.graph.networks.LARGEST_ORDERED", 30)
    for n, order in ((30, "modularity"), (31, None)):
        assert (networks.power_law(n).to_scipy() != networks.power_law(n, order=order).to_scipy()).nnz == 0
    assert (networks.power_law(31).to_scipy() != networks.power_law(31, order="modularity").to_scipy()).nnz > 0


@pytest.mark.parametrize("name", networks.NAMED)
def test_no_nodes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="at least one node, got n = 0"):
        networks.NAMED[name](0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: networks.random(9, 1.5), "p is a probability between 0 and 1, got 1.5"),
        (lambda: networks.small_world(9, p=-1), "p is a probability"),
        (lambda: networks.community(9, p_in=2), "p_in is a probability"),
        (lambda: networks.community(9, p_out=float("nan")), "p_out is a probability"),
        (lambda: networks.power_law(9, m=0), "needs m >= 1 links, got m = 0"),
    ],
)
def test_bad_parameters(make: Callable[[], Graph], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("order", ["modularity", "louvain", None])
def test_global_generators_are_left_as_found(order: str | None) -> None:
    random.seed(0), np.random.seed(0), torch.manual_seed(0)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    for name in DRAWN:
        networks.NAMED[name](30, seed=1, order=order)
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # noqa: NPY002


@pytest.mark.parametrize("method", ["modularity", "louvain"])
def test_communities_lie_together_and_labels_follow(method: str) -> None:
    small, large = nx.complete_graph(["a", "b", "c"]), nx.complete_graph(["p", "q", "r", "s"])
    joined = nx.compose(small, large)
    joined.add_edge("a", "p", weight=-0.5)
    graph = networks.by_community(Graph.from_networkx(joined), method, seed=0)
    assert set(graph.nodes[:4]) == set("pqrs")
    assert nx.utils.graphs_equal(graph.to_networkx(), Graph.from_networkx(joined).to_networkx())


def test_directions_stay_when_communities_are_sought() -> None:
    graph = Graph.from_edges([("b", "a", 2.0), ("b", "c")], directed=True)
    ordered = networks.by_community(graph)
    assert ordered.directed
    assert nx.utils.graphs_equal(ordered.to_networkx(), graph.to_networkx())


@pytest.mark.parametrize("method", ["modularity", "louvain"])
def test_a_graph_without_edges_can_be_ordered(method: str) -> None:
    graph = Graph.from_edges([], nodes=["b", "a"])
    assert sorted(networks.by_community(graph, method).nodes) == ["a", "b"]


@pytest.mark.parametrize("method", ["modularity", "louvain"])
def test_communities_of_weights_of_any_size(method: str) -> None:
    """Squares of sums of such weights are beyond float64."""
    pairs = [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5)]
    for size in (1e-310, 1e-200, 1e200, 1e307):
        graph = Graph.from_edges([(a, b, size) for a, b in pairs])
        assert sorted(networks.by_community(graph, method).nodes[:3]) in ([0, 2, 4], [1, 3, 5])


@pytest.mark.parametrize("method", ["modularity", "louvain"])
def test_communities_of_weights_that_differ_much_by_direction(method: str) -> None:
    """The larger of two directions counts: networkx takes the one that comes last, and squares of 1e-200 are 0."""
    graph = Graph.from_edges([("a", "b", 1.0), ("b", "a", 1e200), ("b", "c", 30.0)], directed=True)
    assert sorted(networks.by_community(graph, method).nodes) == ["a", "b", "c"]
    pairs = [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5)]
    graph = Graph.from_edges(
        [(a, b, 1.0) for a, b in pairs] + [(b, a, 1e-3) for a, b in pairs] + [(0, 1, 0.1)], directed=True
    )
    assert sorted(networks.by_community(graph, method).nodes[:3]) in ([0, 2, 4], [1, 3, 5])
