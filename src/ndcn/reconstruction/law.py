"""The law that goes with the links: f and g with numbers in common to all nodes."""

from __future__ import annotations

import numpy as np
import torch

from ..laws import ClosedForm, Equation, Formula, Term
from .engine import Found

SIGNIFICANT = 3.0  # standard errors that a term of f must be away from 0
DIFFERS = 0.3  # of the size of f: a term whose coefficients differ by so much from node to node is each node's own
UNWEIGHTED = 0.15  # spread of weights over their mean below which links have one weight


def weight_unit(found: Found) -> tuple[float, bool]:
    """What a weight of 1 stands for in the law, and whether all links have it."""
    shared, scale = found.learned.shared, found.grams.scales[0]
    if shared.s < UNWEIGHTED * abs(shared.c):
        return shared.c / scale, True
    size = shared.c if abs(shared.c) > shared.s else float(np.hypot(shared.c, shared.s))
    return size / scale, False


def own_terms(found: Found) -> list[str]:
    """Terms of f whose coefficients differ from node to node."""
    shared = found.learned.shared
    count = len(found.increments.formulas)
    spread = shared.variance[:count].sqrt()
    size = (shared.mean[:count].square() + shared.variance[:count]).sum().sqrt()
    return [f.text for f, s in zip(found.increments.formulas, spread, strict=True) if float(s) > DIFFERS * float(size)]


def answers_to_inputs(found: Found) -> dict[str, tuple[float, float]]:
    """Mean over nodes, and its spread, of the coefficients of u and of u x, for each input that changes."""
    increments, shared = found.increments, found.learned.shared
    out = {}
    for k, (name, times) in enumerate(increments.driven, start=len(increments.formulas)):
        scale = float(found.grams.scales[1][k])
        text = f"{name}*{increments.names[increments.output]}" if times else name
        out[text] = (float(shared.mean[k]) / scale, float(shared.variance[k].sqrt()) / scale)
    return out


def law_of(found: Found, links: np.ndarray, weights: np.ndarray) -> tuple[ClosedForm, dict[str, tuple[float, float]]]:
    """f and g with coefficients in common, by least squares over all nodes; terms that are not significant are left out.

    Args:
        found: links of one feature.
        links: (n, n) of bool.
        weights: of links in units of the law, (n, n).

    Returns:
        The law, and coefficient and standard error of each term by its text.
    """
    increments = found.increments
    n = increments.paths.nodes
    count = len(increments.formulas)
    answers = slice(count, count + len(increments.driven))
    theta = found.learned.coefficients / torch.from_numpy(found.grams.scales[1])
    own = set(own_terms(found))
    ys, columns = [], []
    scale = found.learned.shared.noise.sqrt()
    for i in range(n):
        mine = np.flatnonzero(links[i])
        X = increments.columns(found.term, i, torch.from_numpy(mine)) @ torch.from_numpy(weights[i, mine])
        y = increments.y[:, i] - increments.Z[:, i, answers] @ theta[i, answers]
        for k, formula in enumerate(increments.formulas):
            if formula.text in own:
                y -= increments.Z[:, i, k] * (theta[i, k] - theta[:, k].mean())
        ys.append(y / scale[i])
        columns.append(torch.cat([increments.Z[:, i, :count], X.unsqueeze(1)], dim=1) / scale[i])
    y, M = torch.cat(ys), torch.cat(columns)
    keep = list(range(count)) + ([count] if links.any() else [])
    while True:
        size = M[:, keep].square().mean(0).sqrt().clamp(min=1e-300)
        part = M[:, keep] / size
        inverse = torch.linalg.pinv(part.T @ part, hermitian=True)
        solution = inverse @ (part.T @ y)
        left = float((y - part @ solution).square().mean())
        errors = (inverse.diagonal() * left).clamp(min=0).sqrt()
        away = (solution / errors.clamp(min=1e-300)).abs()
        away[[k for k, c in enumerate(keep) if c == count]] = np.inf
        worst = int(away.argmin())
        if float(away[worst]) >= SIGNIFICANT or len(keep) == 1:
            break
        del keep[worst]
    names = increments.names
    texts = [formula.text for formula in increments.formulas]
    terms, numbers, table = [], [], {}
    for k, c in enumerate(keep):
        number, error = float(solution[k] / size[k]), float(errors[k] / size[k])
        coupling = c == count
        text = found.term.formula.text if coupling else texts[c]
        values = found.term.values if coupling else ()
        terms.append(Term(Formula(text, names), coupling, increments.output, values))
        numbers.append(number)
        table[f"sum_j A_ij {text}" if coupling else text] = (number, error)
    return ClosedForm(Equation(tuple(terms), torch.tensor(numbers, dtype=torch.float64), len(names)), names), table
