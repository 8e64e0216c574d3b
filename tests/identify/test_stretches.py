"""Laws in noise, judged on stretches that they were not fitted to."""

from __future__ import annotations

import numpy as np
import torch

from ndcn import Trajectory, laws, networks, simulate
from ndcn.identify.node_discovery import rate_error, samples_of
from ndcn.identify.node_fit import NodeFit, fit_nodes_along, node_problems
from ndcn.identify.observations import observed
from ndcn.identify.stretches import doubt_in_noise
from ndcn.identify.trajectory_fit import TrajectoryFit, fit_trajectories
from ndcn.identify.trajectory_problem import problems_for
from ndcn.laws import Equation, NodeEquation
from problems import equation

HEAT = equation((0.7, "x_j - x_i", True))
GROWTH = equation((0.1, "1", False))
GRAPH = networks.power_law(25, seed=1)
TOLERANCE = torch.tensor([1e-3], dtype=torch.float64)


def noisy_heat(k: torch.Tensor | float = 0.7) -> Trajectory:
    times = torch.linspace(0, 1, 40)
    data = simulate(laws.Heat(k), GRAPH, laws.initial_state(GRAPH).double(), times)
    drawn = torch.from_numpy(np.random.default_rng(0).standard_normal(data.states.shape))
    return Trajectory(times=times, states=data.states * (1 + 0.05 * drawn), graph=GRAPH)


def random_walk() -> Trajectory:
    steps = torch.from_numpy(np.random.default_rng(0).standard_normal((40, 25, 1)))
    return Trajectory(times=torch.linspace(0, 1, 40), states=10 + steps.cumsum(0), graph=GRAPH)


def along(model: Equation, data: Trajectory) -> TrajectoryFit:
    one = observed(data, noisy=True)
    problems = problems_for([one], model, TOLERANCE)
    assert problems is not None
    found = fit_trajectories(model, problems)
    assert found is not None
    return found


def with_own_values(model: Equation, data: Trajectory) -> NodeFit:
    one = observed(data, noisy=True)
    differing = NodeEquation(model, (0,), ("x",))
    u = torch.zeros(25, 1, dtype=torch.float64)
    problems = node_problems([one], differing, u, TOLERANCE)
    assert problems is not None
    found = fit_nodes_along(differing, u, problems, np.array([0.3]))
    assert found is not None
    return found


def test_the_true_law_is_not_doubted() -> None:
    assert doubt_in_noise(along(HEAT, noisy_heat())) is None
    assert doubt_in_noise(with_own_values(HEAT, noisy_heat())) is None


def test_a_wrong_law_is_doubted() -> None:
    data = noisy_heat(torch.linspace(0.2, 1.5, 25))
    doubt = doubt_in_noise(along(HEAT, data))
    assert doubt is not None
    assert "that last" in doubt
    assert doubt_in_noise(with_own_values(HEAT, data)) is None


def test_a_random_walk_has_no_dynamics() -> None:
    """Each node has a drift of its own, which follows the walk that it was fitted to."""
    doubt = doubt_in_noise(with_own_values(GROWTH, random_walk()))
    assert doubt is not None
    assert "no dynamics found" in doubt


def test_the_error_of_rates_is_foretold() -> None:
    """By the errors of all numbers: the true one is of that size."""
    k = torch.linspace(0.2, 1.5, 25, dtype=torch.float64)
    found = with_own_values(HEAT, noisy_heat(k))
    told = rate_error(found, samples_of(found, np.ones(0), 0)[0])
    (problem,) = found.problems
    states = found.states(problem)
    assert states is not None
    u = found.deviations.expand(len(states), 25, 1)
    rate = found.model.rate(torch.cat([states, u], -1), problem.data.network)[..., :1]
    true = torch.stack([laws.Heat(k)(torch.zeros(()), x, GRAPH) for x in states])
    off = float((rate - true).abs().mean() / true.abs().mean())
    assert told / 2 < off < 2 * told
