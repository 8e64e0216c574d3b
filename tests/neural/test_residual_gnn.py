"""The residual GNN: its layers by hand, and what it shares with NDCN."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st
from ndcn.models import ResidualGNN

import ndcn
from ndcn import DynamicsRegressor, Solver, laws, models, networks, operators
from ndcn.solve.kernels import euler_compiled
from ndcn.training import Problem
from ndcn.training.objective import Target
from ndcn.training.task import ReadyTerm
from problems import GRAPHS, states

GRAPH = GRAPHS["weighted"]
DATA = ndcn.simulate(laws.Heat(), GRAPH, states(GRAPH, 1).float(), ndcn.sampling.regular_times(1.0, 11))


@pytest.mark.parametrize("features", [1, 2])
def test_layers_by_hand(features: int) -> None:
    torch.manual_seed(0)
    model = ResidualGNN(features, hidden=4, step=0.25, operator=operators.kipf, activation=torch.tanh).double()
    x0, phi = states(GRAPH, features), operators.kipf(GRAPH).to_dense()
    h, expected = model.encoder(x0), []
    for _ in range(5):
        expected.append(model.decoder(h))
        h = h + torch.tanh(phi @ h @ model.field.linear.weight.T + model.field.linear.bias)
    found = model(x0, torch.tensor([2.0, 1.0, 1.75], dtype=torch.float64), GRAPH, 1.0)
    torch.testing.assert_close(found, torch.stack(expected)[[4, 0, 3]])


def test_it_is_ndcn_with_the_step_in_its_weights() -> None:
    torch.manual_seed(0)
    layered = ResidualGNN(step=0.1, layers=10)
    continuous = models.ndcn(solver=Solver("euler", step_size=0.1))
    weights = layered.state_dict()
    for name in ("field.linear.weight", "field.linear.bias"):
        weights[name] = weights[name] * 10
    continuous.load_state_dict(weights)
    times = 0.1 * torch.arange(8, dtype=torch.float64)
    x0 = states(GRAPH, 1).float()
    torch.testing.assert_close(layered(x0, times, GRAPH), continuous(x0, times, GRAPH), rtol=1e-4, atol=1e-5)


@given(layers=st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_a_layer_does_not_depend_on_the_others_asked_for(layers: list[int]) -> None:
    model, x0 = ResidualGNN(hidden=3, layers=20).double(), states(GRAPH, 1)
    every = model(x0, torch.arange(21), GRAPH)
    torch.testing.assert_close(model(x0, torch.tensor(layers), GRAPH), every[layers])


def test_it_trains_by_the_loss_of_whole_trajectories() -> None:
    """The value and gradients that training takes without autograd are those of prediction, loss and autograd."""
    torch.manual_seed(0)
    model, times = ResidualGNN(hidden=4, step=0.25, layers=8).double(), 1.0 + 0.25 * torch.arange(1, 9).double()
    target = Target(torch.rand(8, GRAPH.num_nodes, 1).double(), None, torch.full((8, 1, 1), 0.1).double())
    problem = Problem(GRAPH, states(GRAPH, 1), 1.0, times, target)
    objective = ndcn.Objective("l1")
    expected = objective.loss(model(problem.x0, times, GRAPH, 1.0), target)
    gradients = torch.autograd.grad(expected, list(model.parameters()))
    if euler_compiled.library() is not None:
        assert isinstance(problem.term(model, objective, 1), ReadyTerm)
    problem.term(model, objective, 1).backward()
    assert problem.loss(model, objective).item() == pytest.approx(expected.item(), rel=1e-12)
    for weight, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(weight.grad, gradient)


def test_gradients() -> None:
    model, x0 = ResidualGNN(hidden=3, activation=torch.tanh).double(), states(GRAPH, 1)
    names, weights = zip(*model.named_parameters(), strict=True)

    def run(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, given, (x0, torch.tensor([1.0, 3.0]), GRAPH))

    assert torch.autograd.gradcheck(run, weights)


def test_it_learns_and_runs_elsewhere() -> None:
    parts = ndcn.split(DATA, interpolation=0, extrapolation=0.2)
    reg = DynamicsRegressor("residual_gnn", epochs=150).fit(parts.train)
    assert sum(p.numel() for p in reg.model_.parameters()) == 901
    assert reg.history_.loss[-1] < 0.5 * reg.history_.loss[0]
    assert reg.predict(parts.extrapolation.times).states.isfinite().all()
    other = networks.grid(9)
    assert reg.predict([0.5], graph=other, x0=torch.ones(9, 1)).states.shape == (1, 9, 1)
    assert torch.equal(reg.predict([0.3], x0=DATA.states[0]).states, reg.predict([0.3]).states)


def test_many_layers_do_not_explode_at_first() -> None:
    data = ndcn.simulate(laws.Heat(), networks.grid(25), torch.rand(25, 1), ndcn.sampling.regular_times(1.0, 300))
    assert DynamicsRegressor("residual_gnn", epochs=1).fit(data).history_.loss[0] < 10


def test_validation_and_missing_snapshots_stay_on_the_grid() -> None:
    reg = DynamicsRegressor("residual_gnn", epochs=20, validation=0.2).fit(DATA)
    assert len(reg.history_.validation) == 2


def test_what_has_no_effect_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^`residual_gnn` does not use `knots`, `solver`; remove them$"):
        DynamicsRegressor("residual_gnn", knots=[0.0, 1.0], solver=Solver()).fit(DATA)
    reg = DynamicsRegressor("residual_gnn", operator="kipf", activation="tanh", hidden=5, epochs=1).fit(DATA)
    assert reg.model_.field.operator is operators.kipf
    assert reg.model_.field.linear.weight.shape == (5, 5)
