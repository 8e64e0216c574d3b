"""Observations written with few decimals: the rounding is known, and laws are found in spite of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import ndcn
from ndcn import Trajectory, laws, networks
from ndcn.identify.decimals import decimal_step

GRAPH = networks.power_law(40, seed=0)
TIMES = np.linspace(0, 5, 60)


@given(st.integers(-2, 6), st.sampled_from([torch.float32, torch.float64]), st.integers(0, 100))
def test_the_step_of_rounded_values_is_found(decimals: int, dtype: torch.dtype, seed: int) -> None:
    x = 1000 * torch.rand(200, 1, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if dtype == torch.float32 and decimals > 3:
        decimals = 3  # more are beyond float32
    rounded = torch.round(x * 10.0**decimals) / 10.0**decimals
    seen = torch.ones_like(x, dtype=torch.bool)
    if len(rounded.unique()) >= 30:
        assert decimal_step(rounded.to(dtype), seen).tolist() == pytest.approx([10.0**-decimals])
    assert decimal_step(x.to(dtype), seen).tolist() == [0.0]


@pytest.mark.parametrize("decimals", [1, 2, *(pytest.param(d, marks=pytest.mark.slow) for d in (3, 4))])
def test_a_law_is_found_in_rounded_data(decimals: int) -> None:
    data = ndcn.simulate(laws.Gene(), GRAPH, laws.initial_state(GRAPH), TIMES)
    states = torch.round(data.states * 10**decimals) / 10**decimals
    reg = ndcn.DynamicsRegressor(model="interaction", progress=False)
    reg.fit(Trajectory(times=TIMES, states=states, graph=GRAPH))
    assert reg.evidence_.explained
    assert "x_j^h/(1 + x_j^h)" in str(reg.equations())
    assert reg.node_values_ is None
    truth, found = (ndcn.simulate(law, GRAPH, data.states[0], [0.0, 1.0]) for law in (laws.Gene(), reg.law_))
    assert ndcn.metrics.normalized_l1(found, truth) < 10.0 ** -(1 + decimals)
