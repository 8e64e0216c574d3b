"""Functions of sums over neighbours in closed forms."""

import numpy as np
import pytest
import torch

import ndcn
from ndcn.laws import ClosedForm, Equation, Formula, Network, NodeClosedForm, Term

GRAPH = ndcn.networks.power_law(20, seed=1)
A = GRAPH.to_dense().double()
TERMS = (
    Term(Formula("x"), False),
    Term(Formula("tanh(beta*(sum(x_j/(K + x_j)) - theta))"), True, values=(0.5, 1.3, 2.0)),
    Term(Formula("(1 - x)*sum(sin(x_j - x_i))^2/(1 + sum(sin(x_j - x_i))^2)"), True),
    Term(Formula("x_i*x_j"), True),
)
COEFFICIENTS = torch.tensor([-1.0, 2.0, 0.7, -0.1], dtype=torch.float64)
STATES = torch.rand(3, 20, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3


def expected(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """The rates (K, n), from the definition."""
    first = (x / (p[5] + x)) @ A.T
    second = (torch.sin(x[:, None, :] - x[:, :, None]) * A).sum(-1)
    around = p[1] * torch.tanh(p[4] * (first - p[6])) + p[2] * (1 - x) * second**2 / (1 + second**2)
    return p[0] * x + around + p[3] * x * (x @ A.T)


def test_rates_and_derivatives_follow_the_definition() -> None:
    equation, network = Equation(TERMS, COEFFICIENTS), Network(GRAPH)
    p = equation.parameters.requires_grad_(True)
    rate = expected(STATES[..., 0], p)
    torch.testing.assert_close(equation.rate(STATES, network)[..., 0], rate.detach())
    law = ClosedForm(equation)
    torch.testing.assert_close(law(torch.tensor(0.0), STATES, GRAPH)[..., 0], rate.detach())
    slopes = equation.slopes(STATES, network)
    by_parameters = torch.autograd.functional.jacobian(lambda p: expected(STATES[..., 0], p), p.detach())
    torch.testing.assert_close(slopes.columns[:, :, 0], by_parameters)
    jacobian = torch.autograd.functional.jacobian(lambda x: expected(x[None], p.detach())[0], STATES[0, :, 0])
    own = network.jacobian(slopes.own[:1], slopes.edges[:1]).toarray()
    np.testing.assert_allclose(own, jacobian.numpy(), atol=1e-12)
    kernel = equation.kernel(network)
    if kernel is not None:
        parts = (slopes.rate, slopes.own, slopes.edges, slopes.columns)
        for found, wanted in zip(kernel.slopes(STATES.numpy()), parts, strict=True):
            np.testing.assert_allclose(found, wanted.numpy(), atol=1e-12)


def test_equations_name_the_sums() -> None:
    law = ClosedForm(Equation(TERMS, COEFFICIENTS))
    assert str(law._as_printed()) == (
        "dx_i/dt = -1 x_i + 2 tanh(beta*(s_i - theta)) + 0.7 (1 - x_i)*z_i^2/(1 + z_i^2) - sum_j A_ij 0.1 x_i*x_j,  "
        "s_i = sum_j A_ij x_j/(K + x_j),  z_i = sum_j A_ij sin(x_j - x_i),  beta = 0.5, K = 1.3, theta = 2"
    )
    latex = law._as_printed().latex()
    assert r"s_i = \sum_j A_{ij}\, \frac{x_j}{K + x_j}" in latex
    assert r"\tanh\left(\beta \left(s_i - \theta\right)\right)" in latex
    f, g = law._as_printed().sympy()["x"]
    assert "sum_j" in str(f)
    assert str(g) == "-0.1*x_i*x_j"
    law.divided_by = "weights"
    assert "s_i the sum of weights" in str(law._as_printed())
    assert "z_i = 1/s_i sum_j A_ij x_j/(K + x_j)" in str(law._as_printed())


def test_files_and_other_graphs() -> None:
    law = ClosedForm(Equation(TERMS, COEFFICIENTS))
    again = ClosedForm.from_description(law.description())
    other = ndcn.networks.grid(9)
    x = torch.rand(9, 1, dtype=torch.float64)
    torch.testing.assert_close(again(torch.tensor(0.0), x, other), law(torch.tensor(0.0), x, other))
    parameters = torch.stack([law.equation.parameters, 1.1 * law.equation.parameters])
    both = law.several(parameters)(torch.tensor(0.0), x.expand(2, 9, 1), other)
    torch.testing.assert_close(both[1], law.with_parameters(parameters[1])(torch.tensor(0.0), x, other))
    times = torch.linspace(0, 1, 4)
    compiled, plain = (
        ndcn.simulate(
            law, GRAPH, STATES[0], times, solver=ndcn.Solver("dopri5", rtol=1e-8, atol=1e-10, kernel=kernel)
        ).states
        for kernel in ("auto", "torch")
    )
    torch.testing.assert_close(compiled, plain, rtol=1e-6, atol=1e-7)


def test_numbers_of_nodes_inside_and_around_sums() -> None:
    terms = (Term(Formula("x"), False), Term(Formula("tanh(beta*sum(x_j/(K + x_j)))"), True, values=(0.5, 1.0)))
    equation = Equation(terms, torch.tensor([-1.0, 2.0], dtype=torch.float64))
    values = torch.rand(20, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 0.5
    law = NodeClosedForm(equation, (2, 3), values, None, GRAPH.nodes, ("x",))
    x = STATES[0]
    total = (A * (x[:, 0] / (values[:, 1:] + x[:, 0]))).sum(1)
    wanted = -x[:, 0] + 2 * torch.tanh(values[:, 0] * total)
    torch.testing.assert_close(law(torch.tensor(0.0), x, GRAPH)[:, 0], wanted)
    assert "s_i = sum_j A_ij x_j/(K_i + x_j)" in str(law)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tanh(sum(x_j))*x_j", "outside of sum"),
        ("sum(sum(x_j))", "inside another"),
        ("sum", "needs an argument"),
        ("sum(x_j, x_i)", "one argument"),
    ],
)
def test_sums_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Formula(text)


def test_a_function_of_sums_has_no_value_at_two_states() -> None:
    formula = Formula("tanh(a*sum(x_j))")
    assert formula.parameters == ("a",)
    assert not formula.on_edges
    with pytest.raises(ValueError, match="sums over neighbours"):
        formula(STATES, STATES, [1.0])
    with pytest.raises(ValueError, match="coupling term"):
        ClosedForm(Equation((Term(formula, False, values=(1.0,)),), torch.ones(1)))
    law = ClosedForm(Equation((Term(formula, True, values=(1.0,)),), torch.tensor([3.0])))
    torch.testing.assert_close(law.edge(STATES, 2 * STATES), 2 * STATES)  # what is summed
