"""Networks that are known, found again; data that cannot tell; no network at all."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn

N = 20


def network(seed: int, weighted: bool = False) -> ndcn.Graph:
    rng = np.random.default_rng(seed)
    A = (rng.random((N, N)) < 3 / (N - 1)).astype(float)
    np.fill_diagonal(A, 0.0)
    return ndcn.Graph.from_dense(A * rng.uniform(0.5, 1.5, A.shape) if weighted else A, directed=True)


def observed(
    law: ndcn.laws.Law, graph: ndcn.Graph, runs: int, noise: float, span: float, count: int = 20, seed: int = 0
) -> list[ndcn.Trajectory]:
    """Runs from random states; the graph of the data has no edges."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0, span, count)
    empty = ndcn.Graph(sparse.csr_array((graph.num_nodes, graph.num_nodes)))
    out = []
    for _ in range(runs):
        states = ndcn.simulate(law, graph, rng.random((graph.num_nodes, 1)), times).states.numpy()
        noisy = states + noise * rng.normal(size=states.shape)
        out.append(ndcn.Trajectory(times=times, states=noisy, graph=empty))
    return out


@pytest.fixture(scope="module")
def heat() -> tuple[ndcn.Graph, ndcn.Reconstruction]:
    graph = network(0)
    return graph, ndcn.reconstruct(observed(ndcn.laws.Heat(), graph, 12, 0.003, 0.6))


def test_network_and_law_of_heat_are_found(heat: tuple[ndcn.Graph, ndcn.Reconstruction]) -> None:
    graph, found = heat
    assert found.verdict == "decided"
    assert found.graph() == graph
    assert found.graph(probability=0.9) == graph
    assert found.unweighted
    assert found.families[0][0] == "x_j - x_i"
    assert found.law is not None
    assert [term.formula.text for term in found.law.equation.terms] == ["x_j - x_i"]
    assert float(found.law.equation.coefficients[0]) == pytest.approx(1.0, abs=0.03)
    assert found.undecided == ()


def test_the_result_tells_what_was_found(heat: tuple[ndcn.Graph, ndcn.Reconstruction]) -> None:
    graph, found = heat
    table = found.table(0.5)
    assert list(table.columns) == ["source", "target", "probability", "weight", "error"]
    assert len(table) == graph.num_edges
    assert table["weight"].to_numpy() == pytest.approx(1.0, abs=0.2)
    assert table["probability"].is_monotonic_decreasing
    assert found.calibration is not None
    assert found.calibration.aupr > 0.9
    assert found.evidence["gain"] > 100
    assert "decided" in str(found)
    assert f"{graph.num_edges} links" in repr(found)
    assert "x_j - x_i" in found._repr_html_()
    drawn = found.sample(seed=1)
    assert np.abs(drawn.to_scipy() - graph.to_scipy()).sum() < 4
    assert sparse.issparse(found.probabilities)


def test_wrong_arguments_are_refused(heat: tuple[ndcn.Graph, ndcn.Reconstruction]) -> None:
    graph, found = heat
    run = found.graph()
    with pytest.raises(ValueError, match="not both"):
        found.graph(fdr=0.1, probability=0.9)
    with pytest.raises(ValueError, match="fdr must be"):
        found.graph(fdr=2)
    with pytest.raises(ValueError, match="no prior network"):
        found.missing()
    with pytest.raises(TypeError, match="expected a Trajectory"):
        ndcn.reconstruct(run)
    short = ndcn.Trajectory(times=[0.0, 1.0], states=np.zeros((2, N)), graph=graph)
    with pytest.raises(ValueError, match="5 snapshots"):
        ndcn.reconstruct(short)
    long = ndcn.Trajectory(times=np.arange(6.0), states=np.random.default_rng(0).random((6, N)), graph=graph)
    with pytest.raises(ValueError, match="trust must be"):
        ndcn.reconstruct(long, prior=graph, trust=1.5)
    with pytest.raises(ValueError, match="nodes of the data"):
        ndcn.reconstruct(long, prior=ndcn.networks.grid(9))
    with pytest.raises(ValueError, match="prior has no links"):
        ndcn.reconstruct(long, prior=ndcn.Graph(sparse.csr_array((N, N))))
    with pytest.raises(ValueError, match="x_k in 'x_k - x_i' is no state"):
        ndcn.reconstruct(long, coupling="x_k - x_i")
    with pytest.raises(ValueError, match="y_i in 'x_j - y_i' is no state"):
        ndcn.reconstruct(long, coupling="x_j - y_i")
    with pytest.raises(ValueError, match="does not depend on the neighbour"):
        ndcn.reconstruct(long, coupling="x_i")
    with pytest.raises(ValueError, match="parameters K; got 2"):
        ndcn.reconstruct(long, coupling="x_j/(K + x_j)", values=(1.0, 2.0))


def test_parameters_of_a_given_coupling_are_fitted() -> None:
    class Saturating(ndcn.laws.Law):
        def node(self, x):
            return -x

        def edge(self, x_i, x_j):
            return x_j / (0.37 + x_j)

    graph = network(6)
    rng, times = np.random.default_rng(0), np.linspace(0, 3, 20)
    empty = ndcn.Graph(sparse.csr_array((N, N)))
    starts = 2 * rng.random((12, N, 1))
    data = [ndcn.simulate(Saturating(), graph, x0, times).replaced(graph=empty) for x0 in starts]
    found = ndcn.reconstruct(data, coupling="x_j/(K + x_j)", calibrate=False)
    assert found.graph() == graph
    assert found.found.term.values == pytest.approx((0.37,), rel=0.05)


def test_weights_are_found() -> None:
    graph = network(1, weighted=True)
    data = observed(ndcn.laws.Heat(), graph, 20, 0.002, 0.6)
    found = ndcn.reconstruct(data, coupling="x_j - x_i", calibrate=False)
    assert not found.unweighted
    true = graph.to_scipy().toarray()
    links = found.links()
    assert (links == (true != 0)).mean() > 0.99
    assert found.law is not None
    unit = float(found.law.equation.coefficients[-1])
    both = links & (true != 0)
    assert np.corrcoef(found.weights[both] * unit, true[both])[0, 1] > 0.95


def test_missing_and_spurious_links_are_named() -> None:
    graph = network(2)
    A = graph.to_scipy().toarray()
    rng = np.random.default_rng(0)
    links, gaps = np.argwhere(A > 0), np.argwhere((A == 0) & ~np.eye(N, dtype=bool))
    gone, added = links[rng.permutation(len(links))[:5]], gaps[rng.permutation(len(gaps))[:5]]
    A[tuple(gone.T)], A[tuple(added.T)] = 0.0, 1.0
    wrong = ndcn.Graph.from_dense(A, directed=True)
    data = observed(ndcn.laws.Heat(), graph, 8, 0.003, 0.6)
    found = ndcn.reconstruct(data, prior=wrong, coupling="x_j - x_i", calibrate=False)
    assert {(t, s) for s, t in zip(found.missing()["source"], found.missing()["target"], strict=True)} == {
        tuple(pair) for pair in gone.tolist()
    }
    assert {(t, s) for s, t in zip(found.spurious()["source"], found.spurious()["target"], strict=True)} == {
        tuple(pair) for pair in added.tolist()
    }
    assert len(found.missing(fdr=0.01)) == len(found.spurious(fdr=0.01)) == 5


def test_one_relaxing_trajectory_is_not_decidable() -> None:
    data = observed(ndcn.laws.Heat(), network(3), 1, 0.003, 3.0, count=60)
    found = ndcn.reconstruct(data[0])
    assert found.verdict == "not decidable"
    assert found.law is None
    assert len(found.undecided) == N
    assert any("initial states" in text for text in found.judgement.helps)


def test_independent_nodes_have_no_links() -> None:
    class Decay(ndcn.laws.Law):
        def node(self, x):
            return 0.5 - x

        def edge(self, x_i, x_j):
            return 0 * x_j

    data = observed(Decay(), network(4), 10, 0.005, 2.0)
    found = ndcn.reconstruct(data)
    assert (found.probabilities.toarray() > 0.5).mean() < 0.01
    assert found.verdict == "decided"
    assert found.judgement.reasons[0].startswith("no links")


def test_inputs_are_no_links() -> None:
    class Driven(ndcn.laws.Law):
        def __init__(self, gain: np.ndarray) -> None:
            super().__init__()
            self.gain = torch.tensor(gain).unsqueeze(1)

        def node(self, x, u):
            return self.gain * u

        def edge(self, x_i, x_j, u):
            return x_j - x_i

    graph, rng, times = network(5), np.random.default_rng(0), np.linspace(0, 0.6, 20)
    law, empty = Driven(rng.normal(0, 3, N)), ndcn.Graph(sparse.csr_array((N, N)))
    data = []
    for _ in range(12):
        u = ndcn.Inputs(np.linspace(0, 0.6, 13), {"u": rng.normal(size=13)})
        states = ndcn.simulate(law, graph, rng.random((N, 1)), times, inputs=u).states.numpy()
        noisy = states + 0.003 * rng.normal(size=states.shape)
        data.append(ndcn.Trajectory(times=times, states=noisy, graph=empty, inputs=u))
    found = ndcn.reconstruct(data, coupling="x_j - x_i")
    assert found.verdict == "decided"
    assert found.graph() == graph
    assert found.calibration is not None
    assert found.evidence["inputs"]["u"][1] == pytest.approx(law.gain.std().item(), rel=0.3)
    assert "nodes answer u by" in str(found)
    with pytest.raises(ValueError, match="same inputs"):
        ndcn.reconstruct([data[0], data[1].replaced(inputs=None)])


@pytest.mark.slow
def test_a_common_driver_is_no_network() -> None:
    rng = np.random.default_rng(5)
    strength = rng.uniform(0.5, 1.5, N)
    runs = []
    for _ in range(6):
        a, b, phase = rng.uniform(1, 4, 3)
        fine = np.linspace(0, 4, 4001)
        u = np.sin(a * fine + phase) + np.sin(b * fine)
        x = rng.random(N)
        states = [x]
        for k in range(4000):
            x = x + 0.001 * (-x + strength * u[k])
            states.append(x)
        noisy = np.array(states)[::100] + 0.003 * rng.normal(size=(41, N))
        runs.append(ndcn.Trajectory(times=np.linspace(0, 4, 41), states=noisy, graph=network(0)))
    found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
    assert found.found.increments.extra is not None
    assert (found.probabilities.toarray() > 0.5).mean() < 0.01
    assert any("driver" in reason for reason in found.judgement.reasons)
