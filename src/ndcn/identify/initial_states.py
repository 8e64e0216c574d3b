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


def best_initial_state(
    tape: Tape,
    weights: Sequence[np.ndarray],
    prior: np.ndarray,
    right: np.ndarray,
    free: np.ndarray,
    cg: int,
    *,
    slow: bool,
    before: Elimination | None = None,
) -> tuple[np.ndarray, Elimination | None]:
    """(sum_k T_k^T w_k T_k + prior)^-1 right for those initial states that may move, T_k leading to the k-th snapshot.

    By conjugate gradients of at most ``cg`` steps; or exactly, for as many unknowns as fit into a small matrix, where
    gradients converge slowly, as in gaps (``slow``), or would take more columns along, as for few nodes and many parameters.
    The matrix of an exact solution is given back, and guides the gradients of the next one, if that has it ``before``.
    """

    def times(v: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(free), v.shape[1]))
        whole[free] = v
        return tape.gram(whole, weights)[free] + prior[free] * v

    def diagonal() -> np.ndarray:
        return (prior + tape.memory(weights))[free]

    if before is not None and (guide := before.guide(free, diagonal)) is not None:
        found, left = _conjugate_gradients(times, right[free], guide, GUIDED_STEPS, GUIDED_TOLERANCE)
        if left < GUIDED_LEFT:
            return found, before
    count = int(free.sum())
    if count <= (EXACT_UNKNOWNS if slow else min(EXACT_UNKNOWNS, cg * right.shape[1] // 2)):
        exact = Elimination(free, _matrix(tape, weights, prior, free))
        size = np.sqrt(np.diag(exact.matrix))[:, None]
        return np.linalg.solve(exact.matrix / (size * size.T), right[free] / size) / size, exact
    each = diagonal()
    return _conjugate_gradients(times, right[free], lambda v: v / each, cg, CG_TOLERANCE)[0], None


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
) -> tuple[np.ndarray, float]:
    """A^-1 right for each column, preconditioned by ``guide``, which is near A^-1; and the largest share of a column that is left."""
    x = np.zeros_like(right)
    r = right.copy()
    z = guide(r)
    p = z.copy()
    rz = (r * z).sum(0)
    first = np.sqrt(rz) + 1e-300
    left = 1.0
    for _ in range(most):
        Ap = times(p)
        alpha = rz / np.maximum((p * Ap).sum(0), 1e-300)
        x += alpha * p
        r -= alpha * Ap
        z = guide(r)
        new = (r * z).sum(0)
        left = float((np.sqrt(new) / first).max())
        if left < tolerance:
            break
        p = z + (new / np.maximum(rz, 1e-300)) * p
        rz = new
    return x, left
