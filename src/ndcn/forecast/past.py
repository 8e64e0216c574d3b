"""Past: the errors of every node at past origins, from which expected values and intervals of sums come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..data import Panel, even_weights
from .combination import DISCOUNT, ages
from .intervals import Residuals, between, quantiles_of
from .simple import recent_change
from .transforms import trailing_mean

if TYPE_CHECKING:
    from .rule import Online

WINDOW = 7  # origins in a row over which the mean and the median of a node's errors are compared
RECENT = (2, 7)  # snapshots over whose means no sum is moved; two, because a wave ends faster than seven
FEW = 10  # past origins below which no forecast is shifted
KNOWN = 0.5  # of a group's squared sizes that must have been observed for its error to count


@dataclass(frozen=True)
class Past:
    """Errors e_i(q) = x_i(q + h) - forecast of node i at past origins q, at each horizon h.

    The forecast of a node is a median, and medians of skewed values do not add up to the mean of their sum. The expected value
    of node i is therefore its forecast plus c s_i, where s_i is the recent size of its changes. c is the mean error of the past in
    units of s, with two bounds. It is no more than the gap between mean and median of a node's errors over seven origins explains:
    what is beyond it comes from a course that was not foreseen, and need not come again. And it moves the sum of all forecasts
    no further than to the means of the last two and of the last seven snapshots: after a wave, s is still large and nothing is left
    to add. Without these bounds, expected values were less accurate than medians for sums too (``benchmarks/groups.py``).

    Args:
        horizons: shape (H,).
        errors: e, shape (H, Q, n), float32; NaN where an origin or value is not known.
        sizes: s at these origins, of the same shape.
        now: s at the last snapshot, shape (H, n).
        shift: c at these origins and at the last snapshot, shape (H, Q + 1).
    """

    horizons: np.ndarray
    errors: np.ndarray
    sizes: np.ndarray
    now: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, panel: Panel, horizons: np.ndarray, rules: Sequence[Online], path: np.ndarray) -> Past:
        """What the rule of each horizon would have said in the past, compared with what came; ``path`` is what it says now, (H, n)."""
        n, most, last = (
            panel.values.shape[1],
            max(1, *(len(rule.origins) for rule in rules)),
            np.array([len(panel) - 1]),
        )
        errors, sizes = (np.full((len(horizons), most, n), np.nan, dtype=np.float32) for _ in range(2))
        now, shift = [], np.zeros((len(horizons), most + 1))
        for k, (rule, h) in enumerate(zip(rules, horizons.tolist(), strict=True)):
            e = np.where(panel.observed[rule.origins + h], panel.values[rule.origins + h] - rule.said, np.nan)
            s = recent_change(panel.values, rule.origins, h)
            now.append(recent_change(panel.values, last, h)[0])
            if not len(e):
                continue
            errors[k, -len(e) :], sizes[k, -len(e) :] = np.clip(e, -3e38, 3e38), np.clip(s, 0.0, 3e38)
            said, size = np.concatenate([rule.said, path[k : k + 1]]), np.concatenate([s, now[-1][None]])
            c = np.full(len(said), _skewness(panel, rule.origins, h, e, s))
            for window in RECENT:
                bounds = _to_recent_mean(panel, np.concatenate([rule.origins, last]), h, said, size, window)
                c = np.clip(c, np.minimum(bounds, 0.0), np.maximum(bounds, 0.0))
            shift[k, -len(said) :] = c
        return cls(horizons, errors, sizes, np.stack(now), shift)

    def shifts(self, steps: int) -> np.ndarray:
        """What to add to the forecasts at steps 1 .. steps for expected values, shape (steps, n)."""
        return between(np.arange(1, steps + 1), self.horizons, self.shift[:, -1:] * self.now)

    def of_groups(self, members: Sequence[np.ndarray]) -> Residuals:
        """Residuals of sums over groups of nodes, pooled over these groups.

        r_g(q) = sum_i (e_i(q) - c s_i(q)) / (sum_i s_i(q)^2)^(1/2) over the observed nodes i of group g. Errors of the sum itself are
        taken, so that it does not matter how those of nodes are correlated. Origins at which less than half of the squared sizes
        were observed do not count.
        """
        quantiles, counts = [], []
        for e, s, c in zip(self.errors.astype(np.float64), self.sizes.astype(np.float64), self.shift, strict=True):
            seen, square = np.isfinite(e), np.nan_to_num(s) ** 2
            off = np.where(seen, e - c[:-1, None] * s, 0.0)
            pooled = [np.empty(0)]
            for nodes in members:
                size = (square * seen)[:, nodes].sum(axis=1)
                good = size > KNOWN * square[:, nodes].sum(axis=1)
                pooled.append(off[:, nodes].sum(axis=1)[good] / np.sqrt(size[good]))
            r = np.concatenate(pooled)
            quantiles.append(quantiles_of(r, np.ones(len(r))))
            counts.append(max(len(one) for one in pooled))
        spread = np.stack([np.sqrt((self.now[:, nodes] ** 2).sum(axis=1)) for nodes in members], axis=1)
        return Residuals.pooled(self.horizons, np.stack(quantiles), spread, np.array(counts))

    def to_tensors(self) -> dict[str, torch.Tensor]:
        """For files."""
        return {one.name: torch.from_numpy(np.array(getattr(self, one.name))) for one in fields(self)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, torch.Tensor], nodes: int) -> Past:
        """What ``to_tensors`` gave.

        Raises:
            KeyError: an entry is missing.
            ValueError: the numbers do not belong together.
        """
        found = cls(**{one.name: tensors[one.name].numpy() for one in fields(cls)})
        many, origins = len(found.horizons), found.errors.shape[1] if found.errors.ndim == 3 else 0
        shapes = [(many,), (many, origins, nodes), (many, origins, nodes), (many, nodes), (many, origins + 1)]
        if not many or not origins or [getattr(found, one.name).shape for one in fields(cls)] != shapes:
            raise ValueError(f"past errors of {nodes} nodes were expected")
        if np.isinf(found.errors).any() or np.isinf(found.sizes).any() or not np.isfinite(found.shift).all():
            raise ValueError("past errors must be numbers")
        if not (np.isfinite(found.now).all() and (found.now >= 0).all() and not (found.sizes < 0).any()):
            raise ValueError("sizes of changes must be numbers of at least 0")
        return found


def _skewness(panel: Panel, origins: np.ndarray, h: int, e: np.ndarray, s: np.ndarray) -> float:
    """The mean of e in units of s, between 0 and the gap between mean and median over ``WINDOW`` origins.

    No node counts for more than a twentieth of what is forecast; nodes that are no example for others do not count. 0 where
    values may be below 0, where skewness has no direction, and for few origins.
    """
    if not panel.kind.positive or len(e) < FEW:
        return 0.0
    flow = np.abs(panel.values[origins + h] - panel.values[origins] * panel.kind.cumulative).sum(axis=0)
    weight = even_weights(flow) * ~panel.shifted
    age = DISCOUNT ** ages(origins)
    rows = np.lib.stride_tricks.sliding_window_view(e, WINDOW, axis=0)
    whole = np.isfinite(rows).all(axis=2)
    gaps = np.where(whole, rows.mean(axis=2) - np.median(rows, axis=2), 0.0) @ weight
    units = np.where(whole, np.lib.stride_tricks.sliding_window_view(s, WINDOW, axis=0).mean(axis=2), 0.0) @ weight
    mean = _ratio(age @ np.nan_to_num(e) @ weight, age @ np.where(np.isfinite(e), s, 0.0) @ weight)
    gap = _ratio(age[WINDOW - 1 :] @ gaps, age[WINDOW - 1 :] @ units)
    return float(np.clip(mean, min(gap, 0.0), max(gap, 0.0)))


def _to_recent_mean(
    panel: Panel, origins: np.ndarray, h: int, said: np.ndarray, s: np.ndarray, window: int
) -> np.ndarray:
    """From the sum of forecasts ``said`` to that of the means of the last ``window`` snapshots, in units of s: shape (O,).

    Of totals, to the last one and h mean increments. Nodes count as in ``_skewness``.
    """
    back = np.maximum(origins - window, 0)
    rises = (panel.values[origins] - panel.values[back]) / np.maximum(origins - back, 1)[:, None]
    if panel.kind.cumulative:
        recent, flow = panel.values[origins] + h * rises, np.abs(rises)
    else:
        recent = flow = trailing_mean(panel.values, window)[origins]
    weight = even_weights(np.abs(flow) + s) * ~panel.shifted * np.isfinite(said)
    top, bottom = ((x * weight).sum(axis=1) for x in (recent - np.nan_to_num(said), s))
    return np.divide(top, bottom, out=np.zeros(len(origins)), where=bottom > 0)


def _ratio(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0 else 0.0
