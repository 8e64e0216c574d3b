"""Laws of differing nodes are made as plain as the data allow."""

import sys
from pathlib import Path

import numpy as np
import torch

import ndcn
from ndcn import laws
from ndcn.identify.node_fit import NodeFit, fit_nodes_along, node_problems
from ndcn.identify.node_noise import with_own_noise
from ndcn.identify.node_pruning import plainer, pruned
from ndcn.identify.observations import observed
from ndcn.laws import Equation, Formula, NodeEquation, Term

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from without_law import data_of

N = 30
GRAPH = ndcn.networks.power_law(N, seed=0)
K = 0.5 + torch.rand(N, generator=torch.Generator().manual_seed(500), dtype=torch.float64)
TIMES = ndcn.sampling.irregular_times(5.0, count=40, seed=0)


def followed(terms: tuple[Term, ...], coefficients: list[float]) -> tuple[list, NodeFit]:
    """Conduction that differs by node, 5 % noise, fitted with these terms, of which the last varies."""
    whole = ndcn.simulate(laws.Heat(K), GRAPH, laws.initial_state(GRAPH).double(), TIMES)
    drawn = torch.randn(whole.states.shape, generator=torch.Generator().manual_seed(100), dtype=torch.float64)
    data = [observed(whole.replaced(states=whole.states * (1 + 0.05 * drawn)), noisy=True)]
    equation = Equation(terms, torch.tensor(coefficients, dtype=torch.float64))
    model, u = NodeEquation(equation, (len(terms) - 1,), ("x",)), torch.zeros(N, 1, dtype=torch.float64)
    problems = node_problems(data, model, u, torch.tensor([1e-3], dtype=torch.float64))
    fitted = fit_nodes_along(model, u, problems, np.array([0.3]))
    assert fitted is not None
    return data, fitted


def test_a_parameter_that_does_nothing_goes_and_values_of_nodes_stay() -> None:
    bounded = Term(Formula("(x_j - x_i)*exp(-a*(x_j - x_i)^2)"), True, values=(1e-4,))
    data, fitted = followed((bounded,), [1.0])
    short = plainer(fitted, data, [bounded, Term(Formula("x_j - x_i"), True)])
    assert [term.formula.text for term in short.model.equation.terms] == ["x_j - x_i"]
    assert short.model.varying == (0,)
    assert short.score < fitted.score
    assert np.corrcoef(short.values[:, 0], K)[0, 1] > 0.9
    assert plainer(short, data, [bounded]) is short


def test_a_term_that_does_nothing_goes() -> None:
    _, fitted = followed((Term(Formula("x"), False), Term(Formula("x_j - x_i"), True)), [0.001, 1.0])
    short = pruned(fitted)
    assert [term.formula.text for term in short.model.equation.terms] == ["x_j - x_i"]
    assert short.model.varying == (0,)


def test_two_terms_that_are_there_for_each_other_go_together() -> None:
    """b - c x where all states are near b / c: without one of them the other does harm, and neither is needed."""
    graph, times, states, _ = data_of("heat k_i", 40, 82)
    kept = np.sort(np.random.default_rng(82).permutation(100)[:80])
    kept[0] = 0
    noise = np.random.default_rng(182).standard_normal((80, 40))
    seen = ndcn.Trajectory(times=times[kept], states=(states[kept] * (1 + 0.05 * noise))[..., None], graph=graph)
    data = [observed(seen, noisy=True)]
    terms = (Term(Formula("1"), False), Term(Formula("x"), False), Term(Formula("x_j - x_i"), True))
    equation = Equation(terms, torch.tensor([2.9, -0.8, 0.9], dtype=torch.float64))
    model, u = NodeEquation(equation, (2,), ("x",)), torch.zeros(40, 1, dtype=torch.float64)
    problems = node_problems(data, model, u, torch.tensor([1e-3], dtype=torch.float64))
    fitted = fit_nodes_along(model, u, problems, np.array([0.3]))
    assert fitted is not None
    short = pruned(with_own_noise(fitted))
    assert [term.formula.text for term in short.model.equation.terms] == ["x_j - x_i"]
