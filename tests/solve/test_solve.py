"""Solver and integrate(): what may be asked, what comes back, and what is refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
import torchdiffeq
from scipy.integrate import solve_ivp

from ndcn import Graph, IntegrationError, Solver, Statistics, integrate, laws, networks
from ndcn.solve.solver import METHODS
from problems import GRAPHS, Function, TanhField, heat, states

GRAPH = GRAPHS["weighted"]
X0 = states(GRAPH, 2)
FIXED = ["euler", "midpoint", "heun", "rk4"]
STAGES = {"euler": 1, "midpoint": 2, "heun": 2, "rk4": 4}


def solver(method: str, **more: object) -> Solver:
    return Solver(method, step_size=0.1 if method in FIXED else None, **more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "rk5"}, r"unknown method 'rk5'; known are euler, midpoint, heun, rk4, dopri5, tsit5, bdf"),
        ({"gradient": "forward"}, r"unknown gradient 'forward'; known are backprop, adjoint, checkpoint"),
        ({"method": "euler"}, r'euler takes fixed steps and needs a step_size.*"observations"'),
        ({"method": "rk4", "step_size": 0.0}, "step_size must be a positive number"),
        ({"method": "rk4", "step_size": -0.1}, "step_size must be a positive number"),
        ({"method": "rk4", "step_size": math.nan}, "step_size must be a positive number"),
        ({"method": "rk4", "step_size": math.inf}, "step_size must be a positive number"),
        ({"method": "rk4", "step_size": "observation"}, "step_size must be a positive number"),
        ({"method": "rk4", "step_size": True}, "step_size must be a positive number"),
        ({"method": "dopri5", "step_size": 0.1}, "dopri5 chooses its own steps: drop step_size"),
        ({"method": "bdf", "step_size": "observations"}, "bdf chooses its own steps"),
        ({"rtol": 0.0}, "rtol must be a positive number"),
        ({"rtol": "tight"}, "rtol must be a positive number"),
        ({"atol": -1e-6}, "atol must be a positive number"),
        ({"atol": math.nan}, "atol must be a positive number"),
        ({"max_steps": 0}, "max_steps must be a whole number, at least 1, got 0"),
        ({"max_steps": None}, "max_steps must be a whole number, at least 1, got None"),
        ({"max_steps": 2.5}, "max_steps must be a whole number"),
        ({"kernel": "fast"}, "unknown kernel 'fast'; known are "),
        ({"segment": 0}, "segment must be a whole number, at least 1, got 0"),
        ({"segment": "few"}, "segment must be a whole number"),
    ],
)
def test_a_wrong_solver_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Solver(**arguments)


def test_numbers_of_numpy_become_plain() -> None:
    solver = Solver("euler", step_size=np.float32(0.5), max_steps=np.int64(7), rtol=np.float64(1e-3))
    assert solver == Solver("euler", step_size=0.5, max_steps=7, rtol=1e-3)
    assert [type(value) for value in (solver.step_size, solver.max_steps, solver.rtol)] == [float, int, float]
    assert repr(solver) == "Solver(method='euler', rtol=0.001, step_size=0.5, max_steps=7)"


def test_repr_shows_what_differs_from_the_default_and_makes_it_again() -> None:
    for chosen in (Solver(), Solver("rk4", step_size=0.5), Solver("tsit5", rtol=1e-3, gradient="adjoint", max_steps=7)):
        assert eval(repr(chosen)) == chosen
    assert repr(Solver()) == "Solver(method='dopri5')"


# Against other solvers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [laws.Heat(), laws.Mutualistic(), laws.Gene()], ids=["heat", "mutualistic", "gene"])
@pytest.mark.parametrize("method", ["dopri5", "tsit5", "bdf", "rk4"])
def test_laws_against_scipy(law: laws.Law, method: str) -> None:
    graph = networks.power_law(12, seed=0)
    x0, times = states(graph, 1), [0.05, 0.3, 1.0]

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return law(torch.tensor(t), torch.from_numpy(y)[:, None], graph)[:, 0].numpy()

    truth = solve_ivp(rate, (0, 1), x0[:, 0].numpy(), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-11)
    chosen = Solver("rk4", step_size=0.002) if method == "rk4" else Solver(method, rtol=1e-9, atol=1e-9)
    found = integrate(law, graph, x0, times, solver=chosen).states[:, :, 0].numpy()
    np.testing.assert_allclose(found, truth.y.T, rtol=1e-6, atol=1e-6)


def test_dopri5_against_torchdiffeq() -> None:
    field, times = TanhField(), torch.linspace(0, 3, 9, dtype=torch.float64)
    truth = torchdiffeq.odeint(lambda t, x: field(t, x, GRAPH), X0, times, rtol=1e-9, atol=1e-9)
    found = integrate(field, GRAPH, X0, times, solver=Solver(rtol=1e-9, atol=1e-9)).states
    torch.testing.assert_close(found, truth, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("method", ["euler", "midpoint"])
def test_steps_on_the_observations_are_those_of_torchdiffeq(method: str) -> None:
    field, times = TanhField(), torch.tensor([0.0, 0.1, 0.5, 0.6, 2.0], dtype=torch.float64)
    truth = torchdiffeq.odeint(lambda t, x: field(t, x, GRAPH), X0, times, method=method)
    found = integrate(field, GRAPH, X0, times, solver=Solver(method, step_size="observations")).states
    torch.testing.assert_close(found, truth, rtol=1e-13, atol=1e-13)


# What may be asked --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_times_in_any_order_and_repeated(method: str) -> None:
    sorted_times = [0.0, 0.3, 0.55, 1.0, 2.0]
    once = integrate(laws.Heat(), GRAPH, X0, sorted_times, solver=solver(method)).states
    order = [3, 0, 4, 4, 1, 2, 3, 0]
    again = integrate(laws.Heat(), GRAPH, X0, [sorted_times[k] for k in order], solver=solver(method)).states
    assert torch.equal(again, once[order])
    assert torch.equal(once[0], X0)


@pytest.mark.parametrize("method", METHODS)
def test_all_times_at_the_start_cost_nothing(method: str) -> None:
    field = Function(lambda t, x: -x)
    solution = integrate(field, GRAPH, X0, [2.0, 2.0], solver=solver(method), t0=2.0)
    assert torch.equal(solution.states, torch.stack([X0, X0]))
    assert solution.statistics == Statistics(0, 0, 0)
    assert field.calls == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_kinds_of_times(method: str, kind: type) -> None:
    assert integrate(laws.Heat(), GRAPH, X0, kind([0.5, 1.0]), solver=solver(method)).states.shape == (2, 5, 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_single_number_is_one_time(method: str) -> None:
    assert integrate(laws.Heat(), GRAPH, X0, 0.5, solver=solver(method)).states.shape == (1, 5, 2)


@pytest.mark.parametrize("method", METHODS)
def test_float32_times_are_taken_at_their_exact_value(method: str) -> None:
    times = torch.linspace(0, 2, 31, dtype=torch.float32)
    single, double = (
        integrate(laws.Heat(), GRAPH, X0, t, solver=solver(method)).states for t in (times, times.double())
    )
    assert torch.equal(single, double)


@pytest.mark.parametrize("method", METHODS)
def test_tiny_differences_between_times(method: str) -> None:
    times = [1.0 - 1e-12, 1.0, 1.0 + 1e-15, 1.0 + 1e-12, 1.0 + 1e-6]
    found = integrate(laws.Heat(), GRAPH, X0, times, solver=solver(method)).states
    torch.testing.assert_close(found[:4], found[1].expand(4, -1, -1), rtol=1e-9, atol=1e-9)
    slope = laws.Heat()(torch.tensor(1.0), found[1], GRAPH)
    torch.testing.assert_close((found[4] - found[1]) / 1e-6, slope, rtol=0.3, atol=0.05)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "bdf"])
@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
def test_the_answer_at_a_time_does_not_depend_on_the_others_to_the_last_bit(method: str, gradient: str) -> None:
    times = torch.rand(40, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
    x0 = X0.clone().requires_grad_()
    chosen = solver(method, gradient=gradient)
    together = integrate(laws.Gene(), GRAPH, x0, times, solver=chosen).states
    for k in (0, 7, 39):
        assert torch.equal(integrate(laws.Gene(), GRAPH, x0, times[k : k + 1], solver=chosen).states[0], together[k])
    assert torch.equal(integrate(laws.Gene(), GRAPH, x0, times[::3], solver=chosen).states, together[::3])


def test_steps_on_the_observations_do_depend_on_them() -> None:
    chosen = Solver("euler", step_size="observations")
    alone = integrate(laws.Heat(), GRAPH, X0, [0.2], solver=chosen)
    among = integrate(laws.Heat(), GRAPH, X0, [0.1, 0.2], solver=chosen)
    slope = laws.Heat()(torch.tensor(0.0), X0, GRAPH)
    torch.testing.assert_close(alone.states[0], X0 + 0.2 * slope)
    assert (alone.states[0] - among.states[1]).abs().max() > 1e-3
    assert (alone.statistics.accepted_steps, among.statistics.accepted_steps) == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_another_start_time(method: str) -> None:
    def rate(t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(t).expand_as(x)

    chosen = Solver("euler", step_size=1e-3) if method == "euler" else solver(method)
    found = integrate(Function(rate), GRAPH, X0, [-0.5, 1.5], solver=chosen, t0=-1.0).states
    for k, t in enumerate((-0.5, 1.5)):
        torch.testing.assert_close(found[k], X0 + math.sin(t) - math.sin(-1.0), rtol=0, atol=3e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_kept(method: str, dtype: torch.dtype) -> None:
    found = integrate(laws.Heat(), GRAPH, X0.to(dtype), [0.5, 0.2], solver=solver(method)).states
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), heat(GRAPH, X0, [0.5, 0.2]), rtol=0, atol=0.3)


# Statistics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
def test_statistics_of_fixed_steps(method: str) -> None:
    field = Function(lambda t, x: -x)
    statistics = integrate(field, GRAPH, X0, [0.5, 1.0], solver=solver(method)).statistics
    assert statistics == Statistics(10 * STAGES[method], 10, 0)
    assert field.calls == statistics.evaluations
    field = Function(lambda t, x: -x)
    statistics = integrate(field, GRAPH, X0, [0.45, 0.91], solver=solver(method)).statistics
    # the slope at the end of a step that holds a query is the first stage of the next; only the last is extra
    assert statistics == Statistics(10 * STAGES[method] + 1, 10, 0)
    assert field.calls == statistics.evaluations


@pytest.mark.parametrize("method", ["dopri5", "tsit5"])
def test_statistics_of_adaptive_steps(method: str) -> None:
    field = Function(lambda t, x: torch.sin(20 * t * x))
    statistics = integrate(field, GRAPH, X0, [2.0], solver=Solver(method)).statistics
    assert statistics.rejected_steps > 0
    tried = statistics.accepted_steps + statistics.rejected_steps
    assert field.calls == statistics.evaluations == 6 * tried + 2  # six new stages each; two to choose the first step


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([], "no times were asked for"),
        ([0.5, math.nan], "times must be finite, got nan"),
        ([math.inf], "times must be finite, got inf"),
        ([1.0, -0.5], "cannot go back in time: -0.5 was asked for, but the state is given at t = 0"),
    ],
)
def test_wrong_times(times: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        integrate(laws.Heat(), GRAPH, X0, times)


def test_wrong_start() -> None:
    with pytest.raises(ValueError, match="t0 must be finite"):
        integrate(laws.Heat(), GRAPH, X0, [1.0], t0=math.nan)
    with pytest.raises(TypeError, match=r"x0 must be a floating-point tensor .* got a tensor of torch.int64"):
        integrate(laws.Heat(), GRAPH, torch.ones(5, 1, dtype=torch.int64), [1.0])
    with pytest.raises(TypeError, match="got ndarray"):
        integrate(laws.Heat(), GRAPH, X0.numpy(), [1.0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [[0.0], [1.0]])
def test_a_start_that_is_not_finite(method: str, times: list[float]) -> None:
    with pytest.raises(IntegrationError, match="the state at the start, t = 0, holds NaN") as caught:
        integrate(laws.Heat(), GRAPH, X0 * math.nan, times, solver=solver(method))
    assert caught.value.time == 0
    assert caught.value.reason == "start"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
def test_an_explosion_is_reported_with_its_time(method: str, gradient: str) -> None:
    x0 = torch.tensor([[0.5], [2.0], [1.0]], dtype=torch.float64)  # dx/dt = x^2: x0 / (1 - x0 t), infinite at t = 1/2
    field = Function(lambda t, x: x * x)
    chosen = Solver(method, step_size=1e-3 if method in FIXED else None, gradient=gradient)
    with pytest.raises(IntegrationError) as caught:
        integrate(field, GRAPHS["edgeless"], x0, [0.4, 3.0], solver=chosen)
    assert caught.value.time == pytest.approx(0.5, abs=0.03)
    assert caught.value.reason == "exploded" or (caught.value.reason == "tolerance" and method not in FIXED)
    found = integrate(field, GRAPHS["edgeless"], x0, [0.4], solver=chosen).states
    torch.testing.assert_close(found[0], x0 / (1 - 0.4 * x0), rtol=0.03, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_field_that_is_nan(method: str) -> None:
    with pytest.raises(IntegrationError, match="NaN") as caught:
        integrate(Function(lambda t, x: x * math.nan), GRAPH, X0, [1.0], solver=solver(method))
    assert caught.value.time == 0
    with pytest.raises(IntegrationError):  # also from 0, where no scale of the state is known
        integrate(Function(lambda t, x: x + math.nan), GRAPH, 0 * X0, [1.0], solver=solver(method))


@pytest.mark.parametrize("method", METHODS)
def test_a_field_that_becomes_nan(method: str) -> None:
    with pytest.raises(IntegrationError) as caught:
        integrate(Function(lambda t, x: torch.sqrt(1 - t) * x), GRAPH, X0, [2.0], solver=solver(method))
    assert caught.value.time == pytest.approx(1.0, abs=0.11)


@pytest.mark.parametrize("method", FIXED)
def test_a_slope_that_is_nan_at_the_end_is_not_interpolated_with(method: str) -> None:
    field = Function(lambda t, x: torch.sqrt(0.9999 - t) * x)
    with pytest.raises(IntegrationError, match=r"after t = 0\.9"):
        integrate(field, GRAPH, X0, [0.95], solver=solver(method))


@pytest.mark.parametrize("method", METHODS)
def test_too_many_steps(method: str) -> None:
    with pytest.raises(IntegrationError, match="max_steps") as caught:
        integrate(laws.Heat(), GRAPH, X0, [1000.0], solver=solver(method, max_steps=9))
    assert 0 <= caught.value.time < 1000
    assert caught.value.reason == "max_steps"


def test_too_many_observations_to_step_on() -> None:
    chosen = Solver("euler", step_size="observations", max_steps=3)
    assert integrate(laws.Heat(), GRAPH, X0, [0.0, 0.1, 0.2, 0.3], solver=chosen).statistics.accepted_steps == 3
    with pytest.raises(IntegrationError, match="would need 4 steps"):
        integrate(laws.Heat(), GRAPH, X0, [0.0, 0.1, 0.2, 0.3, 0.4], solver=chosen)


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "bdf"])
def test_a_tolerance_that_cannot_be_met(method: str) -> None:
    field = Function(lambda t, x: torch.sin(1e8 * x))
    with pytest.raises(IntegrationError, match="loosen rtol and atol"):
        integrate(field, GRAPH, X0.float(), [1.0], solver=Solver(method, rtol=1e-15, atol=1e-15, max_steps=500))


def test_a_huge_request_does_not_allocate_its_steps() -> None:
    with pytest.raises(IntegrationError, match="would need 1000000000000 steps"):
        integrate(laws.Heat(), GRAPH, X0, [1e9], solver=Solver("euler", step_size=1e-3))


def test_graphs_without_edges_and_single_nodes() -> None:
    for graph in (GRAPHS["edgeless"], GRAPHS["single"], Graph.from_edges([], num_nodes=2)):
        x0 = states(graph, 1)
        for method in METHODS:
            found = integrate(laws.Heat(), graph, x0, [1.0], solver=solver(method)).states
            torch.testing.assert_close(found[0], x0)


def test_an_error_goes_from_one_process_to_another() -> None:
    error = IntegrationError("too far", time=1.5, reason="max_steps")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.time, again.reason) == ("too far", 1.5, "max_steps")
