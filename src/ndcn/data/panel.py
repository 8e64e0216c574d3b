"""Panel: one feature of a trajectory as a table of equal steps, with the graph in force at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from .._support.wording import short
from ..graph import Graph
from .outlier import APART, LONGEST, Outlier
from .outliers import cleaned
from .series_kind import PERIODS, SeriesKind, contradicted, kind_of
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..graph import GraphSequence

WEEK = 7  # steps: over these the usual rise of totals is taken, and for so many they go on without being observed
MOST_GROWTH = (
    3.0  # times in a period, as which a wrong cell at the end goes on: what grows faster is hardly to be foreseen
)
MIN_SNAPSHOTS = 12  # fewer leave no past origins to compare forecasts at
MOST_STEPS = 20  # steps of the grid for each snapshot; above this, a few times are far away from the others


@dataclass(frozen=True)
class Panel:
    """x_i(t_0 + k s) for k = 0 .. T - 1: what all candidates forecast from.

    Args:
        values: shape (T, n), finite; a missing entry holds the node's last observed value before it,
            or, if it was a wrong one, what the values around it suggest.
        observed: shape (T, n), False where an entry was filled or is no example for others; nothing is judged there.
        start: t_0.
        step: s.
        graphs: one graph, or one for each step.
        kind: what kind of data these are.
        breaks: shape (T, n), True where a node's level changed for good: nothing is learned across.
        outliers: wrong cells, and what was done about them; ``first`` and ``last`` are steps of the panel.
        time_notes: how the times were made equally spaced; empty if they were.
        value_notes: how missing entries were filled; empty if there are none.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.data.panel import panel_of
        >>> data = ndcn.Trajectory(times=np.arange(20.0), states=np.ones((20, 4)), graph=ndcn.networks.grid(4))
        >>> panel_of(data).values.shape
        (20, 4)
    """

    values: np.ndarray
    observed: np.ndarray
    start: float
    step: float
    graphs: tuple[Graph, ...]
    kind: SeriesKind
    breaks: np.ndarray
    outliers: tuple[Outlier, ...] = ()
    time_notes: tuple[str, ...] = ()
    value_notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def pairs(self, h: int) -> np.ndarray:
        """Which x_i(t) and x_i(t + h) were both observed, without a break between them: shape (T - h, n)."""
        steps = np.cumsum(self.breaks, axis=0)
        return np.asarray(self.observed[h:] & self.observed[:-h] & (steps[h:] == steps[:-h]) & ~self.shifted)

    @cached_property
    def shifted(self) -> np.ndarray:
        """Nodes that are forecast but are no example for others, shape (n,).

        Those whose level changed for good, that move far beyond all others, or are in another unit.
        """
        out = np.zeros(self.values.shape[1], dtype=bool)
        out[[one.node for one in self.outliers if one.kind in APART and one.node is not None]] = True
        return out

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the data: ``time_notes`` and ``value_notes``."""
        return (*self.time_notes, *self.value_notes)

    @property
    def last_time(self) -> float:
        """t_0 + (T - 1) s."""
        return self.start + (len(self) - 1) * self.step

    @cached_property
    def _means(self) -> list[sparse.csr_array]:
        known: dict[int, sparse.csr_array] = {}
        return [known.setdefault(id(g), _row_means(g)) for g in self.graphs]

    def neighbours(self, series: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """sum_j |A_ij| y_j / sum_j |A_ij| without self-loops, shape (T, n); y_i itself where there is no neighbour.

        Args:
            series: y, shape (T, n).
            order: node i is put in the place of node order[i] of the graph, for shuffled graphs.
        """
        place = np.arange(series.shape[1]) if order is None else order
        moved = np.empty_like(series)
        moved[:, place] = series
        if len(self._means) == 1:
            return np.ascontiguousarray((self._means[0] @ moved.T).T[:, place])
        return np.stack([m @ row for m, row in zip(self._means, moved, strict=True)])[:, place]


def _row_means(graph: Graph) -> sparse.csr_array:
    full = sparse.csr_array(abs(graph.to_scipy()))
    csr = sparse.csr_array(full - sparse.diags_array(full.diagonal()))
    csr.eliminate_zeros()
    total = np.asarray(csr.sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ csr + sparse.diags_array((total == 0).astype(float)))


def panel_of(
    data: Trajectory,
    feature: int = 0,
    graphs: GraphSequence | None = None,
    *,
    kind: str | None = None,
    period: int | None = None,
    keep_outliers: bool = False,
) -> Panel:
    """One feature of ``data`` on equal steps, without wrong cells (``ndcn.data.outliers``).

    Unequal times are put on a grid with the median step, each value held until the next one: a later value never
    changes an earlier one. Messages say dates where the data have a calendar.

    Args:
        data, feature, graphs: the series, which feature, and the graph in force at each time where edges change.
        kind, period: see ``kind_of``.
        keep_outliers: whether to leave wrong cells in.

    Raises:
        TypeError: ``data`` is no Trajectory.
        ValueError: too few snapshots, or times too uneven for equal steps, or graphs with other nodes.
    """
    if not isinstance(data, Trajectory):
        raise TypeError(f"expected an ndcn.Trajectory, got {type(data).__name__}")
    if len(data) < MIN_SNAPSHOTS:
        raise ValueError(
            f"a forecast chosen by backtest needs at least {MIN_SNAPSHOTS} snapshots, got {len(data)}; give more of them, or "
            'fit one model by name, as model="ndcn" (--model ndcn)'
        )
    if graphs is not None and graphs.last.nodes != data.graph.nodes:
        raise ValueError("the graphs have other nodes than the data: give all of them the same nodes in the same order")
    times = data.times.numpy()
    x = data.states[..., feature].detach().cpu().double().numpy()
    seen = np.isfinite(x)
    missing = 1 - float(seen.mean())  # of what was to be observed: steps between unequal times are not missing
    gaps = np.diff(times)
    step = float(np.median(gaps))
    time_notes: tuple[str, ...] = ()
    value_notes: tuple[str, ...] = ()
    if not np.allclose(gaps, step, rtol=1e-3):
        if times[-1] - times[0] > MOST_STEPS * step * len(times):
            k = int(gaps.argmax())
            clock = data.calendar if data.calendar is not None and data.calendar.dated else None
            ends = [f"{t:.6g}" for t in times[k : k + 2]] if clock is None else clock.texts(times[k : k + 2])
            unit = "" if clock is None else f" {clock.unit}"
            raise ValueError(
                f"snapshots are usually {step:.4g}{unit and unit + 's' * (step != 1)} apart, but there are "
                f"{gaps[k]:.6g}{unit and unit + 's'} between {'t = ' * (clock is None)}{ends[0]} and {ends[1]}: "
                f"too much for a forecast on equal steps. Is a time wrong? Else give what is before or after that gap, or fit one "
                'model by name, as model="ndcn" (--model ndcn), which takes any times'
            )
        grid = times[0] + step * np.arange(int(np.floor((times[-1] - times[0]) / step + 1e-6)) + 1)
        at = np.searchsorted(times, grid + 1e-6 * step, side="right") - 1
        fresh = np.diff(at, prepend=-1) > 0
        x, seen, times = x[at], seen[at] & fresh[:, None], grid
        time_notes = (f"times are not equally spaced: values were held on a grid of step {step:.4g}",)
    if missing:
        gone = f"{100 * missing:.3g} % of the entries of {short(data.features[feature])} are missing"
        value_notes = (f"{gone}: the last value before was used",)
    x, seen = np.where(seen, x, np.nan), seen.copy()
    found: tuple[Outlier, ...] = ()
    among = PERIODS if data.calendar is None or not data.calendar.dated else data.calendar.cycles(step)
    rough = kind_of(_held(x), seen, kind, period, among)
    against = contradicted(x, seen, kind)
    if against:
        value_notes += (f"{short(data.features[feature])} was read as {kind}, as asked for, but {against}",)
    breaks = np.zeros(x.shape, dtype=bool)
    if not keep_outliers:
        clean = cleaned(x, positive=rough.positive, cumulative=rough.cumulative, period=rough.period)
        found, breaks = clean.found, clean.unusual
        wrong = seen & np.isnan(clean.values)
        seen &= ~wrong
        x = _bridged(clean.values, wrong | (np.isnan(clean.values) & rough.cumulative & (not time_notes)))
        x = _continued(x) if rough.cumulative else _patterned(x, wrong, rough)
    held = _held(x)
    known = kind_of(held, seen, kind, period, among) if found else rough
    in_force = (data.graph,) if graphs is None else tuple(graphs.at(t) for t in times)
    return Panel(held, seen, float(times[0]), step, in_force, known, breaks, found, time_notes, value_notes)


def _bridged(x: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Wrong cells filled on a straight line between the values before and after; those at the end stay NaN.

    Totals are bridged wherever they are missing: the increments of a gap are spread over it.
    """
    out, rows = x.copy(), np.arange(len(x))
    for i in np.flatnonzero(wrong.any(axis=0)):
        good = np.isfinite(x[:, i])
        if good.any():
            line = np.interp(rows, rows[good], x[good, i], left=np.nan, right=np.nan)
            out[wrong[:, i], i] = line[wrong[:, i]]
    return out


def _continued(totals: np.ndarray) -> np.ndarray:
    """Totals that are missing at the end, for a week at most: the last one and the mean rise of the week before it.

    Held as they are, they would lose what came in these days.
    """
    out = totals.copy()
    for i in np.flatnonzero(np.isnan(totals[-1]) & np.isfinite(totals).any(axis=0)):
        last = int(np.flatnonzero(np.isfinite(totals[:, i]))[-1])
        before = totals[max(0, last - WEEK) : last + 1, i]
        before = before[np.isfinite(before)]
        rise = max(0.0, (before[-1] - before[0]) / max(1, len(before) - 1))
        out[last + 1 : last + 1 + WEEK, i] = totals[last, i] + rise * np.arange(1, min(WEEK, len(out) - 1 - last) + 1)
    return out


def _patterned(x: np.ndarray, wrong: np.ndarray, kind: SeriesKind) -> np.ndarray:
    """Wrong cells at the end as a short period says: the value a period before, and what changed over the last period.

    Held as it is, a Saturday's value would stand for a Monday's.
    """
    period = kind.period
    if period is None or period > LONGEST or len(x) < 3 * period:
        return x
    out = x.copy()
    for i in np.flatnonzero(wrong[-1] & np.isfinite(x).any(axis=0)):
        last = int(np.flatnonzero(np.isfinite(x[:, i]))[-1])
        now, then = x[last + 1 - period : last + 1, i], x[last + 1 - 2 * period : last + 1 - period, i]
        if last + 1 < 2 * period or np.isnan(now).any() or np.isnan(then).any():
            continue
        rise, slack = now.mean() - then.mean(), period**-0.5 + 0.1 * then.mean()  # a mean of few counts is no ratio
        growth = (
            np.clip((now.mean() + slack) / (then.mean() + slack), 1 / MOST_GROWTH, MOST_GROWTH)
            if kind.positive
            else 1.0
        )
        for k in range(last + 1, len(x)):
            out[k, i] = out[k - period, i] * growth if kind.positive else out[k - period, i] + rise
    return out


def _held(x: np.ndarray) -> np.ndarray:
    """The last finite value of each node; before its first one, the median of the others at that time, or 0."""
    rows = np.arange(len(x))[:, None]
    last = np.maximum.accumulate(np.where(np.isfinite(x), rows, -1), axis=0)
    held = np.where(last >= 0, np.take_along_axis(x, np.maximum(last, 0), axis=0), np.nan)
    for k in np.flatnonzero(np.isnan(held).any(axis=1)):
        row = held[k]
        row[np.isnan(row)] = np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0
    return held
