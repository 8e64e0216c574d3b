"""Wrong cells in a table of series: found for each node against its own past and the other nodes, and held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .._support.wording import digits
from .series_kind import kind_of

SIDE = 3  # snapshots on each side that a value is compared with: a run of up to 2 wrong ones does not move their median
SURE = 8.0  # deviations of a value, in units of its node's usual ones, above which it is held out ...
DOUBT = 5.0  # ... and above which it is listed
NOISE = 0.5  # standard deviation of the square root of a Poisson count
COMMON = 0.5  # share of the nodes that deviate together on a wrong day
RARE = 0.05  # share of snapshots above which deviations of all nodes are a habit, as Sundays are
SENTINELS = (-1.0, *(sign * (10.0**k - 1) for k in range(1, 9) for sign in (-1, 1)), 1e20, -1e20)  # 9, 99, 999, ...
FAR = 5.0  # times the node's largest other value, beyond which a number such as 9999 means "missing"


@dataclass(frozen=True)
class Outlier:
    """Cells of one node (or of all, ``node`` None) that do not look like the rest, and what is done about them.

    Args:
        node: its position, or None for a whole snapshot.
        first, last: positions of the snapshots.
        kind: "sentinel", "sign", "fall", "spike", "jump", "shift", "day" or "repeat".
        value: what the first cell holds; NaN for a whole snapshot.
        usual: what the node's other values suggest there.
        held: whether the cells are held out of fits; else they are only named.
    """

    node: int | None
    first: int
    last: int
    kind: str
    value: float
    usual: float
    held: bool

    @property
    def sentence(self) -> str:
        """What it looks like, and what is done about it.

        Example:
            >>> from ndcn.data.outliers import Outlier
            >>> Outlier(0, 5, 5, "spike", 99999.0, 70.0, True).sentence
            '99999 where about 70 is usual: held out'
        """
        seen, usual = f"{self.value:.6g}", digits(self.usual, 3)
        what = {
            "sentinel": f"{seen} looks like a code for a missing value",
            "sign": f"{seen} below 0 among values of at least 0",
            "fall": f"a total falls to {seen} from {usual}",
            "spike": f"{seen} where about {usual} is usual",
            "jump": f"the total rises by {seen} in one step, about {usual} is usual",
            "shift": f"the level changes from about {usual} to {seen} and stays",
            "day": "most nodes deviate at this time alone",
            "repeat": "the snapshot repeats the one before it",
        }[self.kind]
        done = {"jump": "counted as a usual rise", "shift": "kept, the change itself is left out of fits"}
        return f"{what}: {done.get(self.kind, 'held out') if self.held else 'kept'}"


@dataclass(frozen=True)
class Cleaned:
    """Values (T, n) in which wrong cells are NaN, cells that are real but no example for others, and what was found."""

    values: np.ndarray
    unusual: np.ndarray
    found: tuple[Outlier, ...]


def cleaned(values: np.ndarray, *, positive: bool, cumulative: bool) -> Cleaned:
    """Find and take out wrong cells of ``values``, shape (T, n), NaN where nothing was observed.

    A value is compared with the median of the three snapshots before and the three after it, in units of how much that
    node usually deviates; square roots are compared where ``positive``, and increments where ``cumulative``. At the last
    snapshots, where no later values can tell a wrong one from a real jump, it must also exceed all that the others did.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.outliers import cleaned
        >>> x = 50.0 + np.arange(40.0)[:, None] % 5 + np.zeros(4)
        >>> x[20, 2] = 99999.0
        >>> [(found.node, found.first, found.sentence) for found in cleaned(x, positive=True, cumulative=False).found]
        [(2, 20, '99999 looks like a code for a missing value: held out')]
    """
    x = np.array(values, dtype=np.float64)
    found = _sentinels(x)
    if positive:
        found += _signs(x)
    if cumulative:
        found += _falls(x)
    days = _repeats(x)
    for one in days:
        x[one.first] = np.nan
    series = np.diff(x, axis=0, prepend=x[:1]) if cumulative else x
    counts = positive and not np.nanmax(np.abs(series % 1), initial=0.0)
    z, floor = (np.sqrt(np.maximum(series, 0.0)), NOISE) if counts else (series.copy(), 0.0)
    odd = [] if cumulative else _odd_days(z, floor)
    for one in odd:
        x[one.first] = z[one.first] = np.nan
    unusual = np.zeros(x.shape, dtype=bool)
    spikes = _spikes(series, z, floor, cumulative)
    for one in spikes:
        where = slice(one.first, one.last + 1)
        if one.held and cumulative:
            x[: one.first, one.node] += one.value - one.usual
            unusual[where, one.node] = True
        elif one.held:
            x[where, one.node] = z[where, one.node] = np.nan
    shifts = _shifts(np.diff(x, axis=0, prepend=x[:1]) if cumulative else x, z, floor)
    if not positive:
        named = {one.node for one in shifts}
        shifts += [one for one in _shifts(x, _spread(z), 0.0) if one.node not in named]
    for one in shifts:
        unusual[one.first, one.node] = True
    order = sorted([*found, *days, *odd, *spikes, *shifts], key=lambda one: (not one.held, one.first, one.node or 0))
    return Cleaned(x, unusual, tuple(order))


def without_outliers(values: np.ndarray) -> np.ndarray:
    """``values``, shape (T, n), with NaN in cells that ``cleaned`` takes out.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.outliers import without_outliers
        >>> x = 50.0 + np.arange(40.0)[:, None] % 5 + np.zeros(4)
        >>> x[20, 2] = 99999.0
        >>> float(np.nanmax(without_outliers(x)))
        54.0
    """
    kind = kind_of(np.nan_to_num(values), np.isfinite(values))
    return np.where(
        np.isnan(cleaned(values, positive=kind.positive, cumulative=kind.cumulative).values), np.nan, values
    )


def _runs(cells: np.ndarray) -> list[tuple[int, int, int]]:
    """(node, first, last) of each run of True in the columns of ``cells``."""
    edges = np.diff(np.pad(cells.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    node, first = np.nonzero(edges.T == 1)
    _, last = np.nonzero(edges.T == -1)
    return [(int(i), int(a), int(b) - 1) for i, a, b in zip(node, first, last, strict=True)]


def _sentinels(x: np.ndarray) -> list[Outlier]:
    """Numbers such as -999 that lie far beyond all else that the node has; they become NaN."""
    code = np.isin(x, SENTINELS)
    rest = np.where(code | np.isnan(x), np.nan, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that have nothing else
        low, high, usual = np.nanmin(rest, axis=0), np.nanmax(rest, axis=0), np.nanmedian(rest, axis=0)
    wide = FAR * np.maximum(np.abs(low), np.abs(high))
    far = code & ((x > wide + 9) | ((x < 0) & (low >= 0)) | (x < -wide - 9))
    said = [Outlier(i, a, b, "sentinel", float(x[a, i]), float(usual[i]), True) for i, a, b in _runs(far)]
    x[far] = np.nan
    return said


def _signs(x: np.ndarray) -> list[Outlier]:
    """Values below 0 that are large for the node; small ones correct others and stay."""
    usual = np.nanmedian(np.where(np.isnan(x).all(axis=0), 0.0, np.abs(x)), axis=0)
    wrong = x < -np.maximum(0.5 * usual, 0.0) - 1e-12
    said = [Outlier(i, a, b, "sign", float(x[a, i]), float(usual[i]), True) for i, a, b in _runs(wrong)]
    x[wrong] = np.nan
    return said


def _falls(x: np.ndarray) -> list[Outlier]:
    """Totals that fall and recover (the low cells become NaN), rise and fall back (the high ones), or fall for good."""
    said = []
    for i in np.flatnonzero((np.diff(np.nan_to_num(x), axis=0) < 0).any(axis=0) | np.isnan(x).any(axis=0)):
        seen = np.flatnonzero(~np.isnan(x[:, i]))
        if len(seen) < 3:
            continue
        said += _falls_of_one(x[:, i], seen, int(i))
    return said


def _falls_of_one(x: np.ndarray, seen: np.ndarray, node: int) -> list[Outlier]:
    said = []
    rises = np.diff(x[seen])
    usual = SURE * float(np.median(rises[rises > 0])) if (rises > 0).any() else 0.0
    k = 1
    while k < len(seen):
        here, before = x[seen[k]], x[seen[k - 1]]
        if here >= before - usual:
            k += 1
            continue
        earlier = x[seen[k - 2]] if k > 1 else -np.inf
        after = x[seen[k : k + SIDE]]
        back = np.flatnonzero(x[seen[k:]] >= before - usual)
        if k > 1 and (after >= earlier - usual).all() and before > here + usual:
            said.append(Outlier(node, int(seen[k - 1]), int(seen[k - 1]), "spike", float(before), float(here), True))
            x[seen[k - 1]] = np.nan
            seen = np.delete(seen, k - 1)
            k = max(k - 1, 1)
        elif len(back) and back[0] <= max(SIDE, len(seen) // 10):
            wrong = seen[k : k + back[0]]
            said.append(Outlier(node, int(wrong[0]), int(wrong[-1]), "fall", float(here), float(before), True))
            x[wrong] = np.nan
            seen = np.delete(seen, np.arange(k, k + back[0]))
        elif k == len(seen) - 1:
            said.append(Outlier(node, int(seen[k]), int(seen[k]), "fall", float(here), float(before), True))
            x[seen[k]] = np.nan
            k += 1
        else:  # a revision for good: the past moves with it, so that there is no fall
            said.append(Outlier(node, int(seen[k]), int(seen[k]), "fall", float(here), float(before), False))
            x[: seen[k]] += here - before
            k += 1
    return said


def _around(z: np.ndarray, before: int, after: int) -> np.ndarray:
    """Median of the snapshots around each one, without itself; NaN where none was observed."""
    padded = np.pad(z, ((before, after), (0, 0)), constant_values=np.nan)
    shifts = [k for k in range(before + after + 1) if k != before]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all NaN
        return np.asarray(np.nanmedian(np.stack([padded[k : k + len(z)] for k in shifts]), axis=0))


def _usual(deviation: np.ndarray, floor: float, rare: float = RARE) -> np.ndarray:
    """How much each node deviates, shape (n,): the larger of two quantiles, in units of those of a normal distribution."""
    size = np.abs(deviation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that were never observed
        quantile = np.nanquantile(size, 1 - rare, axis=0) / NormalDist().inv_cdf(1 - rare / 2)
        own = np.fmax(quantile, 1.4826 * np.nanmedian(size, axis=0))
        rest = 0.2 * np.nanmedian(own) if np.isfinite(own).any() else 0.0
    return np.fmax(np.fmax(own, max(floor, rest)), 1e-12)


def _repeats(x: np.ndarray) -> list[Outlier]:
    """Snapshots that repeat the one before, where that is rare."""
    with np.errstate(invalid="ignore"):
        moves = np.mean(np.diff(x, axis=0) != 0, axis=0) > 0.5
    if len(x) < 4 * SIDE or moves.sum() < 3:
        return []
    alike = (x[1:, moves] == x[:-1, moves]).mean(axis=1) > 0.9
    return _rare_days("repeat", np.flatnonzero(alike) + 1, len(x))


def _odd_days(z: np.ndarray, floor: float) -> list[Outlier]:
    """Snapshots at which most nodes deviate to the same side, and are back at the next one."""
    if len(z) < 4 * SIDE or z.shape[1] < 3:
        return []
    deviation = z - _around(z, SIDE, SIDE)
    side = np.sign(deviation)
    step = np.diff(z, axis=0, prepend=z[:1], append=z[-1:])
    alone = np.minimum(side * step[:-1], -side * step[1:]) > 0.6 * np.abs(deviation)
    size = np.where(alone, deviation, 0.0) / _usual(deviation, floor)
    active = np.maximum(np.isfinite(z).sum(axis=1), 1)
    up, down = ((sign * size > 3).sum(axis=1) / active > COMMON for sign in (1, -1))
    return _rare_days("day", np.flatnonzero((up | down)[SIDE:-1]) + SIDE, len(z))


def _rare_days(kind: str, rows: np.ndarray, count: int) -> list[Outlier]:
    few = len(rows) <= max(1, RARE * count)
    return [Outlier(None, int(k), int(k), kind, np.nan, np.nan, True) for k in rows] if few else []


def _spikes(series: np.ndarray, z: np.ndarray, floor: float, cumulative: bool) -> list[Outlier]:
    """One or two cells far from those around them, reached and left in a single step.

    At both ends, where one side is missing, they must also exceed all that any other node did.
    """
    if len(z) < 4 * SIDE:
        return []
    middle, end = _around(z, SIDE, SIDE), len(z) - 1
    deviation = z - middle
    deviation[0], deviation[end] = z[0] - _around(z, 0, SIDE)[0], z[end] - _around(z, SIDE, 0)[end]
    size = np.nan_to_num(deviation / _usual(deviation[1:end], floor))
    most = np.nanmax(np.abs(np.nan_to_num(np.diff(z[:end], axis=0))), axis=0, initial=0.0)
    beyond = of_others(most)
    strange = np.abs(size) > DOUBT
    if cumulative:
        strange &= deviation > 0  # no increment at all is a day without a report
    said = []
    for i, a, b in _runs(strange):
        k = a + int(np.abs(size[a : b + 1, i]).argmax())
        far = abs(deviation[k, i])
        steps = [abs(z[p, i] - z[q, i]) for p, q in ((a, a - 1), (b, b + 1)) if 0 <= q <= end]
        alone = b - a < 2 and all(not step < 0.6 * far for step in steps)
        sure = abs(size[k, i]) > (SURE if len(steps) == 2 else 2 * SURE) and (len(steps) == 2 or far > 1.5 * beyond[i])
        usual = z[k, i] - deviation[k, i]
        usual = usual * abs(usual) if floor > 0 else usual
        if alone or len(steps) < 2:
            kind = "jump" if cumulative else "spike"
            said.append(Outlier(i, a, b, kind, float(series[k, i]), float(usual), bool(sure and alone)))
    return said


def of_others(most: np.ndarray) -> np.ndarray:
    """For each node the largest of what the other nodes have, shape (n,); of a single node its own."""
    top = np.sort(most)[-2:] if len(most) > 1 else np.repeat(most, 2)
    return np.where(most >= top[1], top[0], top[1])


def _spread(z: np.ndarray) -> np.ndarray:
    """log of how far each value is from its node's median: a change of unit shifts it, whatever the sign of the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that were never observed
        away = np.abs(z - np.nanmedian(z, axis=0))
        usual = np.nanmedian(away, axis=0)
    return np.log(away + 0.3 * np.maximum(usual, 1e-12))


def _shifts(x: np.ndarray, z: np.ndarray, floor: float) -> list[Outlier]:
    """One step after which a node's level stays elsewhere, while the others go on.

    Counts are compared by their logarithms, and a node must have had some before, or jump further than any other ever did: an
    outbreak is no shift.
    """
    if len(z) < 6 * SIDE:
        return []
    z, floor = (np.log1p(np.maximum(x, 0.0)), NOISE / 2) if floor > 0 else (z, 0.0)
    left, right = _around(z, SIDE, 0), _around(z, 0, SIDE)
    change = right - left
    size = change / _usual(change, floor, rare=0.2)  # a shift is in sight of 2 * SIDE snapshots
    common = np.median(np.nan_to_num(np.abs(size)), axis=1)
    step = np.abs(np.diff(z, axis=0, prepend=z[:1]))
    good = (np.abs(size) > SURE) & (step > 0.7 * np.abs(change)) & (common < 2.0)[:, None]
    if floor > 0:
        jump = np.nan_to_num(np.abs(np.diff(x, axis=0, prepend=x[:1])))
        good &= (left > np.log1p(2.0)) | (jump > 3 * of_others(jump.max(axis=0)))
    good[:SIDE], good[-SIDE:] = False, False
    said = []
    for i, a, b in _runs(good):
        k = a + int(np.abs(size[a : b + 1, i]).argmax())
        before, after = np.nanmedian(x[k - SIDE : k, i]), np.nanmedian(x[k : k + SIDE, i])
        said.append(Outlier(i, k, k, "shift", float(after), float(before), True))
    return said
