"""The loss of a trajectory in one function gives what prediction, loss and autograd give one after the other."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

import ndcn
from ndcn.solve import TrajectoryLoss
from ndcn.solve.kernels import euler_compiled
from ndcn.training import Problem
from ndcn.training.objective import PENALTIES, Target
from ndcn.training.task import ReadyTerm

needs_library = pytest.mark.skipif(euler_compiled.library() is None, reason="the compiled kernel was not built")
kernels = pytest.mark.parametrize("kernel", [pytest.param("auto", marks=needs_library), "torch"])
OBSERVATIONS = ndcn.Solver("euler", step_size="observations")
STEPS = ndcn.Solver("euler", step_size=0.11)
GRAPH = ndcn.networks.grid(75)


def problem_of(
    d=1, *, dtype=torch.float64, masked=False, times=(0.0, 0.2, 0.45, 0.5, 1.2, 1.7), graph=GRAPH
) -> Problem:
    generator = torch.Generator().manual_seed(5)
    n = graph.num_nodes
    states = 3 * torch.randn(len(times), n, d, generator=generator, dtype=dtype)
    mask = torch.rand(states.shape, generator=generator) > 0.3 if masked else None
    weights = torch.rand(len(times), 1, 1, generator=generator, dtype=dtype)
    x0 = torch.rand(n, d, generator=generator, dtype=dtype)
    return Problem(graph, x0, 0.0, torch.tensor(times).double(), Target(states, mask, weights))


def model_of(name="ndcn", d=1, *, dtype=torch.float64, solver=OBSERVATIONS, hidden=20) -> ndcn.GraphODE:
    torch.manual_seed(1)
    options = {} if name == "no_encode" else {"hidden": hidden}
    return getattr(ndcn.models, name)(d, solver=solver, **options).to(dtype)


def in_parts(problem, model, objective):
    """Prediction, loss and gradients by the plain loop in double precision."""
    exact = copy.deepcopy(model).double()
    exact.solver = replace(model.solver, kernel="off", gradient="backprop", segment=None)
    target = Target(problem.target.states.double(), problem.target.mask, problem.target.weights.double())
    loss = objective.loss(exact(problem.x0.double(), problem.times, problem.graph, problem.t0), target)
    return loss.detach(), torch.autograd.grad(3 * loss, list(exact.parameters()), materialize_grads=True)


def fused_loss(problem, model, comparison):
    way = TrajectoryLoss(problem.graph, problem.x0, problem.times.tolist(), problem.t0, comparison)
    return way.loss((model.encoder, model.field, model.decoder), model.solver)


L1 = ndcn.Objective("l1")


def compare(problem, model, objective=L1, tolerance=1e-10):
    loss = fused_loss(problem, model, objective.comparison(problem.target))
    assert loss is not None
    assert loss.shape == ()
    assert torch.equal(loss, problem.loss(model, objective))  # which takes it
    gradients = torch.autograd.grad(3 * loss, list(model.parameters()))
    value, exact = in_parts(problem, model, objective)
    assert loss.item() == pytest.approx(value.item(), rel=tolerance)
    for a, b in zip(gradients, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=0, atol=tolerance * max(1.0, b.abs().max().item()))


@kernels
@pytest.mark.parametrize("name", ["ndcn", "no_encode", "no_graph", "no_control"])
@pytest.mark.parametrize("solver", [OBSERVATIONS, STEPS], ids=["observations", "steps"])
@pytest.mark.parametrize("d", [1, 3])
def test_value_and_gradients_of_all_models(kernel, name, solver, d):
    compare(problem_of(d), model_of(name, d, solver=replace(solver, kernel=kernel)))


@kernels
@pytest.mark.parametrize("running", sorted(PENALTIES))
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("solver", [OBSERVATIONS, STEPS], ids=["observations", "steps"])
def test_all_penalties(kernel, running, masked, solver):
    compare(problem_of(2, masked=masked), model_of(d=2, solver=replace(solver, kernel=kernel)), ndcn.Objective(running))


@kernels
@pytest.mark.parametrize("segment", [1, 2, 3, 100, None])
def test_segments(kernel, segment):
    for solver in (OBSERVATIONS, STEPS):
        compare(problem_of(), model_of(solver=replace(solver, kernel=kernel, gradient="checkpoint", segment=segment)))


@kernels
@pytest.mark.parametrize("times", [(0.0,), (0.35,), (0.11, 0.22), (0.0, 1e-12, 0.3), (2.0,)])
@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
def test_times_anywhere(kernel, times, gradient):
    for solver in (OBSERVATIONS, STEPS):
        compare(problem_of(times=times), model_of(solver=replace(solver, kernel=kernel, gradient=gradient)))


@kernels
@pytest.mark.parametrize("n", [1, 4, 64, 65])
def test_any_number_of_nodes(kernel, n):
    graph = ndcn.Graph.from_edges([(k, k + 1) for k in range(n - 1)], num_nodes=n)
    compare(problem_of(2, graph=graph), model_of(d=2, hidden=5, solver=replace(STEPS, kernel=kernel)))


@kernels
@pytest.mark.parametrize("hidden", [1, 7, 20, 33])
def test_single_precision(kernel, hidden):
    problem = problem_of(dtype=torch.float32)
    compare(problem, model_of(dtype=torch.float32, solver=replace(STEPS, kernel=kernel), hidden=hidden), tolerance=2e-5)


@needs_library
@pytest.mark.parametrize("instructions", ["plain", "avx2", "avx512"])
def test_every_instruction_set_of_this_machine(instructions, monkeypatch):
    sets = ["plain", "avx2", "avx512"]
    if sets.index(instructions) > sets.index(euler_compiled.instruction_set()):
        pytest.skip("not on this machine")
    monkeypatch.setattr(euler_compiled, "instruction_set", lambda: instructions)
    for running in PENALTIES:
        compare(problem_of(3, masked=True), model_of(d=3, solver=STEPS), ndcn.Objective(running))


@needs_library
def test_several_threads_and_many_nodes(monkeypatch):
    monkeypatch.setattr(euler_compiled, "WORTH_TWO", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        compare(problem_of(graph=ndcn.networks.grid(1300)), model_of(solver=STEPS))
    finally:
        torch.set_num_threads(before)


@kernels
def test_an_encoder_of_another_kind_is_called_once(kernel):
    class Counting(nn.Linear):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return super().forward(x)

    model, problem = model_of(solver=replace(STEPS, kernel=kernel)), problem_of()
    model.encoder = Counting(1, 20).double()
    problem.term(model, L1, 1).backward()
    assert model.encoder.calls == 1
    for p, exact in zip(model.parameters(), in_parts(problem, model, L1)[1], strict=True):
        torch.testing.assert_close(3 * p.grad, exact)


@kernels
@pytest.mark.parametrize("count", [1, 2])
def test_terms_add_the_same_gradients_without_autograd(kernel, count):
    problems = [problem_of(), problem_of(times=(0.1, 0.9))][:count]
    model = model_of(solver=replace(STEPS, kernel=kernel))
    model.field.linear.bias.requires_grad_(False)
    learned = [p for p in model.parameters() if p.requires_grad]
    exact = torch.autograd.grad(sum(problem.loss(model, L1) for problem in problems) / count, learned)
    for _ in range(3):
        for p in learned:
            p.grad = None
        total = 0.0
        for problem in problems:
            term = problem.term(model, L1, count)
            term.backward()
            total += term.item()
            assert isinstance(term, ReadyTerm) == (kernel == "auto")
        assert total == pytest.approx(sum(problem.loss(model, L1).item() for problem in problems) / count)
        for p, wanted in zip(learned, exact, strict=True):
            torch.testing.assert_close(p.grad, wanted)
    assert model.field.linear.bias.grad is None


@needs_library
def test_hooks_of_weights_are_called():
    model, calls = model_of(solver=STEPS), []
    model.decoder.weight.register_hook(lambda gradient: calls.append(gradient))
    problem_of().term(model, L1, 1).backward()
    assert len(calls) == 1


@needs_library
def test_new_weights_solvers_and_threads_make_a_new_iteration():
    model, problem = model_of(solver=STEPS), problem_of()
    problem.loss(model, L1)
    for change in (
        lambda: setattr(model, "decoder", nn.Linear(20, 1).double()),
        lambda: setattr(model, "solver", OBSERVATIONS),
        lambda: setattr(model, "field", ndcn.fields.NodeField(20).double()),
        lambda: setattr(model.decoder, "weight", nn.Parameter(torch.rand(20, 1).double().t())),  # not contiguous
    ):
        change()
        compare(problem, model)
        exact = in_parts(problem, model, L1)[0].item()
        with torch.no_grad():
            assert problem.loss(model, L1).item() == pytest.approx(exact)


@kernels
def test_weights_that_are_not_learned_get_no_gradient(kernel):
    model, problem = model_of(solver=replace(STEPS, kernel=kernel)), problem_of()
    for p in model.encoder.parameters():
        p.requires_grad_(False)
    problem.loss(model, L1).backward()
    assert all(p.grad is None for p in model.encoder.parameters())
    assert model.field.linear.weight.grad is not None
    with torch.no_grad():
        assert not problem.loss(model, L1).requires_grad


@kernels
def test_gradients_add_up_over_repeated_backward_passes(kernel):
    model, problem = model_of(solver=replace(STEPS, kernel=kernel)), problem_of()
    loss = problem.loss(model, L1)
    loss.backward(retain_graph=True)
    once = [p.grad.clone() for p in model.parameters()]
    loss.backward()
    for p, single in zip(model.parameters(), once, strict=True):
        torch.testing.assert_close(p.grad, 2 * single)


@kernels
@pytest.mark.parametrize("times", [(0.3, 0.1), (0.1, 0.1), (-1.0, 0.5)], ids=["order", "twice", "before"])
def test_times_out_of_order_take_the_general_path(kernel, times):
    problem, model = problem_of(times=times), model_of(solver=replace(STEPS, kernel=kernel))
    if min(times) < 0:
        with pytest.raises(ValueError, match="back in time"):
            problem.loss(model, L1)
    else:
        found = torch.autograd.grad(3 * problem.loss(model, L1), list(model.parameters()))
        for a, b in zip(found, in_parts(problem, model, L1)[1], strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    "change",
    [
        {"solver": ndcn.Solver("rk4", step_size=0.1)},
        {"solver": replace(STEPS, kernel="off")},
        {"solver": ndcn.Solver("euler", step_size=0.1, gradient="adjoint")},
        {"field": ndcn.fields.GraphField(20, activation=torch.tanh).double()},
        {"decoder": nn.Sequential(nn.Linear(20, 1)).double()},
    ],
    ids=["method", "off", "adjoint", "field", "decoder"],
)
def test_other_models_take_the_general_path(change):
    model, problem = model_of(solver=STEPS), problem_of()
    for name, value in change.items():
        setattr(model, name, value)
    assert fused_loss(problem, model, L1.comparison(problem.target)) is None
    assert problem.loss(model, L1).requires_grad


def test_hooks_are_called():
    model, problem, calls = model_of(solver=STEPS), problem_of(), []
    for module in (model, model.encoder[1], model.decoder):
        module.register_forward_hook(lambda *_: calls.append(1))
        problem.loss(model, L1)
    assert len(calls) == 1 + 2 + 3


def test_objectives_with_a_terminal_loss_are_no_comparison():
    target = problem_of().target
    assert ndcn.Objective("l1", terminal="l1").comparison(target) is None
    assert ndcn.Objective(None, terminal="l2").comparison(target) is None


@kernels
def test_a_penalty_that_c_does_not_know(kernel):
    comparison = replace(
        ndcn.Objective("l2").comparison(problem_of().target),
        name="quartic",
        value=lambda e: e**4,
        slope=lambda e: 4 * e**3,
    )
    problem, model = problem_of(), model_of(solver=replace(STEPS, kernel=kernel))
    loss = fused_loss(problem, model, comparison)
    found = model(problem.x0, problem.times, problem.graph)
    exact = ((found - problem.target.states) ** 4 * problem.target.weights).sum()
    for a, b in zip(*(torch.autograd.grad(v, list(model.parameters())) for v in (loss, exact)), strict=True):
        torch.testing.assert_close(a, b)


@kernels
@pytest.mark.parametrize("where", ["weight", "start"])
def test_an_explosion_is_told_with_its_time(kernel, where):
    model, problem = (
        model_of(solver=replace(STEPS, kernel=kernel), dtype=torch.float32),
        problem_of(dtype=torch.float32),
    )
    with torch.no_grad():
        if where == "weight":
            model.field.linear.weight.fill_(1e15)
        else:
            model.encoder[2].bias[0] = math.nan
    with pytest.raises(ndcn.IntegrationError) as plain:
        model(problem.x0, problem.times, problem.graph)
    with pytest.raises(ndcn.IntegrationError) as fused:
        problem.loss(model, L1)
    assert str(fused.value) == str(plain.value)
    assert (fused.value.time, fused.value.reason) == (plain.value.time, plain.value.reason)


@kernels
def test_second_derivatives_are_refused(kernel):
    model, problem = model_of(solver=replace(STEPS, kernel=kernel)), problem_of()
    loss = problem.loss(model, ndcn.Objective("l2"))
    (gradient,) = torch.autograd.grad(loss.square(), model.decoder.bias, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
