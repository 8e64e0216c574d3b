"""Choosing and combining by past errors, as they were known at each time."""

from __future__ import annotations

import numpy as np

# Of a past error for each origin that came after it: about the last 1 / (1 - 0.95) = 20 origins decide. Another one was compared and not
# taken (docs/forecast.md, How far to trust this).
DISCOUNT = 0.95
SHARP = 20.0  # power of past errors that weighs candidates; from 4 to 20 mean errors differ by 1 %; one step ahead, see ``sharp``
GUESSES = 40.0  # the same among simple guesses: 20, 40 and 80 differ by 0.4 % on average, 80 hangs on single nodes
STEEP = 16.0  # the same for the combination beside these; 2, 4, 8 and 16 have 0.655, 0.654, 0.654, 0.651 of persistence's error
CUT = 0.1  # weight that is cut off at each end of the forecasts; a median jumps from one to the next, see ``middle``
# Share below which the combination, the simple guesses or persistence count for nothing: who lost to one by 20 % has 1 / (1 + 1.2^16) = 0.05.
LEAST = 0.05


def ages(origins: np.ndarray, latest: int | None = None) -> np.ndarray:
    """How many origins ago each is, counted back from ``latest`` (the last of them): steps over their spacing.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import ages
        >>> ages(np.array([40, 45, 50]))
        array([2., 1., 0.])
    """
    if not len(origins):
        return np.zeros(0)
    return np.asarray(((origins[-1] if latest is None else latest) - origins) / spacing(origins))


def spacing(origins: np.ndarray) -> int:
    """Steps from one origin to the next."""
    return int(np.diff(origins).min()) if len(origins) > 1 else 1


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
    known = np.isfinite(errors) & np.isfinite(baseline)
    weight = DISCOUNT**ages * known
    bottom = (weight * np.where(known, baseline, 0.0)).sum(axis=1)
    top = (weight * np.where(known, errors, 0.0)).sum(axis=1)
    # nothing ever moved: whoever said so made no error
    still = np.where(top > 0, np.inf, 1.0)
    out = np.divide(top, bottom, out=still, where=bottom > 0)
    return np.where(weight.sum(axis=1) > 0, out, np.inf)


def weights(past: np.ndarray, power: float = SHARP) -> np.ndarray:
    """w_k proportional to past error^-power, shape (K,); a candidate without error gets all the weight, shared with its like.

    With a power of 20 twice the best error leaves nothing, a tenth more a seventh: smooth, so that a small change of the data is one of the
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
    out = (past <= 1e-12) * 1.0 if best <= 1e-12 else (past / best) ** -power
    out[out < 1e-4 * out.sum()] = 0.0
    return np.asarray(out / out.sum())


def sharp(horizon: int) -> float:
    """The power of past errors that weighs candidates at a horizon: 20, and 40 one step ahead.

    Errors one step ahead do not overlap, so that as many origins tell more, and a sharper choice was better on all sets.

    Example:
        >>> from ndcn.forecast.combination import sharp
        >>> [sharp(h) for h in (1, 2, 14)]
        [40.0, 20.0, 20.0]
    """
    return SHARP * max(1.0, 2.0 / horizon)


def middle(forecasts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted mean along the first axis, of those that have a forecast, without a tenth of the weight at each end.

    A forecast far off the others does not count, and a small change of the weights moves the result little: a weighted
    median would jump where half of the weight lies between two forecasts. NaN where there is no forecast.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import middle
        >>> round(float(middle(np.array([1.0, 2.0, 3.0, 1e6]), np.array([0.3, 0.4, 0.25, 0.05]))), 3)
        2.0
    """
    used = weight > 0
    x = forecasts[used].astype(np.float64)
    there = np.isfinite(x)
    order = np.argsort(np.where(there, x, np.inf), axis=0)
    x = np.take_along_axis(np.where(there, x, 0.0), order, axis=0)
    w = np.take_along_axis(there * weight[used].reshape(-1, *[1] * (x.ndim - 1)), order, axis=0)
    total = w.sum(axis=0)
    right = np.cumsum(w, axis=0) / np.where(total > 0, total, 1.0)
    left = np.concatenate([np.zeros_like(right[:1]), right[:-1]])
    part = np.maximum(np.minimum(right, 1.0 - CUT) - np.maximum(left, CUT), 0.0)
    return np.where(total > 0, (part * x).sum(axis=0) / np.where(total > 0, part.sum(axis=0), 1.0), np.nan)


def shares(errors: np.ndarray) -> np.ndarray:
    """Weights of some forecasts, proportional to their past errors^-16, shape (C,); less than a twentieth counts as none.

    Where nothing is known, all weight is that of the first.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import shares
        >>> [shares(np.array([error, 1.0])).round(2).tolist() for error in (0.9, 1.0, 1.1, 1.2)]
        [[0.88, 0.12], [0.5, 0.5], [0.14, 0.86], [0.0, 1.0]]
    """
    if not np.isfinite(errors).all() or not errors.any():
        return np.eye(len(errors))[0]
    part = np.clip(errors / max(errors.min(), 1e-12), 1.0, 1e6) ** -STEEP
    part = np.maximum(part / part.sum() - LEAST, 0.0)
    return np.asarray(part / part.sum())


def trust(ratio: float, full: float, none: float) -> float:
    """1 where the error is at most ``full`` of another one, 0 from ``none`` on, a line between; 1 where nothing is known.

    Example:
        >>> from ndcn.forecast.combination import trust
        >>> [round(trust(ratio, 1.0, 1.1), 2) for ratio in (0.9, 1.05, 1.2)]
        [1.0, 0.5, 0.0]
    """
    return float(np.clip((none - ratio) / (none - full), 0.0, 1.0)) if np.isfinite(ratio) else 1.0
