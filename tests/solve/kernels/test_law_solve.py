"""Laws by adaptive steps in C beside the same steps in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn import IntegrationError, Solver, laws, networks, simulate
from ndcn.laws import Equation, Formula, FreeForm, Law, Term, basis_for
from ndcn.solve import law_kernel_in_use

pytestmark = pytest.mark.skipif(law_kernel_in_use() == "torch", reason="the compiled kernel was not built")

GRAPH = networks.power_law(60, seed=0)
TIMES = np.linspace(0.0, 2.0, 17)


def both(law: Law, x0: torch.Tensor, method: str = "dopri5", rtol: float = 1e-9) -> None:
    """Accepted and rejected steps are the same, and states to far less than the tolerance."""
    compiled, plain = (
        simulate(law, GRAPH, x0, TIMES, solver=Solver(method, rtol=rtol, atol=1e-9, kernel=kernel))
        for kernel in ("auto", "off")
    )
    assert law.law_kernel(GRAPH, x0.shape[1]) is not None
    assert compiled.statistics == plain.statistics
    torch.testing.assert_close(compiled.states, plain.states, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", laws.NAMED)
@pytest.mark.parametrize("method", ["dopri5", "tsit5"])
def test_named_laws_take_the_steps_of_torch(name: str, method: str) -> None:
    law = laws.NAMED[name]()
    both(law, law.initial_state(GRAPH, dtype=torch.float64), method)


def test_equations_and_splines_take_the_steps_of_torch() -> None:
    x0 = torch.rand(60, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    terms = (Term(Formula("x"), False), Term(Formula("x_j^h/(1 + x_j^h)"), True, values=(1.7,)))
    both(laws.ClosedForm(Equation(terms, torch.tensor([-1.0, 0.5], dtype=torch.float64))), x0)
    basis = basis_for(2 * x0, x0 - 0.5)
    coefficients = 0.003 * torch.randn(1, basis.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    both(FreeForm(basis, coefficients, ("x",)), x0, rtol=1e-6)


def test_laws_that_were_changed_or_have_numbers_of_nodes_are_left_to_torch() -> None:
    class Cooled(laws.Heat):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return -x

    class Halved(laws.Heat):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
            return 0.5 * super().forward(t, x, graph)

    for law in (
        Cooled(),
        Halved(),
        laws.Heat(torch.rand(60)),
        laws.Gene(h=1.5),
        laws.Heat(torch.nn.Parameter(torch.ones(()))),
    ):
        assert law.law_kernel(GRAPH, 1) is None
    assert laws.Heat().law_kernel(GRAPH, 2) is None
    assert laws.Gene(h=3).law_kernel(GRAPH, 1) is not None


def test_gradients_and_other_dtypes_are_left_to_torch() -> None:
    x0 = laws.initial_state(GRAPH).double().requires_grad_(True)
    end = ndcn.integrate(laws.Heat(), GRAPH, x0, [1.0]).states
    end.sum().backward()
    torch.testing.assert_close(x0.grad, torch.ones_like(x0), rtol=1e-5, atol=1e-5)
    assert ndcn.integrate(laws.Heat(), GRAPH, x0.detach().float(), [1.0]).states.dtype == torch.float32


@pytest.mark.parametrize("steps", [1, 5])
def test_explosions_and_too_many_steps_are_the_errors_of_torch(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.solve.kernels.law_solve.AT_ONCE", steps)
    fast = laws.ClosedForm(Equation((Term(Formula("x^2"), False),), torch.ones(1, dtype=torch.float64)))
    x0 = torch.ones(60, 1, dtype=torch.float64)
    for solver, reason in (
        (Solver("dopri5"), ("exploded", "tolerance")),
        (Solver("dopri5", max_steps=7), ("max_steps",)),
    ):
        found = []
        for kernel in ("auto", "off"):
            with pytest.raises(IntegrationError) as error:
                ndcn.integrate(
                    fast, GRAPH, x0, [0.5, 3.0], solver=ndcn.Solver("dopri5", max_steps=solver.max_steps, kernel=kernel)
                )
            found.append(error.value)
        assert found[0].reason == found[1].reason
        assert found[0].reason in reason
        assert found[0].time == pytest.approx(found[1].time, rel=1e-9)


def test_times_before_any_step_are_the_initial_state() -> None:
    x0 = laws.initial_state(GRAPH).double()
    states = ndcn.integrate(laws.Heat(), GRAPH, x0, [1.0, 1.0, 2.0], t0=1.0).states
    torch.testing.assert_close(states[0], x0)
    torch.testing.assert_close(states[1], x0)
