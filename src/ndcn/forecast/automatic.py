"""forecast.auto: compare all candidates by backtest, combine the best with the best simple guess, and say how it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._support.horizon import usual_horizon
from .._support.progress import Progress
from .._support.threads import threads_for
from ..data import Dataset, Panel, SeriesKind, Trajectory, one_run, panel_of
from . import backtest, combination, intervals
from .backtest import Backtest, mean_errors
from .candidates import Candidate, candidates_for
from .learned import Learner
from .options import Auto
from .past import Past
from .result import Forecast
from .rounding import significant
from .rule import Online, online
from .table import Table

if TYPE_CHECKING:
    from ..graph import GraphSequence

FEW = 10  # past origins below which no difference is said to be one
TINY = 1e-6  # of a count is none: intervals of counts are whole numbers, with this tolerance


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
    past: Past
    kind: SeriesKind
    failures: tuple[str, ...]


def auto(
    data: Trajectory | Dataset,
    *,
    horizon: int | None = None,
    graphs: GraphSequence | None = None,
    learned: Sequence[str] = (),
    kind: str | None = None,
    period: int | None = None,
    keep_outliers: bool = False,
    seed: int = 0,
    progress: bool | None = None,
    jobs: int | str | None = None,
) -> Forecast:
    """Forecast with the models that a rolling-origin backtest found best.

    At past origins every candidate forecasts from the data before it. At each horizon the trimmed mean of all, weighted by
    their discounted past errors (there, and at shorter horizons) to the power -20 (one step ahead -40), is averaged with that of
    the best simple guesses (of one node at a time: persistence, drift, season, mean, exponential smoothing; to the power -40) and
    with persistence, in proportion to past errors to the power -16. Where the result had lost to persistence or to the best simple
    guess, these are kept alone.

    Wrong cells (``ndcn.data.outliers``) are held out, and no node counts for more than a twentieth of an error, so that
    one wrong cell, node or snapshot does not move the forecasts of others. A node that was never observed has no forecast.

    Args:
        data: at least 12 snapshots; equally spaced, or else they are held on a grid of the median step. A ``Dataset`` with
            one run brings its graphs along.
        horizon: how many steps ahead to forecast; by default 14, or a quarter of the snapshots if that is less.
        graphs: the graph in force at each time, where edges change; the graph of ``data`` by default.
        learned: models to train and compare too, as ``("ndcn", "interaction", "gru_gnn")``; takes minutes.
        kind: "totals", "counts" or "values"; found out from the data by default.
        period: steps after which the pattern repeats; found out by default.
        keep_outliers: whether to use the data as they are, wrong cells included.
        seed: of the training of learned models.
        progress: whether to show a progress bar; None shows it on a terminal.
        jobs: processes that train the learned models; one for each core by default. "ray" or an address such as "ray://head:10001"
            trains them on a Ray cluster.

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
    options = Auto(None, learned, kind, period, keep_outliers)
    panels = [panel_of(data, 0, graphs, **options.reading)]
    panels += [panel_of(data, k, graphs, **options.reading) for k in range(1, data.num_features)]
    T = len(panels[0])
    steps = usual_horizon(T) if horizon is None else horizon
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= T // 2:
        limit = f"from 1 to {T // 2} (half of the {T} snapshots)"
        raise ValueError(f"horizon must be a whole number of steps {limit}, got {steps!r}")
    with threads_for(data.graph.num_nodes):
        choices = [_choose(panel, steps, tuple(options.learned), seed, progress, jobs) for panel in panels]
    return Forecast.of(data, panels, choices)


def _choose(
    panel: Panel, steps: int, learned: tuple[str, ...], seed: int, progress: bool | None, jobs: int | str | None
) -> Choice:
    candidates = candidates_for(panel, panel.kind)
    learners = [Learner(name, panel, panel.kind, seed) for name in learned]
    candidates += [learner.candidate() for learner in learners]
    with Progress(len(candidates), 0, progress, "models", "comparing") as bar:
        tested = backtest.run(panel, candidates, backtest.scored_horizons(steps), bar.update, jobs)
    return _decide(panel, tested, candidates, steps, tuple(f for one in learners for f in one.failures))


def _decide(
    panel: Panel, tested: Backtest, candidates: Sequence[Candidate], steps: int, failures: tuple[str, ...]
) -> Choice:
    rules = [online(panel, tested, k) for k in range(len(tested.horizons))]
    path = _path(panel, tested.horizons, candidates, rules, steps)
    kept, ratios, margins, errors, spread = [], [], [], [], []
    for rule, h in zip(rules, tested.horizons.tolist(), strict=True):
        mine, simple = (mean_errors(panel, rule.origins, h, said) for said in (rule.said, rule.simple))
        own, other = rule.past
        kept.append(rule.kept if isinstance(rule.kept, str) else tested.names[rule.kept])
        ratios.append(1.0 if other == 0 else own / other)
        margins.append(_margin(mine, simple, -(-h // combination.spacing(rule.origins))))
        errors.append((own, other))
        spread.append(intervals.residuals(panel, rule.origins, rule.said, h, path[h - 1]))
    known = intervals.Residuals.of(tested.horizons, spread)
    return Choice(
        path=path,
        residuals=known,
        table=_table(tested, rules, errors),
        kept=tuple(kept),
        reference=tuple(tested.names[rule.guess] for rule in rules),
        ratios=tuple(ratios),
        margins=tuple(margins),
        past=Past.of(panel, tested.horizons, rules, path[tested.horizons - 1]),
        kind=panel.kind,
        failures=failures,
    )


def _margin(mine: np.ndarray, simple: np.ndarray, apart: int) -> float:
    """Two standard errors (Newey and West) of the ratio of mean errors; infinite where there are too few origins.

    Forecasts from origins less than ``apart`` places from each other overlap, so their covariance counts.
    """
    count = len(mine)
    if count < max(FEW, 3 * apart // 2) or simple.mean() == 0:
        return float("inf")
    d = mine - simple - (mine - simple).mean()
    variance = (d * d).mean() + 2 * sum((1 - j / apart) * (d[j:] * d[:-j]).sum() / count for j in range(1, apart))
    return float(2 * np.sqrt(max(variance, 0.0) / count) / simple.mean())


def _path(
    panel: Panel, horizons: np.ndarray, candidates: Sequence[Candidate], rules: Sequence[Online], steps: int
) -> np.ndarray:
    """Steps 1 .. H from the last snapshot, shape (H, n); between two horizons the rules of both, by distance.

    Totals never fall, and values of at least 0 stay there. A node that was never observed has NaN.
    """
    every, last = np.arange(1, steps + 1), np.array([len(panel) - 1])
    used = sorted({int(k) for rule in rules for k in np.flatnonzero(rule.weights + rule.guesses)} | {0})
    said = np.full((len(candidates), steps, panel.values.shape[1]), np.nan)
    for k in used:
        said[k] = candidates[k].rolling(last, every)[0]
    full = np.stack([[rule.mixed(said[:, h]) for h in range(steps)] for rule in rules])  # (rules, H, n)
    path = np.stack([intervals.between(every[h : h + 1], horizons, full[:, h])[0] for h in range(steps)])
    if panel.kind.positive:
        path = np.where(path < TINY, 0.0, path) if panel.kind.counts else np.maximum(path, 0.0)
    if panel.kind.cumulative:
        path = np.maximum.accumulate(np.concatenate([panel.values[-1:], path]), axis=0)[1:]
    path[:, ~panel.observed.any(axis=0)] = np.nan
    return significant(path)


def _table(tested: Backtest, rules: Sequence[Online], errors: Sequence[tuple[float, float]]) -> Table:
    """Past errors of the rule, of its reference and of all candidates, at the origins at which the rule can be judged."""
    past = np.stack([tested.past_at(k, rule.judged) for k, rule in enumerate(rules)], axis=1)
    mine, simple = zip(*errors, strict=True)
    rows = [("combination", "", mine), ("best simple guess online", "reference", simple)]
    rows += [(name, family, tuple(p)) for name, family, p in zip(tested.names, tested.families, past, strict=True)]

    def average(row: tuple[str, str, tuple[float, ...]]) -> float:
        known = [error for error in row[2] if np.isfinite(error)]
        return float(np.mean(known)) if known else np.inf

    rows.sort(key=average)
    shown = tuple((n, f, tuple(float(e) if np.isfinite(e) else None for e in errors)) for n, f, errors in rows)
    winners = tuple(tested.names[int(past[:, k].argmin())] for k in range(past.shape[1]))
    return Table(tuple(int(h) for h in tested.horizons), shown, winners)
