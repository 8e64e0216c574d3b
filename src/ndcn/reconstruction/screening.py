"""Which candidates: for many nodes, each row keeps some tens, chosen in rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ..laws import Term
from .increments import Increments
from .learning import soft_fit

SCREENED = 150  # nodes from which on candidates are chosen: below, a row with all of them costs less than the choice
KEPT, ADDED = 50, 50  # candidates of each row that stay in a round, and that come
ROUNDS = 4  # one-shot screening misses links that only show when others are known
BLOCK = 100  # rows at once: their products of 100 candidates take 8 MB


def screened(
    increments: Increments, term: Term, prior: np.ndarray | None, told: Callable[[str], None] = lambda _: None
) -> np.ndarray:
    """Candidates of each row, (n, 100).

    First those that correlate most with the row's increments given the others by ridge regression; then, in rounds, the
    most probable half of them stays, and those come that correlate most with what it leaves open.
    """
    n = increments.paths.nodes
    out = np.empty((n, KEPT + ADDED), dtype=np.int64)
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        told(f"candidates of node {first + 1} of {n}")
        out[rows] = _of_rows(increments, term, rows, None if prior is None else prior[rows])
    return out


def first_candidates(increments: Increments, term: Term, rows: np.ndarray) -> np.ndarray:
    """Candidates of some rows by ridge regression alone, (B, 100): enough to compare families."""
    return _first(_free_columns(increments, term, rows))


Columns = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def _free_columns(increments: Increments, term: Term, rows: np.ndarray) -> Columns:
    """Of each row the columns of all nodes and the increments, without what own terms explain, and the columns' sizes."""
    out = []
    for i in rows.tolist():
        X, y = _own_part(increments, i, torch.nan_to_num(increments.columns(term, i)).float())
        out.append((X, y, X.square().sum(0).sqrt().clamp(min=1e-30)))
    return out


def _first(columns: Columns) -> np.ndarray:
    return np.stack([_ridge(X / size, y) for X, y, size in columns])


def _of_rows(increments: Increments, term: Term, rows: np.ndarray, prior: np.ndarray | None) -> np.ndarray:
    columns = _free_columns(increments, term, rows)
    chosen = _first(columns)
    for _ in range(ROUNDS):
        grams = increments.grams(term, rows, chosen)
        odds = None if prior is None else torch.from_numpy(np.take_along_axis(prior, chosen, axis=1))
        soft = soft_fit(grams, odds, iterations=10)
        p = soft.probabilities.numpy()
        order = np.argsort(-p, axis=1, kind="stable")[:, :KEPT]
        kept = np.take_along_axis(chosen, order, axis=1)
        likely = np.take_along_axis(p, order, axis=1) > 0.3
        new = np.empty_like(chosen)
        for k, (X, y, size) in enumerate(columns):
            links = X[:, torch.from_numpy(kept[k][likely[k]])]
            rest = y
            if links.shape[1]:
                rest = y - links @ torch.linalg.lstsq(links, y.unsqueeze(1)).solution.squeeze(1)
            match = ((X.T @ rest) / size).abs()
            match[torch.from_numpy(kept[k])] = -1.0
            new[k] = np.concatenate([kept[k], match.topk(ADDED).indices.numpy()])
        chosen = new
    return chosen


def _own_part(increments: Increments, i: int, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns and increments without what the node's own terms explain."""
    Z = increments.Z[:, i] / increments.Z[:, i].square().mean(0).sqrt().clamp(min=1e-300)
    q = torch.linalg.qr(Z)[0].float()
    y = increments.y[:, i].float()
    return X - q @ (q.T @ X), y - q @ (q.T @ y)


def _ridge(X: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """Nodes with the largest coefficients of a ridge regression, in the dual."""
    K = X @ X.T
    strength = 0.1 * float(K.diagonal().mean())
    K.diagonal().add_(strength)
    w = X.T @ torch.linalg.solve(K, y)
    return w.abs().topk(KEPT + ADDED).indices.numpy()
