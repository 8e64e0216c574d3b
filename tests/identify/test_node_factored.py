"""Self terms as products whose numbers vary among nodes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify.node_factored import factored, roots_are_seen
from ndcn.identify.node_fit import fit_nodes_along, node_problems
from ndcn.identify.observations import largest, observed
from ndcn.laws import Equation, Formula, NodeEquation, Term

N = 25
GRAPH = ndcn.networks.grid(N)
K = torch.linspace(4.0, 7.0, N, dtype=torch.float64)


def mutualistic(noise: float, graph: ndcn.Graph = GRAPH, k: torch.Tensor = K, count: int = 40) -> ndcn.Trajectory:
    times = ndcn.sampling.irregular_times(4.0, count=count, seed=0)
    x0 = 0.3 + 8 * torch.rand(len(k), 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    data = ndcn.simulate(ndcn.laws.Mutualistic(k=k), graph, x0, times)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return ndcn.Trajectory(times=times, states=data.states * (1 + noise * drawn), graph=graph)


def cubic(features: tuple[str, ...] = ("x",)) -> Equation:
    x = features[0]
    powers = [x, f"{x}*{x}", f"{x}*{x}*{x}"] if len(features) > 1 else ["x", "x^2", "x^3"]
    terms = [Term(Formula(text, features), False) for text in ("1", *powers)]
    text = f"{x}_i*{x}_j/(1 + b*{x}_i + c*{x}_j)"
    terms.append(Term(Formula(text, features), True, values=(0.18, 0.02)))
    return Equation(tuple(terms), torch.tensor([0.1, -1.0, 1.18, -0.18, 0.2], dtype=torch.float64), len(features))


def test_capacities_of_nodes_are_likelier_than_coefficients_that_vary() -> None:
    one = observed(mutualistic(0.02), noisy=True)
    model = NodeEquation(cubic(), (2, 3))
    u = torch.zeros(N, 2, dtype=torch.float64)
    problems = node_problems([one], model, u, 1e-4 * largest([one]))
    assert problems is not None
    apart = fit_nodes_along(model, u, problems, np.array([0.03, 0.03]))
    assert apart is not None
    starts = list(factored(apart))
    assert len(starts) == 3
    together = [fit_nodes_along(law, v, apart.problems, spread, iterations=8) for law, v, spread in starts]
    best = min((fit for fit in together if fit is not None), key=lambda fit: fit.score)
    assert best.score < apart.score
    term = best.model.equation.terms[-1]
    assert (term.formula.text, term.formula.parameters) == ("x*(1 - x/K)*(x/C - 1)", ("K", "C"))
    assert best.model.varying == (len(best.model.equation.terms) + 2,)  # K, after the two numbers of the coupling
    assert np.corrcoef(best.values[:, 0], K)[0, 1] > 0.95  # of nodes that stay low the data tell no K


@pytest.mark.parametrize(("K", "C", "seen"), [(5.0, 1.0, True), (1e6, 1.0, False), (1e6, -1e6, False)])
def test_a_product_whose_roots_no_state_comes_near_is_a_power(K: float, C: float, seen: bool) -> None:
    product = Formula("x*(1 - x/K)*(x/C - 1)")
    values = tuple({"K": K, "C": C}[name] for name in product.parameters)
    equation = Equation((Term(product, False, values=values),), torch.ones(1, dtype=torch.float64))
    problem = SimpleNamespace(data=SimpleNamespace(level=torch.rand(9, 4, 1, dtype=torch.float64) + 2))
    fitted = SimpleNamespace(model=NodeEquation(equation, ()), problems=[problem])
    assert roots_are_seen(fitted) == seen


def test_products_have_the_values_of_polynomials() -> None:
    equation = cubic(("v", "w"))
    one = observed(mutualistic(0.0), noisy=False)
    two = torch.cat([one.level, one.level], -1)
    model = NodeEquation(equation, (0,), ("v", "w"))

    class Fitted:
        deviations = torch.ones(N, 1, dtype=torch.float64)
        spread = np.array([0.5])
        problems = (SimpleNamespace(data=one),)

    Fitted.model = model  # type: ignore[attr-defined]
    law, u, spread = next(iter(factored(Fitted)))  # type: ignore[arg-type]
    torch.testing.assert_close(law.equation.rate(two, one.network), equation.rate(two, one.network))
    assert law.varying[0] == 0
    assert (u[:, 0] == 1).all()
    assert spread[0] == 0.5


def test_a_polynomial_without_real_roots_is_no_product() -> None:
    class Fitted:
        model = NodeEquation(
            cubic().with_parameters(torch.tensor([0.1, -1.0, 0.1, -1.0, 0.2, 0.18, 0.02]).double()), ()
        )

    assert not list(factored(Fitted))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_capacities_of_nodes_are_found(noise: float) -> None:
    graph = ndcn.networks.power_law(40, seed=5)
    k = 4 + 3 * torch.rand(40, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    reg = ndcn.DynamicsRegressor(model="interaction").fit(mutualistic(noise, graph, k, 80))
    table = reg.node_values_
    assert "x*(1 - x/K)*(x/C - 1)" in {c.term for c in reg.equations().coefficients}
    (found,) = (name for name in table.columns if name.startswith("K") and not name.endswith("error"))
    assert np.corrcoef(table[found], k)[0, 1] > (0.97 if noise else 1 - 1e-9)
