"""Law and unknown driver along a whole trajectory: derivatives against differences, and a clean law found exactly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify.common_driver import UNKNOWN, find_common_driver
from ndcn.identify.driver_refinement import _State, _Task, refined
from ndcn.identify.observations import observed
from ndcn.laws import Equation, Formula, Term

GRAPH = ndcn.networks.small_world(8, seed=1)
TIMES = torch.linspace(0, 3, 25, dtype=torch.float64)
FINE = np.linspace(0, 3, 1501)
CURVE = np.sin(1.4 * FINE) + 0.7 * np.sin(3.6 * FINE + 1)
LOADINGS = np.random.default_rng(2).uniform(0.5, 1.5, 8)
NAMES = ("x", "u")
EQUATION = Equation(
    (Term(Formula("x", NAMES), False), Term(Formula("x_j - x_i", NAMES), True), Term(Formula("u", NAMES), False)),
    torch.tensor([-0.8, 0.4, 1.0], dtype=torch.float64),
    2,
)


class Cooling(ndcn.laws.Heat):
    """Heat with k = 0.3, decay and a driver."""

    def __init__(self) -> None:
        super().__init__(0.3)

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return u - x


def driven(graph: ndcn.Graph, times: torch.Tensor, loadings: np.ndarray) -> ndcn.Trajectory:
    x0 = torch.from_numpy(np.random.default_rng(3).uniform(0.5, 3.0, (graph.num_nodes, 1)))
    inputs = ndcn.Inputs(FINE, {"u": np.outer(CURVE, loadings)}, between="linear")
    return ndcn.simulate(Cooling(), graph, x0, times, inputs=inputs).replaced(inputs=None)


def test_derivatives_are_those_of_differences() -> None:
    task = _Task(observed(driven(GRAPH, TIMES, LOADINGS), noisy=False), EQUATION, 6)
    rng = np.random.default_rng(0)
    state = _State(np.array([-0.8, 0.4]), rng.normal(size=6), rng.uniform(0.5, 1.5, 8), rng.uniform(1, 2, 8))
    now = task._followed(state)
    assert now is not None
    J = task._derivatives(state, now)
    for k in range(0, J.shape[1], 3):
        beta, c, b, x0 = np.split(1e-5 * np.eye(J.shape[1])[k], [2, 8, 16])
        ends = [
            task._followed(_State(state.beta + s * beta, state.c + s * c, state.b + s * b, state.x0 + s * x0))
            for s in (1, -1)
        ]
        ahead, behind = (task._residuals(end[0]) for end in ends if end is not None)
        np.testing.assert_allclose(J[:, k], (behind - ahead) / 2e-5, rtol=1e-5, atol=1e-6 * np.abs(J).max())


def test_a_rough_guess_becomes_the_truth() -> None:
    data = driven(GRAPH, TIMES, LOADINGS)
    at = np.interp(TIMES.numpy(), FINE, CURVE)
    guess = at + 0.2 * np.cos(5 * TIMES.numpy())
    found = refined(observed(data, noisy=False), EQUATION, guess, np.ones(8), data.states[0, :, 0].numpy() + 0.1)
    assert found is not None
    assert found.equation.coefficients.tolist() == pytest.approx([-1.0, 0.3, 1.0], abs=2e-3)
    assert np.corrcoef(found.curve(TIMES.numpy()), at)[0, 1] > 0.9999
    assert np.corrcoef(found.loadings, LOADINGS)[0, 1] > 0.9999


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_law_and_driver_are_found(noise: float) -> None:
    graph, times = ndcn.networks.power_law(20, seed=3), ndcn.sampling.irregular_times(3.0, count=40, seed=3)
    loadings = np.random.default_rng(12).uniform(0.5, 1.5, 20)
    data = driven(graph, times, loadings)
    rng = np.random.default_rng(7)
    found = find_common_driver(
        [data.replaced(states=data.states * (1 + noise * torch.from_numpy(rng.normal(size=data.states.shape))))],
        ndcn.Interaction(),
        0,
    )
    assert found is not None
    assert found.drivers is not None
    assert {term.formula.text for term in found.law.equation.terms} == {"x", "x_j - x_i", "driver"}  # type: ignore[attr-defined]
    driver = found.drivers[0][UNKNOWN]
    assert np.corrcoef(driver.values.mean(1), np.interp(driver.times, FINE, CURVE))[0, 1] > (0.95 if noise else 0.999)
