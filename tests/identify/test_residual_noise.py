"""Noise as the law that was found shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ndcn import Trajectory, laws, networks, simulate
from ndcn.identify.data_smoothing import Noise
from ndcn.identify.lasting import autocorrelation, lasts
from ndcn.identify.observations import observed
from ndcn.identify.posterior import residual_variance
from ndcn.identify.residual_noise import likely_noise, residuals_are_noise, reweighted
from ndcn.identify.shooting_fit import ShotFit
from ndcn.identify.trajectory_fit import TrajectoryFit, fit_trajectories
from ndcn.identify.trajectory_problem import problem_of
from ndcn.laws import Equation
from problems import equation

HEAT = equation((0.7, "x_j - x_i", True))
DECAY = equation((-0.1, "x", False), (1.0, "1", False))


def normal_samples(size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("additive", "share"), [(0.2, 0.0), (0.0, 0.05), (0.2, 0.05)])
def test_additive_and_proportional_noise(additive: float, share: float) -> None:
    x = torch.linspace(0.01, 20, 4000, dtype=torch.float64)
    found = likely_noise(x, (additive**2 + (share * x) ** 2).sqrt() * normal_samples(4000))
    assert found == (pytest.approx(additive, abs=0.03), pytest.approx(share, abs=0.006))


def test_outliers_count_little() -> None:
    x = torch.linspace(1, 20, 4000, dtype=torch.float64)
    rest = 0.05 * x * normal_samples(4000)
    rest[::100] *= 50
    assert likely_noise(x, rest)[1] == pytest.approx(0.05, rel=0.15)


def test_nothing_left_is_no_noise() -> None:
    assert likely_noise(torch.ones(5), torch.zeros(5)) == (0.0, 0.0)
    assert likely_noise(torch.zeros(0), torch.zeros(0)) == (0.0, 0.0)


def heat_path(model: Equation, additive: float, share: float, *, once: bool = False) -> TrajectoryFit:
    """A model fitted to heat with 5 % noise, by this idea of the noise; each node seen twice, at first and later, if asked."""
    graph = networks.power_law(25, seed=1)
    truth = simulate(laws.Heat(0.7), graph, laws.initial_state(graph).double(), torch.linspace(0, 1, 16))
    noise = normal_samples(truth.states.numel()).reshape(truth.states.shape)
    mask = None
    if once:
        mask = torch.zeros(truth.states.shape, dtype=torch.bool)
        mask[0] = True
        mask[1 + torch.arange(25) % 15, torch.arange(25)] = True
    data = Trajectory(times=truth.times, states=truth.states * (1 + 0.05 * noise), graph=graph, mask=mask)
    idea = Noise(*(torch.tensor([size], dtype=torch.float64) for size in (additive, share)))
    path = fit_trajectories(model, [problem_of(replace(observed(data, noisy=True), measured=idea), [2] * 15)])
    assert path is not None
    return path


def residual_autocorrelation(path: TrajectoryFit) -> float:
    return autocorrelation((problem, problem.followed(path.model)) for problem in path.problems)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2])
def test_what_is_left_by_the_law_is_noise_however_large_it_was_thought_to_be(share: float) -> None:
    right, wrong = heat_path(HEAT, 0.0, share), heat_path(DECAY, 0.0, share)
    assert right.excess == pytest.approx(0.05 / share, rel=0.15)
    assert abs(residual_autocorrelation(right)) < 0.15
    assert residuals_are_noise(right)
    assert residual_autocorrelation(wrong) > 0.5
    assert not residuals_are_noise(wrong)
    assert not residuals_are_noise(replace(wrong, chi2=float(wrong.count)))  # however small they seem


def test_noise_is_not_underestimated_by_any_factor() -> None:
    path = heat_path(HEAT, 0.0, 0.005)
    assert residual_autocorrelation(path) < 0.15
    assert not residuals_are_noise(path)


def test_nodes_seen_once_do_not_tell_what_lasts() -> None:
    assert residual_autocorrelation(heat_path(HEAT, 0.0, 0.05, once=True)) == 0


def test_a_wrong_idea_of_the_noise_is_mended() -> None:
    again = reweighted(heat_path(HEAT, 0.3, 0.0))
    measured = again.problems[0].data.measured
    assert float(measured.share[0]) == pytest.approx(0.05, rel=0.3)
    assert float(measured.additive[0]) < 0.1
    assert again.excess == pytest.approx(1, abs=0.2)


def test_residuals_count_as_rounding_at_least() -> None:
    near, far = (ShotFit(HEAT, 1e-6, excess, torch.eye(1), 10) for excess in (0.1, 4.0))
    assert residual_variance(near) == pytest.approx(1e-10)
    assert residual_variance(far) == pytest.approx(1e-12)


def test_what_neighbours_share_is_not_noise() -> None:
    """Errors that are independent in time and alike at neighbours."""
    path = heat_path(HEAT, 0.0, 0.05)
    (problem,) = path.problems
    states = problem.followed(path.model)
    assert states is not None
    assert not lasts([(problem, states)])
    drawn = normal_samples(problem.data.states.numel()).reshape(problem.data.states.shape)
    shared = problem.data.network.graph.to_scipy() @ drawn[..., 0].numpy().T
    shared = torch.from_numpy(shared.T / shared.std())[..., None]
    other = replace(problem, data=replace(problem.data, states=states * (1 + 0.05 * shared)))
    assert autocorrelation([(other, states)]) < 0.1
    assert lasts([(other, states)])
    assert lasts([(problem, None)])  # a trajectory that explodes


def test_rounding_may_last() -> None:
    path = heat_path(HEAT, 0.0, 1e-3)
    (problem,) = path.problems
    states = problem.followed(path.model)
    assert states is not None
    rounded = replace(problem.data, states=(states * 10 + 2.5).round() / 10)
    coarse = Noise(torch.tensor([0.03], dtype=torch.float64), torch.zeros(1, dtype=torch.float64))
    assert not lasts([(replace(problem, data=replace(rounded, measured=coarse)), states)])
    assert lasts([(replace(problem, data=replace(problem.data, states=states + 0.25)), states)])
