"""Auto: a forecast as a model for ``DynamicsRegressor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NAMES = ("ndcn", "interaction", "gru_gnn")  # models that are trained and compared on request


@dataclass(frozen=True)
class Auto:
    """The combination or simple guess that past forecasts were best with: a model for ``DynamicsRegressor``.

    Args:
        horizon: how many steps ahead to forecast; by default 14, or a quarter of the snapshots if that is less.
        learned: models to train and compare too, as ``("ndcn", "interaction", "gru_gnn")``; none by default, because that
            takes minutes.

    Example:
        >>> import ndcn
        >>> reg = ndcn.DynamicsRegressor(model=ndcn.forecast.Auto(horizon=28))
    """

    horizon: int | None = None
    learned: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.horizon is not None and (type(self.horizon) is not int or self.horizon < 1):
            raise ValueError(f"horizon must be a whole number of steps, at least 1, got {self.horizon!r}")
        if isinstance(self.learned, str) or not isinstance(self.learned, Sequence):
            raise TypeError(f'learned must be a list of names such as ["interaction"], got {self.learned!r}')
        check_learned(self.learned)
        object.__setattr__(self, "learned", tuple(self.learned))


def check_learned(names: Sequence[str]) -> None:
    """Refuse names of models that cannot be trained and compared."""
    for name in names:
        if not isinstance(name, str) or (name not in NAMES and not name.endswith("_gnn")):
            raise ValueError(f"learned must be names of {', '.join(NAMES)}, got {name!r}")
