"""Rolling-origin backtest: what every candidate said at past origins, and what the choice would have said there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.threads import WORTH_TWO
from .._support.work import run_all
from ..data import Panel, even_weights
from . import combination
from .candidates import LEARNED, SIMPLE, Candidate
from .intervals import sizes
from .simple import recent_change

FIRST = 8  # the earliest origin, with eight changes before it: the drift over a week of days is then known
# How many past origins are looked at, besides the longest horizon: the oldest counts 0.95^40 = 0.13 of the last.
ORIGINS = 40
# Origins for each longest horizon: 2, 4 and 7 differ by less than 1 % at the earlier origins of chickenpox, flu, wind and measles.
APART = 4
# Times a node's recent changes: the most that an error counts for, so that one wrong cell decides nothing. A round number; no comparison is recorded.
CLIP = 8.0
# Of the errors of trained models, which are judged at a few origins only, where luck counts for more: with the power of 20 their weight is
# a seventh of what it would be. A round number; no comparison is recorded.
HANDICAP = 1.1
# How much past errors at a horizon count for it; those at a shorter one, which are known up to later, count 1. A round number; no comparison is recorded.
OWN = 2.0
# Of the error of all nodes that one node may have, and twice its even part: a giant decides for itself alone. How much one node may
# count was among about 30 variants that differ by 1 or 2 % on average (docs/forecast.md, How far to trust this).
MOST = 0.05
WIDTH = 20  # features of a trained model's hidden state, those of NDCN, as far as the number of threads is concerned
USUAL = (1, 3, 7, 14, 28, 56)  # of days: one, half a week, and one, two, four and eight weeks


def scored_horizons(horizon: int) -> np.ndarray:
    """The horizons at which candidates are compared: 1, 3, 7, 14, 28, ... and the last.

    Example:
        >>> from ndcn.forecast.backtest import scored_horizons
        >>> scored_horizons(10).tolist()
        [1, 3, 7, 10]
    """
    return np.array([h for h in USUAL if h < horizon] + [horizon])


def past_origins(snapshots: int, horizon: int, periods: Sequence[int]) -> np.ndarray:
    """The last origins, and the last snapshot: 40 whose truth at the longest horizon is known, from number 8 on.

    They are spread, as far as there are data for 40: over the longest period, at steps that have no factor in common with any
    period, so that every phase is met (forty hours before a Friday night would say nothing about the week-end); and over ten
    times the longest horizon, a quarter of it apart (forty hours in a row are one weather for what comes a day later).

    Example:
        >>> from ndcn.forecast.backtest import past_origins
        >>> past_origins(70, 14, [7])[[0, -1]].tolist()
        [15, 69]
        >>> past_origins(1000, 24, [24, 168])[-3:].tolist()
        [977, 988, 999]
        >>> past_origins(1000, 24, [])[-3:].tolist()
        [987, 993, 999]
    """
    room = (snapshots - 1 - FIRST - horizon) // ORIGINS
    stride = max(1, -(-max(periods, default=1) // ORIGINS), min(-(-horizon // APART), room))
    while any(math.gcd(stride, period) > 1 for period in periods):
        stride += 1
    first = max(FIRST, snapshots - 1 - stride * (ORIGINS + -(-horizon // stride)))
    return np.arange(snapshots - 1, first - 1, -stride)[::-1]


@dataclass(frozen=True)
class Backtest:
    """Forecasts of all candidates from past origins, and their errors.

    Errors are means of |forecast - truth| over observed nodes, of which none counts for more than a twentieth of them;
    NaN where the truth is not known yet.
    """

    names: tuple[str, ...]  # of the K candidates
    families: tuple[str, ...]
    origins: np.ndarray  # (O,); the last is the last snapshot
    horizons: np.ndarray  # (H,)
    forecasts: np.ndarray  # (K, O, H, n)
    errors: np.ndarray  # (K, O, H)

    def known(self, k: int, at: int) -> np.ndarray:
        """Positions of the origins whose truth at horizon number k is known at origin number ``at``."""
        return np.flatnonzero(self.origins + self.horizons[k] <= self.origins[at])

    def past(self, k: int, at: int) -> np.ndarray:
        """Discounted past errors of all candidates at horizon number k, as known at origin number ``at``: shape (K,)."""
        q = self.known(k, at)
        ages = (self.origins[at] - self.horizons[k] - self.origins[q]) / combination.spacing(self.origins)
        return combination.past_errors(self.errors[:, q, k], ages, self.errors[0, q, k])

    def past_at(self, k: int, origins: np.ndarray) -> np.ndarray:
        """Discounted errors of all candidates at horizon number k, at some of the origins: shape (K,)."""
        q = np.searchsorted(self.origins, origins)
        return combination.past_errors(self.errors[:, q, k], combination.ages(origins), self.errors[0, q, k])

    def likely(self, k: int, at: int) -> np.ndarray:
        """Expected errors at horizon number k, shape (K,): the geometric mean of past errors up to that horizon.

        Errors at shorter horizons are known up to later; those at the horizon itself count OWN times.
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

    def guesses(self, k: int, at: int) -> np.ndarray:
        """Weights of the simple guesses at horizon number k, shape (K,): the best has most, those near it some.

        Which one is the best may hang on a single node; what they say together does not.
        """
        among = np.array([family in SIMPLE for family in self.families])
        return combination.weights(np.where(among, self.past(k, at), np.inf), combination.GUESSES)

    def weights(self, k: int, at: int) -> np.ndarray:
        """Weights of the candidates at horizon number k, as known at origin number ``at``."""
        past = self.likely(k, at)
        trained = np.array([family == LEARNED for family in self.families])
        return combination.weights(np.where(trained, HANDICAP * past, past), combination.sharp(int(self.horizons[k])))


def run(
    panel: Panel,
    candidates: Sequence[Candidate],
    horizons: np.ndarray,
    tick: Callable[[int], None] = lambda done: None,
    jobs: int | str | None = None,
) -> Backtest:
    """Let all candidates forecast from the last origins of the panel; errors where the truth is known.

    Forecasts are float32: K x O x H x n numbers. Models that are trained have a process each, unless ``jobs`` says otherwise or the
    network is so large that one of them keeps all cores busy.
    """
    T = len(panel)
    origins = past_origins(T, int(horizons.max()), panel.kind.periods)
    said = np.empty((len(candidates), len(origins), len(horizons), panel.values.shape[1]), dtype=np.float32)
    for done, (k, forecasts) in enumerate(_all_forecasts(candidates, origins, horizons, panel.values.shape[1], jobs)):
        said[k] = np.clip(forecasts, -3e38, 3e38)
        tick(done + 1)
    errors = np.full(said.shape[:3], np.nan)
    for j, h in enumerate(horizons):
        q = np.flatnonzero(origins + h < T)
        errors[:, q, j] = mean_errors(panel, origins[q], int(h), said[:, q, j])
    names, families = tuple(c.name for c in candidates), tuple(c.family for c in candidates)
    return Backtest(names, families, origins, horizons, said, errors)


def mean_errors(panel: Panel, origins: np.ndarray, h: int, said: np.ndarray) -> np.ndarray:
    """Mean |error| over observed nodes of forecasts ``said`` from each origin, shape (..., O, n) to (..., O).

    A node counts less where its recent changes are more than a twentieth of those of all nodes, and an error counts as no
    more than eight times its recent changes, so that one node, large or wrong, does not decide for the others.
    """
    seen = panel.observed[origins + h] & ~panel.shifted
    usual = sizes(panel, origins, h)
    weight = even_weights(
        np.where(panel.shifted, 0.0, recent_change(panel.values, origins, h, observed=panel.observed))
    )
    size = np.minimum(np.abs(said.astype(np.float64) - panel.values[origins + h]), CLIP * usual)
    count = seen.sum(axis=1)
    return np.asarray(np.where(seen, size * weight, 0.0).sum(axis=-1) / np.where(count > 0, count, np.nan))


def _all_forecasts(
    candidates: Sequence[Candidate], origins: np.ndarray, horizons: np.ndarray, nodes: int, jobs: int | str | None
) -> Iterator[tuple[int, np.ndarray]]:
    """The place of each candidate and its forecasts, as they come; those of trained models last."""
    trained = [k for k, candidate in enumerate(candidates) if candidate.family == LEARNED]
    for k, candidate in enumerate(candidates):
        if k not in trained:
            yield k, candidate.rolling(origins, horizons)
    tasks = [(candidates[k], origins, horizons) for k in trained]
    jobs = 1 if jobs is None and nodes * WIDTH >= WORTH_TWO else jobs
    for j, (forecasts, failures) in run_all(_forecasts, tasks, jobs=jobs, name="trained models"):
        candidates[trained[j]].failures[:] = failures
        yield trained[j], forecasts


def _forecasts(task: tuple[Candidate, np.ndarray, np.ndarray]) -> tuple[np.ndarray, list[str]]:
    candidate, origins, horizons = task
    return candidate.rolling(origins, horizons), list(candidate.failures)
