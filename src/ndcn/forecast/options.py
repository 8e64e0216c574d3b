"""Auto: a forecast as a model for ``DynamicsRegressor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._support.checks import check_number
from .._support.registries import CALLS_UPWARDS
from ..data import KINDS

NAMES = ("ndcn", "interaction", "gru_gnn")  # models that are trained and compared on request


@dataclass(frozen=True)
class Auto:
    """The law of the data where one explains them to their noise, else the forecast that was best in the past.

    A model for ``DynamicsRegressor``. A forecast is a combination of candidates or a simple guess. ``kind``, ``period`` and ``learned`` are
    about forecasts: with one of them no law is looked for.

    Args:
        horizon: how many steps ahead to forecast; by default 14, or a quarter of the snapshots if that is less.
        learned: models to train and compare too, as ``("ndcn", "interaction", "gru_gnn")`` or others that start from any
            state; none by default, because that takes minutes.
        kind: "totals", "counts" or "values"; found out from the data by default.
        period: steps after which the pattern repeats; found out by default.
        keep_outliers: whether to use wrong cells too, which are held out by default.
        law: whether to look for a law first, see ``law_first``; False takes a forecast in any case.
        seconds: that each of two searches for a law may take at most; data without a law take a few seconds.

    Example:
        >>> import ndcn
        >>> reg = ndcn.DynamicsRegressor(model=ndcn.forecast.Auto(horizon=28))
    """

    horizon: int | None = None
    learned: Sequence[str] = ()
    kind: str | None = None
    period: int | None = None
    keep_outliers: bool = False
    law: bool = True
    seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.horizon is not None and (type(self.horizon) is not int or self.horizon < 1):
            raise ValueError(f"horizon must be a whole number of steps, at least 1, got {self.horizon!r}")
        if isinstance(self.learned, str) or not isinstance(self.learned, Sequence):
            raise TypeError(f'learned must be a list of names such as ["interaction"], got {self.learned!r}')
        check_learned(self.learned)
        object.__setattr__(self, "learned", tuple(self.learned))
        if self.kind is not None and self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.period is not None and (type(self.period) is not int or self.period < 2):
            raise ValueError(f"period must be a whole number of steps, at least 2, got {self.period!r}")
        if not isinstance(self.law, bool):
            raise TypeError(f"law must be True or False, got {self.law!r}")
        check_number("seconds", self.seconds, "a number of seconds > 0", lambda x: x > 0)
        if self.seconds is None:
            raise ValueError("seconds must be a number of seconds > 0, got None")

    @property
    def tries_law(self) -> bool:
        """Whether a law is looked for: not where an option is about forecasts."""
        return self.law and self.kind is None and self.period is None and not self.learned

    @property
    def reading(self) -> dict[str, Any]:
        """What ``panel_of`` takes."""
        return {"kind": self.kind, "period": self.period, "keep_outliers": self.keep_outliers}


def check_learned(names: Sequence[str]) -> None:
    """Refuse names of models that cannot be trained and compared."""
    for name in names:
        CALLS_UPWARDS["compared model"](name)
