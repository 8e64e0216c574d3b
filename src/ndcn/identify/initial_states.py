"""Equations of the initial state of a trajectory: how it moves when everything else does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .tape import Tape

EXACT_UNKNOWNS = 1000  # unknown entries of an initial state up to which a matrix of them is formed: 8 MB
CG_TOLERANCE = 1e-5  # of the right-hand side, what may be left of it: steps lead down however exact they are, so this saves time alone


def best_initial_state(
    tape: Tape,
    weights: Sequence[np.ndarray],
    right: np.ndarray,
    prior: np.ndarray,
    free: np.ndarray,
    cg: int,
    *,
    slow: bool,
) -> np.ndarray:
    """(sum_k T_k^T w_k T_k + prior)^-1 right for those initial states that may move, T_k leading to the k-th snapshot.

    By conjugate gradients of at most ``cg`` steps; or exactly, for as many unknowns as fit into a small matrix, where
    gradients converge slowly, as in gaps, or would take more columns along, as for few nodes and many parameters.
    """
    count = int(free.sum())
    if count <= (EXACT_UNKNOWNS if slow else min(EXACT_UNKNOWNS, cg * right.shape[1] // 2)):
        each = np.zeros((len(free), count))
        each[free, np.arange(count)] = 1
        A = np.diag(prior[free, 0])
        for T, w in zip(tape.tangent(each, False), weights, strict=True):
            A += T.T @ (w * T)
        size = np.sqrt(np.diag(A))
        return np.linalg.solve(A / np.outer(size, size), right[free] / size[:, None]) / size[:, None]

    def times(v: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(free), v.shape[1]))
        whole[free] = v
        forward = tape.tangent(whole, False)
        return tape.adjoint([a * b for a, b in zip(weights, forward, strict=True)])[free] + prior[free] * v

    return _conjugate_gradients(times, right[free], (prior + tape.memory(weights))[free], cg)


def _conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray], right: np.ndarray, diagonal: np.ndarray, most: int
) -> np.ndarray:
    """A^-1 right for each column, preconditioned by a diagonal."""
    x = np.zeros_like(right)
    r = right.copy()
    z = r / diagonal
    p = z.copy()
    rz = (r * z).sum(0)
    first = np.sqrt((r * z).sum(0)) + 1e-300
    for _ in range(most):
        Ap = times(p)
        alpha = rz / np.maximum((p * Ap).sum(0), 1e-300)
        x += alpha * p
        r -= alpha * Ap
        z = r / diagonal
        new = (r * z).sum(0)
        if (np.sqrt(new) < CG_TOLERANCE * first).all():
            break
        p = z + (new / np.maximum(rz, 1e-300)) * p
        rz = new
    return x
