"""Fields with inputs: against exact solutions, with gradients, and stopping where inputs jump."""

from __future__ import annotations

import math

import pytest
import torch

import ndcn

PAIR = ndcn.Graph.from_edges([(0, 1)])
TIMES = torch.linspace(0, 6, 25, dtype=torch.float64)


class Filling(ndcn.laws.Law):
    """dx/dt = u - x."""

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return u - x


def on_off(t: float, switches: list[float], x: float = 0.0) -> float:
    """x(t) of dx/dt = u - x from x(0), u = 1, 0, 1, ... from each switch on."""
    u = 0.0
    for a, b in zip([0.0, *switches], [*switches, math.inf], strict=True):
        end = min(t, b)
        x = u + (x - u) * math.exp(-(end - a))
        if t <= b:
            return x
        u = 1.0 - u
    return x


SWITCHES = [0.4, 1.37, 3.001, 3.002, 5.0]
PULSES = ndcn.Inputs([0.0, *SWITCHES], {"u": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]}, until=6.0)


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "bdf"])
def test_switches_are_met_exactly(method: str) -> None:
    solver = ndcn.Solver(method, rtol=1e-9, atol=1e-11)
    found = ndcn.simulate(Filling(), PAIR, torch.zeros(2, 1).double(), TIMES, solver=solver, inputs=PULSES)
    exact = torch.tensor([on_off(t, SWITCHES) for t in TIMES.tolist()], dtype=torch.float64)
    error = (found.states[:, 0, 0] - exact).abs().max().item()
    assert error < (1e-7 if method == "bdf" else 1e-8)


def test_fixed_steps_restart_at_switches() -> None:
    solver = ndcn.Solver("rk4", step_size=0.05)
    found = ndcn.simulate(Filling(), PAIR, torch.zeros(2, 1).double(), TIMES, solver=solver, inputs=PULSES)
    exact = torch.tensor([on_off(t, SWITCHES) for t in TIMES.tolist()], dtype=torch.float64)
    assert (found.states[:, 0, 0] - exact).abs().max() < 1e-6


def test_a_short_pulse_is_not_stepped_over() -> None:
    tent = ndcn.Inputs([0.0, 50.0, 50.01, 50.02, 100.0], {"u": [0.0, 0.0, 100.0, 0.0, 0.0]}, between="linear")
    found = ndcn.simulate(Filling(), PAIR, torch.zeros(2, 1).double(), [50.02], inputs=tent)
    # the integral of a tent of area 1, discounted by exp(-s)
    exact = 100 * (math.exp(0.01) - 1) ** 2 / 0.01 * math.exp(-0.02)
    assert found.states[0, 0, 0].item() == pytest.approx(exact, rel=1e-6)


def test_linear_inputs() -> None:
    ramp = ndcn.Inputs([0.0, 6.0], {"u": [0.0, 6.0]}, between="linear")
    found = ndcn.simulate(Filling(), PAIR, torch.zeros(2, 1).double(), TIMES, inputs=ramp)
    exact = TIMES - 1 + torch.exp(-TIMES)
    assert (found.states[:, 0, 0] - exact).abs().max() < 1e-8


def test_each_node_has_its_own_and_edges_see_the_node_acted_upon() -> None:
    class Gate(ndcn.laws.Law):
        def edge(self, x_i: torch.Tensor, x_j: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
            return gate * (x_j - x_i)

    gates = ndcn.Inputs([0.0], {"gate": [[1.0, 0.0]]}, until=2.0)
    found = ndcn.simulate(Gate(), PAIR, torch.tensor([[0.0], [1.0]]).double(), [2.0], inputs=gates)
    assert found.states[0, 1, 0] == 1.0  # its gate is closed
    assert found.states[0, 0, 0].item() == pytest.approx(1 - math.exp(-2), abs=1e-7)


def test_built_in_laws_keep_their_coupling() -> None:
    class Heated(ndcn.laws.Heat):
        def node(self, x: torch.Tensor, heater: torch.Tensor) -> torch.Tensor:
            return heater.expand_as(x)

    graph = ndcn.networks.power_law(30, seed=0)
    x0 = ndcn.laws.initial_state(graph).double()
    off = ndcn.Inputs([0.0], {"heater": [0.0]}, until=1.0)
    a = ndcn.simulate(Heated(), graph, x0, [0.5, 1.0], inputs=off)
    b = ndcn.simulate(ndcn.laws.Heat(), graph, x0, [0.5, 1.0])
    assert torch.allclose(a.states, b.states, atol=1e-6)
    on = ndcn.Inputs([0.0], {"heater": [2.0]}, until=1.0)
    c = ndcn.simulate(Heated(), graph, x0, [0.5, 1.0], inputs=on)
    assert torch.allclose(c.states - b.states, torch.tensor([1.0, 2.0]).double().reshape(2, 1, 1), atol=1e-6)


def test_sums_of_fields_take_the_inputs_of_their_terms() -> None:
    field = ndcn.laws.Heat() + Filling()
    assert field.inputs == ("u",)
    found = ndcn.simulate(field, PAIR, torch.zeros(2, 1).double(), TIMES, inputs=PULSES)
    exact = torch.tensor([on_off(t, SWITCHES) for t in TIMES.tolist()], dtype=torch.float64)
    assert (found.states[:, 0, 0] - exact).abs().max() < 1e-7


@pytest.mark.parametrize("gradient", ["backprop", "adjoint", "checkpoint"])
def test_gradients(gradient: str) -> None:
    class Scaled(ndcn.laws.Law):
        def __init__(self, k: torch.nn.Parameter) -> None:
            super().__init__()
            self._set(k=k)

        def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
            return self._value("k", x) * u - x

    k = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
    x0 = torch.zeros(2, 1, dtype=torch.float64, requires_grad=True)
    solver = ndcn.Solver("dopri5", rtol=1e-9, atol=1e-11, gradient=gradient)
    end = ndcn.integrate(Scaled(k), PAIR, x0, [4.0], solver=solver, inputs=PULSES).states[0, 0, 0]
    end.backward()
    assert k.grad is not None
    assert x0.grad is not None
    assert k.grad.item() == pytest.approx(on_off(4.0, SWITCHES), abs=1e-7)
    assert x0.grad[0, 0].item() == pytest.approx(math.exp(-4), abs=1e-7)


def test_what_is_missing_is_said() -> None:
    x0 = torch.zeros(2, 1)
    with pytest.raises(ValueError, match="Filling takes the inputs u, and none are given"):
        ndcn.simulate(Filling(), PAIR, x0, [1.0])
    with pytest.raises(ValueError, match="and u is not given; there are v"):
        ndcn.simulate(Filling(), PAIR, x0, [1.0], inputs=ndcn.Inputs([0.0], {"v": [1.0]}, until=1.0))
    with pytest.raises(ValueError, match="'u' is known until t = 6, and the times asked for go to t = 7"):
        ndcn.simulate(Filling(), PAIR, x0, [7.0], inputs=PULSES)
    with pytest.raises(ValueError, match="Filling takes the input u, and nothing is given"):
        Filling()(torch.tensor(0.0), x0, PAIR)
