"""The models that are compared: their names, what each is, and how it forecasts from any origin."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..data import Panel, SeriesKind
from . import ridge, simple, wave
from .transforms import View

Rolling = Callable[[np.ndarray, np.ndarray], np.ndarray]

GUESS, SMOOTHING, RIDGE, WAVE, LEARNED = "guess", "smoothing", "ridge", "wave", "learned"
SIMPLE = (GUESS, SMOOTHING)  # those that look at one node at a time, without a graph
# For each step that data are older, in regressions: all alike, and about the last 1 / (1 - 0.95) = 20 steps. The backtest chooses.
FORGET = (1.0, 0.95)


@dataclass(frozen=True)
class Candidate:
    """A name, a family, and ``rolling(origins, horizons)``: forecasts of shape (O, len(horizons), n).

    A forecast from origin o uses the data up to o only; NaN says that there is none. ``failures`` says why.
    """

    name: str
    family: str
    rolling: Rolling
    failures: list[str] = field(default_factory=list)


def candidates_for(panel: Panel, kind: SeriesKind) -> list[Candidate]:
    """All candidates without training that suit this kind of data.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.forecast.candidates import candidates_for
        >>> from ndcn.data.series_kind import kind_of
        >>> from ndcn.data.panel import panel_of
        >>> wave = np.sin(np.arange(40.0))[:, None] * np.ones(4)
        >>> panel = panel_of(ndcn.Trajectory(times=np.arange(40.0), states=wave, graph=ndcn.networks.grid(4)))
        >>> [c.name for c in candidates_for(panel, kind_of(wave))][:3]
        ['persistence', 'drift', 'recent drift']
    """
    return [*_guesses(panel, kind), *_smoothings(panel, kind), *_ridges(panel, kind), *_waves(panel, kind)]


def _guesses(panel: Panel, kind: SeriesKind) -> list[Candidate]:
    x = panel.values
    signed = np.diff(x, axis=0, prepend=x[:1]) if kind.cumulative else x

    def season(way: Callable[..., np.ndarray], period: int, **more: bool) -> Rolling:
        def rolling(origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
            path = way(signed, origins, int(horizons.max()), period, **more)
            return View(increments=kind.cumulative).levels(path, x[origins])[:, horizons - 1]

        return rolling

    def of(path: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> Rolling:
        return lambda origins, horizons: path(x, origins, int(horizons.max()))[:, horizons - 1]

    found = [
        Candidate("persistence", GUESS, of(simple.persistence)),
        Candidate("drift", GUESS, of(simple.drift)),
        Candidate("recent drift", GUESS, of(lambda x, o, h: simple.drift(x, o, h, kind.window))),
    ]
    for period in kind.periods or (kind.window,):
        label = f" {period}" if len(kind.periods) > 1 else ""
        found.append(Candidate(f"seasonal{label}", GUESS, season(simple.seasonal, period)))
        if kind.periods:
            found.append(Candidate(f"seasonal mean{label}", GUESS, season(simple.same_phase, period)))
            middle = season(simple.same_phase, period, middle=True)
            found.append(Candidate(f"seasonal median{label}", GUESS, middle))
    return found if kind.cumulative else [*found, Candidate("mean", GUESS, of(simple.mean))]


def _views(kind: SeriesKind) -> list[View]:
    windows = (1, kind.window) if kind.positive else (1,)
    return [View(f, kind.cumulative, w) for w in windows for f in kind.transforms]


def _smoothings(panel: Panel, kind: SeriesKind) -> list[Candidate]:
    found = []
    for view in _views(kind):
        # h times the level of roots or logarithms is too little for a sum of h increments
        level = view.window == 1 and not (view.increments and view.function != "raw")
        ways = {"level": simple.Smoothing(betas=(0.0,))} if level else {}
        ways |= {"damped trend": simple.Smoothing(), "damped trend, one for all": simple.Smoothing(pooled=True)}
        for name, way in ways.items():
            found.append(Candidate(f"{name} {view.name}".strip(), SMOOTHING, _smoothed(panel, view, way, None)))
        if view.window > 1:
            shaped = _smoothed(panel, view, simple.Smoothing(), kind.window)
            found.append(Candidate(f"damped trend {view.name}, season", SMOOTHING, shaped))
        elif kind.period is not None and not (kind.positive and kind.period == kind.window):
            again = _repeated(panel, view, kind.period)
            found.append(Candidate(f"last season and level {view.name}".strip(), SMOOTHING, again))
    return found


def _repeated(panel: Panel, view: View, period: int) -> Rolling:
    """y(o + h) = y one period before + the level of y(t) - y(t - period)."""

    def rolling(origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
        x, far = panel.values, int(horizons.max())
        y = view.series(x)
        since = y - y[np.maximum(np.arange(len(y)) - period, 0)]
        path = simple.seasonal(y, origins, far, period) + simple.Smoothing(betas=(0.0,)).forecasts(since, origins, far)
        return view.levels(path, x[origins])[:, horizons - 1]

    return rolling


def _smoothed(panel: Panel, view: View, way: simple.Smoothing, period: int | None) -> Rolling:
    def rolling(origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
        x, far = panel.values, int(horizons.max())
        path = way.forecasts(view.series(x), origins, far)
        if period is None:
            return view.levels(path, x[origins])[:, horizons - 1]
        flow = view.backward(path) * simple.profile(view.flow(x), origins, far, period)
        return View(increments=view.increments).levels(flow, x[origins])[:, horizons - 1]

    return rolling


def _ridges(panel: Panel, kind: SeriesKind) -> list[Candidate]:
    found = []
    for view in _views(kind):
        if kind.positive and view.function == "raw":
            continue
        for blocks in itertools.accumulate((block,) for block in ridge.BLOCKS):
            for forget in FORGET:
                name = " ".join(["ridge", " + ".join(blocks), view.name]).strip() + ", recent" * (forget < 1)
                rolling = functools.partial(ridge.forecasts, panel, view, kind.window + 1, blocks, forget=forget)
                found.append(Candidate(name, RIDGE, rolling))
        if kind.periods:
            season = functools.partial(ridge.forecasts, panel, view, kind.window + 1, ridge.BLOCKS[:2])
            name = f"ridge own + mean + season {view.name}".strip()
            found.append(Candidate(name, RIDGE, functools.partial(season, period=kind.periods[-1])))
    return found


def _waves(panel: Panel, kind: SeriesKind) -> list[Candidate]:
    return [Candidate("common wave", WAVE, functools.partial(wave.forecasts, panel))] if kind.positive else []
