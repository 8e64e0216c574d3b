"""Models that ``forecast.auto`` trains and compares, by name: which can be compared, and how each is fitted and asked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.registries import MODELS
from ..data import Trajectory
from ..forecast import NAMES
from .estimator import DynamicsRegressor
from .kind import Kind
from .kind_lookup import kind_for


class ComparedModel:
    """A model by name, fitted to the runs before an origin and asked for the steps after it.

    Attributes:
        from_history: whether it continues from all snapshots of one run; others start from the last state, and learn from
            several short runs as well.

    Raises:
        ValueError: no model has this name, or it cannot start from any state on any graph.
    """

    def __init__(self, name: object) -> None:
        if not isinstance(name, str) or name not in MODELS or not _starts_anywhere(kind_for(name)):
            more = ", ".join(one for one in MODELS if one not in NAMES and _starts_anywhere(kind_for(one)))
            raise ValueError(
                f"learned must be names of {', '.join(NAMES)}, got {name!r}; other models that start from any state are {more}"
            )
        self.name, self._kind = name, kind_for(name)
        self.from_history = self._kind.can.history

    def path(self, runs: Sequence[Trajectory], steps: np.ndarray, *, epochs: int, seed: int) -> np.ndarray:
        """Forecasts at ``steps`` after the last snapshot of the first run, shape (len(steps), n).

        Args:
            runs: of one feature, at times 0, 1, 2, ...; the first ends at the origin.
            steps: 1, 2, ..., whole numbers.
            epochs: of models that are trained by gradient steps.
            seed: of training.

        Raises:
            KeyboardInterrupt: training was interrupted.
            IntegrationError, TrainingError, ValueError, RuntimeError: the fit or the forecast failed.
        """
        last = runs[0]
        trained: dict[str, Any] = {"epochs": epochs} if "epochs" in self._kind.uses else {}
        model = DynamicsRegressor(self.name, seed=seed, progress=False, **trained)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(list(runs) if len(runs) > 1 else last)
            if model.history_.stopped == "interrupted":  # training ends in good order, the comparison ends with it
                raise KeyboardInterrupt
            begin: float = last.times[-1].item()
            now: dict[str, Any] = {}
            if not self.from_history:
                begin, now = 0.0, {"graph": last.graph, "x0": last.states[-1].clone(), "t0": 0.0}
            said = model.predict(begin + steps.astype(float), **now)
        return np.asarray(said.states[..., 0].double().numpy())


def _starts_anywhere(kind: Kind) -> bool:
    return kind.can.any_start and kind.can.any_graph
