"""Ridge regression against its closed form, and what its features know."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn.data.panel import Panel, panel_of
from ndcn.forecast import ridge
from ndcn.forecast.transforms import View


def panel(x: np.ndarray, graph: ndcn.Graph | None = None) -> Panel:
    graph = graph or ndcn.networks.grid(x.shape[1])
    return panel_of(ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph))


@pytest.mark.parametrize("forget", [1.0, 0.9])
def test_coefficients_are_the_closed_form(forget: float) -> None:
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(size=(15, 4, 3)), np.ones((15, 4, 1))], axis=-1)
    y, known = rng.normal(size=(15, 4)), rng.random((15, 4)) > 0.2
    found = ridge.coefficients(Z, y, known, np.array([9, 14]), forget, penalty=0.3)
    for k, end in enumerate((9, 14)):
        keep = known[: end + 1].ravel()
        age = np.repeat(end - np.arange(end + 1), 4)[keep]
        even = np.minimum(ridge._even(np.where(known, y, 0.0)), ridge._even(Z[..., 0]))[: end + 1].ravel()[keep]
        A, b, w = Z[: end + 1].reshape(-1, 4)[keep], y[: end + 1].ravel()[keep], forget**age * even
        gram = (A * w[:, None]).T @ A
        extra = np.diag(np.append(0.3 * np.diag(gram)[:3], 0.0))
        np.testing.assert_allclose(found[k], np.linalg.solve(gram + extra, (A * w[:, None]).T @ b), rtol=1e-5)


def test_nothing_is_known_before_the_first_target() -> None:
    Z, y = np.ones((5, 2, 1)), np.ones((5, 2))
    assert (ridge.coefficients(Z, y, y > 0, np.array([-3, 2]))[0] == 0).all()


def test_a_linear_law_is_found() -> None:
    """x_i(t + 1) = 0.2 x_i(t) + 0.7 (mean of neighbours less the mean of that over nodes) + noise: only noise is left."""
    rng = np.random.default_rng(1)
    graph = ndcn.Graph.from_edges([(i, (i + 1) % 30) for i in range(30)], num_nodes=30)
    noise, x = rng.normal(size=(120, 30)), [np.zeros(30)]
    one = panel(np.zeros((12, 30)), graph)
    for shock in noise:
        around = one.neighbours(np.repeat(x[-1][None], 12, axis=0))[0]
        x.append(0.2 * x[-1] + 0.7 * (around - around.mean()) + shock)
    data = panel(np.stack(x), graph)
    left = {}
    for blocks in (("own", "mean"), ridge.BLOCKS):
        said = ridge.forecasts(data, View(), 2, blocks, np.arange(60, 120), np.array([1]))[:, 0]
        left[blocks] = ((said - data.values[61:121]) ** 2).mean() / (noise[60:] ** 2).mean()
    assert left[ridge.BLOCKS] < 1.02
    assert left["own", "mean"] > 1.15


def test_totals_are_regressed_as_mean_increments() -> None:
    x = np.cumsum(np.full((30, 4), 9.0), axis=0)
    said = ridge.forecasts(panel(x), View("sqrt", increments=True), 3, ("own",), np.array([29]), np.array([1, 5]))[0]
    np.testing.assert_allclose(said, x[-1] + np.array([[9.0], [45.0]]), rtol=1e-3)


def test_neighbours_without_edges_are_the_node_itself() -> None:
    graph = ndcn.Graph.from_edges([(0, 1, 2.0), (2, 1, 6.0), (1, 1, 50.0)], num_nodes=4, directed=True)
    x = np.tile([1.0, 2.0, 5.0, 7.0], (12, 1))
    np.testing.assert_allclose(panel(x, graph).neighbours(x)[0], [1.0, (2 * 1 + 6 * 5) / 8, 5.0, 7.0])


def test_a_shuffle_of_the_nodes_is_a_shuffle_of_the_matrix() -> None:
    rng = np.random.default_rng(2)
    A = rng.random((6, 6)) * (rng.random((6, 6)) > 0.4)
    x, order = rng.normal(size=(12, 6)), rng.permutation(6)
    moved = panel(x, ndcn.Graph.from_dense(A[np.ix_(order, order)]))
    np.testing.assert_allclose(panel(x, ndcn.Graph.from_dense(A)).neighbours(x, order), moved.neighbours(x), rtol=1e-12)
