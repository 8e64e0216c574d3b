"""Graph: what it guarantees, and conversions from and to other kinds against networkx, scipy and dense arrays."""

from __future__ import annotations

import copy
import pickle
import sys
import time
from types import ModuleType, SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from scipy import sparse

from ndcn import Graph
from problems import DIRECTED, WEIGHTED
from strategies import graphs

LABELS = {
    "text": ["a", "b", "c", "d", "e"],
    "integers": [30, 10, 20, -5, 0],
    "tuples": [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)],
    "uneven tuples": [(0,), (0, 1), (1, 0, 2), (), (3,)],
    "mixed": ["a", 1, (2, 3), 4.5, None],
}


# What it is and what it refuses -------------------------------------------------------------------------------------


def test_an_undirected_edge_counts_once_and_a_loop_once() -> None:
    graph = Graph.from_dense(WEIGHTED)
    assert (graph.num_nodes, graph.num_edges, graph.directed, graph.weighted) == (5, 5, False, True)
    assert repr(graph) == "Graph(5 nodes, 5 edges, undirected, weighted)"


def test_a_directed_edge_counts_for_itself() -> None:
    graph = Graph.from_dense(DIRECTED)
    assert (graph.num_edges, graph.directed) == (6, True)


def test_degrees_sum_what_comes_in() -> None:
    assert torch.equal(Graph.from_dense(DIRECTED).degrees, torch.tensor(DIRECTED, dtype=torch.float64).sum(1))


def test_a_symmetric_matrix_may_be_called_directed() -> None:
    graph = Graph.from_dense([[0, 1], [1, 0]], directed=True)
    assert graph.directed
    assert graph.num_edges == 2


def test_stored_zeros_are_dropped_and_duplicates_summed() -> None:
    entries = ([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0]))
    graph = Graph(sparse.coo_array(entries, shape=(2, 2)))
    assert graph.adjacency.nnz == 1
    assert graph.to_dense().tolist() == [[0, 3], [0, 0]]


def test_a_single_node_works() -> None:
    graph = Graph.from_dense([[0.0]])
    assert repr(graph) == "Graph(1 node, 0 edges, undirected)"
    assert graph.degrees.tolist() == [0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Graph(sparse.csr_array((0, 0))),
        lambda: Graph.from_edges([]),
        lambda: Graph.from_edges([], num_nodes=0),
        lambda: Graph.from_networkx(nx.Graph()),
        lambda: Graph.from_pyg(torch.empty(2, 0, dtype=torch.long)),
    ],
    ids=["scipy", "edges", "num_nodes", "networkx", "pyg"],
)
def test_an_empty_graph_is_refused(make) -> None:
    with pytest.raises(ValueError, match="graph is empty: a graph needs at least one node"):
        make()


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(weight: float) -> None:
    with pytest.raises(
        ValueError, match=r"1 edge weights are NaN or infinite, the first acts from node 2 on node 1; drop"
    ):
        Graph.from_dense([[0, 1, 0], [0, 0, weight], [0, 0, 0]])


def test_other_types_are_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match=r"scipy.sparse matrix, got ndarray; use Graph.from_dense"):
        Graph(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("make", "value", "way"),
    [
        (Graph.from_networkx, sparse.eye_array(2), "expected a networkx graph, got .*; use Graph.from_scipy"),
        (Graph.from_networkx, np.eye(2), "got ndarray; use Graph.from_dense for an adjacency matrix, Graph.from_edges"),
        (Graph.from_networkx, torch.eye(2), "got Tensor; use Graph.from_dense"),
        (Graph.from_networkx, Graph.from_dense(np.eye(2)), "got Graph; use it as it is"),
        (Graph.from_networkx, [(0, 1)], "got list; use Graph.from_edges"),
        (Graph.from_scipy, nx.path_graph(2), "scipy.sparse matrix, got Graph; use Graph.from_networkx"),
        (Graph.from_dense, sparse.eye_array(2), "dense array, got .*; use Graph.from_scipy"),
        (Graph.from_dense, nx.DiGraph([(0, 1)]), "dense array, got DiGraph; use Graph.from_networkx"),
    ],
)
def test_what_another_constructor_takes_is_sent_there(make, value: object, way: str) -> None:
    with pytest.raises(TypeError, match=way):
        make(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Graph(sparse.csr_array([[0, 1j], [1j, 0]])),
        lambda: Graph.from_dense([[0, 1j], [1j, 0]]),
        lambda: Graph.from_dense(torch.tensor([[0, 1j], [1j, 0]])),
        lambda: Graph.from_edges(pd.DataFrame({"source": [0], "target": [1], "weight": [1j]})),
        lambda: Graph.from_edges([(0, 1, 1j)]),
        lambda: Graph.from_edges(np.array([[0, 1, 1j]])),
        lambda: Graph.from_pyg(SimpleNamespace(edge_index=torch.tensor([[0], [1]]), edge_weight=torch.tensor([1j]))),
    ],
    ids=["scipy", "dense", "tensor", "table", "rows", "array", "pyg"],
)
def test_complex_weights_are_refused(make) -> None:
    with pytest.raises(ValueError, match="real numbers, got complex"):
        make()


@pytest.mark.parametrize("shape", [(2, 3), (3,)])
def test_a_matrix_that_is_not_square_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"square, got {' x '.join(map(str, shape))}"):
        Graph(sparse.coo_array(np.ones(shape)))


def test_a_dense_array_needs_two_axes() -> None:
    with pytest.raises(ValueError, match=r"two axes, got shape \(3,\)"):
        Graph.from_dense([1, 2, 3])


def test_an_unsymmetric_matrix_is_not_undirected() -> None:
    with pytest.raises(ValueError, match=r"directed=False, but the adjacency matrix is not symmetric"):
        Graph.from_dense(DIRECTED, directed=False)


@pytest.mark.parametrize(
    ("nodes", "message"), [(["a"], "1 node labels were given for 2 nodes"), (["a", "a"], "'a' occurs more than once")]
)
def test_labels_must_fit(nodes: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph.from_dense(np.zeros((2, 2)), nodes=nodes)


def test_labels_of_numpy_become_plain_ones() -> None:
    assert Graph.from_dense(np.zeros((2, 2)), nodes=np.array([0, 1])).nodes == range(2)
    assert [type(n) for n in Graph.from_dense(np.zeros((2, 2)), nodes=np.array([5, 7])).nodes] == [int, int]


# Frozen -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nodes", "directed", "_adjacency", "new"])
def test_attributes_cannot_be_set_or_deleted(name: str) -> None:
    graph = Graph.from_dense(WEIGHTED)
    with pytest.raises(AttributeError, match="frozen"):
        setattr(graph, name, None)
    with pytest.raises(AttributeError, match="frozen"):
        delattr(graph, name)


def test_neither_source_nor_copies_reach_inside() -> None:
    source = sparse.csr_array(np.array(WEIGHTED))
    graph = Graph.from_scipy(source)
    before = graph.to_dense()
    source.data[:] = 7
    graph.to_scipy().data[:] = 7
    graph.to_dense()[:] = 7
    graph.degrees[:] = 7
    assert torch.equal(graph.to_dense(), before)
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency.csr.data[0] = 7


def test_equality_is_of_edges_weights_direction_and_labels() -> None:
    graph = Graph.from_dense(WEIGHTED)
    assert graph == Graph.from_scipy(sparse.coo_array(np.array(WEIGHTED)))
    assert hash(graph) == hash(Graph.from_dense(WEIGHTED))
    assert graph != Graph.from_dense(2 * np.array(WEIGHTED))
    assert graph != Graph.from_dense(WEIGHTED, directed=True)
    assert graph != Graph.from_dense(WEIGHTED, nodes=LABELS["text"])
    assert graph != "graph"


def test_copies_and_pickles_are_equal() -> None:
    graph = Graph.from_dense(DIRECTED, nodes=LABELS["mixed"])
    assert copy.deepcopy(graph) == graph
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_edge_index_lists_the_acted_on_and_the_acting_row_by_row() -> None:
    graph = Graph.from_dense(DIRECTED)
    i, j = graph.edge_index()
    assert torch.equal(torch.stack([i, j], 1), torch.tensor(DIRECTED).nonzero())
    assert graph.edge_index()[0] is i


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_aggregate_sums_messages_with_their_weights(any_graph: Graph, batch: tuple[int, ...]) -> None:
    i, j = any_graph.edge_index()
    messages = torch.rand(*batch, len(i), 2, dtype=torch.float64, requires_grad=True)
    expected = torch.zeros(*batch, any_graph.num_nodes, 2, dtype=torch.float64)
    expected = expected.index_add(-2, i, any_graph.to_dense()[i, j].unsqueeze(1) * messages)
    torch.testing.assert_close(any_graph.aggregate(messages), expected)
    any_graph.aggregate(messages).sum().backward()


# From and to other kinds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("matrix", [WEIGHTED, DIRECTED], ids=["undirected", "directed"])
def test_labels_survive_networkx_and_edge_tables(matrix: list, labels: str) -> None:
    if labels == "mixed":
        names = LABELS["mixed"][:4]
        matrix = np.array(matrix)[:4, :4]  # networkx has no node None
    else:
        names = LABELS[labels]
    graph = Graph.from_dense(matrix, nodes=names)
    assert list(graph.nodes) == names
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert Graph.from_edges(graph.to_pandas(), nodes=names, directed=graph.directed) == graph


@given(graphs())
def test_round_trips(graph: Graph) -> None:
    assert Graph.from_scipy(graph.to_scipy(), directed=graph.directed) == graph
    assert Graph.from_dense(graph.to_dense(), directed=graph.directed) == graph
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert Graph.from_edges(graph.to_pandas(), num_nodes=graph.num_nodes, directed=graph.directed) == graph


@given(graphs(labelled=True))
def test_round_trips_of_labels(graph: Graph) -> None:
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert Graph.from_edges(graph.to_pandas(), nodes=graph.nodes, directed=graph.directed) == graph


@given(graphs(directed=True))
def test_networkx_has_the_transposed_matrix(graph: Graph) -> None:
    other = graph.to_networkx()
    assert other.is_directed()
    np.testing.assert_array_equal(nx.to_numpy_array(other, nodelist=list(graph.nodes)).T, graph.to_dense().numpy())


def test_a_directed_networkx_edge_acts_on_its_target() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("u", "v")]))
    assert graph.to_dense()[1, 0] == 1
    assert graph.to_dense()[0, 1] == 0


def test_a_symmetric_networkx_digraph_stays_directed() -> None:
    assert Graph.from_networkx(nx.DiGraph([(0, 1), (1, 0)])).directed


def test_networkx_isolated_nodes_loops_and_weights() -> None:
    other = nx.Graph()
    other.add_nodes_from(["a", "b", "alone"])
    other.add_edge("a", "b", weight=2.5, length=4.0)
    other.add_edge("b", "b")
    graph = Graph.from_networkx(other)
    assert graph.nodes == ("a", "b", "alone")
    assert graph.to_dense().tolist() == [[0, 2.5, 0], [2.5, 1, 0], [0, 0, 0]]
    assert Graph.from_networkx(other, weight="length").to_dense()[0, 1] == 4
    assert Graph.from_networkx(other, weight=None).to_dense()[0, 1] == 1


def test_parallel_networkx_edges_add_up() -> None:
    assert Graph.from_networkx(nx.MultiDiGraph([(0, 1), (0, 1)])).to_dense()[1, 0] == 2


def test_to_pandas_lists_an_undirected_edge_once() -> None:
    table = Graph.from_dense(WEIGHTED, nodes=list("abcde")).to_pandas()
    expected = {"source": list("aabbc"), "target": list("bdbcd"), "weight": [2, 0.5, 3, 1, 4]}
    pd.testing.assert_frame_equal(table, pd.DataFrame(expected).astype({"weight": float}))


def test_from_dense_takes_tensors() -> None:
    tensor = torch.tensor(WEIGHTED, dtype=torch.float32, requires_grad=True)
    assert Graph.from_dense(tensor) == Graph.from_dense(WEIGHTED)


# PyTorch Geometric --------------------------------------------------------------------------------------------------


def test_pyg_edges_act_on_their_target() -> None:
    data = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4)
    assert Graph.from_pyg(data) == Graph.from_edges([(0, 1), (1, 2)], num_nodes=4, directed=True)


@pytest.mark.parametrize(
    "weights",
    [
        {"edge_weight": torch.tensor([2.0, 2.0])},
        {"edge_attr": torch.tensor([[2.0], [2.0]])},
        {"edge_weight": torch.tensor([2.0, 2.0]), "edge_attr": torch.zeros(2, 1)},
    ],
)
def test_pyg_weights(weights: dict[str, torch.Tensor]) -> None:
    graph = Graph.from_pyg(SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), **weights))
    assert graph == Graph.from_edges([(0, 1, 2.0)])


def test_pyg_attributes_with_several_columns_are_no_weights() -> None:
    data = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.rand(2, 3))
    assert not Graph.from_pyg(data).weighted


@pytest.mark.parametrize("node", [-1, 3])
def test_pyg_indices_outside_are_named(node: int) -> None:
    with pytest.raises(ValueError, match=rf"edge_index names node {node}, but there are 3 nodes \(0..2\)"):
        Graph.from_pyg(torch.tensor([[0, node], [1, 0]]), num_nodes=3)


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (object(), "got object"),
        (torch.zeros(3, 2, dtype=torch.long), r"got a tensor of shape \(3, 2\)"),
        (torch.zeros(2, 2), "got a tensor .* torch.float32"),
    ],
)
def test_pyg_of_another_kind_is_refused(data: object, got: str) -> None:
    with pytest.raises(ValueError, match=f"integer edge_index of shape .2, E., {got}"):
        Graph.from_pyg(data)


def test_to_pyg_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(ImportError, match=r"pip install 'ndcn\[pyg\]'"):
        Graph.from_dense(WEIGHTED).to_pyg()


def test_to_pyg_and_back(any_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("torch_geometric"), ModuleType("torch_geometric.data")
    module.Data = SimpleNamespace  # a stand-in with the same attributes
    monkeypatch.setitem(sys.modules, "torch_geometric", package)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", module)
    assert Graph.from_pyg(any_graph.to_pyg()) == any_graph


# Size ---------------------------------------------------------------------------------------------------------------


def _seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_large_graphs_build_in_time_and_memory_of_their_edges(n: int) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(n, size=(2, 10 * n))
    keep = np.unique(source * n + target)
    edges = np.stack([keep // n, keep % n], axis=1)

    def plain() -> None:
        made = sparse.coo_array((np.ones(len(edges)), (edges[:, 1], edges[:, 0])), shape=(n, n)).tocsr()
        made.T.tocsr()

    made: list[Graph] = []
    seconds = _seconds(lambda: made.append(Graph.from_edges(edges, num_nodes=n, directed=True)))
    graph = made[0]
    assert graph.num_edges == len(edges)
    assert seconds < 60 * max(_seconds(plain), 0.01)
    x = torch.ones(n, 1)
    torch.testing.assert_close(graph.adjacency @ x, graph.degrees.float().unsqueeze(1))
