"""From probabilities to links: which to keep, and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from ..graph import Graph

LEAST_KEPT = (
    0.25  # probability of a link that is kept because surer ones leave room: below, three of four would be wrong
)


def chosen(p: np.ndarray, *, fdr: float | None, probability: float | None) -> np.ndarray:
    """Which pairs are links, (n, n) of bool: all of at least a probability, or the most probable ones of which a share ``fdr`` is wrong.

    Example:
        >>> p = np.array([[0.0, 0.99], [0.3, 0.0]])
        >>> chosen(p, fdr=0.1, probability=None).sum(), chosen(p, fdr=None, probability=0.2).sum()
        (np.int64(1), np.int64(2))
    """
    if probability is not None:
        return np.asarray(p >= probability) & (p > 0)
    order = np.argsort(-p, axis=None, kind="stable")
    wrong = np.cumsum(1 - p.ravel()[order]) / np.arange(1, p.size + 1)
    count = int((wrong <= (0.1 if fdr is None else fdr)).sum())
    out = np.zeros(p.size, dtype=bool)
    out[order[:count]] = True
    return out.reshape(p.shape) & (p >= LEAST_KEPT)


def surest(q: np.ndarray, probability: float, fdr: float | None) -> np.ndarray:
    """Which of some claims, with probabilities in falling order, to make: those of at least a probability, or the first with an expected share of
    wrong ones.

    Example:
        >>> surest(np.array([0.99, 0.85, 0.4]), 0.9, None), surest(np.array([0.99, 0.85, 0.4]), 0.9, 0.1)
        (array([ True, False, False]), array([ True,  True, False]))
    """
    if fdr is None:
        return np.asarray(q >= probability)
    return np.asarray(np.cumsum(1 - q) / np.arange(1, len(q) + 1) <= fdr)


def link_table(
    p: np.ndarray, weights: np.ndarray, errors: np.ndarray, nodes: list, listed: Graph | None, least: float
) -> pd.DataFrame:
    """Pairs of at least this probability, and all that a given network lists, most probable first."""
    import pandas as pd  # noqa: PLC0415  takes half a second, which only tables need

    keep = p >= least
    known = None if listed is None else listed.to_scipy().toarray() != 0
    if known is not None:
        keep |= known
    np.fill_diagonal(keep, False)
    i, j = np.nonzero(keep)
    order = np.argsort(-p[i, j], kind="stable")
    i, j = i[order], j[order]
    table = {
        "source": [nodes[k] for k in j],
        "target": [nodes[k] for k in i],
        "probability": p[i, j],
        "weight": weights[i, j],
        "error": errors[i, j],
    }
    if known is not None:
        table["listed"] = known[i, j]
    return pd.DataFrame(table)
