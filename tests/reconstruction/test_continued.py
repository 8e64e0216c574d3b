"""Laws on networks that were found: intervals carry the doubt about links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn

NODES = 6


@pytest.fixture(scope="module")
def runs() -> list[ndcn.Trajectory]:
    """Clean runs of heat."""
    generator = np.random.default_rng(0)
    links = (generator.random((NODES, NODES)) < 0.4) & ~np.eye(NODES, dtype=bool)
    graph = ndcn.Graph.from_dense(links.astype(float), directed=True)
    starts = torch.from_numpy(generator.random((6, NODES, 1)))
    return [ndcn.simulate(ndcn.laws.Heat(), graph, x0, np.linspace(0, 0.6, 12)) for x0 in starts]


@pytest.fixture(scope="module")
def found(runs: list[ndcn.Trajectory]) -> ndcn.Reconstruction:
    """The network, one of whose links is now in doubt."""
    sure = ndcn.reconstruct(runs, calibrate=False)
    p = sure.probabilities.tolil()
    p[tuple(np.argwhere(p.toarray() > 0.9)[0])] = 0.6
    return replace(sure, probabilities=sparse.csr_array(p))


def only_heat(**options: object) -> ndcn.Interaction:
    return ndcn.Interaction(form="closed", nodes="same", **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted(runs: list[ndcn.Trajectory], found: ndcn.Reconstruction) -> ndcn.DynamicsRegressor:
    return ndcn.DynamicsRegressor(model=only_heat(network=found)).fit(runs)


def test_intervals_are_wider_by_the_doubt_about_links(
    fitted: ndcn.DynamicsRegressor, found: ndcn.Reconstruction
) -> None:
    times, graph = [0.5, 1.0, 2.0], found.graph()
    assert fitted.train_[0].graph == graph
    lower, upper = fitted.intervals(times)
    links = graph.to_scipy().toarray()
    links[0, 1] += 1e-9  # another network, whose links are not in doubt
    known = fitted.intervals(times, graph=ndcn.Graph.from_dense(links, directed=True), x0=fitted.train_[0].x0)
    # the coefficients, which differ among the networks drawn, spread the latter too
    assert (upper.states - lower.states).max() > 1.5 * (known[1].states - known[0].states).max()


def test_a_file_keeps_the_networks(fitted: ndcn.DynamicsRegressor, tmp_path: object) -> None:
    fitted.save(f"{tmp_path}/law.ndcn")
    again = ndcn.load(f"{tmp_path}/law.ndcn")
    for one, other in zip(fitted.intervals([1.0]), again.intervals([1.0]), strict=True):
        assert torch.equal(one.states, other.states)


def test_what_is_no_network_that_was_found_is_refused(runs: list[ndcn.Trajectory], found: ndcn.Reconstruction) -> None:
    with pytest.raises(TypeError, match=r"what ndcn\.reconstruct returned"):
        ndcn.Interaction(network=runs[0].graph)
    strangers = ndcn.Graph.from_dense(np.zeros((NODES, NODES)), directed=True, nodes=list("abcdef"))
    data = [run.replaced(graph=strangers) for run in runs]
    with pytest.raises(ValueError, match="other nodes"):
        ndcn.DynamicsRegressor(model=only_heat(network=found)).fit(data)


def test_clean_data_tell_differences_from_states(found: ndcn.Reconstruction) -> None:
    """Both explain the data: x_j - x_i with one f, x_j with a decay of each node's own."""
    assert found.families[0][0] == "x_j - x_i"


def test_a_node_that_never_moves_is_no_failure() -> None:
    states = np.random.default_rng(0).random((12, 3, 1))
    states[:, 1] = 5.0
    graph = ndcn.Graph.from_dense(np.zeros((3, 3)), directed=True)
    run = ndcn.Trajectory(times=np.arange(12.0), states=states, graph=graph)
    assert ndcn.reconstruct(run, coupling="x_j - x_i", calibrate=False).verdict == "not decidable"
