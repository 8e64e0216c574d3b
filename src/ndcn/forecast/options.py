"""Auto: a forecast as a model for ``DynamicsRegressor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._support.registries import CALLS_UPWARDS
from ..data import KINDS

NAMES = ("ndcn", "interaction", "gru_gnn")  # models that are trained and compared on request


@dataclass(frozen=True)
class Auto:
    """The combination or simple guess that past forecasts were best with: a model for ``DynamicsRegressor``.

    Args:
        horizon: how many steps ahead to forecast; by default 14, or a quarter of the snapshots if that is less.
        learned: models to train and compare too, as ``("ndcn", "interaction", "gru_gnn")`` or others that start from any
            state; none by default, because that takes minutes.
        kind: "totals", "counts" or "values"; found out from the data by default.
        period: steps after which the pattern repeats; found out by default.
        keep_outliers: whether to use wrong cells too, which are held out by default.

    Example:
        >>> import ndcn
        >>> reg = ndcn.DynamicsRegressor(model=ndcn.forecast.Auto(horizon=28))
    """

    horizon: int | None = None
    learned: Sequence[str] = ()
    kind: str | None = None
    period: int | None = None
    keep_outliers: bool = False

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

    @property
    def reading(self) -> dict[str, Any]:
        """What ``panel_of`` takes."""
        return {"kind": self.kind, "period": self.period, "keep_outliers": self.keep_outliers}


def check_learned(names: Sequence[str]) -> None:
    """Refuse names of models that cannot be trained and compared."""
    for name in names:
        CALLS_UPWARDS["compared model"](name)
