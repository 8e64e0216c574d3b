"""Wilson-Cowan and FitzHugh-Nagumo: values by hand, states of rest, spikes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from ndcn import Graph, networks, simulate
from ndcn.laws import FitzHughNagumo, WilsonCowan
from problems import GRAPHS

T0 = torch.tensor(0.0)
RING = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)])  # every degree is 2


def test_a_neighbour_at_the_threshold_gives_one_half() -> None:
    x = torch.full((4, 1), 2.0, dtype=torch.float64)
    found = WilsonCowan(tau=5, mu=2)(T0, x, GRAPHS["path"])
    torch.testing.assert_close(found, torch.tensor([[-1.5], [-1.0], [-1.0], [-1.5]], dtype=torch.float64))


def test_activity_alone_decays() -> None:
    data = simulate(WilsonCowan(), GRAPHS["single"], torch.tensor([2.0]).double(), [0.0, 1.0, 2.0])
    torch.testing.assert_close(data.states[:, 0, 0], 2 * torch.exp(-data.times), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_activity_comes_to_rest_low_or_high(start: float) -> None:
    """On a ring with tau = 5 and mu = 1, x = 2 / (1 + exp(-5 (x - 1))) has a root below 1, 1, and a root above."""

    def still(x: float) -> float:
        return -x + 2 / (1 + np.exp(-5 * (x - 1)))

    rest = brentq(still, -0.5, 0.9) if start < 1 else brentq(still, 1.1, 2.5)
    data = simulate(WilsonCowan(tau=5, mu=1), RING, torch.full((6, 1), start, dtype=torch.float64), [0.0, 40.0])
    torch.testing.assert_close(data.states[-1], torch.full((6, 1), rest, dtype=torch.float64), rtol=1e-6, atol=1e-6)


def test_activity_far_from_the_threshold_is_finite() -> None:
    for size in (-1e6, 1e6):
        assert WilsonCowan()(T0, torch.full((4, 1), size), GRAPHS["path"]).isfinite().all()


def test_fitzhugh_nagumo_by_hand() -> None:
    x = torch.tensor([[1.0, 0.5], [0.0, 1.0], [0.0, 0.0], [-3.0, 0.0]], dtype=torch.float64)  # 0 - 1 - 2 - 3
    expected = [
        [1 - 1 / 3 - 0.5 + 0.2 + 2 * (0 - 1), 0.1 * (1 + 0.7 - 0.8 * 0.5)],
        [-1 + 0.2 + 2 * 1, 0.1 * (0.7 - 0.8)],
        [0.2 + 2 * -3, 0.1 * 0.7],
        [-3 + 9 + 0.2 + 2 * 3, 0.1 * (-3 + 0.7)],
    ]
    law = FitzHughNagumo(epsilon=0.1, current=0.2, k=2)
    torch.testing.assert_close(law(T0, x, GRAPHS["path"]), torch.tensor(expected, dtype=torch.float64))


def _alone(t: float, x: np.ndarray) -> list[float]:
    v, w = x
    return [v - v**3 / 3 - w + 0.5, 0.08 * (v + 0.7 - 0.8 * w)]


def test_neurons_in_the_same_state_do_as_one_alone() -> None:
    times = torch.linspace(0, 60, 31, dtype=torch.float64)
    truth = solve_ivp(_alone, (0, 60), [1.0, 0.0], t_eval=times.numpy(), rtol=1e-10, atol=1e-12, method="DOP853")
    data = simulate(FitzHughNagumo(), RING, torch.tensor([[1.0, 0.0]]).repeat(6, 1).double(), times)
    assert data.features == ("v", "w")
    for node in range(6):
        torch.testing.assert_close(data.states[:, node], torch.from_numpy(truth.y.T), rtol=1e-4, atol=1e-4)


def test_neurons_spike_with_a_current_and_rest_without() -> None:
    graph = networks.grid(9)
    x0 = FitzHughNagumo().initial_state(graph, dtype=torch.float64)
    assert -2 <= x0[:, 0].min() < x0[:, 0].max() < 2
    assert (x0[:, 1] == 0).all()
    times = torch.linspace(0, 300, 601)
    v = simulate(FitzHughNagumo(), graph, x0, times).states[300:, :, 0]
    assert v.max() > 1.5
    assert v.min() < -1.5
    rest = brentq(lambda v: v - v**3 / 3 - (v + 0.7) / 0.8, -2.0, 0.0)
    last = simulate(FitzHughNagumo(current=0), graph, x0, [0.0, 300.0]).states[-1]
    expected = torch.tensor([rest, (rest + 0.7) / 0.8], dtype=torch.float64).expand(9, 2)
    torch.testing.assert_close(last, expected, rtol=1e-5, atol=1e-5)
