"""The paper's model and its ablations: sizes and formulas."""

from __future__ import annotations

import pytest
import torch

from ndcn import Solver, models, operators
from problems import GRAPHS, states

GRAPH = GRAPHS["path"]
EULER = Solver("euler", step_size=0.5)


@pytest.mark.parametrize(
    ("name", "features", "count"),
    [
        ("ndcn", 1, 901),
        ("no_graph", 1, 901),
        ("no_encode", 1, 4),
        ("no_control", 1, 481),
        ("ndcn", 3, 3 * 20 + 20 + 420 + 420 + 20 * 3 + 3),
        ("no_encode", 3, 2 * (9 + 3)),
    ],
)
def test_number_of_parameters(name: str, features: int, count: int) -> None:
    assert sum(p.numel() for p in getattr(models, name)(features).parameters()) == count


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("name", ["ndcn", "no_encode", "no_graph", "no_control"])
def test_one_euler_step_by_hand(name: str, features: int) -> None:
    model = getattr(models, name)(features, solver=EULER).double()
    x0 = states(GRAPH, features)
    if name == "no_encode":
        h = x0
    else:
        first, _, second = model.encoder
        h = torch.tanh(x0 @ first.weight.T + first.bias) @ second.weight.T + second.bias
    phi = torch.eye(4, dtype=torch.float64) if name == "no_graph" else operators.signed_laplacian(GRAPH).to_dense()
    inner = phi @ h
    if name != "no_control":
        inner = inner @ model.field.linear.weight.T + model.field.linear.bias
    expected = (h + 0.5 * torch.relu(inner)) @ model.decoder.weight.T + model.decoder.bias
    torch.testing.assert_close(model(x0, [0.5], GRAPH)[0], expected)


def test_choices_reach_the_field() -> None:
    model = models.ndcn(2, hidden=5, operator=operators.kipf, activation=torch.tanh, knots=[0.0, 1.0], solver=EULER)
    assert model.field.linear.weight.shape == (2, 5, 5)
    assert model.field.operator is operators.kipf
    assert model.field.activation is torch.tanh
    assert model.solver == EULER
    assert models.no_control(operator=operators.kipf, activation=torch.tanh).field.operator is operators.kipf
    assert models.no_graph(hidden=7, activation=torch.tanh).field.activation is torch.tanh
    assert models.no_encode(2, knots=[0.0, 1.0]).field.linear.weight.shape == (2, 2, 2)


def test_nodes_of_the_no_graph_model_do_not_see_each_other() -> None:
    model = models.no_graph(solver=EULER)
    x0 = torch.rand(4, 1)
    other = x0.clone()
    other[0] += 1
    a, b = model(x0, [1.0], GRAPH)[0], model(other, [1.0], GRAPH)[0]
    assert a[0] != b[0]
    assert torch.equal(a[1:], b[1:])
