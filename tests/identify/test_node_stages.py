"""Laws that explode at first are followed from the beginning of the data on."""

import numpy as np
import torch

import ndcn
from ndcn.identify.node_fit import fit_nodes_along, node_problems
from ndcn.identify.node_search import _followed
from ndcn.identify.observations import observed
from ndcn.laws import ClosedForm, Equation, Formula, NodeEquation, Term

GRAPH = ndcn.networks.grid(9)
TERMS = tuple(Term(Formula(text), False) for text in ("1", "x", "x^2"))


def equation(*numbers: float) -> Equation:
    return Equation(TERMS, torch.tensor(numbers, dtype=torch.float64))


def test_a_start_that_explodes_is_fitted_along_the_beginning_first() -> None:
    x0 = torch.linspace(0.02, 0.5, 9, dtype=torch.float64)[:, None]
    times = ndcn.sampling.regular_times(8.0, 50)
    data = ndcn.simulate(ClosedForm(equation(0.0, 1.0, -1.0)), GRAPH, x0, times)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    one = observed(data.replaced(states=data.states * (1 + 0.01 * drawn)), noisy=True)
    start, u = NodeEquation(equation(-0.3, 1.5, -1.2), (1,)), torch.zeros(9, 1, dtype=torch.float64)
    tolerance, spread = torch.tensor([1e-4], dtype=torch.float64), np.array([0.1])
    problems = node_problems([one], start, u, tolerance)
    assert problems is not None
    assert fit_nodes_along(start, u, problems, spread) is None
    fitted = _followed([one], start, u, spread, tolerance, 12)
    assert fitted is not None
    assert fitted.excess < 1.3
    np.testing.assert_allclose(fitted.model.parameters.numpy(), [0.0, 1.0, -1.0], atol=0.05)
