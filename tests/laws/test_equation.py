"""Equations: rates against dense sums, and derivatives by states and parameters against numerical ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn import Graph, laws
from ndcn.identify.known_law import checked_law
from ndcn.identify.library import library
from ndcn.laws import Equation, Model, Term
from ndcn.laws.formula import Formula
from ndcn.laws.network import Network
from ndcn.laws.terms import values_of
from problems import GRAPHS, SIGNED_GRAPHS, equation, states

VW = ("v", "w")


EQUATIONS = {
    "heat": equation((0.7, "x_j - x_i", True)),
    "gene": equation((-1.0, "x", False), (2.0, "x_j^h/(1 + x_j^h)", True, [1.7])),
    "parameters in both factors": equation((0.6, "x_i/(b + x_i)*x_j^2/(b^2 + c*x_j^2)", True, [0.8, 0.4])),
    "phases": equation((0.5, "sin(x_j - x_i - a)", True, [0.3]), (0.2, "1", False)),
    "mixed": equation((0.4, "x_i*x_j/(1 + b*x_i + c*x_j)", True, [0.5, 0.2]), (-0.3, "x^3", False)),
    "difference": equation((1.1, "tanh(a*(x_j - x_i))", True, [0.8]), (0.2, "1", True), (0.3, "x_i", True)),
    "self alone": equation((-1.0, "x^p", False, [1.3])),
    "constant alone": equation((0.4, "k", False, [2.0]), (0.1, "k", True, [0.5])),
    "nothing": equation(),
    "two features": equation(
        (1.0, "v", False),
        (-0.3, "v^2*w", False),
        (0.1, "v_j - v_i", True),
        (0.4, "v - b*w", False, [0.9], 1),
        (0.2, "w_j*v_i/(k + w_j)", True, [0.4], 1),
        (0.3, "exp(-(v_i - w_j)^2/s)", True, [2.0], 1),
        features=VW,
    ),
    "three features": equation(
        (-1.0, "a*b", False, [], 0),
        (0.5, "a_i*b_j", True, [], 1),
        (0.2, "tanh(q*(c_j - a_i))", True, [0.7], 2),
        features=("a", "b", "c"),
    ),
}


def numerical(model: Model, x: torch.Tensor, network: Network, step: float = 1e-5) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the rate by the states (K n d, K n d) and by the parameters (K n d, P), by central differences."""
    by_state, by_parameter = [], []
    for k in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[k] = step
        e = e.reshape(x.shape)
        by_state.append(((model.rate(x + e, network) - model.rate(x - e, network)) / (2 * step)).reshape(-1))
    p = model.parameters
    for k in range(len(p)):
        e = torch.zeros_like(p)
        e[k] = step
        up, down = (model.with_parameters(q).rate(x, network) for q in (p + e, p - e))
        by_parameter.append(((up - down) / (2 * step)).reshape(-1))
    empty = torch.zeros(x.numel(), 0)
    return torch.stack(by_state, 1).numpy(), (torch.stack(by_parameter, 1) if by_parameter else empty).numpy()


def check_slopes(model: Model, x: torch.Tensor, network: Network, tolerance: float = 1e-7) -> None:
    slopes = model.slopes(x, network)
    by_state, by_parameter = numerical(model, x, network)
    torch.testing.assert_close(slopes.rate, model.rate(x, network), atol=1e-12, rtol=1e-12)
    J = network.jacobian(slopes.own, slopes.edges).toarray()
    np.testing.assert_allclose(J, by_state, atol=tolerance, rtol=tolerance)
    columns = slopes.columns.reshape(x.numel(), len(model.parameters)).numpy()
    np.testing.assert_allclose(columns, by_parameter, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", ["gene", "nothing", "two features"])
def test_a_base_is_added_with_its_jacobian(any_graph: Graph, name: str) -> None:
    alone, network = EQUATIONS[name], Network(any_graph)
    x = states(any_graph, 2, alone.features)
    base = checked_law(laws.Mutualistic(), network, x)
    both = replace(alone, base=base)
    torch.testing.assert_close(both.rate(x, network), alone.rate(x, network) + base.rate(x, network))
    assert torch.equal(both.parameters, alone.parameters)
    assert both.with_parameters(2 * both.parameters).base is base
    check_slopes(both, x, network, 1e-6)


@pytest.mark.parametrize("name", EQUATIONS)
def test_rate_is_the_dense_sum(any_graph: Graph, name: str) -> None:
    found, a = EQUATIONS[name], any_graph.to_dense().double()
    x, n = states(any_graph, found.features), any_graph.num_nodes
    expected = torch.zeros_like(x)
    for term, c in zip(found.terms, found.coefficients, strict=True):
        if term.coupling:
            pairs = term.formula(x.repeat_interleave(n, 0), x.repeat(n, 1), term.values).reshape(n, n)
            expected[:, term.output] += c * (a * pairs).sum(1)
        else:
            expected[:, term.output] += c * term.formula(x, None, term.values)
    torch.testing.assert_close(found.rate(x.unsqueeze(0), Network(any_graph))[0], expected)


@pytest.mark.parametrize("name", EQUATIONS)
def test_slopes_are_derivatives(any_graph: Graph, name: str) -> None:
    found = EQUATIONS[name]
    check_slopes(found, states(any_graph, 2, found.features), Network(any_graph))


@pytest.mark.parametrize("name", ["gene", "mixed", "two features"])
def test_slopes_are_those_of_autograd(name: str) -> None:
    found, graph = EQUATIONS[name], SIGNED_GRAPHS["signed"]
    network, a, n = Network(graph), graph.to_dense().double(), graph.num_nodes
    x = states(graph, found.features)

    def rate(x: torch.Tensor) -> torch.Tensor:
        columns = [torch.zeros(n, dtype=x.dtype) for _ in range(found.features)]
        for term, c in zip(found.terms, found.coefficients, strict=True):
            own = term.formula(x.repeat_interleave(n, 0), x.repeat(n, 1), term.values)
            value = (a * own.reshape(n, n)).sum(1) if term.coupling else term.formula(x, None, term.values)
            columns[term.output] = columns[term.output] + c * value
        return torch.stack(columns, 1)

    slopes = found.slopes(x.unsqueeze(0), network)
    expected = torch.autograd.functional.jacobian(rate, x).reshape(x.numel(), x.numel())
    found_here = torch.from_numpy(network.jacobian(slopes.own, slopes.edges).toarray())
    torch.testing.assert_close(found_here, expected)


def test_slopes_of_the_whole_library() -> None:
    graph = GRAPHS["weighted"]
    network, x = Network(graph), states(graph, 1, 1)
    for term in {t.family: t for t in library(["x"], np.array([[0.1], [3.1]]))}.values():
        check_slopes(Equation((term,), torch.tensor([0.7], dtype=torch.float64)), x, network, 1e-6)


@given(
    powers=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    c=st.floats(-3, 3),
    K=st.floats(0.2, 3),
    joined=st.booleans(),
    seed=st.integers(0, 50),
)
def test_slopes_of_drawn_terms(powers: tuple[int, int], c: float, K: float, joined: bool, seed: int) -> None:
    bottom = "(K + x_i + x_j)" if joined else "(K + x_j)"
    term = Term(Formula(f"x_i^{powers[0]}*x_j^{powers[1]}/{bottom}"), True, 0, (K,))
    graph = SIGNED_GRAPHS["signed"]
    x = states(graph, 2, 1, seed=seed) / 2
    check_slopes(Equation((term,), torch.tensor([c], dtype=torch.float64)), x, Network(graph), 1e-6)


def test_derivatives_that_do_not_exist_are_zero() -> None:
    found, graph = equation((1.0, "x_j^h/(1 + x_j^h)", True, [2.0]), (1.0, "sqrt(x)", False)), GRAPHS["path"]
    slopes = found.slopes(torch.zeros(1, 4, 1, dtype=torch.float64), Network(graph))
    for value in (slopes.rate, slopes.own, slopes.edges, slopes.columns):
        assert value.isfinite().all()


def test_parameters_go_in_and_out() -> None:
    found = EQUATIONS["two features"]
    assert found.parameters.tolist() == [1.0, -0.3, 0.1, 0.4, 0.2, 0.3, 0.9, 0.4, 2.0]
    other = found.with_parameters(torch.arange(9, dtype=torch.float64))
    assert other.parameters.tolist() == list(range(9))
    assert [t.values for t in other.terms] == [(), (), (), (6.0,), (7.0,), (8.0,)]
    assert found.parameters[0] == 1


def test_sums_are_shared_between_terms_with_the_same_parameters_only() -> None:
    graph = GRAPHS["path"]
    network, x, cache = Network(graph), states(graph, 1, 1), {}
    terms = [Term(Formula("x_i*x_j/(K + x_j)"), True, 0, (k,)) for k in (1.0, 2.0, 1.0)]
    with_cache = [values_of(t, x, network, cache) for t in terms]
    assert len(cache) == 2
    for t, value in zip(terms, with_cache, strict=True):
        torch.testing.assert_close(value, values_of(t, x, network))


def test_a_term_prints_its_sum() -> None:
    assert str(Term(Formula("x_i*x_j"), True)) == "sum_j A_ij x_i*x_j"
    assert str(Term(Formula("x^2"), False)) == "x^2"
