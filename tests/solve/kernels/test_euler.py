"""The fast paths give what the plain Runge-Kutta loop gives: states, gradients, errors."""

from __future__ import annotations

import copy
import ctypes
from dataclasses import replace

import pytest
import torch
from scipy import sparse
from torch import nn

import ndcn
from ndcn.solve.kernels import euler, euler_compiled, euler_torch

BACKENDS = {"compiled": euler_compiled, "torch": euler_torch}

needs_library = pytest.mark.skipif(euler_compiled.library() is None, reason="the compiled kernel was not built")
backends = pytest.mark.parametrize("kernel", [pytest.param("compiled", marks=needs_library), "torch"])


def directed_graph(n: int) -> ndcn.Graph:
    """Random, weighted, directed, with an isolated node."""
    matrix = sparse.random_array((n, n), density=0.2, rng=1).tolil()
    matrix[2, :] = 0
    matrix[:, 2] = 0
    return ndcn.Graph.from_scipy(sparse.csr_array(matrix.tocsr()), directed=True)


def outcome(field, graph, x0, decoder, times, solver):
    """States and the gradients of a random combination of them."""
    x0 = x0.clone().requires_grad_()
    states = ndcn.GraphODE(nn.Identity(), field, decoder, solver)(x0, times, graph)
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    parameters = [x0, *field.parameters(), *decoder.parameters()]
    total = (states.double() * weights).sum()
    return states.detach(), torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True)


def compare(kernel, *, n=30, width=20, d=1, dtype=torch.float64, directed=False, kind="graph", times=None, **options):
    torch.manual_seed(3)
    graph = directed_graph(n) if directed else ndcn.networks.grid(n)
    kinds = {"graph": ndcn.fields.GraphField, "node": ndcn.fields.NodeField}
    field = (kinds[kind](width) if kind in kinds else ndcn.fields.DiffusionField()).to(dtype)
    decoder = (nn.Linear(width, d) if d else nn.Sequential(nn.Linear(width, 3), nn.Tanh())).to(dtype)
    x0 = torch.randn(n, width, dtype=dtype)
    times = [0.0, 0.17, 0.2, 0.55, 1.3] if times is None else times
    options = {"step_size": 0.1} | options
    plain = ndcn.Solver("euler", kernel="off", **(options | {"gradient": "backprop", "segment": None}))
    fast = ndcn.Solver("euler", kernel="auto" if kernel == "compiled" else "torch", **options)
    assert euler.backend(field, graph, x0, fast.kernel) is BACKENDS[kernel]
    assert euler.backend(field, graph, x0, plain.kernel) is None
    exact, exact_gradients = outcome(
        copy.deepcopy(field).double(), graph, x0.double(), copy.deepcopy(decoder).double(), times, plain
    )
    found, gradients = outcome(field, graph, x0, decoder, times, fast)
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    assert found.dtype == dtype
    for a, b in zip((found, *gradients), (exact, *exact_gradients), strict=True):
        torch.testing.assert_close(a.double(), b, rtol=0, atol=tolerance * max(1.0, b.abs().max().item()))


@backends
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("width", [1, 3, 8, 20, 33, 40])
@pytest.mark.parametrize("d", [0, 1, 3])
def test_values_and_gradients_are_those_of_the_plain_loop(kernel, dtype, width, d):
    compare(kernel, dtype=dtype, width=width, d=d)


@backends
@pytest.mark.parametrize("n", [1, 2, 7, 8, 63, 64, 65, 150])
def test_any_number_of_nodes(kernel, n):
    compare(kernel, n=n, width=5, d=2)


@backends
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_directed_graph_with_an_isolated_node(kernel, dtype):
    compare(kernel, directed=True, dtype=dtype)


@needs_library
@pytest.mark.parametrize("n", [3, 64, 200])
def test_several_threads_give_the_same(n, monkeypatch):
    monkeypatch.setattr(euler_compiled, "WORTH_TWO", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        compare("compiled", n=n, d=2)
        compare("compiled", n=n, gradient="checkpoint")
    finally:
        torch.set_num_threads(before)


@needs_library
@pytest.mark.parametrize("instructions", ["plain", "avx2", "avx512"])
@pytest.mark.parametrize("width", [1, 4, 5, 16, 20, 32, 36, 50])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_instruction_set_of_this_machine(instructions, width, dtype, monkeypatch):
    sets = ["plain", "avx2", "avx512"]
    if sets.index(instructions) > sets.index(euler_compiled.instruction_set()):
        pytest.skip("not on this machine")
    monkeypatch.setattr(euler_compiled, "instruction_set", lambda: instructions)
    compare("compiled", n=75, width=width, d=2, dtype=dtype)
    compare("compiled", n=75, width=width, dtype=dtype, gradient="checkpoint", directed=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("width", [1, 2, 4, 5, 16, 20, 21, 32, 50])
def test_panels_hold_a_state(width, dtype):
    x = torch.rand(7, width, dtype=dtype)
    packed = euler_compiled.pack(x)
    assert torch.equal(euler_compiled.unpack(packed, width), x)
    assert packed.sum() == pytest.approx(x.sum().item())  # the rest is zero


@backends
def test_a_field_without_graph(kernel):
    compare(kernel, kind="node", d=2)


@backends
@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
def test_a_field_without_weights(kernel, gradient):
    compare(kernel, kind="diffusion", d=2, directed=True, gradient=gradient)


@backends
@pytest.mark.parametrize("d", [0, 2])
def test_steps_on_the_observations(kernel, d):
    compare(kernel, step_size="observations", d=d, times=[0.0, 0.3, 0.31, 0.9])


@backends
@pytest.mark.parametrize("times", [[0.0], [0.35], [0.1, 0.2], [1e-12, 0.3], [0.4, 0.0, 0.4, 0.05], [2.0]])
def test_requested_times_anywhere(kernel, times):
    compare(kernel, times=times)


@backends
@pytest.mark.parametrize("segment", [1, 2, 5, 13, 100, None])
@pytest.mark.parametrize("d", [0, 1])
def test_segments_give_the_same_gradient(kernel, segment, d):
    compare(kernel, gradient="checkpoint", segment=segment, d=d)


@backends
def test_checkpointing_keeps_fewer_states(kernel):
    def kept(gradient: str) -> int:
        total = 0

        def pack(x: torch.Tensor) -> torch.Tensor:
            nonlocal total
            total += x.numel()
            return x

        torch.manual_seed(0)
        model = ndcn.models.ndcn(
            solver=ndcn.Solver("euler", step_size=0.01, gradient=gradient, kernel=kernel.replace("compiled", "auto"))
        )
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            model(torch.rand(400, 1), [1.0], ndcn.networks.grid(400)).sum()
        return total

    assert kept("checkpoint") < 0.2 * kept("backprop")


@backends
def test_masked_training_is_the_same(kernel):
    graph = ndcn.networks.grid(25)
    times = ndcn.sampling.irregular_times(2.0, count=20, seed=0)
    heat_data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    mask = torch.rand(heat_data.states.shape, generator=torch.Generator().manual_seed(0)) > 0.4
    data = ndcn.Trajectory(times=heat_data.times, states=heat_data.states, graph=heat_data.graph, mask=mask)
    solver = ndcn.Solver("euler", step_size=0.1, kernel="auto" if kernel == "compiled" else "torch")
    fits = [
        ndcn.DynamicsRegressor(solver=s, epochs=20, dtype="float64", seed=0).fit(data)
        for s in (solver, replace(solver, kernel="off"))
    ]
    torch.testing.assert_close(fits[0].history_.loss, fits[1].history_.loss, rtol=1e-9, atol=0)
    a, b = (fit.predict([0.3, 1.7]).states for fit in fits)
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@backends
def test_an_explosion_is_told_with_its_time(kernel):
    field = ndcn.fields.NodeField(2)
    with torch.no_grad():
        field.linear.weight.copy_(1e10 * torch.eye(2))
        field.linear.bias.fill_(1.0)
    solver = ndcn.Solver("euler", step_size=0.1, kernel="auto" if kernel == "compiled" else "torch")
    with pytest.raises(ndcn.IntegrationError, match="infinite or NaN") as caught:
        ndcn.integrate(field, ndcn.networks.grid(4), torch.ones(4, 2), [1.0], solver=solver)
    off = replace(solver, kernel="off")
    with pytest.raises(ndcn.IntegrationError) as plain:
        ndcn.integrate(field, ndcn.networks.grid(4), torch.ones(4, 2), [1.0], solver=off)
    assert caught.value.time == pytest.approx(plain.value.time)


@backends
def test_a_slope_that_explodes_at_the_end_is_told(kernel):
    field = ndcn.fields.NodeField(2)
    with torch.no_grad():
        field.linear.weight.copy_(1e20 * torch.eye(2))  # x = 1, then 1e19 after a step, and its slope overflows
        field.linear.bias.zero_()
    solver = ndcn.Solver("euler", step_size=0.1, kernel="auto" if kernel == "compiled" else "torch")
    with pytest.raises(ndcn.IntegrationError, match="infinite or NaN"):
        ndcn.integrate(field, ndcn.networks.grid(4), torch.ones(4, 2), [0.05], solver=solver)


@needs_library
def test_the_answer_does_not_depend_on_other_times():
    model = ndcn.models.ndcn(solver=ndcn.Solver("euler", step_size=0.1))
    graph = ndcn.networks.grid(50)
    x0 = torch.rand(50, 1)
    with torch.no_grad():
        one = model(x0, [0.77], graph)[0]
        many = model(x0, [0.77, *torch.rand(40).mul(9).tolist()], graph)[0]
    assert torch.equal(one, many)


@backends
def test_second_derivatives_are_refused(kernel):
    field = ndcn.fields.GraphField(3)
    solver = ndcn.Solver("euler", step_size=0.1, kernel="auto" if kernel == "compiled" else "torch")
    x0 = torch.rand(4, 3, requires_grad=True)
    states = ndcn.integrate(field, ndcn.networks.grid(4), x0, [0.5], solver=solver).states
    (gradient,) = torch.autograd.grad(states.square().sum(), x0, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@backends
def test_a_repeated_backward_is_right_or_refused(kernel):
    torch.manual_seed(0)
    model = ndcn.models.ndcn(solver=ndcn.Solver("euler", step_size=0.1, kernel=kernel.replace("compiled", "auto")))
    graph, x0 = ndcn.networks.grid(9), torch.rand(9, 1)
    loss = model(x0, [0.5], graph).sum()
    once = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    twice = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    for a, b in zip(once, twice, strict=True):
        torch.testing.assert_close(a, b)
    model(x0, [0.5], graph)  # takes the buffers again
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(loss, list(model.parameters()))


def test_other_fields_take_the_plain_loop():
    x0 = torch.rand(4, 3)
    for field in (
        ndcn.fields.GraphField(3, activation=torch.tanh),
        ndcn.fields.GraphField(3, knots=[0.0, 1.0]),
        ndcn.fields.DiffusionField(activation=torch.tanh),
        ndcn.laws.Heat() + ndcn.fields.NodeField(3),
    ):
        assert euler.backend(field, ndcn.networks.grid(4), x0, "auto") is None
    half = ndcn.fields.GraphField(3).half()
    assert euler.backend(half, ndcn.networks.grid(4), x0.half(), "auto") is euler_torch


def test_without_the_library_the_torch_path_is_taken(monkeypatch):
    monkeypatch.setattr(euler_compiled, "library", lambda: None)
    assert euler.backend(ndcn.fields.GraphField(3), ndcn.networks.grid(4), torch.rand(4, 3), "auto") is euler_torch
    with pytest.raises(RuntimeError, match="not available"):
        euler_compiled._call("forward", torch.float32)


@pytest.mark.parametrize("damage", ["not a library", "other version", "no symbols"])
def test_a_library_that_does_not_fit_is_not_used(damage, monkeypatch, tmp_path):
    (tmp_path / "_euler.so").write_bytes(b"no library at all")

    class Other:
        def ndcn_abi(self) -> int:
            return euler_compiled.ABI + (damage == "other version")

    if damage != "not a library":
        monkeypatch.setattr(ctypes, "CDLL", lambda path: Other())
    monkeypatch.setattr(euler_compiled, "__file__", str(tmp_path / "euler_compiled.py"))
    euler_compiled.library.cache_clear()
    try:
        assert euler_compiled.library() is None
    finally:
        euler_compiled.library.cache_clear()


def test_solver_checks_its_choices():
    with pytest.raises(ValueError, match="torch"):
        ndcn.Solver("euler", step_size=0.1, kernel="cuda")
    with pytest.raises(ValueError, match="segment"):
        ndcn.Solver("euler", step_size=0.1, segment=0)


def hooked() -> ndcn.fields.GraphField:
    field = ndcn.fields.GraphField(3)
    field.linear.register_forward_hook(lambda module, given, out: 2 * out)
    return field


@pytest.mark.parametrize(
    ("field", "x0"),
    [
        (hooked(), torch.rand(9, 3)),
        (
            ndcn.fields.GraphField(3, operator=lambda g: ndcn.operators.laplacian(g).to_dense().float()),
            torch.rand(9, 3),
        ),
        (ndcn.fields.GraphField(3), torch.rand(12, 3)),
        (ndcn.fields.GraphField(3), torch.rand(4, 3)),
        (ndcn.fields.GraphField(3), torch.rand(9, 2)),
        (ndcn.fields.GraphField(3), torch.rand(9, 3, dtype=torch.float64)),
    ],
    ids=["hook", "dense operator", "more nodes", "fewer nodes", "other width", "other dtype"],
)
def test_what_does_not_fit_is_left_to_the_plain_loop(field, x0):
    assert euler.backend(field, ndcn.networks.grid(9), x0, "auto") is None


@backends
def test_gradients_hold_when_states_grow(kernel):
    torch.manual_seed(0)
    field = ndcn.fields.NodeField(8)
    with torch.no_grad():
        field.linear.weight.abs_().mul_(3)
    graph, x0 = ndcn.networks.grid(9), torch.rand(9, 8)

    def gradient(dtype, kernel):
        solver = ndcn.Solver("euler", step_size=0.05, kernel=kernel)
        own = copy.deepcopy(field).to(dtype)
        states = ndcn.integrate(own, graph, x0.to(dtype), [5.0], solver=solver).states
        return torch.autograd.grad(states.log1p().sum(), own.linear.weight)[0].double()

    exact = gradient(torch.float64, "off")
    found = gradient(torch.float32, "auto" if kernel == "compiled" else "torch")
    assert (found - exact).abs().max() < 5e-5 * exact.abs().max()


@backends
def test_memory_given_back_twice_is_not_shared(kernel):
    solver = ndcn.Solver("euler", step_size=0.3, kernel="auto" if kernel == "compiled" else "torch")
    field, graph, x0 = ndcn.fields.GraphField(5), ndcn.networks.grid(9), torch.rand(9, 5)
    loss = ndcn.integrate(field, graph, x0, [0.3, 0.6, 0.9], solver=solver).states.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    found, exact = (
        ndcn.integrate(field, graph, x0, [0.3, 0.45], solver=s).states for s in (solver, replace(solver, kernel="off"))
    )
    torch.testing.assert_close(found, exact)


@backends
def test_inference_mode_leaves_training_alone(kernel):
    solver = ndcn.Solver("euler", step_size="observations", kernel="auto" if kernel == "compiled" else "torch")
    field, graph, x0 = ndcn.fields.GraphField(5), ndcn.networks.grid(9), torch.rand(9, 5)
    with torch.inference_mode():
        ndcn.integrate(field, graph, x0, [0.0, 1.0], solver=solver)
    ndcn.integrate(field, graph, x0, [0.0, 1.0], solver=solver).states.sum().backward()
