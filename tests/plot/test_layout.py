from __future__ import annotations

import time

import numpy as np
import pytest

import ndcn
from ndcn.plot import layout


def stretch(graph: ndcn.Graph, positions: np.ndarray) -> float:
    """Mean length of a link, in units of the mean distance of two nodes: about 1 for places at random."""
    u, v, _ = layout.links(graph)
    a, b = np.random.default_rng(0).integers(0, graph.num_nodes, (2, 4000))
    linked = np.linalg.norm(positions[u] - positions[v], axis=1).mean()
    return float(linked / np.linalg.norm(positions[a] - positions[b], axis=1).mean())


def test_many_nodes_are_ordered_without_communities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "NODES_FOR_COMMUNITIES", 300)
    monkeypatch.setattr(ndcn.networks, "by_community", None)  # it takes minutes
    grid = ndcn.networks.grid(400)
    order = np.random.default_rng(0).permutation(400)
    shuffled = ndcn.Graph(grid.to_scipy()[order][:, order], directed=False)
    cells = layout.on_the_square(shuffled)
    assert sorted(cells) == list(range(400))
    u, v, _ = layout.links(shuffled)
    assert layout._length(cells, u, v) < 3  # in random order 10
    assert (layout.on_the_square(grid) == np.arange(400)).all()  # in an order as good already


def test_every_kind_of_graph_gets_a_place_for_every_node(any_graph: ndcn.Graph) -> None:
    x = layout.by_forces(any_graph)
    assert x.shape == (any_graph.num_nodes, 2)
    assert np.isfinite(x).all()
    assert (x > -1e-9).all()
    assert (x < 1 + 1e-9).all()
    assert sorted(layout.on_the_square(any_graph)) == list(range(any_graph.num_nodes))


@pytest.mark.parametrize(
    ("graph", "most"),
    [
        (ndcn.networks.grid(400), 0.15),
        (ndcn.networks.community(200, seed=0, order=None), 0.65),
        (ndcn.networks.small_world(300, k=4, p=0.05, seed=0, order=None), 0.35),
    ],
    ids=["grid", "community", "small_world"],
)
def test_linked_nodes_are_near(graph: ndcn.Graph, most: float) -> None:
    assert stretch(graph, layout.by_forces(graph)) < most


def test_a_grid_looks_like_a_grid() -> None:
    x = layout.by_forces(ndcn.networks.grid(100))
    cells = np.divmod(np.arange(100), 10)
    for k in range(2):  # x goes with the column, y with the row: as on the square
        assert np.corrcoef(x[:, k], cells[1 - k])[0, 1] > 0.98


def test_few_nodes_repel_each_other_as_on_the_mesh(monkeypatch) -> None:
    x = np.random.default_rng(0).random((100, 2)) * 10
    exact = layout._repulsion(x)
    monkeypatch.setattr(layout, "FEW", 0)
    meshed = layout._repulsion(x)
    assert np.linalg.norm(exact - meshed) < 0.1 * np.linalg.norm(exact)


def test_nodes_do_not_cover_each_other() -> None:
    from scipy.spatial import cKDTree

    x = layout.by_forces(ndcn.networks.grid(400))
    nearest = cKDTree(x).query(x, k=2)[0][:, 1]
    assert nearest.min() > 0.3 * np.median(nearest)


def test_parts_that_are_not_linked_lie_apart() -> None:
    graph = ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 4)], num_nodes=8)
    x = layout.by_forces(graph)
    boxes = [x[[0, 1, 2]], x[[4, 5, 6]], x[[3]], x[[7]]]
    for k, one in enumerate(boxes):
        for other in boxes[k + 1 :]:
            apart = (one.min(0) > other.max(0)).any() or (one.max(0) < other.min(0)).any()
            assert apart


def test_the_square_brings_communities_together() -> None:
    mixed = ndcn.networks.community(120, seed=1, order=None)
    order = np.random.default_rng(0).permutation(120)
    a = mixed.to_scipy()[order][:, order]
    shuffled = ndcn.Graph(a)
    u, v, _ = layout.links(shuffled)
    found = layout.on_the_square(shuffled)
    assert layout._length(found, u, v) < 0.9 * layout._length(np.arange(120), u, v)


def test_networks_that_are_in_order_keep_it() -> None:
    for graph in (ndcn.networks.grid(100), ndcn.networks.community(100, seed=0)):
        assert (layout.on_the_square(graph) == np.arange(100)).all()


def test_it_is_the_same_each_time_and_computed_once() -> None:
    one, two = ndcn.networks.power_law(80, seed=0), ndcn.networks.power_law(80, seed=0)
    assert (layout.by_forces(one) == layout.by_forces(two)).all()
    assert layout.by_forces(one) is layout.by_forces(one)


def test_the_repulsion_is_that_of_all_pairs() -> None:
    x = np.random.default_rng(0).uniform(0, 40, (60, 2))
    gap = x[:, None] - x[None]
    distance = np.linalg.norm(gap, axis=2) + np.eye(60)
    exact = (gap / distance[:, :, None] ** 3).sum(axis=1)
    far = distance.min(axis=1) > 0  # all; nearest pairs are softened by the mesh
    error = np.linalg.norm(layout._repulsion(x) - exact, axis=1)[far]
    assert np.median(error / np.linalg.norm(exact, axis=1)[far]) < 0.1


def test_time_grows_about_linearly() -> None:
    def seconds(n: int) -> float:
        graph = ndcn.networks.grid(n)
        began = time.perf_counter()
        layout._by_forces(graph)
        return time.perf_counter() - began

    seconds(100)
    assert seconds(3200) < 40 * max(seconds(200), 0.05)  # 16 times the nodes; all pairs would take 256 times as long


def test_a_graph_with_positions_is_drawn_there() -> None:
    places = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [np.nan, np.nan], [np.nan, np.nan]])
    graph = ndcn.Graph.from_edges([(0, 1), (1, 2), (0, 3)], num_nodes=5).with_positions(places)
    x = layout.placed(graph)
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert np.ptp(x[:3], axis=0)[0] == pytest.approx(2 * np.ptp(x[:3], axis=0)[1])  # true to scale
    assert x[2, 1] < x[0, 1]  # y points down
    assert 0 < np.hypot(*(x[3] - x[0])) < 0.1  # beside its only neighbour
    assert x[4, 1] > x[:3, 1].max()  # without neighbours: below
    plain = ndcn.networks.grid(9)
    assert layout.placed(plain) is layout.by_forces(plain)


def test_pairs_repel_as_on_the_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    x = 8 * np.random.default_rng(0).random((100, 2))
    direct = layout._repulsion(x)
    monkeypatch.setattr(layout, "FEW", 0)
    far = layout._repulsion(x)
    assert np.corrcoef(direct.ravel(), far.ravel())[0, 1] > 0.9
    assert np.abs(direct.sum(axis=0)).max() < 1e-9  # each pair repels both alike
