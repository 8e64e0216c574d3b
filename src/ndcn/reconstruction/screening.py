"""Which candidates: for many nodes, each row keeps some tens, chosen in rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ..laws import Term
from .increments import Increments
from .learning import narrowed, soft_fit

SCREENED = 150  # nodes from which on candidates are chosen: below, a row with all of them costs less than the choice
KEPT, ADDED = 50, 50  # candidates of each row that stay in a round, and that come
# Links that only show when others are known come in later rounds. 1,000 nodes, 30 runs, 1 % noise (gene, seed 20): the candidates of 100 rows have .984 of
# the links after all rounds, .81 after four by correlations that are not whitened.
ROUNDS = 8
# Variance of errors in units of that of all candidates together, when candidates are whitened: what relaxing nodes have in common is the
# larger part of it. With .3 there are .969 of the links among the candidates then, with 3 .955.
STRENGTH = 1.0
# Rounds after which links may all have nearly the same weight, if that is likelier: wrong links that stand for right ones which are no candidates have other
# weights, and leave the learned spread too wide to be told by it (.94 of the links without this, .982 from the fourth round on).
ALIKE = 1
BLOCK = 100  # rows at once: their products of 100 candidates take 8 MB


def screened(
    increments: Increments, term: Term, prior: np.ndarray | None, told: Callable[[str], None] = lambda _: None
) -> np.ndarray:
    """Candidates of each row, (n, 100).

    First those whose weight in the row's increments is surest to differ from zero, the weights of all others being normal numbers; then, in rounds,
    the most probable half of them stays, and those come that are surest to differ from zero in what it leaves open.
    """
    n = increments.paths.nodes
    out = np.empty((n, KEPT + ADDED), dtype=np.int64)
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        told(f"candidates of node {first + 1} of {n}")
        out[rows] = _of_rows(increments, term, rows, None if prior is None else prior[rows])
    return out


def first_candidates(increments: Increments, term: Term, rows: np.ndarray) -> np.ndarray:
    """Candidates of some rows before any round, (B, 100): enough to compare families."""
    return _first(_free_columns(increments, term, rows))


Columns = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def _free_columns(increments: Increments, term: Term, rows: np.ndarray) -> Columns:
    """Of each row the columns of all nodes and the increments, without what own terms explain and whitened, and the columns' sizes."""
    out = []
    for i in rows.tolist():
        X, y = _whitened(*_own_part(increments, i, torch.nan_to_num(increments.columns(term, i)).float()))
        out.append((X, y, X.square().sum(0).sqrt().clamp(min=1e-30)))
    return out


def _first(columns: Columns) -> np.ndarray:
    return np.stack([_match(X, y, size).topk(KEPT + ADDED).indices.numpy() for X, y, size in columns])


def _of_rows(increments: Increments, term: Term, rows: np.ndarray, prior: np.ndarray | None) -> np.ndarray:
    columns = _free_columns(increments, term, rows)
    chosen = _first(columns)
    for number in range(ROUNDS):
        grams = increments.grams(term, rows, chosen)
        odds = None if prior is None else torch.from_numpy(np.take_along_axis(prior, chosen, axis=1))
        soft = soft_fit(grams, odds, iterations=10)
        if number >= ALIKE:
            even = narrowed(soft, iterations=8)
            soft = even if float(even.log_evidence().sum()) > float(soft.log_evidence().sum()) else soft
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
            match = _match(X, rest, size)
            match[torch.from_numpy(kept[k])] = -1.0
            new[k] = np.concatenate([kept[k], match.topk(ADDED).indices.numpy()])
        done, chosen = bool((np.sort(new) == np.sort(chosen)).all()), new
        if done:
            break
    return chosen


def _own_part(increments: Increments, i: int, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns and increments without what the node's own terms explain."""
    Z = increments.Z[:, i] / increments.Z[:, i].square().mean(0).sqrt().clamp(min=1e-300)
    q = torch.linalg.qr(Z)[0].float()
    y = increments.y[:, i].float()
    return X - q @ (q.T @ X), y - q @ (q.T @ y)


def _whitened(X: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both with errors that are independent if all candidates have weights that are normal numbers."""
    K = X @ X.T
    size = float(K.diagonal().mean()) or 1.0
    K.diagonal().add_(STRENGTH * size)
    both = torch.linalg.solve_triangular(
        torch.linalg.cholesky(K / size), torch.cat([X, y.unsqueeze(1)], dim=1), upper=False
    )
    return both[:, :-1], both[:, -1]


def _match(X: torch.Tensor, y: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """How sure it is that each candidate's weight is not zero, in standard errors."""
    return ((X.T @ y) / size).abs()
