"""Initial states that follow the parameters of a trajectory: a linear system for each, solved exactly or by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .tape import Tape

EXACT_UNKNOWNS = 1000  # unknown entries of an initial state up to which a matrix of them is formed: 8 MB
# Of the right-hand side, what may be left of it. Steps lead down however exact they are, and what is wrong with the information on the
# parameters is the square of this, 1e-6 of it.
CG_TOLERANCE = 1e-3
# The same where the matrix of an iteration before guides the gradients: each step gains a digit or two, so that more of them cost little.
GUIDED_TOLERANCE = 1e-6
GUIDED_STEPS = 6
# Where more than this is left after so many steps, the model has moved too far, and the matrix is formed again. Iterations that leave as
# much are those on the way, of models that fit badly; near the solution each step gains two digits.
GUIDED_LEFT = 0.05
GUIDED_SHARE = 0.9  # of the entries that may move, which the matrix must have


@dataclass(frozen=True, eq=False)
class Elimination:
    """The matrix of the system for an initial state, as it was for some parameters."""

    free: np.ndarray  # which entries could move, (n d,)
    matrix: np.ndarray  # of these

    def guide(self, free: np.ndarray, diagonal: Callable[[], np.ndarray]) -> Callable[[np.ndarray], np.ndarray] | None:
        """Near the inverse for these entries: that of its own part of them, and 1 / diagonal for others; None if it lacks many or is not definite."""
        common = self.free & free
        if common.sum() < GUIDED_SHARE * free.sum():
            return None
        own = common[self.free]
        A = self.matrix if own.all() else self.matrix[np.ix_(own, own)]
        size = np.sqrt(np.diag(A))[:, None]
        try:
            factor = linalg.cho_factor(A / (size * size.T), lower=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        known = common[free]
        other = 1 / diagonal()

        def near(v: np.ndarray) -> np.ndarray:
            out = other * v
            out[known] = linalg.cho_solve(factor, v[known] / size, check_finite=False) / size
            return out

        return near


@dataclass(frozen=True, eq=False)
class Solutions:
    """Of systems for an initial state, as they were for other parameters: the next one begins where they lead."""

    right: np.ndarray  # (n d, C)
    found: np.ndarray  # (n d, C), near A^-1 right

    def start(self, right: np.ndarray, free: np.ndarray) -> np.ndarray:
        """The combination of these solutions that is nearest to that of other right-hand sides: of those entries that may move."""
        known = self.found[free]
        among = known.T @ np.hstack([self.right[free], right])
        count = known.shape[1]
        size = np.sqrt(np.abs(np.diag(among[:, :count])))[:, None] + 1e-100
        scaled = among / size / np.hstack([size.T, np.ones((1, right.shape[1]))])
        if not np.isfinite(scaled).all():
            return np.zeros_like(right)
        shares, *_ = np.linalg.lstsq(scaled[:, :count], scaled[:, count:], rcond=1e-8)
        out: np.ndarray = known @ (shares / size)
        return out


def best_initial_state(
    tape: Tape,
    weights: Sequence[np.ndarray],
    prior: np.ndarray,
    right: np.ndarray,
    free: np.ndarray,
    cg: int,
    *,
    slow: bool,
    negligible: np.ndarray,
    before: Elimination | Solutions | None = None,
) -> tuple[np.ndarray, Elimination | Solutions | None]:
    """(sum_k T_k^T w_k T_k + prior)^-1 right for those initial states that may move, T_k leading to the k-th snapshot.

    By conjugate gradients of at most ``cg`` steps; or exactly, for as many unknowns as fit into a small matrix, where
    gradients converge slowly, as in gaps (``slow``), or would take more columns along, as for few nodes and many parameters.
    The matrix of an exact solution is given back, and guides the gradients of the next one, if that has it ``before``; else the
    solutions are, and the next ones begin from them. Of a column, less than ``negligible`` (C,) need not be explained, in the norm of the
    inverse: of residuals this is the root of a chi^2.
    """

    def times(v: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(free), v.shape[1]))
        whole[free] = v
        return tape.gram(whole, weights)[free] + prior[free] * v

    def diagonal() -> np.ndarray:
        return (prior + tape.memory(weights))[free]

    if isinstance(before, Elimination) and (guide := before.guide(free, diagonal)) is not None:
        found, left = _conjugate_gradients(times, right[free], guide, GUIDED_STEPS, GUIDED_TOLERANCE, 0 * negligible)
        if left < GUIDED_LEFT:
            return found, before
    count = int(free.sum())
    if count <= (EXACT_UNKNOWNS if slow else min(EXACT_UNKNOWNS, cg * right.shape[1] // 2)):
        exact = Elimination(free, _matrix(tape, weights, prior, free))
        size = np.sqrt(np.diag(exact.matrix))[:, None]
        return np.linalg.solve(exact.matrix / (size * size.T), right[free] / size) / size, exact
    each = diagonal()
    start = before.start(right[free], free) if isinstance(before, Solutions) else None
    found, _ = _conjugate_gradients(times, right[free], lambda v: v / each, cg, CG_TOLERANCE, negligible, start)
    whole = np.zeros((len(free), found.shape[1]))
    whole[free] = found
    return found, Solutions(right, whole)


def _matrix(tape: Tape, weights: Sequence[np.ndarray], prior: np.ndarray, free: np.ndarray) -> np.ndarray:
    """sum_k T_k^T w_k T_k + prior of these entries."""
    count = int(free.sum())
    each = np.zeros((len(free), count))
    each[free, np.arange(count)] = 1
    A = np.diag(prior[free, 0])
    for T, w in zip(tape.tangent(each), weights, strict=True):
        seen = w[:, 0] > 0
        rows = np.sqrt(w[seen]) * T[seen]
        A += rows.T @ rows
    return A


def _conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    guide: Callable[[np.ndarray], np.ndarray],
    most: int,
    tolerance: float,
    negligible: np.ndarray,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """A^-1 right for each column, preconditioned by ``guide``, which is near A^-1; and the largest share of a column that is left.

    Columns begin from ``start`` where that leaves less than 0 does.
    """
    x = np.zeros_like(right)
    r = right.copy()
    z = guide(r)
    rz = (r * z).sum(0)
    first = np.maximum(np.sqrt(rz), negligible / tolerance) + 1e-300
    if start is not None:
        begun = right - times(start)
        guided = guide(begun)
        size = (begun * guided).sum(0)
        nearer = size < rz
        x, r, z, rz = (np.where(nearer, a, b) for a, b in ((start, x), (begun, r), (guided, z), (size, rz)))
    p = z.copy()
    left = float((np.sqrt(rz) / first).max())
    for _ in range(most):
        if left < tolerance:
            break
        Ap = times(p)
        alpha = rz / np.maximum((p * Ap).sum(0), 1e-300)
        x += alpha * p
        r -= alpha * Ap
        z = guide(r)
        new = (r * z).sum(0)
        left = float((np.sqrt(new) / first).max())
        p = z + (new / np.maximum(rz, 1e-300)) * p
        rz = new
    return x, left
