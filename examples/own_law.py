"""A law of your own: write it, simulate it, find its unknown number, and find the law itself.

Opinions x_i are drawn back to 0 and pulled by neighbours, who are heard less the further away they are:
dx_i/dt = -0.5 x_i + b sum_j A_ij tanh(x_j - x_i).

    python examples/own_law.py     # prints what was found, draws example_own_law.png
"""

import torch

import ndcn

torch.set_num_threads(1)


class Opinions(ndcn.laws.Law):
    """node() is what x_i does by itself, edge() what a neighbour does; _set keeps a parameter that may be unknown."""

    def __init__(self, b: float | None = 0.8) -> None:
        super().__init__()
        self._set(b=b)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -0.5 * x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return self._number("b", x_i) * torch.tanh(x_j - x_i)


# 40 people in a small world; every opinion was asked for 40 times, with a little noise.
graph = ndcn.networks.small_world(40, seed=0)
start = 4 * torch.rand(40, 1, generator=torch.Generator().manual_seed(0)) - 2
data = ndcn.simulate(Opinions(), graph, start, ndcn.sampling.irregular_times(2.0, count=40, seed=0))
noise = 0.01 * torch.randn(data.states.shape, generator=torch.Generator().manual_seed(1))
seen = ndcn.Trajectory(times=data.times, states=data.states + noise, graph=graph, features=["x"])

# The form is known, the strength is not: None is estimated, with a standard error in units of the last digit.
known = ndcn.DynamicsRegressor(Opinions(b=None), progress=False).fit(seen)
print("told the form:", known.equations())

# Nothing is known but that nodes act on neighbours; our guess joins the 33 candidates of the library.
reg = ndcn.DynamicsRegressor(ndcn.Interaction(terms=["tanh(x_j - x_i)"]), progress=False).fit(seen)
print("told the candidates:", reg.equations())

ax = ndcn.plot.interaction(reg, truth=Opinions())
ax[0, 0].figure.savefig("example_own_law.png")
print("drew example_own_law.png")
