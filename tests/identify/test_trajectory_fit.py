"""Fitting whole trajectories: tapes and their transposes, parameters and first states, draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ndcn import Trajectory, laws, networks, simulate
from ndcn.identify.equation import Equation
from ndcn.identify.network import Network
from ndcn.identify.observations import observed
from ndcn.identify.tape import Tape, record, roll
from ndcn.identify.trajectory_fit import Course, fit_path, followable, objective, samples
from problems import SIGNED_GRAPHS, equation, heat, states

GRAPH = networks.random(16, seed=0)
SPANS = torch.tensor([0.1, 0.3, 0.2], dtype=torch.float64)
STEPS = (1, 3, 2)
TOLERANCE = torch.tensor([1e-8], dtype=torch.float64)


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
    tape = record(model, Network(graph), states(graph, model.features), SPANS, STEPS)
    assert tape is not None
    return tape


def course(
    law: laws.Law, model: Equation, noise: float = 0.0, missing: float = 0.0, first: bool = True, seed: int = 0
) -> tuple[Course, torch.Tensor]:
    """Twenty snapshots, and the true first state."""
    generator = torch.Generator().manual_seed(seed)
    x0 = 3 * torch.rand(16, 1, generator=generator, dtype=torch.float64) + 0.5
    data = simulate(law, GRAPH, x0, torch.linspace(0, 1, 20))
    noisy = data.states * (1 + noise * torch.randn(data.states.shape, generator=generator, dtype=torch.float64))
    mask = torch.rand(noisy.shape, generator=generator) >= missing
    mask[0] &= first
    whole = bool(mask.all())
    one = observed(
        Trajectory(times=data.times, states=noisy, graph=GRAPH, mask=None if whole else mask), noisy=noise > 0
    )
    found = followable([one], model, TOLERANCE)
    assert found is not None
    return found[0], x0


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
    rolled = roll(model, Network(graph), states(graph, model.features), SPANS, STEPS)
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
    forward = list(tape.tangent(v, False))
    back = tape.adjoint(w)
    left = sum((a * b).sum(0) for a, b in zip(w, forward, strict=True))
    np.testing.assert_allclose(left, (back * v).sum(0), rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_tangents_are_derivatives(name: str) -> None:
    model, graph = MODELS[name], SIGNED_GRAPHS["signed"]
    network, x0, tape, h = Network(graph), states(graph, model.features), tape_of(model), 1e-5
    v = torch.randn(x0.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    up, down = (roll(model, network, x0 + s * h * v, SPANS, STEPS) for s in (1, -1))
    found = np.stack(list(tape.tangent(v.reshape(-1, 1).numpy(), False)))
    np.testing.assert_allclose(found.ravel(), ((up - down) / (2 * h)).numpy().ravel(), atol=1e-7, rtol=1e-6)
    p = model.parameters
    columns = np.stack(list(tape.tangent(np.zeros((x0.numel(), len(p))), True)))
    for k in range(len(p)):
        e = torch.zeros_like(p)
        e[k] = h
        up, down = (roll(model.with_parameters(q), network, x0, SPANS, STEPS) for q in (p + e, p - e))
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
    found, _ = course(laws.Heat(0.7), HEAT)
    assert objective(equation((1e5, "x^3", False)), [found]) is None
    assert fit_path(equation((1e5, "x^3", False)), [found]) is None
    assert followable([found.data], equation((-1e7, "x", False)), TOLERANCE) is None


def test_parameters_are_recovered() -> None:
    found, _ = course(laws.Gene(), GENE)
    start = GENE.with_parameters(torch.tensor([-0.7, 1.3, 1.6], dtype=torch.float64))
    path = fit_path(start, [found], iterations=25)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([-1.0, 1.0, 2.0], rel=1e-3)
    assert path.excess < 5


def test_an_unknown_first_state_is_recovered() -> None:
    found, x0 = course(laws.Heat(0.7), HEAT, missing=0.2, first=False)
    assert (found.x0 - x0).abs().mean() > 0.005
    path = fit_path(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), [found], iterations=25)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=1e-3)
    assert (path.courses[0].x0 - x0).abs().max() < 0.01 * x0.abs().max()


def test_noise_is_averaged_and_its_size_found() -> None:
    found, x0 = course(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_path(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), [found], iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.05)
    assert 0.7 < path.excess < 2
    assert (path.courses[0].x0 - x0).abs().mean() < (found.guess - x0).abs().mean()


def test_a_few_gross_errors_do_little_harm() -> None:
    found, _ = course(laws.Heat(0.7), HEAT, noise=0.05)
    states = found.data.states.clone()
    states[[3, 9, 15], [0, 5, 11]] *= 10
    spoiled = replace(found, data=replace(found.data, states=states))
    path = fit_path(HEAT.with_parameters(torch.tensor([0.6], dtype=torch.float64)), [spoiled], iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.1)


def test_several_trajectories_together() -> None:
    courses = [course(laws.Heat(0.7), HEAT, noise=0.05, seed=seed)[0] for seed in (1, 2)]
    path = fit_path(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), courses, iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.04)
    assert path.count == sum(c.data.states[1:].numel() for c in courses)


def test_the_first_state_can_be_held() -> None:
    found, _ = course(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_path(HEAT, [found], iterations=3, move_start=False)
    assert path is not None
    assert torch.equal(path.courses[0].x0, found.x0)
    parameters, starts = samples(path, 5, 0, move_start=False)
    assert parameters.shape == (5, 1)
    assert torch.equal(starts[0], found.x0.expand(5, -1, -1))


def test_draws_are_as_wide_as_the_information_says() -> None:
    found, _ = course(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_path(HEAT, [found], iterations=10)
    assert path is not None
    parameters, starts = samples(path, 200, 0)
    assert parameters.shape == (200, 1)
    assert starts[0].shape == (200, 16, 1)
    unit = max(1.0, path.excess)  # residuals larger than the noise was taken to be
    width = unit * float(path.normal.inverse().sqrt())
    assert float(parameters.std()) == pytest.approx(width, rel=0.25)
    assert abs(float(parameters.mean() - path.model.parameters)) < 4 * width / 200**0.5
    assert (starts[0].std(0) < unit * found.error * 1.3).float().mean() > 0.9
    again, _ = samples(path, 200, 0)
    assert torch.equal(again, parameters)
    other, _ = samples(path, 200, 1)
    assert not torch.equal(other, parameters)


def test_first_states_stay_near_what_was_seen() -> None:
    found, _ = course(laws.Heat(0.7), HEAT)
    far = found.moved(torch.full_like(found.x0, 1e6))
    assert far.x0.max() <= found.bounds[1].max()
    assert found.moved(torch.full_like(found.x0, -1e6)).x0.min() >= 0
