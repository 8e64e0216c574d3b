"""Laws whose coupling is no plain sum of one function, for `python benchmarks/real_systems.py sums pairs averages`."""

from __future__ import annotations

import torch

import ndcn
from ndcn import laws

# By row and name: terms with coefficients and parameters inside, and what sums are divided by.
COUPLINGS: dict[str, dict[str, tuple[list[tuple[str, float, tuple[float, ...]]], str | None]]] = {
    "sums": {
        "tanh": ([("x", -1.0, ()), ("tanh(beta*sum(x_j))", 2.0, (0.2,))], None),
        "logistic": ([("x", -1.0, ()), ("1/(1 + exp(-beta*(sum(x_j) - theta)))", 3.0, (0.6, 9.0))], None),
        "saturating": ([("x", -0.5, ()), ("sum(x_j)/(sigma + sum(x_j))", 2.0, (4.0,))], None),
        "hill": ([("x", -1.0, ()), ("sum(x_j)^2/(sigma^2 + sum(x_j)^2)", 4.0, (6.0,))], None),
        "sine": ([("x", 1.0, ()), ("x^2", -1.0, ()), ("sin(beta*sum(x_j))", 0.4, (0.08,))], None),
        "infection": ([("x", -0.6, ()), ("(1 - x)*tanh(beta*sum(x_j))", 1.0, (0.5,))], None),
        "average": ([("x", -1.0, ()), ("tanh(beta*sum(x_j))", 2.0, (1.2,))], "in-degree"),
    },
    "pairs": {
        "heat and hill": ([("x", -1.0, ()), ("x_j - x_i", 0.3, ()), ("x_j^2/(K^2 + x_j^2)", 0.5, (1.5,))], None),
        "heat and product": ([("x", -0.5, ()), ("x_j - x_i", 0.2, ()), ("x_i*x_j", -0.05, ())], None),
        "two sines": ([("1", 0.5, ()), ("sin(x_j - x_i)", 0.3, ()), ("sin(x_j)", 0.1, ())], None),
        "heat and tanh": ([("x", -1.0, ()), ("tanh(x_j)", 0.4, ()), ("x_j - x_i", 0.1, ())], None),
        "product and saturating": (
            [("x", 1.0, ()), ("x^2", -1.0, ()), ("x_i*x_j", -0.05, ()), ("x_j/(K + x_j)", 0.4, (1.7,))],
            None,
        ),
    },
    "averages": {
        "hill": ([("x", -0.7, ()), ("x_j^2/(K^2 + x_j^2)", 4.0, (1.5,))], "in-degree"),
        "heat": ([("x_j - x_i", 1.0, ())], "in-degree"),
        "phases": ([("1", 0.5, ()), ("sin(x_j - x_i)", 2.0, ())], "in-degree"),
        "infection": ([("x", -0.5, ()), ("(1 - x_i)*x_j", 1.5, ())], "degrees"),
        "competition": ([("x", 1.0, ()), ("x^2", -1.0, ()), ("x_i*x_j", -0.5, ())], "degrees"),
    },
}


def coupling_law(row: str, name: str) -> laws.ClosedForm:
    """One of these laws."""
    rows, by = COUPLINGS[row][name]
    formulas = [laws.Formula(text) for text, _, _ in rows]
    terms = tuple(
        laws.Term(formula, formula.on_edges or formula.around is not None, 0, values)
        for formula, (_, _, values) in zip(formulas, rows, strict=True)
    )
    law = laws.ClosedForm(laws.Equation(terms, torch.tensor([c for _, c, _ in rows], dtype=torch.float64)))
    law.divided_by = by
    return law


def first_states(name: str, n: int, seed: int) -> torch.Tensor:
    """States to begin with: up to 1 where they are shares of infected, else up to 3."""
    drawn = torch.rand(n, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn * (1.0 if name == "infection" else 3.0)


def is_right(row: str, name: str, reg: ndcn.DynamicsRegressor) -> bool:
    """Whether the terms and the divisor are those of the law."""
    rows, by = COUPLINGS[row][name]
    same = {c.term for c in reg.equations().coefficients} == {text for text, _, _ in rows}
    return same and getattr(reg.law_, "divided_by", None) == by
