"""Errors of forecasts by which a graph is judged: scaled by node and winsorised, so that no wrong cell or node decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data import Panel, SeriesKind, kind_of
from . import ridge
from .transforms import View

FEW = 10  # nodes of which each says too much about the kind of data to leave one out
HALF_WINDOW = 2  # of the median around each entry: two wrong entries of five do not move it
USUAL = 0.9  # quantile of a node's distances from that median; 5 of it are 8 standard deviations of normal ones
SPIKE = 5.0  # quantiles from that median beyond which an entry is held out
LOUD = 3.0  # swings of the median node: a node that swings more counts less, and its neighbours see less of it
LEVEL = 1.0  # ranges of the middle 80 % of all entries beyond them where the level of a node is cut
BOUND = 4.0  # ranges of the middle 80 % beyond them, 11 standard deviations of normal values: where values are cut
CAP = 5.0  # largest error that counts, in units of persistence's mean error: 4 standard deviations of normal ones


class Judge:
    """Mean errors of forecasts in the second half of a panel, by what they are made from.

    One step ahead and further, a ridge regression that is pooled over nodes and fitted anew at each origin forecasts the
    transformed series: the logarithm of values of at least 0, else the values themselves. No wrong cell or node decides:

    - an entry far off the median of the five around it is not used (``without_spikes``);
    - a node whose swings, from its 10 % to its 90 % quantile, are over 3 times those of the median node counts less, and so
      do its swings for its neighbours; levels and series are cut far outside of the middle 80 % of all entries;
    - a node counts in units of persistence's mean error at that node, or at the median node if that is larger, in the
      regression and in the error;
    - an error above 5 of these units counts as 5.

    None of this depends on the graph, so it treats shuffled graphs as the true one.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.data import kind_of, panel_of
        >>> from ndcn.forecast.network_errors import Judge
        >>> noise = np.random.default_rng(0).normal(size=(60, 9))
        >>> panel = panel_of(ndcn.Trajectory(times=np.arange(60.0), states=noise, graph=ndcn.networks.grid(9)))
        >>> judge = Judge(panel, kind_of(panel.values), np.array([1]))
        >>> bool(judge.errors(("own",))[0] < judge.errors(())[0])  # the mean is the best guess of white noise
        True
    """

    def __init__(self, panel: Panel, kind: SeriesKind, horizons: np.ndarray) -> None:
        self._view = View("log" if kind.positive else "raw", kind.cumulative)
        self._panel = without_spikes(panel, self._view)
        self._lags = kind.window + 1
        self._horizons = horizons
        self._series = self._view.series(self._panel.values)
        self._bounds = _Bounds(self._series, self._panel.observed)

    def errors(self, blocks: tuple[str, ...], order: np.ndarray | None = None) -> np.ndarray:
        """Mean error at each horizon; without blocks, that of no change; ``order`` shuffles the nodes of the graph."""
        x, seen, y = self._panel.values, self._panel.observed, self._bounds(self._series)
        Z = ridge.features(self._panel, y, self._lags, blocks, order) if blocks else np.zeros((*y.shape, 1))
        out = []
        for h in self._horizons:
            ahead = self._series[:-h] + ridge.targets(x, self._series, self._view, int(h))
            target, known = self._bounds(ahead) - y[:-h], seen[h:] & seen[:-h]
            unit = _units(target, known) / self._bounds.share
            target, scaled = target / unit, Z / unit[:, None]
            origins = np.arange(len(x) // 2, len(x) - h)
            w = np.zeros((len(origins), 1))
            if blocks:
                w = ridge.coefficients(scaled, np.clip(target, -CAP, CAP), known, origins - h)
            error = np.abs(np.einsum("onp,op->on", scaled[origins], w) - target[origins])
            out.append(np.minimum(error, CAP)[known[origins]].mean() if known[origins].any() else 0.0)
        return np.array(out)


def usual_kind(panel: Panel) -> SeriesKind:
    """The kind of data, as ``kind_of``, without entries that stand alone and without the one node in 50 that falls most.

    A cell of -999, or one node of noise, does not make values of other counts.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.data import panel_of
        >>> from ndcn.forecast.network_errors import usual_kind
        >>> x = np.random.default_rng(0).poisson(20, size=(60, 16)).astype(float)
        >>> x[30, 4] = -999
        >>> panel = panel_of(ndcn.Trajectory(times=np.arange(60.0), states=x, graph=ndcn.networks.grid(16)))
        >>> usual_kind(panel).positive
        True
    """
    clean = without_spikes(panel, View())
    x, n = clean.values, clean.values.shape[1]
    falls = (x < 0).mean(axis=0) + (np.diff(x, axis=0) < 0).mean(axis=0)
    keep = np.sort(np.argsort(falls, kind="stable")[: n - (1 + n // 50 if n >= FEW else 0)])
    return kind_of(x[:, keep], clean.observed[:, keep])


def without_spikes(panel: Panel, view: View) -> Panel:
    """The panel with entries that stand alone marked as not observed; the last value before holds there.

    An entry stands alone if it is off the median of five around it by more than 5 times what 90 % of the entries of its
    node, or of the median node if that is more, are off. Totals that grow, and steps from one level to another, have
    entries on that median.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.data import panel_of
        >>> from ndcn.forecast.network_errors import without_spikes
        >>> from ndcn.forecast.transforms import View
        >>> x = np.random.default_rng(0).normal(size=(60, 9))
        >>> x[30, 4] = 99999
        >>> panel = panel_of(ndcn.Trajectory(times=np.arange(60.0), states=x, graph=ndcn.networks.grid(9)))
        >>> np.argwhere(~without_spikes(panel, View()).observed).tolist()
        [[30, 4]]
    """
    y = view.forward(panel.values)
    padded = np.pad(y, ((HALF_WINDOW, HALF_WINDOW), (0, 0)), mode="reflect")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * HALF_WINDOW + 1, axis=0), axis=-1)
    off = np.abs(y - middle)
    off[0] = 0.0  # where totals begin, nothing before says what is usual
    usual = np.quantile(off, USUAL, axis=0)
    least = np.median(usual)
    if least == 0:  # totals that only grow, or mostly zeros: what a change usually is
        changes = np.abs(np.diff(y, axis=0))
        least = np.median(changes[changes > 0]) if (changes > 0).any() else np.inf
    wrong = (off > SPIKE * np.maximum(usual, least)) & panel.observed
    if not wrong.any():
        return panel
    rows = np.arange(len(y))[:, None]
    last = np.maximum.accumulate(np.where(wrong, -1, rows), axis=0)
    first = np.argmax(~wrong, axis=0)  # before the first good entry of a node, that one holds
    values = np.take_along_axis(panel.values, np.where(last < 0, first, last), axis=0)
    return replace(panel, values=values, observed=panel.observed & ~wrong)


class _Bounds:
    """y -> the same with loud nodes made silent, and levels and values cut far from all others.

    A node whose swings are k > 1 times as large as 3 times those of the median node has them divided by k^2, and its
    ``share``, by which it counts, is 1 / k.
    """

    def __init__(self, y: np.ndarray, observed: np.ndarray) -> None:
        spread = np.quantile(y, 0.9, axis=0) - np.quantile(y, 0.1, axis=0)
        widest = LOUD * np.median(spread)
        self.share = widest / np.maximum(spread, widest) if widest > 0 else np.ones_like(spread)
        self._middle = np.median(y, axis=0)
        low, high = np.quantile(y[observed], [0.1, 0.9]) if observed.any() else (0.0, 0.0)
        reach = high - low if high > low else np.inf
        self._level = np.clip(self._middle, low - LEVEL * reach, high + LEVEL * reach)
        self._low, self._high = low - BOUND * reach, high + BOUND * reach

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.clip(self._level + (y - self._middle) * self.share**2, self._low, self._high)


def _units(target: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Persistence's mean error of each node, at least that of the median node, shape (n,); 1 where nothing changes."""
    count = known.sum(axis=0)
    own = np.where(known, np.abs(target), 0.0).sum(axis=0) / np.maximum(count, 1)
    least = np.median(own[count > 0]) if (count > 0).any() else 0.0
    unit = np.maximum(own, least if least > 0 else own.mean())
    return np.where(unit > 0, unit, 1.0)
