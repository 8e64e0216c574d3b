"""Michaelis-Menten: values by hand, its state of rest, and what it shares with gene regulation."""

from __future__ import annotations

import pytest
import torch

from ndcn import Graph, simulate
from ndcn.laws import Gene, MichaelisMenten
from problems import GRAPHS, states

T0 = torch.tensor(0.0)


def test_by_hand() -> None:
    x = torch.tensor([[1.0], [3.0], [0.0], [4.0]], dtype=torch.float64)  # 0 - 1 - 2 - 3
    expected = torch.tensor([[-1 + 0.75], [-3 + 0.5], [0.75 + 0.8], [-4.0]], dtype=torch.float64)
    torch.testing.assert_close(MichaelisMenten()(T0, x, GRAPHS["path"]), expected)


@pytest.mark.parametrize("h", [1.0, 2.0, 2.5])
def test_it_is_gene_regulation_with_simple_decay(any_graph: Graph, h: float) -> None:
    x = states(any_graph, 2)
    torch.testing.assert_close(MichaelisMenten(h)(T0, x, any_graph), Gene(b=1, f=1, h=h)(T0, x, any_graph))


def test_it_rests_at_one_less_than_the_degree() -> None:
    complete = Graph.from_edges([(i, j) for i in range(5) for j in range(i)])
    last = simulate(MichaelisMenten(), complete, torch.full((5, 1), 0.2, dtype=torch.float64), [0.0, 40.0]).states[-1]
    torch.testing.assert_close(last, torch.full((5, 1), 3.0, dtype=torch.float64), rtol=1e-6, atol=1e-6)
