"""Data to find laws in, and what was found of them, shared by the tests of the interaction model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

import ndcn
from ndcn import DynamicsRegressor, Field, Graph, Interaction, Trajectory, laws, networks
from ndcn.identify.library import library

GRID = networks.grid(25)
HILL = ["x_j^2/(K^2 + x_j^2)", "x_j^h/(1 + x_j^h)"]


class Cooperation(laws.Law):
    """dx_i/dt = -k x_i + sum_j A_ij x_j^4 / (2^4 + x_j^4), which no library holds."""

    def __init__(self, k: float = 1.0) -> None:
        super().__init__()
        self._set(k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -self._value("k", x) * x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_j**4 / (16 + x_j**4)


def plain(*features: str, but: Sequence[str] = (), known: laws.Law | None = None) -> Interaction:
    """Without terms that have parameters inside, but for some: found faster."""
    ranges = np.stack([np.zeros(len(features)), np.ones(len(features))])
    inner = {term.formula.text for term in library(features, ranges) if term.values}
    return Interaction(without=sorted(inner - set(but)), known=known)


def data_of(
    law: Field,
    graph: Graph = GRID,
    *,
    T: float = 3.0,
    count: int = 25,
    x0: torch.Tensor | None = None,
    noise: float = 0.0,
    missing: float = 0.0,
    seed: int = 0,
    features: tuple[str, ...] | None = None,
) -> tuple[Trajectory, Trajectory]:
    """All snapshots as they are, and the first 5/6 of them as observed."""
    times = ndcn.sampling.irregular_times(T, count=count, seed=seed)
    truth = ndcn.simulate(law, graph, laws.initial_state(graph) if x0 is None else x0, times)
    names = features or truth.features
    generator = torch.Generator().manual_seed(seed)
    states = truth.states * (1 + noise * torch.randn(truth.states.shape, generator=generator))
    mask = torch.rand(states.shape, generator=generator) >= missing if missing else None
    until = count - count // 6
    return (
        Trajectory(times=truth.times, states=truth.states, graph=graph, features=names),
        Trajectory(
            times=truth.times[:until],
            states=states[:until],
            graph=graph,
            mask=None if mask is None else mask[:until],
            features=names,
        ),
    )


def terms_of(reg: DynamicsRegressor, least: float = 0.0) -> dict[tuple[str, bool, str], float]:
    """Terms with their coefficients, if they are larger than this."""
    rows = reg.equations().coefficients
    return {(r.term, r.coupling, r.feature): r.value for r in rows if abs(r.value) > least}


def error_of(reg: DynamicsRegressor, truth: Trajectory) -> float:
    return ndcn.metrics.normalized_l1(reg.predict(truth.times), truth)
