"""Choosing and combining by past errors, as they were known at each time."""

from __future__ import annotations

import numpy as np

DISCOUNT = 0.95  # of a past error for each step that it is older
SHARP = 20.0  # power of past errors that weighs candidates; from 4 to 20 mean errors differ by 1 %
STEEP = 8.0  # the same for the combination beside the best simple guess


def past_errors(errors: np.ndarray, ages: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """sum_q d^age(q) e_k(q) / sum_q d^age(q) b(q) over past origins q, for each candidate k; inf where there is none.

    Args:
        errors: e, shape (K, Q), NaN where a candidate has no forecast: there it is compared on the others alone.
        ages: shape (Q,).
        baseline: b, the error of a candidate that is always there (persistence), shape (Q,).

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import past_errors
        >>> past_errors(np.array([[1.0, 1.0], [np.nan, 4.0]]), np.array([1, 0]), np.array([2.0, 2.0]))
        array([0.5, 2. ])
    """
    weight = DISCOUNT**ages * (np.isfinite(errors) & np.isfinite(baseline))
    bottom = (weight * np.nan_to_num(baseline)).sum(axis=1)
    top = (weight * np.nan_to_num(errors, posinf=0.0)).sum(axis=1)
    # nothing ever moved: whoever said so made no error
    still = np.where(top > 0, np.inf, 1.0)
    out = np.divide(top, bottom, out=still, where=bottom > 0)
    return np.where(weight.sum(axis=1) > 0, out, np.inf)


def weights(past: np.ndarray) -> np.ndarray:
    """w_k proportional to past error^-20, shape (K,); a candidate without error gets all the weight, shared with its like.

    Twice the best error leaves nothing, a tenth more a seventh: smooth, so that a small change of the data is one of the
    forecast too.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import weights
        >>> weights(np.array([1.0, 1.1, 3.0])).round(2)
        array([0.87, 0.13, 0.  ])
    """
    best = past.min()
    if not np.isfinite(best):
        return np.eye(len(past))[0]  # persistence, which comes first
    out = (past <= 1e-12) * 1.0 if best <= 1e-12 else (past / best) ** -SHARP
    out[out < 1e-4 * out.sum()] = 0.0
    return np.asarray(out / out.sum())


def middle(forecasts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted median along the first axis, of those that have a forecast; NaN where none has.

    Half-way points of the cumulated weights are joined by straight lines: with equal weights it is the plain median.
    """
    used = weight > 0
    x = forecasts[used].astype(np.float64)
    there = np.isfinite(x)
    order = np.argsort(np.where(there, x, np.inf), axis=0)
    x = np.take_along_axis(x, order, axis=0)
    w = np.take_along_axis(there * weight[used].reshape(-1, *[1] * (x.ndim - 1)), order, axis=0)
    total = w.sum(axis=0)
    at = (np.cumsum(w, axis=0) - 0.5 * w) / np.where(total > 0, total, 1.0)
    right = np.minimum((at < 0.5).sum(axis=0), np.maximum(there.sum(axis=0) - 1, 0))[None]
    left = np.maximum(right - 1, 0)
    (a0, a1), (x0, x1) = (
        [np.take_along_axis(part, k, axis=0)[0] for k in (left, right)] for part in (at, np.nan_to_num(x))
    )
    part = np.divide(0.5 - a0, a1 - a0, out=np.ones_like(a0), where=a1 > a0)
    return np.where(total > 0, x0 + np.clip(part, 0.0, 1.0) * (x1 - x0), np.nan)


def share(mine: float, simple: float) -> float:
    """The weight of the combination beside the best simple guess: 1 / (1 + (mine / simple)^8).

    Example:
        >>> from ndcn.forecast.combination import share
        >>> share(1.0, 1.0), round(share(0.9, 1.0), 2), round(share(1.2, 1.0), 2)
        (0.5, 0.7, 0.19)
    """
    if not np.isfinite(mine + simple) or mine == simple == 0:
        return 1.0
    if simple == 0:
        return 0.0
    return float(1.0 / (1.0 + min(mine / simple, 1e6) ** STEEP))
