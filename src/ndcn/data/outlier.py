"""Outlier: cells that look wrong, in words; and how far values are from those around them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .._support.wording import digits
from .series_kind import RARE

SIDE = 3  # snapshots on each side that a value is compared with: a run of up to 2 wrong ones does not move their median
SURE = 8.0  # deviations of a value, in units of its node's usual ones, above which it is held out ...
DOUBT = 5.0  # ... and above which it is listed
LONGEST = (
    24  # steps of a period (a day's hours) that is taken out: of longer ones there are too few to know every phase
)
NOISE = 0.5  # standard deviation of the square root of a Poisson count
APART = ("shift", "step", "giant", "unit")  # kinds of nodes that are forecast, and are no example for others


@dataclass(frozen=True)
class Outlier:
    """Cells of one node (or of all, ``node`` None) that do not look like the rest, and what is done about them.

    Args:
        node: its position, or None for a whole snapshot.
        first, last: positions of the snapshots.
        kind: "sentinel", "sign", "negative", "fall", "falls", "spike", "zeros", "jump", "leap", "shift", "step", "giant", "unit",
            "mirror", "day", "end" or "repeat".
        value: what the first cell holds; NaN for a whole snapshot.
        usual: what the node's other values suggest there.
        held: whether something is done about it: the cells are held out of fits (``held_out``), the node is no example for
            others, or a rise is counted as a usual one; else they are only named.
    """

    node: int | None
    first: int
    last: int
    kind: str
    value: float
    usual: float
    held: bool

    @property
    def held_out(self) -> bool:
        """Whether the cells are missing in fits; a node that is no example for others, and a usual rise, are not."""
        return self.held and self.kind not in (*APART, "jump")

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
            "negative": "below 0 throughout, where nearly all nodes are at least 0",
            "giant": f"moves by up to {seen} in a step, no other node by more than {usual}: in another unit?",
            "unit": f"all values are multiples of {seen}, unlike those of other nodes: in another unit?",
            "mirror": "goes down where the others go up: a wrong sign?",
            "fall": f"a total falls to {seen} from {usual}",
            "falls": f"the total falls {seen} times, by {usual} at most",
            "spike": f"{seen} where about {usual} is usual",
            "jump": f"the total rises by {seen} in one step, about {usual} is usual",
            "leap": f"the total rises by {seen} at the end, about {usual} is usual",
            "zeros": f"nothing but 0 at the end, where about {usual} is usual"
            if self.node is not None
            else f"all nodes are 0 at the end, where {usual} usually are not",
            "step": f"moves by {seen} in one step, no other node by more than {usual}",
            "shift": f"the level changes from about {usual} to {seen} and stays",
            "day": "most nodes deviate at this time alone",
            "end": "most nodes deviate at the end of the data, further than ever before",
            "repeat": f"the snapshot{'s repeat the one before them' if self.last > self.first else ' repeats the one before it'}",
        }[self.kind]
        done = {"jump": "counted as a usual rise", **dict.fromkeys(APART, "kept, but no example for others")}
        return f"{what}: {done.get(self.kind, 'held out') if self.held else 'kept'}"


def runs(cells: np.ndarray) -> list[tuple[int, int, int]]:
    """(node, first, last) of each run of True in the columns of ``cells``."""
    edges = np.diff(np.pad(cells.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    node, first = np.nonzero(edges.T == 1)
    _, last = np.nonzero(edges.T == -1)
    return [(int(i), int(a), int(b) - 1) for i, a, b in zip(node, first, last, strict=True)]


def known_quantile(x: np.ndarray, q: float) -> np.ndarray:
    """The quantile q along the first axis of what is not NaN, which lies between two values; NaN where all are.

    As ``np.nanquantile``, which goes from node to node and takes 16 to 50 times as long for a hundred nodes.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.outlier import known_quantile
        >>> known_quantile(np.array([[1.0, np.nan], [5.0, np.nan], [2.0, 3.0]]), 0.5)
        array([2., 3.])
    """
    ordered, last = np.sort(x, axis=0), (~np.isnan(x)).sum(axis=0)[None] - 1  # NaN come last
    place = q * np.maximum(last, 0)
    low = np.floor(place).astype(np.int64)
    below, above = (np.take_along_axis(ordered, k, axis=0)[0] for k in (low, np.minimum(low + 1, np.maximum(last, 0))))
    return np.asarray(below + (place - low)[0] * (above - below))


def around(z: np.ndarray, before: int, after: int) -> np.ndarray:
    """Median of the snapshots around each one, without itself; NaN where none was observed."""
    padded = np.pad(z, ((before, after), (0, 0)), constant_values=np.nan)
    shifts = [k for k in range(before + after + 1) if k != before]
    return known_quantile(np.stack([padded[k : k + len(z)] for k in shifts]), 0.5)


def flattened(z: np.ndarray, period: int | None) -> np.ndarray:
    """``z`` (T, n) without each node's pattern: the median of every phase of a short period, as the days of a week."""
    if period is None or period > LONGEST or len(z) < 3 * period:
        return z
    half = period // 2
    padded = np.pad(z, ((half, half), (0, 0)), constant_values=np.nan)
    level = known_quantile(np.stack([padded[k : k + len(z)] for k in range(2 * half + 1)]), 0.5)
    out = z.copy()
    for phase in range(period):
        out[phase::period] -= np.nan_to_num(known_quantile((z - level)[phase::period], 0.5))
    return out


def longest_run(flags: np.ndarray) -> int:
    """The length of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def usual_size(deviation: np.ndarray, floor: float, rare: float = RARE) -> np.ndarray:
    """How much each node deviates, shape (n,): the larger of two quantiles, in units of those of a normal distribution."""
    size = np.abs(deviation)
    quantile = known_quantile(size, 1 - rare) / NormalDist().inv_cdf(1 - rare / 2)
    own = np.fmax(quantile, 1.4826 * known_quantile(size, 0.5))
    rest = 0.2 * float(known_quantile(own, 0.5)) if np.isfinite(own).any() else 0.0
    return np.fmax(np.fmax(own, max(floor, rest)), 1e-12)


def of_others(most: np.ndarray) -> np.ndarray:
    """For each node the largest of what the other nodes have, shape (n,); of a single node its own."""
    top = np.sort(most)[-2:] if len(most) > 1 else np.repeat(most, 2)
    return np.where(most >= top[1], top[0], top[1])
