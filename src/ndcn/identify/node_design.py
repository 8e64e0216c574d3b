"""Deviations of nodes as a linear function of numbers known of them, plus a rest: the change of variables in which a law is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Design:
    """u = Z beta + rest: deviations of n nodes in q numbers, of which only some have a rest.

    The unknowns of a fit, u node by node and then P parameters in common, are T v with v = (rest, parameters, beta).

    Args:
        columns: Z, (n q, m).
        rest: which of the q numbers have a rest.

    Example:
        >>> Z = np.array([[1.0], [-1.0]])
        >>> Design(Z, (False,)).unknowns(1) @ np.array([3.0, 0.5])
        array([ 0.5, -0.5,  3. ])
        >>> Design(Z, (True,)).split(np.array([0.6, -0.4]))
        (array([0.1, 0.1]), array([0.5]))
    """

    columns: np.ndarray
    rest: tuple[bool, ...]

    @staticmethod
    def plain(n: int, q: int) -> Design:
        """Deviations that follow nothing."""
        return Design(np.zeros((n * q, 0)), (True,) * q)

    @property
    def kept(self) -> np.ndarray:
        """Which of the n q deviations have a rest."""
        nq = len(self.columns)
        return np.flatnonzero(np.tile(np.array(self.rest, dtype=bool), nq // max(len(self.rest), 1)))

    def unknowns(self, common: int) -> np.ndarray:
        """T, (n q + P, rests + P + m)."""
        nq, m = self.columns.shape
        kept = self.kept
        T = np.zeros((nq + common, len(kept) + common + m))
        T[kept, np.arange(len(kept))] = 1.0
        T[nq + np.arange(common), len(kept) + np.arange(common)] = 1.0
        T[:nq, len(kept) + common :] = self.columns
        return T

    def split(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rests and beta of deviations (n q,), by least squares."""
        beta = np.linalg.lstsq(self.columns, u, rcond=None)[0]
        rest: np.ndarray = (u - self.columns @ beta)[self.kept]
        return rest, beta
