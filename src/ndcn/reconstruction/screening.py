"""Which candidates: for many nodes, each row keeps some tens, chosen in rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from ..laws import Term
from .increments import Grams, Increments
from .learning import narrowed, soft_fit
from .soft import Soft

SCREENED = 150  # nodes from which on candidates are chosen: below, a row with all of them costs less than the choice
KEPT, ADDED = 50, 50  # candidates of each row that stay in a round, and that come
# Links that only show when others are known come in later rounds. 1,000 nodes, 30 runs, 1 % noise (gene, seed 20): the candidates of 100 rows have .984 of
# the links after all rounds, .81 after four by correlations that are not whitened.
ROUNDS = 8
LIKELY = 0.3  # probability of a candidate that counts as a link when others are matched with what is left
# Variance of errors in units of that of all candidates together, when candidates are whitened: what relaxing nodes have in common is the
# larger part of it. With .3 there are .969 of the links among the candidates then, with 3 .955.
STRENGTH = 1.0
# Rounds after which links may all have nearly the same weight, if that is likelier: wrong links that stand for right ones which are no candidates have other
# weights, and leave the learned spread too wide to be told by it (.94 of the links without this, .982 from the fourth round on).
ALIKE = 1
# Rows with many links are the hard ones: wrong candidates stand for right ones, which then do not show. The share of rows with the most expected links gets
# more candidates for some rounds, with the numbers in common that the other rows told, at falling temperatures. Of 40 rows that had lost links, and 40 that had
# not, .966 of the links are among 250 candidates after three rounds, .817 before (gene, 1,000 nodes, seed 20).
HARD = 0.2
WIDE, WIDE_ROUNDS = 200, 3
FALLING = (100.0, 30.0, 10.0, 3.0, 1.0)
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
    expected = np.empty(n)
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        told(f"candidates of node {first + 1} of {n}")
        out[rows], expected[rows] = _of_rows(increments, term, rows, None if prior is None else prior[rows])
    order = np.argsort(-expected, kind="stable")
    hard, easy = np.split(order, [int(HARD * n)])
    known = _even(increments.grams(term, easy[:BLOCK], out[easy[:BLOCK]]), None, iterations=30)
    for first in range(0, len(hard), BLOCK // 2):
        rows = hard[first : first + BLOCK // 2]
        told(f"more candidates of {len(hard)} nodes with many links")
        out[rows] = _widened(increments, term, rows, out[rows], known, None if prior is None else prior[rows])
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


def _of_rows(
    increments: Increments, term: Term, rows: np.ndarray, prior: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates, (B, 100), and how many links each row is expected to have."""
    columns = _free_columns(increments, term, rows)
    chosen = _first(columns)
    expected = np.zeros(len(rows))
    for number in range(ROUNDS):
        grams = increments.grams(term, rows, chosen)
        odds = None if prior is None else torch.from_numpy(np.take_along_axis(prior, chosen, axis=1))
        soft = soft_fit(grams, odds, iterations=10) if number < ALIKE else _even(grams, odds, iterations=10)
        p = soft.probabilities.numpy()
        expected = p.sum(1)
        kept, likely = _best(chosen, p, KEPT)
        new = np.stack(
            [
                np.concatenate([kept[k], _coming(columns[k], kept[k], likely[k]).topk(ADDED).indices.numpy()])
                for k in range(len(rows))
            ]
        )
        done, chosen = bool((np.sort(new) == np.sort(chosen)).all()), new
        if done:
            break
    return chosen, expected


def _even(grams: Grams, odds: torch.Tensor | None, iterations: int) -> Soft:
    """Soft links, all with nearly the same weight if that is likelier."""
    soft = soft_fit(grams, odds, iterations=iterations)
    even = narrowed(soft, iterations=8)
    return even if float(even.log_evidence().sum()) > float(soft.log_evidence().sum()) else soft


def _best(chosen: np.ndarray, p: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The most probable candidates, (B, count), and which of them are likely to be links."""
    order = np.argsort(-p, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(chosen, order, axis=1), np.take_along_axis(p, order, axis=1) > LIKELY


def _coming(
    columns: tuple[torch.Tensor, torch.Tensor, torch.Tensor], kept: np.ndarray, likely: np.ndarray
) -> torch.Tensor:
    """How sure it is that each node's weight in what the likely links leave open is not zero, (n,); -1 of those that are kept."""
    X, y, size = columns
    links = X[:, torch.from_numpy(kept[likely])]
    rest = y - links @ torch.linalg.lstsq(links, y.unsqueeze(1)).solution.squeeze(1) if links.shape[1] else y
    match = _match(X, rest, size)
    match[torch.from_numpy(kept)] = -1.0
    return match


def _widened(
    increments: Increments, term: Term, rows: np.ndarray, chosen: np.ndarray, known: Soft, prior: np.ndarray | None
) -> np.ndarray:
    """The best candidates, (B, 100), of more: half of those that come match what is left, half the increments themselves."""
    columns = _free_columns(increments, term, rows)
    wide = min(WIDE, increments.paths.nodes - KEPT)
    for number in range(WIDE_ROUNDS + 1):
        p = _cooled(increments.grams(term, rows, chosen), known, prior).numpy()
        if number == WIDE_ROUNDS:
            break
        kept, likely = _best(chosen, p, KEPT)
        new = []
        for k, one in enumerate(columns):
            match = _coming(one, kept[k], likely[k])
            coming = match.topk(wide // 2).indices
            match = torch.where(match < 0, match, _match(*one))
            match[coming] = -1.0
            new.append(np.concatenate([kept[k], coming.numpy(), match.topk(wide - wide // 2).indices.numpy()]))
        chosen = np.stack(new)
    return _best(chosen, p, KEPT + ADDED)[0]


def _cooled(grams: Grams, known: Soft, prior: np.ndarray | None) -> torch.Tensor:
    """Probabilities of links, (B, m), with the numbers in common of other rows, at falling temperatures."""
    shared = known.shared
    ratio = grams.scales[0] / known.grams.scales[0]
    odds = shared.log_odds if prior is None else torch.from_numpy(np.take_along_axis(prior, grams.candidates, axis=1))
    noise = shared.noise.median().expand(len(grams.rows))
    start = replace(shared, c=ratio * shared.c, s=ratio * shared.s, log_odds=odds, noise=noise)
    soft = Soft(grams, start, prior=True)
    for temperature in FALLING:
        soft.shared = replace(start, noise=temperature * noise)
        soft.run(4, learn=False)
    return soft.probabilities


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
