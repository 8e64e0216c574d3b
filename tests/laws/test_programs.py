"""Laws in C beside their twins in torch: rates, derivatives, shots and trajectories."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn.identify import shooting
from ndcn.identify.library import library, ranges_of
from ndcn.laws import Equation, Formula, FreeModel, Model, Network, Term, basis_for
from ndcn.solve import RK4, TSIT5, Tableau, law_kernel_in_use
from problems import SIGNED_GRAPHS

pytestmark = pytest.mark.skipif(law_kernel_in_use() == "torch", reason="the compiled kernel was not built")

OWN = (
    "x_j^4/(K^4 + x_j^4)",
    "sqrt(abs(x))*log(1 + x^2)",
    "log1p(x^2) - x^-1",
    "sigmoid(a*x_i*x_j)",
    "sinh(x_i/9)*cosh(x_j/9) + atan(x_j - x_i)*tan(x_i/9)",
    "relu(x_j - x_i)*sign(x_i)",
    "exp(0 - x_i*x_j*q)^1.5",
    "3^h*x + 2^3",
    "-x_j*+x_i",
)


def states(graph: ndcn.Graph, d: int, count: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(d)
    return torch.rand(count, graph.num_nodes, d, generator=generator, dtype=torch.float64) * 6 - 0.5


@functools.cache
def graph_of(name: str) -> ndcn.Graph:
    return ndcn.networks.power_law(150, seed=1) if name == "power law" else SIGNED_GRAPHS[name]


@functools.cache
def equations(d: int) -> list[Equation]:
    """Every term of the library alone, and seven of them together in many ways."""
    features = ("x",) if d == 1 else ("v", "w")
    x = states(graph_of("power law"), d)
    terms = library(features, ranges_of(x), OWN if d == 1 else ["v_i*w_j/(1 + b*v_i*w_i)"])
    one = torch.tensor([0.7], dtype=torch.float64)
    alone = [Equation((term,), one, d) for term in {term.family: term for term in terms}.values()]
    rng = np.random.default_rng(0)
    mixed = [tuple(terms[k] for k in rng.choice(len(terms), 7, replace=False)) for _ in range(30)]
    return alone + [Equation(some, torch.from_numpy(rng.standard_normal(7)), d) for some in mixed]


def splines(graph: ndcn.Graph, d: int) -> FreeModel:
    """With states within and beyond their knots."""
    network, x = Network(graph), states(graph, d)
    gaps = (x[:, network.j] - x[:, network.i]).reshape(-1, d) if len(network.i) else x.reshape(-1, d)
    basis = basis_for(0.7 * x.reshape(-1, d) + 0.3, 0.7 * gaps)
    generator = torch.Generator().manual_seed(0)
    return FreeModel(basis, torch.randn(d, basis.size, generator=generator, dtype=torch.float64))


def close(found: np.ndarray, expected: torch.Tensor | np.ndarray, tolerance: float = 1e-12) -> None:
    """To so much of the largest."""
    other = np.asarray(expected)
    np.testing.assert_allclose(
        found, other, rtol=tolerance, atol=tolerance * max(np.abs(other).max(initial=0.0), 1e-300)
    )


def same_slopes(model: Model, network: Network, x: torch.Tensor) -> None:
    kernel = model.kernel(network)
    assert kernel is not None
    close(kernel.rate(x.numpy()), model.rate(x, network))
    expected = model.slopes(x, network)
    rate, own, edges, columns = kernel.slopes(x.numpy())
    close(rate, expected.rate)
    close(own, expected.own)
    close(edges, expected.edges * network.weights[:, None, None])
    close(columns, expected.columns)


@pytest.mark.parametrize("name", ["power law", "signed", "directed", "edgeless"])
@pytest.mark.parametrize("d", [1, 2])
def test_equations_have_the_rates_and_derivatives_of_torch(name: str, d: int) -> None:
    graph = graph_of(name)
    network = Network(graph)
    for equation in equations(d):
        same_slopes(equation, network, states(graph, d))


@pytest.mark.parametrize("name", ["power law", "signed", "directed", "edgeless"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_splines_have_the_rates_and_derivatives_of_torch(name: str, d: int) -> None:
    graph = graph_of(name)
    same_slopes(splines(graph, d), Network(graph), states(graph, d))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2])
def test_rows_of_many_lengths(d: int, weighted: bool) -> None:
    """Hubs, leaves and nodes without neighbours, more of them than are ordered together, and no multiple of what is summed side by side."""
    rng = np.random.default_rng(0)
    i = np.concatenate([np.repeat(np.arange(40), np.arange(40) * 20), np.zeros(1100, dtype=int), np.arange(1100)])
    j = np.concatenate([rng.integers(0, 1100, 20 * 780), np.arange(1100), np.zeros(1100, dtype=int)])
    weights = rng.random(len(i)) if weighted else np.ones(len(i))
    matrix = sparse.csr_array((weights, (i, j)), shape=(1157, 1157))
    if not weighted:
        matrix.data[:] = 1.0
    network = Network(ndcn.Graph(matrix, directed=True))
    features, texts = (
        (("x",), ("x_i*x_j/(1 + b*x_j*x_i)", "x_j^2"))
        if d == 1
        else (("v", "w"), ("v_i*w_j/(1 + b*v_i*w_j)", "w_j*v_j"))
    )
    terms = (Term(Formula(texts[0], features), True, d - 1, (0.3,)), Term(Formula(texts[1], features), True))
    same_slopes(
        Equation(terms, torch.tensor([0.7, -0.2], dtype=torch.float64), d), network, states(network.graph, d, 2)
    )


def test_functions_are_right_at_their_limits() -> None:
    """NaN, infinities, overflow, zeros and numbers of any size."""
    network = Network(SIGNED_GRAPHS["edgeless"])
    values = [
        0.0,
        -0.0,
        1e-310,
        1e-200,
        1e-8,
        0.6249,
        0.6251,
        19.9,
        20.1,
        300.0,
        709.7,
        710.0,
        745.0,
        1e5,
        9e5,
        1e6,
        1e200,
        np.inf,
        np.nan,
    ]
    every = torch.tensor([*values, *(-v for v in values)], dtype=torch.float64)
    x = every.repeat_interleave(3).reshape(-1, 3, 1)
    for text in (
        "exp(x)",
        "tanh(x)",
        "sigmoid(x)",
        "log(x)",
        "x^0.5",
        "x^2.5",
        "x^-1.5",
        "relu(x)",
        "abs(x)",
        "sign(x)",
        "log1p(x)",
        "sin(x)",
        "cos(x)",
    ):
        term = Term(Formula(text), False)
        equation = Equation((term,), torch.ones(1, dtype=torch.float64))
        kernel = equation.kernel(network)
        assert kernel is not None
        np.testing.assert_allclose(
            kernel.rate(x.numpy()), equation.rate(x, network).numpy(), rtol=1e-12, atol=1e-300, err_msg=text
        )
        _, own, _, _ = kernel.slopes(x.numpy())
        assert np.isfinite(own[np.isfinite(x.numpy()).all(axis=(1, 2))]).all(), text


def test_functions_are_right_to_the_last_digits() -> None:
    """In whole blocks, near zeros of sin and cos and of log1p, and many turns away."""
    turns = torch.pi / 2 * torch.arange(-40, 40, dtype=torch.float64)
    near = torch.cat(
        [turns, turns + 1e-3, 1e4 * turns, turns.round() * 1e-9, torch.logspace(-17, 17, 120).double() - 1]
    )
    for text in ("sin(x)", "cos(x)", "log1p(x)", "exp(x)", "tanh(x)"):
        equation = Equation((Term(Formula(text), False),), torch.ones(1, dtype=torch.float64))
        x = near.clamp(min=-1) if text == "log1p(x)" else near
        network = Network(ndcn.Graph.from_edges([], num_nodes=len(x)))
        kernel = equation.kernel(network)
        assert kernel is not None
        found, expected = kernel.rate(x.reshape(1, -1, 1).numpy()), equation.rate(x.reshape(1, -1, 1), network).numpy()
        np.testing.assert_allclose(found, expected, rtol=2e-15, atol=2e-16, err_msg=text)


@pytest.mark.parametrize("method", [RK4, TSIT5])
@pytest.mark.parametrize("form", ["equation", "splines"])
def test_shots_end_where_those_of_torch_do(form: str, method: Tableau, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of("power law")
    network = Network(graph)
    hill = (Term(Formula("x"), False), Term(Formula("x_j^h/(1 + x_j^h)"), True, values=(2.0,)))
    equation = Equation(hill, torch.tensor([-1.0, 0.5], dtype=torch.float64))
    model = equation if form == "equation" else splines(graph, 1).with_parameters(0.01 * splines(graph, 1).parameters)
    x, spans = states(graph, 1), torch.tensor([0.1, 0.3, 0.2], dtype=torch.float64)
    found = shooting.ends(model, network, x, spans, 3, method)
    derived = shooting.derivatives(model, network, x, spans, 3)
    monkeypatch.setattr(type(model), "kernel", lambda self, network: None)
    close(found.numpy(), shooting.ends(model, network, x, spans, 3, method))
    close(derived.numpy(), shooting.derivatives(model, network, x, spans, 3))


def test_laws_beside_a_base_have_no_kernel() -> None:
    network = Network(SIGNED_GRAPHS["path"])
    one = Equation((), torch.zeros(0, dtype=torch.float64))
    assert one.kernel(network) is not None
    assert Equation((), torch.zeros(0, dtype=torch.float64), 1, one).kernel(network) is None


def test_laws_that_were_computed_in_c_can_be_copied() -> None:
    graph = graph_of("power law")
    network, x = Network(graph), states(graph, 1)
    hill = Equation((Term(Formula("x_j/(K + x_j)"), True, values=(2.0,)),), torch.ones(1, dtype=torch.float64))
    for model in (hill, splines(graph, 1)):
        kernel = model.kernel(network)
        assert kernel is not None
        for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            again = made.kernel(network)
            assert again is not None
            np.testing.assert_array_equal(again.rate(x.numpy()), kernel.rate(x.numpy()))
