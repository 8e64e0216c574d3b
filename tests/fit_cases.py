"""Estimators that are fitted by one process and by several."""

from __future__ import annotations

import torch

import ndcn
from ndcn import DynamicsRegressor, Objective, Solver


def estimators() -> dict[str, DynamicsRegressor]:
    """NDCN and its ablations, another solver and objective, and a module of one's own; all in float64."""
    torch.manual_seed(3)
    own = ndcn.GraphODE(
        torch.nn.Linear(1, 3), ndcn.fields.GraphField(3, activation=torch.tanh), torch.nn.Linear(3, 1), Solver("dopri5")
    )
    common = {"epochs": 5, "dtype": "float64", "seed": 4}
    huber = Objective("huber", terminal="l2", time_weights="gaps")
    return {
        "ndcn": DynamicsRegressor(hidden=6, validation=0.2, solver=Solver("euler", step_size=0.5), **common),
        "no_encode": DynamicsRegressor("no_encode", preset="paper", clip_norm=0.5, **common),
        "no_graph": DynamicsRegressor("no_graph", hidden=4, **common),
        "no_control": DynamicsRegressor("no_control", hidden=4, **common),
        "checkpoint": DynamicsRegressor(
            hidden=4, solver=Solver("euler", step_size=0.2, gradient="checkpoint"), objective=huber, **common
        ),
        "own": DynamicsRegressor(own.double(), **common),
    }
