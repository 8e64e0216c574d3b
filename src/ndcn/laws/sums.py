"""Functions of sums over neighbours, phi(x_i, sum_j A_ij g(x_i, x_j)), as terms of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch

from ..graph import Graph
from .formula import Formula
from .terms import Term

Named = Sequence[Mapping[str, torch.Tensor]]  # the parameters of each term by name


def functions_of_sums(
    terms: Sequence[Term], x: torch.Tensor, graph: Graph, numbers: tuple[Sequence[torch.Tensor], Named], at_edges: Named
) -> torch.Tensor:
    """sum_k c_k phi_k(x_i, sum_j A_ij g_k(x_i, x_j)) at states (..., n, d), given coefficients and parameters."""
    c, named = numbers
    rate = list(torch.zeros_like(x).unbind(-1))
    for k, term, outside, inside in _of_sums(terms):
        totals = [graph.aggregate(_message(one, *graph.ends(x), at_edges[k])) for one in inside]
        value = outside(torch.cat([x, *totals], -1), None, [named[k][name] for name in outside.parameters])
        rate[term.output] = rate[term.output] + c[k] * value
    return torch.stack(rate, dim=-1)


def summed_inside(terms: Sequence[Term], x_i: torch.Tensor, x_j: torch.Tensor, named: Named) -> torch.Tensor:
    """What functions of sums sum over neighbours, added up, in the place of the feature in whose rate they are."""
    out = list(torch.zeros_like(x_i).split(1, -1))
    for k, term, _, inside in _of_sums(terms):
        for one in inside:
            out[term.output] = out[term.output] + _message(one, x_i, x_j, named[k])
    return torch.cat(out, -1)


def _of_sums(terms: Sequence[Term]) -> Iterator[tuple[int, Term, Formula, tuple[Formula, ...]]]:
    for k, term in enumerate(terms):
        if term.formula.around is not None:
            yield k, term, *term.formula.around


def _message(
    formula: Formula, x_i: torch.Tensor, x_j: torch.Tensor, values: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    return formula(x_i, x_j, [values[name] for name in formula.parameters]).unsqueeze(-1)
