"""Laws found through noise and gaps: terms, first states, bands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from finding import GRID, HILL, Cooperation, data_of, error_of, plain, terms_of
from ndcn import DynamicsRegressor, Graph, Trajectory, laws, networks, sampling, simulate, split


def test_noise() -> None:
    truth, seen = data_of(laws.Gene(), networks.grid(16), count=30, noise=0.05)
    reg = DynamicsRegressor(model=plain("x", but=HILL)).fit(seen)
    assert reg.evidence_.form == "closed"
    assert reg.evidence_.noise[0] == pytest.approx(0.05, rel=0.5)
    assert ("x", False, "x") in terms_of(reg)
    assert error_of(reg, truth) < 0.03
    mean, deviation = reg.predict(truth.times, return_std=True)
    off = (mean.states - truth.states).abs() / deviation.states.clamp(min=1e-9)
    assert (off < 2).float().mean() > 0.5
    assert all(row.standard_error > 0 for row in reg.equations().coefficients)
    # the first state is part of what was found
    assert (reg.train_[0].x0 - truth.states[0]).abs().mean() < (seen.states[0] - truth.states[0]).abs().mean()


def test_half_of_the_entries_missing() -> None:
    truth, seen = data_of(laws.Heat(), T=2.0, count=20, missing=0.5)
    reg = DynamicsRegressor(model=plain("x")).fit(seen)
    assert reg.evidence_.form == "closed"
    assert terms_of(reg, 0.01) == {("x_j - x_i", True, "x"): pytest.approx(1, rel=0.01)}
    assert error_of(reg, truth) < 1e-3


def test_each_node_seen_at_times_of_its_own() -> None:
    truth, whole = data_of(laws.Gene(), T=2.0, count=48)
    mask = torch.zeros(whole.states.shape, dtype=torch.bool)
    for node in range(25):
        mask[node % 4 :: 4, node] = True  # a quarter of all times, another one than its neighbours
    seen = Trajectory(times=whole.times, states=torch.where(mask, whole.states, torch.nan), graph=GRID, mask=mask)
    reg = DynamicsRegressor(model="interaction").fit(seen)
    assert reg.evidence_.form == "closed"
    assert set(terms_of(reg)) == {("x", False, "x"), ("x_j^h/(1 + x_j^h)", True, "x")}
    assert error_of(reg, truth) < 1e-4
    mean, deviation = reg.predict(truth.times, return_std=True)
    assert (mean.states - truth.states).abs().max() < 1e-3
    assert deviation.states.max() < 1e-2


def test_a_last_snapshot_that_nobody_saw() -> None:
    truth, whole = data_of(laws.Heat(), T=2.0, count=20)
    mask = torch.ones(whole.states.shape, dtype=torch.bool)
    mask[-1] = False
    mask[:, 7] = False  # nor did anybody ever see this node
    seen = Trajectory(times=whole.times, states=whole.states, graph=GRID, mask=mask)
    reg = DynamicsRegressor(model=plain("x")).fit(seen)
    assert error_of(reg, truth) < 1e-3


@pytest.mark.slow
def test_free_forms_in_noise_are_as_smooth_as_the_law() -> None:
    truth, seen = data_of(laws.Heat(0.8), T=5.0, count=50, noise=0.05)
    reg = DynamicsRegressor(model="free_form").fit(seen)
    assert error_of(reg, truth) < 0.01
    found = reg.functions(9)
    expected = 0.8 * (found.x[0][None, :] - found.x[0][:, None])
    assert np.abs(found.g[0][..., 0] - expected).max() < 0.1 * expected.max()
    assert np.abs(found.f[0]).max() < 0.05 * expected.max()  # which this law does not have
    assert found.g_std[0].max() < 0.2 * expected.max()
    mean, deviation = reg.predict(truth.times, return_std=True)  # posterior samples can be integrated
    assert ((mean.states - truth.states).abs() < 3 * deviation.states).float().mean() > 0.5


@pytest.mark.slow
def test_free_forms_in_noise_of_several_trajectories() -> None:
    graph, pairs = networks.grid(16), []
    for seed in range(3):
        x0 = 10 * torch.rand(16, 1, generator=torch.Generator().manual_seed(seed))
        pairs.append(data_of(laws.Heat(), graph, T=2.0, count=30, x0=x0, noise=0.05, seed=seed))
    reg = DynamicsRegressor(model="free_form").fit([seen for _, seen in pairs])
    x = torch.linspace(1, 8, 7, dtype=torch.float64)[:, None]
    assert (reg.law_.edge(x, torch.full_like(x, 5.0)) - (5 - x)).abs().max() < 0.5
    assert reg.law_.node(x).abs().max() < 0.5


class Decay(laws.Law):
    """dx_i/dt = -x_i^2."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -(x**2)


@pytest.mark.slow
def test_free_forms_in_noise_without_edges() -> None:
    graph = Graph.from_edges([], num_nodes=5)
    truth, seen = data_of(Decay(), graph, T=2.0, count=24, x0=torch.linspace(1, 5, 5)[:, None], noise=0.05)
    reg = DynamicsRegressor(model="free_form").fit(seen)
    assert error_of(reg, truth) < 0.05
    x = np.array([1.0, 2.0, 4.0])
    f = reg.law_.node(torch.from_numpy(x)[:, None]).numpy()[:, 0]
    assert (np.abs(f + x**2) < 0.2 * x**2).all()


@pytest.mark.slow
def test_free_forms_through_gaps() -> None:
    truth, seen = data_of(Cooperation(), count=40, missing=0.4)
    reg = DynamicsRegressor(model="free_form").fit(seen)
    assert error_of(reg, truth) < 0.02


@pytest.mark.slow
def test_gaps_in_two_features() -> None:
    graph = networks.grid(16)
    truth, seen = data_of(laws.SIR(), graph, count=40, x0=laws.SIR().initial_state(graph), missing=0.4)
    reg = DynamicsRegressor(model=plain("s", "i")).fit(seen)
    assert terms_of(reg) == {
        ("s_i*i_j", True, "s"): pytest.approx(-1, rel=1e-4),
        ("i", False, "i"): pytest.approx(-1, rel=1e-4),
        ("s_i*i_j", True, "i"): pytest.approx(1, rel=1e-4),
    }
    assert error_of(reg, truth) < 1e-4


class Roessler(laws.Law):
    """Oscillators that act on each other through their first feature."""

    features = ("x", "y", "z")

    def node(self, x: torch.Tensor) -> torch.Tensor:
        x, y, z = x.unbind(-1)
        return torch.stack([-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)], dim=-1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return 0.1 * (x_j - x_i) * torch.tensor([1.0, 0.0, 0.0])


@pytest.mark.slow
def test_gaps_in_three_features() -> None:
    x0 = 4 * torch.randn(25, 3, generator=torch.Generator().manual_seed(0)).abs()
    truth, seen = data_of(Roessler(), T=10.0, count=100, x0=x0, missing=0.4)
    reg = DynamicsRegressor(model="interaction").fit(seen)
    assert terms_of(reg) == {
        ("y", False, "x"): pytest.approx(-1, rel=1e-4),
        ("z", False, "x"): pytest.approx(-1, rel=1e-4),
        ("x_j - x_i", True, "x"): pytest.approx(0.1, rel=1e-4),
        ("x", False, "y"): pytest.approx(1, rel=1e-4),
        ("y", False, "y"): pytest.approx(0.2, rel=1e-4),
        ("1", False, "z"): pytest.approx(0.2, rel=1e-3),
        ("z", False, "z"): pytest.approx(-5.7, rel=1e-4),
        ("x*z", False, "z"): pytest.approx(1, rel=1e-4),
    }
    assert error_of(reg, truth) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("law", [laws.Heat(), laws.Gene()], ids=["heat", "gene"])
@pytest.mark.parametrize("trouble", [{"noise": 0.05}, {"missing": 0.5}], ids=["noise", "missing"])
def test_noise_and_gaps_on_larger_networks(law: laws.Law, trouble: dict[str, float]) -> None:
    truth, seen = data_of(law, networks.power_law(64, seed=0), count=60, **trouble)
    reg = DynamicsRegressor(model="interaction").fit(seen)
    assert reg.evidence_.form == "closed"
    assert error_of(reg, truth) < (0.01 if "noise" in trouble else 5e-3)


class Handling(laws.Law):
    """dx_i/dt = x_i / 2 - x_i^2 / 5 + sum_j A_ij 0.6 x_i x_j / (1 + x_j)^2, which no library holds."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x - 0.2 * x**2

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return 0.6 * x_i * x_j / (1 + x_j) ** 2


@pytest.mark.slow
def test_splines_that_lead_astray_start_again_from_smooth_ones() -> None:
    graph, generator = networks.power_law(10, seed=0), torch.Generator().manual_seed(0)
    x0 = 0.1 + 3.9 * torch.rand(10, 1, generator=generator, dtype=torch.float64)
    truth = simulate(Handling(), graph, x0, sampling.irregular_times(4.0, count=40, seed=0))
    noise = 0.03 * truth.states.std() * torch.randn(truth.states.shape, generator=generator, dtype=torch.float64)
    seen = split(Trajectory(times=truth.times, states=truth.states + noise, graph=graph), seed=0).train
    reg = DynamicsRegressor(model="free_form").fit(seen)
    assert reg.evidence_.free < 1.5
    assert error_of(reg, truth) < 0.01
