"""Models that are trained: NDCN and the interaction model on recent windows, temporal GNNs; failures are reported."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from .._support.registries import CALLS_UPWARDS
from ..data import Panel, SeriesKind, Trajectory
from ..solve import IntegrationError
from ..training import TrainingError
from .candidates import LEARNED, Candidate
from .transforms import View

# Round numbers that bound what a comparison costs; no comparison with others is recorded.
EPOCHS = 150  # of the 2000 that a model is trained for by itself
WINDOWS = 4  # runs of two windows (of the data's kind) each, which end 0, 1, 2 and 3 windows before the origin
FITS = 3  # past origins at which each is fitted and judged
LIMIT = 60.0  # seconds for one model, after which no further fit is begun
FAR = 20.0  # standard deviations beyond all seen before, which count as an explosion: series that are standardised do not go there


@dataclass
class Learner:
    """A model by name, fitted again at a few past origins and at the last one.

    The series (smoothed square roots where values are at least 0) is standardised and cut into windows that end at the
    origin and before it: several trajectories of one law. Models that continue from a history take the whole series. The
    graph is the one in force at the origin. ``every`` forecasts from all origins, not only from a few; ``failures`` says what went wrong.
    """

    name: str
    panel: Panel
    kind: SeriesKind
    seed: int = 0
    limit: float = LIMIT  # seconds
    every: bool = False
    failures: list[str] = field(default_factory=list)

    def candidate(self) -> Candidate:
        """For the comparison."""
        return Candidate(self.name, LEARNED, self.rolling, self.failures)

    def rolling(self, origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
        """Forecasts of shape (O, len(horizons), n), NaN from origins without a fit and where a fit failed."""
        out = np.full((len(origins), len(horizons), self.panel.values.shape[1]), np.nan)
        last, far = int(origins[-1]), int(horizons.max())
        few = {last} | {last - far - k * self.kind.window for k in range(FITS)}
        chosen = [k for k, o in enumerate(origins) if (self.every or int(o) in few)]
        begun = time.monotonic()
        for k in reversed(chosen):  # the last origin first, whatever it takes: without it there is nothing to forecast
            if k != chosen[-1] and time.monotonic() - begun >= self.limit:
                self.failures.append(f"{self.name}: stopped after {self.limit:g} seconds")
                break
            out[k] = self.forecast(int(origins[k]), horizons)
        return out

    def forecast(self, origin: int, horizons: np.ndarray) -> np.ndarray:
        """Fit on the data up to ``origin``, forecast from there; NaN beyond where the solution explodes."""
        window = self.kind.window if self.kind.positive else 1
        view = View("sqrt" if self.kind.positive else "raw", self.kind.cumulative, window)
        y = view.series(self.panel.values[: origin + 1])
        center, scale = y.mean(), max(float(y.std()), 1e-12)
        z = ((y - center) / scale).astype(np.float32)
        nothing = np.full((len(horizons), z.shape[1]), np.nan)
        try:
            path = self._path(z, origin, np.arange(1, int(horizons.max()) + 1))
        except (IntegrationError, TrainingError, ValueError, RuntimeError) as error:
            self.failures.append(f"{self.name} at snapshot {origin}: {str(error).split(';')[0]}")
            return nothing
        if not np.isfinite(path).all() or np.abs(path).max() > np.abs(z).max() + FAR:
            self.failures.append(f"{self.name} at snapshot {origin}: the forecast explodes")
            return nothing
        levels = view.levels((path * scale + center)[None], self.panel.values[[origin]])[0]
        return np.asarray(levels[horizons - 1])

    def _path(self, z: np.ndarray, origin: int, steps: np.ndarray) -> np.ndarray:
        graph = self.panel.graphs[min(origin, len(self.panel.graphs) - 1)]
        model = CALLS_UPWARDS["compared model"](self.name)
        length = 2 * self.kind.window + 1
        ends = [len(z) - k * self.kind.window for k in range(WINDOWS)]
        parts = [z] if model.from_history else [z[e - length : e] for e in ends if e >= length] or [z]
        runs = [Trajectory(times=np.arange(len(p), dtype=float), states=p[..., None], graph=graph) for p in parts]
        return np.asarray(model.path(runs, steps, epochs=EPOCHS, seed=self.seed))
