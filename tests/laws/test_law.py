"""Laws of one's own, and how a law keeps its parameters."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from ndcn.laws import Gene, Heat, Law, Mutualistic
from problems import GRAPHS, states

T0 = torch.tensor(0.0)


def test_a_law_without_functions_rests_and_one_with_a_node_function_ignores_the_graph() -> None:
    class Decay(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return -x

    x = states(GRAPHS["weighted"], 1)
    assert torch.equal(Law()(T0, x, GRAPHS["weighted"]), torch.zeros_like(x))
    assert torch.equal(Law().edge(x, x), torch.zeros_like(x))
    assert torch.equal(Decay()(T0, x, GRAPHS["weighted"]), -x)


def test_an_edge_function_that_returns_another_shape() -> None:
    class Wrong(Law):
        def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
            return (x_j - x_i).sum(-1)

    with pytest.raises(ValueError, match=r"Wrong.edge returned shape \(6,\) for 6 edges with states of shape \(6, 2\)"):
        Wrong()(T0, states(GRAPHS["path"], 2), GRAPHS["path"])


@pytest.mark.parametrize("law", [Heat(k=torch.ones(5)), Mutualistic(h=torch.ones(5)), Gene(h=torch.ones(5))])
def test_an_edge_function_cannot_tell_nodes_apart(law: Law) -> None:
    x = states(GRAPHS["weighted"], 1)
    with pytest.raises(
        ValueError, match=r"edge\(x_i, x_j\) cannot tell apart; per-node parameters need the law's own forward"
    ):
        law.edge(x, x)
    law(T0, x, GRAPHS["weighted"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("nan")]])
def test_parameters_must_be_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="Heat: k must be finite, got"):
        Heat(value)


def test_as_many_parameters_as_nodes() -> None:
    with pytest.raises(ValueError, match="Gene: b has one value for each of 3 nodes, but the graph has 4"):
        Gene(b=[1, 2, 3])(T0, torch.ones(4, 1), GRAPHS["path"])


def test_printing_shows_the_parameters() -> None:
    assert repr(Heat([1, 2, 3])) == "Heat(k=(3,))"
    assert repr(Heat(nn.Parameter(torch.tensor(0.5)))) == "Heat(k=0.5)"
