"""What kind of data this is: cumulative, differenced, seasonal, repeated, intermittent; and a sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.registries import SERIES_KINDS as KINDS
from .._support.wording import counted

PERIODS = (
    7,
    12,
    24,
    26,
    48,
    52,
    96,
    168,
    288,
    365,
)  # days of a week, months, hours, fortnights, half hours, weeks, ...
LOOSE = (26, 52, 365)  # seasons of a year need not be met to the step: 1, 2 and 15 steps off will do; clocks are exact
WEEK, DAY = 7, 24
SLIPS = 0.01  # share of a node's values below 0 that are taken for wrong signs or corrections of counts; one is always allowed
WRONG = 0.5  # of a node's median size, beyond which a value below 0 corrects nothing: its sign is wrong
CONTRADICTED = 0.05  # share of values that say otherwise; fewer are errors of reporting
FALLS = 0.01  # share of falls that a node's totals may have, as corrections; two are allowed from 30 snapshots on
MOST, HALF = (
    0.9,
    0.5,
)  # share of the nodes that must be so with such slips, and without any: one wrong node decides nothing
LARGEST = 0.05  # of a sum over nodes that one of them may have ...
EVEN = 0.02  # ... and of the sum in which a period is looked for, which decides for all
RARE = 0.05  # share of snapshots above which what all nodes do together is a habit, as Sundays are
BALANCED = (0.2, 0.8)  # share of values below 0 for differences or standardised values
ALTERNATING = -0.1  # autocorrelation at lag 1 of values that look differenced; that of differenced white noise is -0.5
UNLIKE = 0.7  # of what differs between two days that must differ between two weeks, if a week is to be a period beside the day
SEASONAL = 0.3  # least autocorrelation of a period; three weeks of white noise have 0 with a standard error of 1/sqrt(21) = 0.22


@dataclass(frozen=True)
class SeriesKind:
    """What was detected in a table of values, shape (T, n).

    Args:
        cumulative: values never fall (but for one change in a hundred) and most nodes grow: totals so far.
        positive: no value is below 0, but for wrong signs and a few small ones that correct other counts.
        counts: all values are whole numbers.
        centred: values lie on both sides of 0: differences, or standardised values.
        differenced: centred, and a rise is followed by a fall more often than not.
        periods: steps after which the pattern repeats, the shortest first: none, one or two, as a day and a week of hours.
        repeated: share of the changes that are 0 where the node is otherwise active.
        interpolated: share of the changes that equal the change before, though not 0.
        intermittent: more than half of the values (of the increments, where cumulative) are 0.
        corrections: how many values below 0 are taken for corrections of counts; other values have none if ``positive``.

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
    periods: tuple[int, ...]
    repeated: float
    interpolated: float
    intermittent: bool
    corrections: int = 0

    @property
    def period(self) -> int | None:
        """The shortest of ``periods``, or None."""
        return self.periods[0] if self.periods else None

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
        if self.corrections and not self.centred:
            words.append(f"{counted(self.corrections, 'value')} below 0 taken for corrections")
        if self.periods:
            words.append(f"the pattern repeats every {' and '.join(map(str, self.periods))} steps")
        if self.interpolated > 0.1:
            words.append(f"{100 * self.interpolated:.0f} % of the changes equal the one before: interpolated values?")
        if self.repeated > 0.2:
            share = f"{100 * self.repeated:.0f} % of the values"
            words.append(f"{share} repeat the one before: not reported at every step?")
        if self.intermittent:
            words.append("mostly zeros (intermittent)")
        return "; ".join(words)


def kind_of(
    values: np.ndarray,
    observed: np.ndarray | None = None,
    kind: str | None = None,
    period: int | None = None,
    among: Sequence[int] = PERIODS,
) -> SeriesKind:
    """Detect the kind of ``values``, shape (T, n), finite; of those that were ``observed``, if that is given.

    Nodes vote: what nearly all of them are is the kind, whatever a few wrong cells or nodes look like. ``kind`` ("totals",
    "counts", "values") and ``period`` say it instead; ``among`` are the periods that are looked for.

    Raises:
        ValueError: an unknown kind, or a period that is no whole number of at least 2, or longer than half of the snapshots.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if period is not None and (isinstance(period, bool) or not isinstance(period, int) or period < 2):
        raise ValueError(f"period must be a whole number of steps, at least 2, got {period!r}")
    x = np.asarray(values, dtype=np.float64)
    if period is not None and 2 * period > len(x):  # a pattern that is seen once cannot be known to repeat
        raise ValueError(f"period must be at most {len(x) // 2} steps, half of the {len(x)} snapshots, got {period}")
    seen = np.ones(x.shape, dtype=bool) if observed is None else observed
    change, both = np.diff(x, axis=0), seen[1:] & seen[:-1]
    moving = change != 0
    known = seen.any(axis=0)
    counts = kind == "counts" or whole(np.where(seen, x, 0.0))
    under = _without_rare_days((x < 0) & seen)
    positive = kind != "values" and _agreed(under.sum(axis=0)[known], np.maximum(1, SLIPS * seen.sum(axis=0))[known])
    small = int(_small(x, seen, under).sum()) if positive else 0
    positive = positive and (counts or small == 0)
    falls = _without_rare_days((change < 0) & both).sum(axis=0)
    slips = max(FALLS * len(change), 2 if len(x) >= 30 else 0)
    grown = (moving & both).any(axis=0)
    cumulative = bool(kind is None and positive and grown.any() and len(x) > 2 and _agreed(falls[grown], slips))
    positive, cumulative = positive or kind in ("totals", "counts"), cumulative or kind == "totals"
    centred = not positive and _balanced(x[seen])
    series = np.maximum(change, 0) if cumulative else x
    active = _active(moving) & both
    inner = active[1:] & active[:-1] & moving[1:]
    return SeriesKind(
        cumulative=cumulative,
        positive=positive,
        counts=counts,
        centred=centred,
        differenced=centred and _autocorrelation(capped(x), 1) < ALTERNATING,
        periods=_periods(np.sqrt(np.maximum(series, 0.0)) if positive else series, among)
        if period is None
        else (period,),
        repeated=float((~moving)[active].mean()) if active.any() else 0.0,
        interpolated=float((np.abs(np.diff(change, axis=0)) < 1e-9)[inner].mean()) if inner.any() else 0.0,
        intermittent=bool((series == 0).mean() > 0.5),
        corrections=small if positive else 0,
    )


def contradicted(values: np.ndarray, observed: np.ndarray, kind: str | None) -> str:
    """What speaks against the kind that the user gave, "" where nothing does.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.series_kind import contradicted
        >>> wave = np.sin(np.arange(40.0))[:, None]
        >>> contradicted(wave, np.isfinite(wave), "totals")
        'they fall in 49 % of the steps'
        >>> contradicted(wave, np.isfinite(wave), "counts")
        '48 % of them are below 0'
    """
    below = float((values[observed] < 0).mean()) if observed.any() else 0.0
    both = observed[1:] & observed[:-1]
    falls = float((np.diff(values, axis=0)[both] < 0).mean()) if both.any() else 0.0
    if kind == "totals" and falls > CONTRADICTED:
        return f"they fall in {100 * falls:.2g} % of the steps"
    if kind in ("totals", "counts") and below > CONTRADICTED:
        return f"{100 * below:.2g} % of them are below 0"
    if kind == "counts" and not whole(np.where(observed, values, 0.0)):
        return "they are no whole numbers"
    return ""


def _small(x: np.ndarray, seen: np.ndarray, under: np.ndarray) -> np.ndarray:
    """Values below 0 that are not so large that their sign must be wrong, at nodes that are not below 0 throughout."""
    size = np.where(seen | ~seen.any(axis=0), np.abs(x), np.nan)
    usual = np.nanmedian(size, axis=0)
    mirrored = under.sum(axis=0) > HALF * np.maximum((seen & (x != 0)).sum(axis=0), 1)
    return np.asarray(under & (x >= -WRONG * usual) & ~mirrored)


def _agreed(slips: np.ndarray, allowed: np.ndarray | float) -> bool:
    """Whether nearly all nodes have no more slips than allowed, and half of them have none."""
    return bool(len(slips) and (slips <= allowed).mean() >= MOST and (slips == 0).mean() >= HALF)


def _without_rare_days(wrong: np.ndarray) -> np.ndarray:
    """``wrong`` (T, n) without snapshots at which most nodes are so together, if these are few: a wrong day is no habit."""
    days = wrong.mean(axis=1) > HALF
    return wrong & ~days[:, None] if days.sum() <= max(1, RARE * len(wrong)) else wrong


def whole(x: np.ndarray) -> bool:
    """Whether nearly all nodes have whole numbers only, but for a wrong day; NaN counts as such.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.series_kind import whole
        >>> whole(np.array([[1.0, np.nan], [2.0, 3.0]])), whole(np.full((3, 2), 0.5))
        (True, False)
    """
    broken = _without_rare_days((x != np.round(x)) & ~np.isnan(x))
    return bool((~broken.any(axis=0)).mean() >= MOST)


def _balanced(x: np.ndarray) -> bool:
    below = (x < 0).mean()
    return bool(BALANCED[0] < below < BALANCED[1])


def _active(moving: np.ndarray) -> np.ndarray:
    """From a node's first change to its last."""
    after = np.maximum.accumulate(moving, axis=0)
    before = np.maximum.accumulate(moving[::-1], axis=0)[::-1]
    return np.asarray(after & before)


def _periods(series: np.ndarray, among: Sequence[int]) -> tuple[int, ...]:
    """Up to two periods at which the sum over nodes is like itself, the strongest and, if it adds something, a longer one.

    Nodes count by how far they are from their medians, none for more than a fiftieth (or twice its even part).
    """
    away = series - np.median(series, axis=0)
    total = (away * even_weights(np.abs(away).sum(axis=0), EVEN)).sum(axis=1)
    strength, alike = {}, {}
    for period in among:
        if len(total) < 3 * period:
            continue
        flat = total[period - 1 :] - np.convolve(total, np.ones(period) / period, mode="valid")
        slack = period // 24 if period in LOOSE else 0
        near = [_autocorrelation(flat, lag) for lag in range(period - 1 - slack, period + 2 + slack)]
        inner = max(near[1:-1])
        if inner > SEASONAL and inner >= max(near):
            strength[period] = inner
            # of the pairs that are there: few are at a long lag, which lowers the autocorrelation, but not how alike they are
            alike[period] = float(np.corrcoef(flat[period:], flat[:-period])[0, 1])
    found: list[int] = []
    for period in sorted(strength, key=lambda period: -strength[period])[:1]:
        found.append(period)
        longer = [p for p in strength if p % period == 0 and p > period]
        more = [
            p for p in longer if strength[p] > 0.9 * strength[period] or 1 - alike[p] < UNLIKE * (1 - alike[period])
        ]
        less = [p for p in strength if period % p == 0 and p < period and strength[p] > 0.5 * strength[period]]
        found += more[-1:] or less[:1]
    return tuple(sorted(found))


def even_weights(size: np.ndarray, largest: float = LARGEST, even: float = 2.0) -> np.ndarray:
    """Weights (..., n) that leave no node more than ``largest`` of the sum of ``size`` over nodes, or ``even`` even parts.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.series_kind import even_weights
        >>> even_weights(np.array([1000.0, *np.ones(50)])).round(4)[:2]
        array([0.0026, 1.    ])
    """
    most = np.full((*size.shape[:-1], 1), np.inf)
    for _ in range(12):  # the sum is that of what is left, so that a giant cannot raise its own limit
        before, most = most, max(largest, even / size.shape[-1]) * np.minimum(size, most).sum(axis=-1, keepdims=True)
        if (most == before).all():
            break
    return np.divide(most, size, out=np.ones(size.shape), where=size > most)


def capped(series: np.ndarray) -> np.ndarray:
    """``series`` (T, n) with every node that has too large a part of the sum scaled down (``even_weights``)."""
    return np.asarray(series * even_weights(np.abs(series).sum(axis=0)))


def _autocorrelation(x: np.ndarray, lag: int) -> float:
    z = x - x.mean(axis=0)
    return float((z[lag:] * z[:-lag]).sum() / max((z * z).sum(), 1e-300))
