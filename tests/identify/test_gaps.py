"""Laws from data of which half is missing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_a_coupling_of_two_parameters_is_fitted_from_other_starts(seed: int) -> None:
    graph = ndcn.networks.power_law(400, seed=seed)
    x0 = ndcn.laws.initial_state(graph).double()
    data = ndcn.simulate(ndcn.laws.Mutualistic(), graph, x0, ndcn.sampling.irregular_times(5.0, count=80, seed=seed))
    seen = torch.from_numpy(np.random.default_rng(seed).random(tuple(data.states.shape)) < 0.5)
    reg = ndcn.DynamicsRegressor("interaction", seed=0).fit(data.replaced(mask=seen))
    assert reg.evidence_.explained
    assert "x_i*x_j/(1 + b*x_i + c*x_j)" in str(reg.equations())
