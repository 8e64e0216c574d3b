"""Linear mixed models: coefficients in common, and some that deviate from them at each node, by normal matrices of nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Of expectation and maximisation. Formulas are ranked by these fits and decided by others, so that the last digit of a variance does not matter.
EM_ITERATIONS = 25
EM_ENOUGH = 1e-3  # change of -2 log likelihood below which it ends
SINGULAR = 1e-10  # of the diagonal, for columns that are alike


@dataclass(frozen=True)
class MixedFit:
    """A model of some columns, with those that vary among nodes."""

    members: tuple[int, ...]
    varying: tuple[int, ...]  # of the members, by their place among all columns
    score: float  # BIC: a mean and, of those that vary, a variance count as one number each
    means: np.ndarray  # (members,)
    spreads: np.ndarray  # standard deviations among nodes, (varying,)
    deviations: np.ndarray  # of nodes from the means, (n, varying)
    noise: float  # variance of what is left


@dataclass(frozen=True)
class NodeGrams:
    """Least squares of each node, y_i = W_i c_i: W^T W (n, M, M), W^T y (n, M), y^T y (n,), and rows of all nodes.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> W = rng.normal(size=(50, 30, 2))
        >>> c = np.stack([rng.normal(1.0, 0.5, 50), np.full(50, 2.0)], 1)
        >>> y = np.einsum("nkm,nm->nk", W, c) + 0.1 * rng.normal(size=(50, 30))
        >>> grams = NodeGrams.of(W, y)
        >>> fits = [grams.fitted((0, 1), which) for which in ((), (0,), (1,), (0, 1))]
        >>> min(fits, key=lambda fit: fit.score).varying
        (0,)
        >>> bool(abs(fits[1].spreads[0] - c[:, 0].std()) < 0.02), round(float(fits[1].means[1]), 2)
        (True, 2.0)
    """

    gram: np.ndarray
    moment: np.ndarray
    power: np.ndarray
    rows: int
    price: float = 0.0  # of a variance, beyond that of BIC

    @staticmethod
    def of(W: np.ndarray, y: np.ndarray, rows: int | None = None) -> NodeGrams:
        """Of weighted rows W (n, K, M) and y (n, K)."""
        turned = W.transpose(0, 2, 1)
        power = np.einsum("nk,nk->n", y, y)
        return NodeGrams(turned @ W, (turned @ y[..., None])[..., 0], power, y.size if rows is None else rows)

    def fitted(self, members: Sequence[int], varying: Sequence[int] = ()) -> MixedFit:
        """The likeliest means, variances and deviations."""
        index = list(members)
        G = self.gram[:, index][:, :, index]
        b = self.moment[:, index]
        size = np.sqrt(np.maximum(np.einsum("nii->i", G), 1e-300))
        G = G / np.outer(size, size)
        b = b / size
        which = [index.index(m) for m in varying]
        beta, D, u, s2, loss = _em(G, b, self.power, self.rows, which)
        numbers = len(index) + len(which)
        score = loss + numbers * math.log(max(self.rows, 2)) + self.price * len(which)
        unit = size[which]
        return MixedFit(tuple(members), tuple(varying), score, beta / size, np.sqrt(D) / unit, u / unit, s2)


def _em(
    G: np.ndarray, b: np.ndarray, power: np.ndarray, rows: int, which: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Means, variances, deviations, noise and -2 log likelihood; G is scaled to a sum of 1 on its diagonal."""
    n, _, M = G.shape
    total = power.sum()
    floor = 1e-15 * max(total, 1e-300) / rows
    pooled = G.sum(0) + SINGULAR * np.eye(M)
    beta = np.linalg.solve(pooled, b.sum(0))
    rest = max(total - 2 * b.sum(0) @ beta + beta @ pooled @ beta, 0.0)
    s2 = max(rest / rows, floor)
    q = len(which)
    if q == 0:
        return beta, np.zeros(0), np.zeros((n, 0)), s2, rows * (math.log(s2) + 1)
    GV = G[:, which]  # (n, q, M)
    GVV = GV[:, :, which]
    own = np.einsum("nqq->nq", GVV)
    D = np.maximum(
        (np.square(b[:, which] - GV @ beta) / np.maximum(own, 1e-300)).sum(0) / np.maximum(own.sum(0), 1e-300), 1e-300
    )
    before = math.inf
    u = np.zeros((n, q))
    loss = math.inf
    for _ in range(EM_ITERATIONS):
        K = np.linalg.inv(GVV / s2 + np.diag(1 / D))
        KG = K @ GV / s2  # (n, q, M)
        H = (G.sum(0) - np.einsum("nqm,nqk->mk", GV, KG)) / s2 + SINGULAR * np.eye(M) / s2
        h = (b.sum(0) - np.einsum("nqm,nq->m", KG, b[:, which])) / s2
        beta = np.linalg.solve(H, h)
        left = b[:, which] - GV @ beta
        u = np.einsum("nqk,nk->nq", K, left) / s2
        squares = total - 2 * b.sum(0) @ beta + beta @ pooled @ beta
        squares += float(-2 * (u * left).sum() + np.einsum("nq,nqk,nk->", u, GVV, u))
        squares = max(float(squares), floor * rows)
        logs = -np.linalg.slogdet(K)[1].sum() + n * np.log(D).sum()
        loss = rows * math.log(s2) + squares / s2 + float((u**2 / D).sum()) + float(logs)
        if before - loss < EM_ENOUGH:
            break
        before = loss
        spread = np.einsum("nqq->q", K)
        trace = float(np.einsum("nqk,nkq->", GVV, K))
        D = np.maximum(((u**2).sum(0) + spread) / n, 1e-300)
        s2 = max((squares + trace) / rows, floor)
    return beta, D, u, s2, loss
