"""The paper's laws against laws written by hand and exact solutions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given

from ndcn import Graph, operators, simulate
from ndcn.laws import Gene, Heat, Law, Mutualistic
from problems import DIRECTED, SIGNED_GRAPHS, heat, states
from strategies import graphs

T0 = torch.tensor(0.0)


class OwnHeat(Law):
    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_j - x_i


class OwnMutualistic(Law):
    def node(self, x: torch.Tensor) -> torch.Tensor:
        return 0.1 + x * (1 - x / 5) * (x - 1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_i * x_j / (5 + 0.9 * x_i + 0.1 * x_j)


class OwnGene(Law):
    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_j**2 / (x_j**2 + 1)


@pytest.mark.parametrize(("own", "known"), [(OwnHeat, Heat), (OwnMutualistic, Mutualistic), (OwnGene, Gene)])
@pytest.mark.parametrize("shape", [(1,), (3, 2)])
def test_an_own_law_equals_the_known_one(
    any_graph: Graph, own: type[Law], known: type[Law], shape: tuple[int, ...]
) -> None:
    x = states(any_graph, *shape)
    torch.testing.assert_close(own()(T0, x, any_graph), known()(T0, x, any_graph))


@given(graphs(directed=False))
def test_heat_is_conserved_on_undirected_graphs(graph: Graph) -> None:
    torch.testing.assert_close(
        Heat()(T0, states(graph, 2), graph).sum(0), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("d", [1, 2])
def test_heat_is_the_matrix_exponential(graph: Graph, d: int) -> None:
    x0, times = states(graph, d), torch.tensor([0.0, 0.1, 1.0, 3.0])
    data = simulate(Heat(), graph, x0, times)
    torch.testing.assert_close(data.states, heat(graph, x0, times), rtol=1e-6, atol=1e-6)
    assert data.states.dtype == torch.float64
    assert data.statistics.evaluations > 0


def test_heat_with_negative_weights_is_the_matrix_exponential() -> None:
    graph = SIGNED_GRAPHS["signed"]
    x0, times = states(graph, 1), torch.tensor([0.5, 1.0])
    torch.testing.assert_close(simulate(Heat(), graph, x0, times).states, heat(graph, x0, times), rtol=1e-6, atol=1e-6)


def test_heat_flows_only_along_the_direction() -> None:
    graph = Graph.from_dense(DIRECTED)
    rate = Heat()(T0, states(graph, 1), graph)
    assert rate[4] == 0  # nobody acts on it
    torch.testing.assert_close(rate, -(operators.laplacian(graph) @ states(graph, 1)))
