"""GraphODE is its three parts in a row."""

from __future__ import annotations

import pytest
import torch
from ndcn.fields import GraphField
from torch import nn

from ndcn import GraphODE, Solver, integrate, laws, networks
from problems import GRAPHS, TanhField, heat, states

GRAPH = GRAPHS["path"]


def test_encode_integrate_decode() -> None:
    encoder, decoder, field = nn.Linear(1, 2).double(), nn.Linear(2, 1).double(), TanhField()
    solver = Solver("rk4", step_size=0.1)
    model = GraphODE(encoder, field, decoder, solver)
    x0, times = states(GRAPH, 1), [1.0, 0.25]
    hidden = integrate(field, GRAPH, encoder(x0), times, solver=solver, t0=0.2)
    assert torch.equal(model(x0, times, GRAPH, 0.2), decoder(hidden.states))
    solution = model.solve(x0, times, GRAPH, 0.2)
    assert solution.statistics == hidden.statistics
    assert torch.equal(solution.states, decoder(hidden.states))


def test_identity_parts_and_a_law_are_a_simulation() -> None:
    model = GraphODE(nn.Identity(), laws.Heat(), nn.Identity())
    assert model.solver == Solver()
    x0 = states(GRAPH, 3)
    torch.testing.assert_close(model(x0, [0.7], GRAPH), heat(GRAPH, x0, [0.7]), rtol=1e-4, atol=1e-4)


def test_gradients_reach_every_part_and_the_start() -> None:
    model = GraphODE(nn.Linear(1, 4), GraphField(4, activation=torch.tanh), nn.Linear(4, 1))
    x0 = torch.rand(4, 1, requires_grad=True)
    model(x0, [1.0, 2.0], GRAPH).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in (x0, *model.parameters()))


def test_the_weights_do_not_know_the_graph() -> None:
    model = GraphODE(nn.Linear(1, 4), GraphField(4), nn.Linear(4, 1))
    for graph in (networks.grid(16), networks.power_law(30, seed=0), GRAPHS["single"]):
        assert model(torch.rand(graph.num_nodes, 1), [1.0], graph).shape == (1, graph.num_nodes, 1)


@pytest.mark.parametrize("place", ["encoder", "field", "decoder"])
def test_parts_must_be_modules(place: str) -> None:
    parts = {"encoder": nn.Identity(), "field": laws.Heat(), "decoder": nn.Identity(), place: torch.tanh}
    with pytest.raises(TypeError, match=f"{place} must be a torch.nn.Module, got builtin_function_or_method"):
        GraphODE(**parts)
