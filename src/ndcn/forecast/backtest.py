"""Rolling-origin backtest: what every candidate said at past origins, and what the choice would have said there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.threads import WORTH_TWO
from .._support.work import run_all
from ..data import Panel
from . import combination
from .candidates import LEARNED, SIMPLE, Candidate

FIRST = 8  # the earliest origin
ORIGINS = 40  # how many past origins are looked at, besides the longest horizon
OWN = 2.0  # how much past errors at a horizon count for it; those at a shorter one count 1
WIDTH = 20  # features of a trained model's hidden state, as far as the number of threads is concerned
USUAL = (1, 3, 7, 14, 28, 56)


def scored_horizons(horizon: int) -> np.ndarray:
    """The horizons at which candidates are compared: 1, 3, 7, 14, 28, ... and the last.

    Example:
        >>> from ndcn.forecast.backtest import scored_horizons
        >>> scored_horizons(10).tolist()
        [1, 3, 7, 10]
    """
    return np.array([h for h in USUAL if h < horizon] + [horizon])


@dataclass(frozen=True)
class Backtest:
    """Forecasts of all candidates from past origins, and their errors.

    Args:
        names, families: of the K candidates.
        origins: shape (O,), the last of them is the last snapshot.
        horizons: shape (H,).
        forecasts: shape (K, O, H, n).
        errors: mean |forecast - truth| over observed nodes, shape (K, O, H); NaN where the truth is not known yet.
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    origins: np.ndarray
    horizons: np.ndarray
    forecasts: np.ndarray
    errors: np.ndarray

    @property
    def simple(self) -> np.ndarray:
        """Which candidates look at one node at a time, shape (K,)."""
        return np.array([family in SIMPLE for family in self.families])

    def known(self, k: int, at: int) -> np.ndarray:
        """Positions of the origins whose truth at horizon number k is known at origin number ``at``."""
        return np.flatnonzero(self.origins + self.horizons[k] <= self.origins[at])

    def past(self, k: int, at: int) -> np.ndarray:
        """Discounted past errors of all candidates at horizon number k, as known at origin number ``at``: shape (K,)."""
        q = self.known(k, at)
        ages = self.origins[at] - self.horizons[k] - self.origins[q]
        return combination.past_errors(self.errors[:, q, k], ages, self.errors[0, q, k])

    def likely(self, k: int, at: int) -> np.ndarray:
        """Errors to be expected at horizon number k: past ones, and those at shorter horizons, which are known up to later.

        Their geometric mean, in which those at the horizon itself count OWN times: shape (K,).
        """
        past = [self.past(j, at) for j in range(k + 1)]
        known = [(OWN if j == k else 1.0, p) for j, p in enumerate(past) if np.isfinite(p).any()]
        if not known:
            return past[k]
        share, errors = np.array([w for w, _ in known]), np.maximum([p for _, p in known], 1e-12)
        return np.asarray(np.exp(share @ np.log(errors) / share.sum()))

    def guess(self, k: int, at: int, families: Sequence[str] = SIMPLE) -> int:
        """The best simple guess chosen online: which candidate of these families had the smallest past error."""
        among = np.array([family in families for family in self.families])
        return int(np.where(among, self.past(k, at), np.inf).argmin())

    def online(self, k: int, at: int, choose: Callable[[int, int], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """What a rule would have forecast at the past origins known at ``at``: positions, and forecasts (Q, n)."""
        q = np.array([p for p in self.known(k, at) if len(self.known(k, p)) > 0], dtype=int)
        n = self.forecasts.shape[3]
        said = [combination.mixed(choose(k, p), self.forecasts[:, p, k]) for p in q]
        return q, np.stack(said) if said else np.empty((0, n))


def run(
    panel: Panel,
    candidates: Sequence[Candidate],
    horizons: np.ndarray,
    tick: Callable[[int], None] = lambda done: None,
) -> Backtest:
    """Let all candidates forecast from the last origins of the panel; errors where the truth is known.

    Forecasts are float32: K x O x H x n numbers. Models that are trained have a process each, unless the network is so large
    that one of them keeps all cores busy.
    """
    T = len(panel)
    origins = np.arange(max(FIRST, T - 1 - int(horizons.max()) - ORIGINS), T)
    said = np.empty((len(candidates), len(origins), len(horizons), panel.values.shape[1]), dtype=np.float32)
    for done, (k, forecasts) in enumerate(_all_forecasts(candidates, origins, horizons, panel.values.shape[1])):
        said[k] = np.clip(forecasts, -3e38, 3e38)
        tick(done + 1)
    errors = np.full(said.shape[:3], np.nan)
    for j, h in enumerate(horizons):
        q = np.flatnonzero(origins + h < T)
        truth, seen = panel.values[origins[q] + h], panel.observed[origins[q] + h]
        size = np.abs(said[:, q, j].astype(np.float64) - truth)
        count = seen.sum(axis=1)
        errors[:, q, j] = np.where(seen, size, 0.0).sum(axis=2) / np.where(count > 0, count, np.nan)
    names, families = tuple(c.name for c in candidates), tuple(c.family for c in candidates)
    return Backtest(names, families, origins, horizons, said, errors)


def _all_forecasts(
    candidates: Sequence[Candidate], origins: np.ndarray, horizons: np.ndarray, nodes: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The place of each candidate and its forecasts, as they come; those of trained models last."""
    trained = [k for k, candidate in enumerate(candidates) if candidate.family == LEARNED]
    for k, candidate in enumerate(candidates):
        if k not in trained:
            yield k, candidate.rolling(origins, horizons)
    tasks = [(candidates[k], origins, horizons) for k in trained]
    jobs = 1 if nodes * WIDTH >= WORTH_TWO else None
    for j, (forecasts, failures) in run_all(_forecasts, tasks, jobs=jobs, name="trained models"):
        candidates[trained[j]].failures[:] = failures
        yield trained[j], forecasts


def _forecasts(task: tuple[Candidate, np.ndarray, np.ndarray]) -> tuple[np.ndarray, list[str]]:
    candidate, origins, horizons = task
    return candidate.rolling(origins, horizons), list(candidate.failures)
