"""Shooting: against the matrix exponential, its order, its derivatives, and the steps it takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from ndcn.identify.shooting import derivatives, ends, steps_needed
from ndcn.laws.network import Network
from ndcn.solve.methods.tableau import RK4, TSIT5, Tableau
from problems import GRAPHS, SIGNED_GRAPHS, equation, heat, states

SPANS = torch.tensor([0.05, 0.3, 0.1], dtype=torch.float64)


EQUATIONS = {
    "heat": equation((0.7, "x_j - x_i", True)),
    "gene": equation((-1.0, "x", False), (2.0, "x_j^h/(1 + x_j^h)", True, [1.7])),
    "mixed": equation((0.4, "x_i*x_j/(1 + b*x_i + c*x_j)", True, [0.5, 0.2]), (-0.3, "x^3", False)),
    "two features": equation(
        (-0.3, "v^2*w", False),
        (0.1, "v_j - v_i", True),
        (0.4, "v - b*w", False, [0.9], 1),
        (0.2, "w_j*v_i/(k + w_j)", True, [0.4], 1),
        features=("v", "w"),
    ),
}


@pytest.mark.parametrize("name", SIGNED_GRAPHS)
def test_linear_laws_follow_the_matrix_exponential(name: str) -> None:
    graph = SIGNED_GRAPHS[name]
    x = states(graph, 3, 1)
    found = ends(equation((1.0, "x_j - x_i", True)), Network(graph), x, SPANS, 64)
    for k, span in enumerate(SPANS):
        torch.testing.assert_close(found[k], heat(graph, x[k], [span])[0], atol=1e-8, rtol=1e-8)


def test_two_coupled_features() -> None:
    graph = GRAPHS["directed"]
    law = equation(
        (1.0, "w", False, [], 0), (-1.0, "v", False, [], 1), (0.3, "v_j - v_i", True, [], 1), features=("v", "w")
    )
    a = graph.to_dense().double()
    n = graph.num_nodes
    laplacian = torch.diag(a.sum(1)) - a
    eye, zero = torch.eye(n, dtype=torch.float64), torch.zeros(n, n, dtype=torch.float64)
    matrix = torch.cat([torch.cat([zero, eye], 1), torch.cat([-eye - 0.3 * laplacian, zero], 1)])
    x = states(graph, 1, 2)
    found = ends(law, Network(graph), x, torch.tensor([0.7], dtype=torch.float64), 100)[0]
    expected = torch.matrix_exp(0.7 * matrix) @ torch.cat([x[0, :, 0], x[0, :, 1]])
    torch.testing.assert_close(torch.cat([found[:, 0], found[:, 1]]), expected, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("method", [RK4, TSIT5], ids=["rk4", "tsit5"])
def test_order(method: Tableau) -> None:
    graph = GRAPHS["weighted"]
    x, span = states(graph, 1, 1), torch.tensor([0.2], dtype=torch.float64)
    law, network = EQUATIONS["gene"], Network(graph)
    exact = ends(law, network, x, span, 200, method)
    errors = [float((ends(law, network, x, span, steps, method) - exact).abs().max()) for steps in (2, 4, 8)]
    for coarse, fine in itertools.pairwise(errors):
        assert 0.6 < coarse / fine / 2**method.order < 1.6


@pytest.mark.parametrize("name", EQUATIONS)
def test_derivatives_by_the_parameters(name: str) -> None:
    law, graph = EQUATIONS[name], GRAPHS["directed"]
    network, x, p = Network(graph), states(graph, 3, law.features), law.parameters
    columns = derivatives(law, network, x, SPANS, 3)
    for k in range(len(p)):
        e = torch.zeros_like(p)
        e[k] = 1e-5
        up, down = (ends(law.with_parameters(q), network, x, SPANS, 3) for q in (p + e, p - e))
        torch.testing.assert_close(columns[..., k], (up - down) / 2e-5, atol=1e-7, rtol=1e-6)


def test_steps_needed_bring_the_error_below_the_tolerance() -> None:
    graph = GRAPHS["weighted"]
    network, law = Network(graph), equation((1.0, "x_j - x_i", True))
    x, spans = states(graph, 4, 1), torch.tensor([1e-4, 0.05, 0.4, 1.5], dtype=torch.float64)
    tolerance = torch.tensor([1e-7], dtype=torch.float64)
    steps = steps_needed(law, network, x, spans, tolerance)
    assert steps.tolist() == sorted(steps.tolist())
    assert np.log2(steps.numpy()).tolist() == np.log2(steps.numpy()).round().tolist()
    for k, count in enumerate(steps.tolist()):
        found = ends(law, network, x[k : k + 1], spans[k : k + 1], count)[0]
        assert float((found - heat(graph, x[k], [spans[k]])[0]).abs().max()) < 3e-7


def test_looser_tolerances_need_fewer_steps() -> None:
    graph = GRAPHS["weighted"]
    network, law = Network(graph), equation((1.0, "x_j - x_i", True))
    x, spans = states(graph, 1, 1), torch.tensor([1.0], dtype=torch.float64)
    counts = [
        int(steps_needed(law, network, x, spans, torch.tensor([tol], dtype=torch.float64)))
        for tol in (1e-2, 1e-5, 1e-8)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_laws_that_explode_or_are_too_fast_get_no_steps() -> None:
    graph = GRAPHS["path"]
    x = states(graph, 2, 1) + 1
    spans = torch.tensor([1e-3, 5.0], dtype=torch.float64)
    steps = steps_needed(equation((1.0, "x^3", False)), Network(graph), x, spans, torch.tensor([1e-6]), 32)
    assert steps[0] > 0
    assert steps[1] == 0
    stiff = steps_needed(equation((-1e5, "x", False)), Network(graph), x, spans, torch.tensor([1e-6]), 8)
    assert stiff.tolist() == [0, 0]
