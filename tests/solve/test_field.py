"""Fields add, and a field that is wrong is explained."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ndcn import Field, Graph, laws, simulate
from ndcn.solve.field import SumField, check_field
from problems import GRAPHS, states

GRAPH = GRAPHS["weighted"]
T0 = torch.tensor(0.0)


class Decay(Field):
    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return -x


class Clock(nn.Module):
    """Not a Field: any module with the same call will do."""

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return t * torch.ones_like(x)


@pytest.mark.parametrize("terms", [(Decay(), Clock()), (Clock(), Decay())], ids=["left", "right"])
def test_a_sum_is_the_sum(terms: tuple[nn.Module, nn.Module]) -> None:
    x, t = states(GRAPH, 2), torch.tensor(2.0)
    total = terms[0] + terms[1]
    assert isinstance(total, SumField)
    torch.testing.assert_close(total(t, x, GRAPH), 2 - x)


def test_sums_are_flat_and_keep_their_parameters() -> None:
    heat = laws.Heat(nn.Parameter(torch.tensor(2.0)))
    total = (heat + Decay()) + (laws.Gene() + Clock())
    assert [type(term) for term in total.terms] == [laws.Heat, Decay, laws.Gene, Clock]
    assert [p.item() for p in total.parameters()] == [2.0]


def test_a_hybrid_of_law_and_module_is_solved_exactly() -> None:
    times = torch.tensor([0.0, 0.5, 1.0])
    x0 = torch.ones(4, 1)
    data = simulate(laws.Heat() + Decay() + Clock(), GRAPHS["path"], x0, times)
    exact = 2 * torch.exp(-times) + times - 1  # heat rests at equal states; x' = t - x
    torch.testing.assert_close(data.states, exact.reshape(3, 1, 1).expand(3, 4, 1))


@pytest.mark.parametrize("make", [lambda: Decay() + 1, lambda: 1 + Decay(), lambda: sum([Decay()])])
def test_only_modules_can_be_added(make) -> None:
    with pytest.raises(TypeError, match=r"only fields .* can be added, got int"):
        make()


# A doctor for fields ------------------------------------------------------------------------------------------------


class Answer(Field):
    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return self.answer


def test_a_good_field_passes() -> None:
    check_field(Decay(), GRAPH, states(GRAPH, 1))


def test_another_call_is_explained() -> None:
    with pytest.raises(TypeError, match=r"Linear could not be called as field\(t, x, graph\): "):
        check_field(nn.Linear(1, 1), GRAPH, states(GRAPH, 1))


@pytest.mark.parametrize("answer", [None, 1.0])
def test_an_answer_that_is_no_tensor(answer: object) -> None:
    with pytest.raises(
        TypeError, match=rf"returned {type(answer).__name__}; it must return a tensor of shape \(5, 1\)"
    ):
        check_field(Answer(answer), GRAPH, states(GRAPH, 1))


def test_an_answer_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"Answer returned shape \(5, 2\) for x of shape \(5, 1\); they must agree"):
        check_field(Answer(torch.zeros(5, 2)), GRAPH, states(GRAPH, 1))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_answer_that_is_not_finite_names_the_node(value: float) -> None:
    graph = Graph.from_edges([("a", "b")])
    with pytest.raises(ValueError, match="NaN or infinite at the initial state, first at node 'b'; check its"):
        check_field(Answer(torch.tensor([[0.0], [value]])), graph, torch.zeros(2, 1))
