"""Whether an estimator has learned anything; apart from other checks, for it loads scikit-learn."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError


def check_fitted(estimator: object, learned: str) -> None:
    """Raise NotFittedError where an estimator has not got the attribute ``learned`` yet."""
    if learned not in vars(estimator):
        raise NotFittedError(f"this {type(estimator).__name__} has learned nothing yet: call fit first")
