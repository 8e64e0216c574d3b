"""How far ahead to forecast where nobody says: one number for forecasts, backtests, the network test and their help."""

from __future__ import annotations

LONGEST = 14  # two weeks of days; the errors in docs/forecast.md were measured up to there


def usual_horizon(snapshots: int) -> int:
    """Steps ahead by default: 14, or a quarter of the snapshots if that is less, so that most of them are left to learn from.

    Example:
        >>> usual_horizon(100), usual_horizon(20)
        (14, 5)
    """
    return max(1, min(LONGEST, snapshots // 4))
