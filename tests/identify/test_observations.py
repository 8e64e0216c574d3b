"""Smoothing: how rough data are, how noisy, what fills gaps, and the path on which integrals are taken."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ndcn import Graph, Trajectory, laws, networks, simulate
from ndcn.identify.data_smoothing import Noise, Smoother, estimated_noise, roughness
from ndcn.identify.observations import inside, integrals, observed

GRID = networks.grid(25)
TIMES = np.linspace(0.0, 2.0, 50)


def clean() -> Trajectory:
    return simulate(laws.Heat(), GRID, laws.initial_state(GRID).double(), TIMES)


def altered(data: Trajectory, noise: float = 0.0, missing: float = 0.0, additive: float = 0.0) -> Trajectory:
    generator = torch.Generator().manual_seed(0)
    draws = [torch.randn(data.states.shape, generator=generator, dtype=torch.float64) for _ in range(2)]
    states = data.states * (1 + noise * draws[0]) + additive * draws[1]
    mask = torch.rand(data.states.shape, generator=generator) >= missing if missing else None
    return Trajectory(times=data.times, states=states, graph=data.graph, mask=mask)


def rough(data: Trajectory) -> float:
    seen = torch.ones_like(data.states, dtype=torch.bool) if data.mask is None else data.mask
    return roughness(data.times, data.states, seen)


def test_noise_makes_data_rough() -> None:
    assert rough(clean()) < 1e-3
    for noise in (0.01, 0.05, 0.2):
        assert 0.6 * noise < rough(altered(clean(), noise)) < 1.6 * noise


def test_polynomials_up_to_cubes_are_not_rough() -> None:
    times = torch.tensor([0.0, 0.1, 0.5, 0.6, 1.0, 1.7, 2.0], dtype=torch.float64)
    states = (1 + times - times**2 + 0.3 * times**3).reshape(-1, 1, 1)
    assert roughness(times, states, torch.ones_like(states, dtype=torch.bool)) < 1e-12


def test_few_snapshots_are_not_rough() -> None:
    times = torch.arange(4, dtype=torch.float64)
    states = torch.randn(4, 3, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert roughness(times, states, torch.ones_like(states, dtype=torch.bool)) == 0.0


def test_what_was_not_seen_is_not_rough() -> None:
    data = altered(clean(), missing=0.3)
    states = torch.where(data.mask, data.states, 1e6)
    assert roughness(data.times, states, data.mask) < 1e-3


@pytest.mark.parametrize("share", [0.02, 0.05, 0.15])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_multiplicative_noise_is_found(share: float, missing: float) -> None:
    found = observed(altered(clean(), share, missing), noisy=True).measured
    level = clean().states[..., 0].abs().mean()
    total = found.at(torch.tensor([[level]], dtype=torch.float64)).item() / level.item()
    assert 0.5 * share < total < 1.5 * share


def test_additive_noise_is_found() -> None:
    found = observed(altered(clean(), additive=0.2), noisy=True).measured
    assert 0.1 < found.at(torch.zeros(1, 1, dtype=torch.float64)).item() < 0.4


def test_noise_of_each_feature() -> None:
    base = torch.linspace(1, 2, 60, dtype=torch.float64).reshape(-1, 1, 1).expand(60, 40, 2)
    draw = torch.randn(base.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    states = base + draw * torch.tensor([0.01, 0.2])
    seen = torch.ones_like(states, dtype=torch.bool)
    found = estimated_noise(base, states, seen, torch.ones(40, 2, dtype=torch.float64))
    assert found.at(base[0, :1]).flatten().tolist() == pytest.approx([0.01, 0.2], rel=0.3)
    total = Noise(torch.tensor([3.0]), torch.tensor([0.5])).at(torch.tensor([8.0, -8.0]).unsqueeze(1))
    assert total.flatten().tolist() == [5.0, 5.0]


def test_clean_and_complete_data_are_taken_as_they_are() -> None:
    data = clean()
    found = observed(data)
    assert not found.gaps
    assert torch.equal(found.level, data.states)
    assert found.seen.all()
    torch.testing.assert_close(found.spans, data.times.diff())
    assert found.noise.max() < 1e-6 * data.states.abs().max()


def test_the_beginning_of_observations() -> None:
    for whole in (observed(clean()), observed(altered(clean(), missing=0.5), noisy=False)):
        part = whole.until(5)
        assert torch.equal(part.level, whole.level[:5])
        assert torch.equal(part.inner, whole.inner[:4])
        assert torch.equal(part.spans, whole.spans[:4])
        assert part.gaps == whole.gaps
        assert part.doubt is None or torch.equal(part.doubt, whole.doubt[:4])


def test_noisy_data_are_smoothed() -> None:
    truth, data = clean(), altered(clean(), 0.1)
    found = observed(data)
    assert not found.gaps
    assert (found.level - truth.states).square().mean() < 0.4 * (data.states - truth.states).square().mean()
    ratio = ((found.level - truth.states) / found.noise).square().mean().sqrt()
    assert 0.3 < ratio < 3


def test_gaps_are_filled() -> None:
    truth, data = clean(), altered(clean(), missing=0.5)
    found = observed(data, noisy=False)
    assert found.gaps
    assert (found.doubt >= 0).all()
    assert found.doubt.max() > 0
    assert found.level.isfinite().all()
    assert found.inner.isfinite().all()
    torch.testing.assert_close(found.level[found.seen], truth.states[found.seen], atol=1e-6, rtol=1e-6)
    inner = slice(3, -3)
    assert (found.level - truth.states)[inner].abs().mean() < 0.02 * truth.states.abs().mean()
    assert (found.noise[~found.seen] > found.noise[found.seen].max()).float().mean() > 0.9


@pytest.mark.parametrize("noisy", [False, True])
def test_nodes_that_were_never_seen_get_the_mean(noisy: bool) -> None:
    data = clean()
    mask = torch.ones_like(data.states, dtype=torch.bool)
    mask[:, 3] = False
    found = observed(Trajectory(times=data.times, states=data.states, graph=GRID, mask=mask), noisy=noisy)
    assert found.level.isfinite().all()
    assert found.inner.isfinite().all()


def test_smoothers_follow_curves_and_ignore_noise() -> None:
    times = np.sort(np.random.default_rng(0).random(60)) * 3
    truth = np.stack([np.exp(-times), np.sin(2 * times), np.full(60, 2.0)], 1)
    noise = 0.05 * np.random.default_rng(1).standard_normal(truth.shape)
    smoother = Smoother(times)
    c, freedom = smoother.fit(truth + noise, np.ones(truth.shape, dtype=bool))
    assert np.sqrt(((smoother.path(c, times) - truth) ** 2).mean()) < 0.035
    assert freedom[2] < freedom[1]
    assert ((freedom > 1.5) & (freedom < 40)).all()


def test_incomplete_series_are_smoothed_as_complete_ones_where_all_is_seen() -> None:
    times = np.linspace(0, 2, 40)
    values = np.stack([np.exp(-times), np.cos(times)], 1)
    smoother = Smoother(times)
    seen = np.ones(values.shape, dtype=bool)
    whole, free = smoother.fit(values, seen)
    seen[5, 1] = False
    partly, other = smoother.fit(values, seen)
    np.testing.assert_allclose(partly[:, 0], whole[:, 0], atol=1e-6)
    assert other[0] == pytest.approx(free[0], rel=1e-6)
    np.testing.assert_allclose(smoother.path(partly, times)[:, 1], values[:, 1], atol=1e-2)


def test_integrals_are_exact_for_polynomials() -> None:
    times = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    values = inside(lambda t: (7 * t**6).reshape(-1, 1, 1), times)
    assert values.shape == (2, 4, 1, 1)
    found = integrals(values, times.diff())
    torch.testing.assert_close(found.flatten(), (times**7).diff())


def test_several_features_and_graphs_without_edges() -> None:
    graph = Graph.from_edges([], num_nodes=3)
    states = torch.rand(8, 3, 2, generator=torch.Generator().manual_seed(0)) + 1
    for noisy in (False, True):
        found = observed(Trajectory(times=np.arange(8.0), states=states, graph=graph), noisy=noisy)
        assert found.level.shape == (8, 3, 2)
        assert found.inner.shape == (7, 4, 3, 2)
        assert found.unit.shape == (2,)
