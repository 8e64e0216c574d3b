"""Learned fields against the dense formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from ndcn.fields import DiffusionField, GraphField, NodeField

from ndcn import DynamicsRegressor, Graph, integrate, laws, networks, operators, simulate
from problems import GRAPHS, heat, states

T0 = torch.tensor(0.0, dtype=torch.float64)


@pytest.mark.parametrize("name", operators.NAMED)
@pytest.mark.parametrize("activation", [torch.relu, torch.tanh])
def test_graph_field_is_the_formula(graph: Graph, name: str, activation: object) -> None:
    field = GraphField(3, operator=operators.NAMED[name], activation=activation).double()
    x = states(graph, 3) - 1
    phi = operators.NAMED[name](graph).to_dense()
    expected = activation(phi @ x @ field.linear.weight.T + field.linear.bias)
    torch.testing.assert_close(field(T0, x, graph), expected)


def test_the_default_operator_is_the_normalised_laplacian() -> None:
    a = GRAPHS["weighted"].to_dense()
    a[1, 1] = 0  # without the self-loop
    graph = Graph.from_dense(a)
    root = torch.where(a.sum(1) > 0, a.sum(1) ** -0.5, 0.0)
    phi = torch.diag((a.sum(1) > 0).double()) - root[:, None] * a * root
    field = GraphField(2, activation=lambda z: z).double()
    x = states(graph, 2)
    torch.testing.assert_close(field(T0, x, graph), phi @ x @ field.linear.weight.T + field.linear.bias)
    torch.testing.assert_close(DiffusionField(activation=lambda z: z)(T0, x, graph), phi @ x)


def test_node_field_sees_no_neighbours(any_graph: Graph) -> None:
    field, x = NodeField(2).double(), states(any_graph, 2) - 1
    expected = torch.relu(x @ field.linear.weight.T + field.linear.bias)
    torch.testing.assert_close(field(T0, x, any_graph), expected)
    edgeless = Graph.from_edges([], num_nodes=any_graph.num_nodes)
    assert torch.equal(field(T0, x, edgeless), field(T0, x, any_graph))


@pytest.mark.parametrize(
    "field",
    [GraphField(2), GraphField(2, knots=[0.0, 1.0]), NodeField(2), DiffusionField()],
    ids=lambda f: type(f).__name__,
)
def test_renumbering_the_nodes_renumbers_the_answer(field: torch.nn.Module, any_graph: Graph) -> None:
    field = field.double()
    order = torch.randperm(any_graph.num_nodes, generator=torch.Generator().manual_seed(3))
    other = Graph.from_dense(any_graph.to_dense()[order][:, order], directed=any_graph.directed)
    x = states(any_graph, 2) - 1
    torch.testing.assert_close(field(T0, x[order], other), field(T0, x, any_graph)[order])


@pytest.mark.parametrize("knots", [None, [0.0, 1.0, 3.0]])
def test_gradcheck(knots: list[float] | None) -> None:
    field = GraphField(2, activation=torch.tanh, knots=knots).double()
    t = torch.tensor(0.4, dtype=torch.float64)

    def run(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return field(t, x, GRAPHS["directed"])

    x = (states(GRAPHS["directed"], 2) - 1).requires_grad_()
    assert torch.autograd.gradcheck(run, (x, *field.parameters()))


@pytest.mark.parametrize(
    ("t", "left", "share"), [(-1.0, 0, 0.0), (0.0, 0, 0.0), (0.25, 0, 0.25), (1.0, 1, 0.0), (2.5, 1, 0.75), (3.0, 1, 1.0), (9.0, 1, 1.0)]
)  # fmt: skip
def test_weights_in_time_at_between_and_beyond_the_knots(t: float, left: int, share: float) -> None:
    graph = GRAPHS["path"]
    field = GraphField(2, knots=[0.0, 1.0, 3.0], activation=lambda z: z).double()
    weight, bias = field.linear.weight, field.linear.bias
    w = (1 - share) * weight[left] + share * weight[left + 1]
    b = (1 - share) * bias[left] + share * bias[left + 1]
    x = states(graph, 2)
    expected = operators.signed_laplacian(graph).to_dense() @ x @ w.T + b
    torch.testing.assert_close(field(torch.tensor(t, dtype=torch.float64), x, graph), expected)


def test_only_the_neighbouring_knots_get_gradients() -> None:
    field = GraphField(2, knots=[0.0, 1.0, 2.0], activation=torch.tanh)
    field(torch.tensor(1.5), states(GRAPHS["path"], 2).float(), GRAPHS["path"]).sum().backward()
    assert [bool(g.any()) for g in field.linear.weight.grad] == [False, True, True]


@pytest.mark.parametrize("knots", [[0.0], [1.0, 0.0], [0.0, 0.0], [0.0, math.nan], [0.0, math.inf], [[0.0, 1.0]], 3.0])
def test_wrong_knots(knots: object) -> None:
    with pytest.raises(ValueError, match="knots must be at least two finite times in increasing order"):
        GraphField(2, knots=knots)


def test_a_law_and_a_learned_field_add() -> None:
    graph, x = GRAPHS["path"], states(GRAPHS["path"], 1)
    learned = GraphField(1).double()
    both = laws.Heat() + learned
    torch.testing.assert_close(both(T0, x, graph), laws.Heat()(T0, x, graph) + learned(T0, x, graph))
    assert [p is q for p, q in zip(both.parameters(), learned.parameters(), strict=True)] == [True, True]
    integrate(both, graph, x, [1.0]).states.sum().backward()
    assert learned.linear.bias.grad is not None
    with torch.no_grad():  # a correction of nothing leaves the law
        for p in learned.parameters():
            p.zero_()
    torch.testing.assert_close(integrate(both, graph, x, [1.0]).states, heat(graph, x, [1.0]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", [GraphField, NodeField, lambda width: GraphField(width, knots=[0.0, 1.0])])
def test_a_learned_field_starts_near_zero_beside_a_law(make: Callable[[int], GraphField | NodeField]) -> None:
    graph, x = GRAPHS["path"], states(GRAPHS["path"], 1).float()
    learned = make(1)
    with torch.no_grad():
        drawn = [p.clone() for p in learned.parameters()]
        total = laws.Heat() + learned
        assert all(torch.equal(p, 0.01 * q) for p, q in zip(learned.parameters(), drawn, strict=True))
        laws.Gene() + total  # only once
        assert all(torch.equal(p, 0.01 * q) for p, q in zip(learned.parameters(), drawn, strict=True))
        alone, both = make(1), make(1)
        weight = next(alone.parameters()).clone()
        alone + both  # neither is known
        assert torch.equal(next(alone.parameters()), weight)
        next(both.parameters()).add_(1.0)  # trained, or loaded
        kept = next(both.parameters()).clone()
        laws.Heat() + both
        assert torch.equal(next(both.parameters()), kept)
    assert total(torch.tensor(0.0), x, graph).isfinite().all()


def test_a_correction_of_a_law_can_be_followed_from_the_start() -> None:
    """Drawn weights of this size would explode within the time of the data."""
    graph = networks.grid(25)
    data = simulate(laws.Heat(), graph, laws.initial_state(graph), torch.linspace(0, 60, 8))
    torch.manual_seed(1)
    learned = GraphField(1, operator=operators.adjacency)
    with torch.random.fork_rng():
        history = DynamicsRegressor(laws.Heat() + learned, epochs=1).fit(data).history_
    assert math.isfinite(history.loss[0])
