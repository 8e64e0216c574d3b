"""Noise as the law that was found shows it."""

from __future__ import annotations

import pytest
import torch

from ndcn import Trajectory, laws, networks, simulate
from ndcn.identify.gauss_newton import Fit
from ndcn.identify.observations import observed
from ndcn.identify.posterior import variance_of
from ndcn.identify.reweighting import likely_noise, reweighted
from ndcn.identify.smoothing import Noise
from ndcn.identify.trajectory_fit import course_of, fit_path
from problems import equation

HEAT = equation((0.7, "x_j - x_i", True))


def drawn(size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("additive", "share"), [(0.2, 0.0), (0.0, 0.05), (0.2, 0.05)])
def test_additive_and_proportional_noise(additive: float, share: float) -> None:
    x = torch.linspace(0.01, 20, 4000, dtype=torch.float64)
    found = likely_noise(x, (additive**2 + (share * x) ** 2).sqrt() * drawn(4000))
    assert found == (pytest.approx(additive, abs=0.03), pytest.approx(share, abs=0.006))


def test_outliers_count_little() -> None:
    x = torch.linspace(1, 20, 4000, dtype=torch.float64)
    rest = 0.05 * x * drawn(4000)
    rest[::100] *= 50
    assert likely_noise(x, rest)[1] == pytest.approx(0.05, rel=0.15)


def test_nothing_left_is_no_noise() -> None:
    assert likely_noise(torch.ones(5), torch.zeros(5)) == (0.0, 0.0)
    assert likely_noise(torch.zeros(0), torch.zeros(0)) == (0.0, 0.0)


def test_a_wrong_idea_of_the_noise_is_mended() -> None:
    graph = networks.power_law(25, seed=1)
    truth = simulate(laws.Heat(0.7), graph, laws.initial_state(graph).double(), torch.linspace(0, 1, 16))
    noise = drawn(truth.states.numel()).reshape(truth.states.shape)
    one = observed(Trajectory(times=truth.times, states=truth.states * (1 + 0.05 * noise), graph=graph), noisy=True)
    course = course_of(one, [2] * 15)
    wrong = Noise(torch.tensor([0.3], dtype=torch.float64), torch.zeros(1, dtype=torch.float64))
    object.__setattr__(course.data, "measured", wrong)
    path = fit_path(HEAT, [course])
    assert path is not None
    again = reweighted(path)
    measured = again.courses[0].data.measured
    assert float(measured.share[0]) == pytest.approx(0.05, rel=0.3)
    assert float(measured.additive[0]) < 0.1
    assert again.excess == pytest.approx(1, abs=0.2)


def test_residuals_count_as_rounding_at_least() -> None:
    near, far = (Fit(HEAT, 1e-6, excess, torch.eye(1), 10) for excess in (0.1, 4.0))
    assert variance_of(near) == pytest.approx(1e-10)
    assert variance_of(far) == pytest.approx(1e-12)
