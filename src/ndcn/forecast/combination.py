"""Choosing and combining by past errors, as they were known at each time."""

from __future__ import annotations

import numpy as np

DISCOUNT = 0.95  # of a past error for each step that it is older
BEST = 5  # how many are combined


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


def weights(past: np.ndarray, best: int = BEST) -> np.ndarray:
    """w_k proportional to 1 / past error among the ``best`` candidates with the smallest, 0 for the others.

    A candidate without error gets all the weight, shared with others like it.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.combination import weights
        >>> weights(np.array([1.0, 3.0, 9.0]), best=2)
        array([0.75, 0.25, 0.  ])
    """
    order = np.argsort(past, kind="stable")[:best]
    order = order[np.isfinite(past[order])]
    out = np.zeros(len(past))
    if not len(order):
        out[0] = 1.0
        return out
    exact = past[order] <= 1e-12
    out[order] = exact if exact.any() else 1.0 / past[order]
    return np.asarray(out / out.sum())


def mixed(weight: np.ndarray, forecasts: np.ndarray) -> np.ndarray:
    """sum_k w_k f_k along the first axis; a candidate without a forecast (NaN) gives its weight to the others."""
    used = np.flatnonzero(weight)
    there = np.isfinite(forecasts[used]) * weight[used].reshape(-1, *[1] * (forecasts.ndim - 1))
    total = there.sum(axis=0)
    return np.asarray((there * np.nan_to_num(forecasts[used])).sum(axis=0) / np.where(total > 0, total, np.nan))
