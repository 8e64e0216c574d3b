"""What kind of data this is: cumulative, differenced, seasonal, repeated, intermittent; and a sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PERIODS = (7, 12, 24, 52)  # days in a week, months, hours, weeks in a year
WEEK, DAY = 7, 24
SLIPS = 0.01  # share of values below 0, and of their sum, that are taken for corrections of counts
FALLS = 0.01  # share of falls that totals so far may have, as corrections
GROWS = 0.95  # share of rises among the changes that totals so far must have
BALANCED = (0.2, 0.8)  # share of values below 0 for differences or standardised values
ALTERNATING = -0.1  # autocorrelation at lag 1 of values that look differenced; that of differenced white noise is -0.5
SEASONAL = 0.3  # least autocorrelation of a period; three weeks of white noise have 0 with a standard error of 1/sqrt(21) = 0.22


@dataclass(frozen=True)
class Kind:
    """What was detected in a table of values, shape (T, n).

    Args:
        cumulative: values never fall (but for one change in a hundred) and most nodes grow: totals so far.
        positive: no value is below 0, but for a few small ones that correct others.
        counts: all values are whole numbers.
        centred: values lie on both sides of 0: differences, or standardised values.
        differenced: centred, and a rise is followed by a fall more often than not.
        period: steps after which the pattern repeats, or None.
        repeated: share of the changes that are 0 where the node is otherwise active.
        interpolated: share of the changes that equal the change before, though not 0.
        intermittent: more than half of the values (of the increments, where cumulative) are 0.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.series_kind import kind_of
        >>> kind_of(np.cumsum(np.arange(60.0)[:, None] % 5 + 1, axis=0)).cumulative
        True
    """

    cumulative: bool
    positive: bool
    counts: bool
    centred: bool
    differenced: bool
    period: int | None
    repeated: float
    interpolated: float
    intermittent: bool

    @property
    def window(self) -> int:
        """Steps to smooth over and to look back: a period of up to a day's hours, or a week."""
        return self.period if self.period is not None and self.period <= DAY else WEEK

    @property
    def transforms(self) -> tuple[str, ...]:
        """The transforms that can suit such data."""
        return ("raw", "sqrt", "log") if self.positive else ("raw",)

    @property
    def sentence(self) -> str:
        """In words, with what is done about it."""
        if self.cumulative:
            words = ["totals so far (cumulative), so increments are forecast and added up"]
        elif self.differenced:
            words = ["values around 0 that look differenced: little can be forecast beyond a step"]
        elif self.centred:
            words = ["values on both sides of 0 (standardised or differences), used as they are"]
        elif self.positive:
            words = [f"{'counts' if self.counts else 'values'} of at least 0, also tried as square root and logarithm"]
        else:
            words = ["values used as they are"]
        if self.period is not None:
            words.append(f"the pattern repeats every {self.period} steps")
        if self.interpolated > 0.1:
            words.append(f"{100 * self.interpolated:.0f} % of the changes equal the one before: interpolated values?")
        if self.repeated > 0.2:
            share = f"{100 * self.repeated:.0f} % of the values"
            words.append(f"{share} repeat the one before: not reported at every step?")
        if self.intermittent:
            words.append("mostly zeros (intermittent)")
        return "; ".join(words)


def kind_of(values: np.ndarray, observed: np.ndarray | None = None) -> Kind:
    """Detect the kind of ``values``, shape (T, n), finite; of those that were ``observed``, if that is given."""
    x = np.asarray(values, dtype=np.float64)
    seen = np.ones(x.shape, dtype=bool) if observed is None else observed
    change, both = np.diff(x, axis=0), seen[1:] & seen[:-1]
    positive = _positive(x[seen])
    moving = change != 0
    falls, grows = (change < 0)[both], (change > 0)[both & moving]
    cumulative = bool(positive and grows.size and falls.mean() < FALLS and grows.mean() > GROWS and len(x) > 2)
    centred = not positive and _balanced(x[seen])
    series = np.maximum(change, 0) if cumulative else x
    active = _active(moving) & both
    inner = active[1:] & active[:-1] & moving[1:]
    return Kind(
        cumulative=cumulative,
        positive=positive,
        counts=bool((x == np.round(x))[seen].all()),
        centred=centred,
        differenced=centred and _autocorrelation(x, 1) < ALTERNATING,
        period=_period(series),
        repeated=float((~moving)[active].mean()) if active.any() else 0.0,
        interpolated=float((np.abs(np.diff(change, axis=0)) < 1e-9)[inner].mean()) if inner.any() else 0.0,
        intermittent=bool((series == 0).mean() > 0.5),
    )


def _positive(x: np.ndarray) -> bool:
    below = np.minimum(x, 0)
    return bool((below < 0).mean() < SLIPS and -below.sum() <= SLIPS * np.maximum(x, 0).sum())


def _balanced(x: np.ndarray) -> bool:
    below = (x < 0).mean()
    return bool(BALANCED[0] < below < BALANCED[1])


def _active(moving: np.ndarray) -> np.ndarray:
    """From a node's first change to its last."""
    after = np.maximum.accumulate(moving, axis=0)
    before = np.maximum.accumulate(moving[::-1], axis=0)[::-1]
    return np.asarray(after & before)


def _period(series: np.ndarray) -> int | None:
    """The period with the strongest autocorrelation of the nodes' sum, above SEASONAL and above its neighbours."""
    total = series.sum(axis=1)
    best, strength = None, SEASONAL
    for period in PERIODS:
        if len(total) < 3 * period:
            continue
        flat = total[period - 1 :] - np.convolve(total, np.ones(period) / period, mode="valid")
        near = [_autocorrelation(flat, lag) for lag in (period - 1, period, period + 1)]
        if near[1] > strength and near[1] >= max(near):
            best, strength = period, near[1]
    return best


def _autocorrelation(x: np.ndarray, lag: int) -> float:
    z = x - x.mean(axis=0)
    return float((z[lag:] * z[:-lag]).sum() / max((z * z).sum(), 1e-300))
