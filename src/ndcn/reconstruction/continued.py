"""Laws on networks that are drawn from the probabilities: what the doubt about links leaves open of their coefficients."""

from __future__ import annotations

import numpy as np
import torch

from ..graph import Graph
from ..laws import Equation
from .engine import Found


def coefficients(found: Found, equation: Equation, graph: Graph) -> torch.Tensor:
    """Coefficients of an equation that explain the increments best on a network, by least squares over all nodes, (terms,).

    Those of terms in the rates of other features than the one in which the links were found stay as they are.

    Args:
        found: the links, with the increments.
        equation: its terms, with their inner parameters.
        graph: on which its couplings are summed.
    """
    increments = found.increments
    out = equation.coefficients.clone()
    mine = [k for k, term in enumerate(equation.terms) if term.output == increments.output]
    if not mine:
        return out
    whole = graph.to_scipy().tocsr()
    scale = found.learned.shared.noise.sqrt()
    normal = torch.zeros(len(mine), len(mine), dtype=torch.float64)
    right = torch.zeros(len(mine), dtype=torch.float64)
    for i in range(increments.paths.nodes):
        row = slice(whole.indptr[i], whole.indptr[i + 1])
        sources = torch.from_numpy(whole.indices[row].astype(np.int64))
        weights = torch.from_numpy(whole.data[row].astype(np.float64))
        own = increments.states[:, i]
        parts = []
        for k in mine:
            term = equation.terms[k]
            if term.coupling:
                parts.append(increments.columns(term, i, sources) @ weights)
            else:
                value = term.formula(own, None, term.values)
                parts.append(increments.whitened(increments.integrated(value)))
        M = torch.stack(parts, dim=1) / scale[i]
        normal += M.T @ M
        right += M.T @ (increments.y[:, i] / scale[i])
    size = normal.diagonal().clamp(min=1e-300).sqrt()
    solution = torch.linalg.lstsq(normal / torch.outer(size, size), right / size, driver="gelsd").solution / size
    out[mine] = solution
    return out
