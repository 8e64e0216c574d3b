"""Trajectories on tape: their states, tangents and transposes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ndcn.identify.tape import KernelTape, PlainTape, Tape, record, roll
from ndcn.laws import Equation, network as network_module
from ndcn.laws.network import Network
from ndcn.solve import law_kernel_in_use
from problems import SIGNED_GRAPHS, equation, heat, states

SPANS = torch.tensor([0.1, 0.3, 0.2], dtype=torch.float64)
SPLINE_STEPS = (1, 3, 2)
HEAT = equation((0.7, "x_j - x_i", True))
GENE = equation((-1.0, "x", False), (1.0, "x_j^h/(1 + x_j^h)", True, [2.0]))
TWO = equation(
    (-0.3, "v^2*w", False),
    (0.1, "v_j - v_i", True),
    (0.4, "v - b*w", False, [0.9], 1),
    (0.2, "w_j*v_i/(k + w_j)", True, [0.4], 1),
    features=("v", "w"),
)
MODELS = {"heat": HEAT, "gene": GENE, "two features": TWO}


def tape_of(model: Equation, name: str = "signed") -> Tape:
    graph = SIGNED_GRAPHS[name]
    tape = record(model, Network(graph), states(graph, model.features), SPANS, SPLINE_STEPS)
    assert tape is not None
    return tape


@pytest.mark.parametrize("name", SIGNED_GRAPHS)
def test_rolling_follows_the_matrix_exponential(name: str) -> None:
    graph = SIGNED_GRAPHS[name]
    x0 = states(graph, 1)
    found = roll(HEAT, Network(graph), x0, SPANS, (64, 64, 64))
    assert found is not None
    times = torch.cat([torch.zeros(1, dtype=torch.float64), SPANS.cumsum(0)])
    torch.testing.assert_close(found, heat(graph, x0, 0.7 * times), atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_tapes_record_what_roll_computes(name: str) -> None:
    model, graph = MODELS[name], SIGNED_GRAPHS["signed"]
    rolled = roll(model, Network(graph), states(graph, model.features), SPANS, SPLINE_STEPS)
    assert rolled is not None
    torch.testing.assert_close(tape_of(model).states, rolled)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("graph", ["signed", "directed", "edgeless"])
def test_tangent_and_adjoint_are_transposes(name: str, graph: str) -> None:
    tape = tape_of(MODELS[name], graph)
    rng = np.random.default_rng(0)
    size = tape.states[0].numel()
    v = rng.standard_normal((size, 2))
    w = [rng.standard_normal((size, 2)) for _ in range(len(tape.states))]
    forward = list(tape.tangent(v))
    back = tape.adjoint(w)
    left = sum((a * b).sum(0) for a, b in zip(w, forward, strict=True))
    np.testing.assert_allclose(left, (back * v).sum(0), rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_tangents_are_derivatives(name: str) -> None:
    model, graph = MODELS[name], SIGNED_GRAPHS["signed"]
    network, x0, tape, h = Network(graph), states(graph, model.features), tape_of(model), 1e-5
    v = torch.randn(x0.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    up, down = (roll(model, network, x0 + s * h * v, SPANS, SPLINE_STEPS) for s in (1, -1))
    found = np.stack(list(tape.tangent(v.reshape(-1, 1).numpy())))
    np.testing.assert_allclose(found.ravel(), ((up - down) / (2 * h)).numpy().ravel(), atol=1e-7, rtol=1e-6)
    p = model.parameters
    columns = np.stack(tape.sensitivities())
    for k in range(len(p)):
        e = torch.zeros_like(p)
        e[k] = h
        up, down = (roll(model.with_parameters(q), network, x0, SPANS, SPLINE_STEPS) for q in (p + e, p - e))
        np.testing.assert_allclose(
            columns[..., k].ravel(), ((up - down) / (2 * h)).numpy().ravel(), atol=1e-7, rtol=1e-6
        )


def test_the_memory_of_uncoupled_nodes_is_the_diagonal() -> None:
    graph = SIGNED_GRAPHS["edgeless"]
    tape = record(equation((-0.5, "x", False)), Network(graph), states(graph, 1), SPANS, (8, 8, 8))
    assert tape is not None
    weights = [np.full((3, 1), float(k)) for k in range(4)]
    expected = sum(k * np.exp(-0.5 * t) ** 2 for k, t in enumerate([0.0, 0.1, 0.4, 0.6]))
    np.testing.assert_allclose(tape.memory(weights), np.full((3, 1), expected), rtol=1e-10)


def test_explosions_are_none() -> None:
    graph = SIGNED_GRAPHS["path"]
    wild, x0 = equation((5.0, "x^3", False)), 3 * states(graph, 1)
    assert roll(wild, Network(graph), x0, 20 * SPANS, (8, 8, 8)) is None
    assert record(wild, Network(graph), x0, 20 * SPANS, (8, 8, 8)) is None


def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Equation, "kernel", lambda self, network: None)


def test_derivatives_of_few_states_at_once_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    plain(monkeypatch)
    together = tape_of(TWO)
    monkeypatch.setattr(network_module, "AT_ONCE", 1)
    few = tape_of(TWO)
    assert isinstance(together, PlainTape)
    assert isinstance(few, PlainTape)
    for one, other in zip(together.steps, few.steps, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.h == b.h
            for k in range(4):
                np.testing.assert_allclose(a.J[k].toarray(), b.J[k].toarray(), rtol=1e-12)
                np.testing.assert_allclose(a.C[k], b.C[k], rtol=1e-12)


@pytest.mark.skipif(law_kernel_in_use() == "torch", reason="the compiled kernel was not built")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("graph", ["signed", "directed", "edgeless"])
def test_compiled_tapes_are_as_plain_ones(name: str, graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tape_of(MODELS[name], graph)
    plain(monkeypatch)
    expected = tape_of(MODELS[name], graph)
    assert isinstance(compiled, KernelTape)
    assert isinstance(expected, PlainTape)
    torch.testing.assert_close(compiled.states, expected.states, rtol=1e-12, atol=1e-12)
    rng = np.random.default_rng(0)
    rows = expected.states[0].numel()
    for columns in (1, 4, 7, 18):
        v = rng.standard_normal((rows, columns))
        w = [rng.standard_normal((rows, columns)) for _ in expected.states]
        weights = [rng.uniform(size=(rows, 1)) for _ in expected.states]
        for found, other in (
            (list(compiled.tangent(v)), list(expected.tangent(v))),
            (compiled.adjoint(w), expected.adjoint(w)),
            (compiled.gram(v, weights), expected.gram(v, weights)),
            (compiled.sensitivities(), expected.sensitivities()),
            (compiled.memory(weights), expected.memory(weights)),
        ):
            np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-12)
