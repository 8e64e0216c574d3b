"""Fits of a second, shared by the tests of training, checkpoints and estimators."""

from __future__ import annotations

import signal

import torch
from torch import nn

import ndcn
from ndcn import DynamicsRegressor, Field, Solver

GRAPH = ndcn.networks.grid(9)
X0 = torch.linspace(0.2, 2.0, 9).reshape(9, 1)
TIMES = ndcn.sampling.irregular_times(2.0, count=15, seed=0)
DATA = ndcn.simulate(ndcn.laws.Heat(), GRAPH, X0, TIMES)


def regressor(model: str | nn.Module = "ndcn", **settings: object) -> DynamicsRegressor:
    if isinstance(model, str):
        settings = {"hidden": 4, **settings}
    return DynamicsRegressor(model, **{"epochs": 15, **settings})


def coarse(**settings: object) -> DynamicsRegressor:
    return DynamicsRegressor(**{"epochs": 40, "hidden": 4, "solver": Solver("euler", step_size=0.5), **settings})


def weights(reg: DynamicsRegressor) -> list[torch.Tensor]:
    return [value.clone() for value in reg.model_.state_dict().values()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


class Decay(Field):
    """dX/dt = -k X with a learned k; what happens at some call can be arranged."""

    def __init__(self, k: float = 0.1) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.tensor(float(k)))
        self.calls = 0

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        self.calls += 1
        return -self.k * x


DECAY_TIMES = torch.linspace(0, 2, 9)
DECAY = ndcn.simulate(Decay(1.0), GRAPH, X0, DECAY_TIMES)


def decay(**settings: object) -> DynamicsRegressor:
    settings = {"epochs": 30, "learning_rate": 0.05, "solver": Solver("euler", step_size=0.25), **settings}
    return DynamicsRegressor(settings.pop("model", Decay()), **settings)


class Interrupting(Decay):
    """Presses Ctrl-C in the forward pass of one epoch."""

    def __init__(self, epoch: int, times: int = 1) -> None:
        super().__init__()
        self.epoch, self.times = epoch, times

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        if self.training and t == 0 and torch.is_grad_enabled():
            self.calls += 1
            if self.calls == self.epoch:
                for _ in range(self.times):
                    signal.raise_signal(signal.SIGINT)
        return -self.k * x
