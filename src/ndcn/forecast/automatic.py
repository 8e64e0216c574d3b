"""forecast.auto: compare all candidates by backtest, keep the combination or a simple guess, and say which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._support.progress import Progress
from ..data import Dataset, Kind, Panel, Trajectory, kind_of, one_run, panel_of
from . import backtest, combination, intervals
from .backtest import Backtest
from .candidates import LEARNED, Candidate, candidates_for
from .learned import Learner
from .options import check_learned
from .result import Forecast
from .table import Table

if TYPE_CHECKING:
    from ..graph import GraphSequence

LONGEST = 14
CLEARLY = 0.95  # a simple guess is kept where its error is below this share of the combination's ...
ENOUGH = 30  # ... over at least so many past origins
FEW = 10  # past origins below which no difference is reported
HANDICAP = 1.1  # of trained models, which are judged at a few origins only


@dataclass(frozen=True)
class Choice:
    """For one feature: forecasts at steps 1 .. H, residuals, the table, and who was kept at each horizon."""

    path: np.ndarray
    residuals: intervals.Residuals
    table: Table
    kept: tuple[str, ...]
    reference: tuple[str, ...]
    ratios: tuple[float, ...]
    margins: tuple[float, ...]
    kind: Kind
    failures: tuple[str, ...]


def auto(
    data: Trajectory | Dataset,
    *,
    horizon: int | None = None,
    graphs: GraphSequence | None = None,
    learned: Sequence[str] = (),
    seed: int = 0,
    progress: bool | None = None,
) -> Forecast:
    """Forecast with the models that a rolling-origin backtest found best.

    At past origins every candidate forecasts from the data before it. At each horizon the five with the smallest
    discounted past errors (there, and at shorter horizons) are combined, weighted by 1 / error. A simple guess (of one
    node at a time: persistence, drift, season, mean, exponential smoothing), chosen online by the same errors, is kept
    instead where it was clearly better over at least 30 past origins.

    Args:
        data: at least 12 snapshots; equally spaced, or else they are held on a grid of the median step. A ``Dataset`` with
            one run brings its graphs along.
        horizon: how many steps ahead to forecast; by default 14, or a quarter of the snapshots if that is less.
        graphs: the graph in force at each time, where edges change; the graph of ``data`` by default.
        learned: models to train and compare too, as ``("ndcn", "interaction", "gru_gnn")``; takes minutes.
        seed: of their training.
        progress: whether to show a progress bar; None shows it on a terminal.

    Raises:
        TypeError, ValueError: data, horizon or names that cannot be used; the message says what to do.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn import forecast
        >>> t = np.arange(60.0)
        >>> states = np.sin(t / 5)[:, None] + np.linspace(0, 3, 9)
        >>> data = ndcn.Trajectory(times=t, states=states, graph=ndcn.networks.grid(9))
        >>> found = forecast.auto(data, horizon=3)
        >>> found.predict([60.0, 62.0])
        Trajectory(2 snapshots of 9 nodes, 1 feature, t = 60 .. 62)
    """
    graphs = data.graphs if graphs is None and isinstance(data, Dataset) else graphs
    data = one_run(data, "a forecast")
    panels = [panel_of(data, 0, graphs)]
    panels += [panel_of(data, k, graphs) for k in range(1, data.num_features)]
    T = len(panels[0])
    steps = max(1, min(LONGEST, T // 4)) if horizon is None else horizon
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= T // 2:
        limit = f"from 1 to {T // 2} (half of the {T} snapshots)"
        raise ValueError(f"horizon must be a whole number of steps {limit}, got {steps!r}")
    choices = [_choose(panel, steps, tuple(learned), seed, progress) for panel in panels]
    return Forecast.of(data, panels, choices, steps)


def _choose(panel: Panel, steps: int, learned: tuple[str, ...], seed: int, progress: bool | None) -> Choice:
    kind = kind_of(panel.values, panel.observed)
    candidates = candidates_for(panel, kind)
    check_learned(learned)
    learners = [Learner(name, panel, kind, seed) for name in learned]
    candidates += [learner.candidate() for learner in learners]
    with Progress(len(candidates), 0, progress, "models", "comparing") as bar:
        tested = backtest.run(panel, candidates, backtest.scored_horizons(steps), bar.update)
    return _decide(panel, tested, candidates, steps, kind, tuple(f for one in learners for f in one.failures))


def _decide(
    panel: Panel, tested: Backtest, candidates: Sequence[Candidate], steps: int, kind: Kind, failures: tuple[str, ...]
) -> Choice:
    now = len(tested.origins) - 1
    weights, kept, reference, ratios, margins, errors, quantiles, counts = [], [], [], [], [], [], [], []
    for k, h in enumerate(tested.horizons):
        q, said = tested.online(k, now, lambda k, at: combined(tested, k, at))
        _, guessed = tested.online(k, now, lambda k, at: simple_guess(tested, k, at))
        mine, simple = _error(panel, tested, k, q, said), _error(panel, tested, k, q, guessed)
        guess = tested.guess(k, now)
        keep_guess = bool(len(q) >= ENOUGH and simple < CLEARLY * mine)
        weights.append(simple_guess(tested, k, now) if keep_guess else combined(tested, k, now))
        kept.append(tested.names[guess] if keep_guess else "combination")
        reference.append(tested.names[guess])
        ratios.append(1.0 if keep_guess or simple == 0 else float(mine / simple))
        margins.append(_margin(_errors(panel, tested, k, q, said), _errors(panel, tested, k, q, guessed), int(h)))
        errors.append((mine, simple))
        r, weight = intervals.residuals(panel, tested.origins[q], guessed if keep_guess else said, int(h))
        quantiles.append(intervals.quantiles_of(r, weight))
        counts.append(len(r))
    at = np.array([len(panel) - 1])
    size = np.concatenate([intervals.sizes(panel, at, int(h)) for h in tested.horizons])
    known = intervals.Residuals(tested.horizons, np.stack(quantiles), size, np.array(counts))
    path = _path(panel, tested, candidates, np.stack(weights), steps)
    table = _table(tested, errors)
    return Choice(path, known, table, tuple(kept), tuple(reference), tuple(ratios), tuple(margins), kind, failures)


def combined(tested: Backtest, k: int, at: int) -> np.ndarray:
    """Weights of the combination at horizon number k, as known at origin number ``at``."""
    past = tested.likely(k, at)
    trained = np.array([family == LEARNED for family in tested.families])
    return combination.weights(np.where(trained, HANDICAP * past, past))


def simple_guess(tested: Backtest, k: int, at: int) -> np.ndarray:
    """All weight on the best simple guess at horizon number k, as known at origin number ``at``."""
    one = np.zeros(len(tested.names))
    one[tested.guess(k, at)] = 1.0
    return one


def _error(panel: Panel, tested: Backtest, k: int, q: np.ndarray, said: np.ndarray) -> float:
    """Discounted error of what a rule said online, in units of persistence's; NaN where there was no past."""
    if not len(q):
        return float("nan")
    origins, error = tested.origins[q], _errors(panel, tested, k, q, said)
    return float(combination.past_errors(error[None], origins[-1] - origins, tested.errors[0, q, k])[0])


def _errors(panel: Panel, tested: Backtest, k: int, q: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Mean |error| over nodes of what a rule said online, for each origin."""
    at = tested.origins[q] + tested.horizons[k]
    seen = panel.observed[at]
    size = np.where(seen, np.abs(said - panel.values[at]), 0.0).sum(axis=1)
    return np.asarray(size / np.maximum(seen.sum(axis=1), 1))


def _margin(mine: np.ndarray, simple: np.ndarray, h: int) -> float:
    """Two standard errors (Newey and West) of the ratio of mean errors; infinite where there are too few origins.

    Origins less than h steps apart have overlapping forecasts, so their covariance counts.
    """
    count = len(mine)
    if count < max(FEW, 3 * h // 2) or simple.mean() == 0:
        return float("inf")
    d = mine - simple - (mine - simple).mean()
    variance = (d * d).mean() + 2 * sum((1 - j / h) * (d[j:] * d[:-j]).sum() / count for j in range(1, h))
    return float(2 * np.sqrt(max(variance, 0.0) / count) / simple.mean())


def _path(
    panel: Panel, tested: Backtest, candidates: Sequence[Candidate], weights: np.ndarray, steps: int
) -> np.ndarray:
    """Steps 1 .. H from the last snapshot, shape (H, n); between horizons with the weights of the next one."""
    every, last = np.arange(1, steps + 1), np.array([len(panel) - 1])
    used = np.flatnonzero(weights.sum(axis=0))
    said = np.stack([candidates[int(k)].rolling(last, every)[0] for k in used])
    of = np.searchsorted(tested.horizons, every)
    return np.stack([combination.mixed(weights[of[h]][used], said[:, h]) for h in range(steps)])


def _table(tested: Backtest, online: Sequence[tuple[float, float]]) -> Table:
    now = len(tested.origins) - 1
    past = np.stack([tested.past(k, now) for k in range(len(tested.horizons))], axis=1)
    mine, simple = zip(*online, strict=True)
    rows = [("combination", "", mine), ("best simple guess online", "reference", simple)]
    rows += [(name, family, tuple(p)) for name, family, p in zip(tested.names, tested.families, past, strict=True)]

    def average(row: tuple[str, str, tuple[float, ...]]) -> float:
        known = [error for error in row[2] if np.isfinite(error)]
        return float(np.mean(known)) if known else np.inf

    rows.sort(key=average)
    shown = tuple((n, f, tuple(float(e) if np.isfinite(e) else None for e in errors)) for n, f, errors in rows)
    winners = tuple(tested.names[int(past[:, k].argmin())] for k in range(past.shape[1]))
    return Table(tuple(int(h) for h in tested.horizons), shown, winners)
