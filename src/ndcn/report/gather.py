"""The content of a page, as one object that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.registries import SECTIONS
from ..data import Trajectory, without_outliers
from ..graph import Graph
from ..plot import layout, style
from ..regressor import trained_times
from .dates import dates_of, shift_of, ticks_of
from .encode import pack_exact, pack_integers, plain
from .forecasts import forecast_frames
from .frames import Frames, frames_of
from .measure import measured
from .section import PageContext
from .shown import shown_of
from .title import title_of

if TYPE_CHECKING:
    from ..data import Dataset
    from ..regressor import DynamicsRegressor, Fitted

MOST_NUMBERS = 4_000_000  # states on a page, in all, 4 or 8 bytes each; of more, some moments are left out
MOST_LINKS = 100_000  # links on a page; of more, the strongest are shown


def gather(
    estimator: DynamicsRegressor,
    data: Trajectory | Dataset | None,
    model_name: str = "model.ndcn",
    data_words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Observed and predicted states, errors, and the part of each section.

    Args:
        estimator: fitted.
        data: observed states, on the graph that the model was trained on; None shows the prediction alone, or the
            training data that the model kept.
        model_name, data_words: names of model and data in the commands that repeat the page.
    """
    about = shown_of(estimator, data)
    fitted = estimator.fitted_
    frames = (frames_of if fitted.ahead is None else forecast_frames)(estimator, about.run)
    scores = measured(estimator, frames)
    shown, notes = _thinned(frames)
    graph, about_links = drawn(about.graph)
    times = frames.times[shown]
    shift = shift_of(about.calendar)
    judged = None if frames.measured is None else frames.measured[0].times.numpy()
    until = trained_times(estimator)[-1].item() if fitted.ahead is None else fitted.ahead.start
    name = estimator.title_
    size = graph["n"]
    content: dict[str, Any] = {
        "title": title_of(name, frames.features, size, ahead=fitted.ahead is not None, data_words=data_words),
        "model": name,
        "members": len(estimator.models_),
        "parameters": sum(p.numel() for p in estimator.model_.parameters()),
        "graph": graph,
        "features": list(frames.features),
        "times": plain(times + shift, 9),
        "dates": dates_of(about.calendar, times),
        "ticks": ticks_of(about.calendar, times),
        "zone": None if about.calendar is None else about.calendar.tz,
        "kinds": "".join(frames.kinds[k] for k in shown),
        "trained_until": until + shift,
        "states": _states(frames, shown),
        "scales": [_scale(frames, k) for k in range(len(frames.features))],
        "scores": scores,
        "score_times": None if judged is None else plain(judged + shift, 9),
        "score_dates": None if judged is None else dates_of(about.calendar, judged),
        "notes": [*_chosen(fitted), *about.notes, *frames.notes, *notes, *about_links],
    }
    context = PageContext(estimator, fitted.forecast, about, frames, scores, model_name, data_words)
    for name in SECTIONS:
        if name in content:
            raise ValueError(f"a section cannot be called {name!r}: the page has a part of that name")
        content[name] = SECTIONS[name].part(context)
    return content


def _chosen(fitted: Fitted) -> list[str]:
    """Whether a law or a forecast was taken, where that was a question; the section of a law says it itself."""
    choice = fitted.choice
    return [choice.sentence] if choice is not None and choice.tried and not choice.law else []


def _thinned(frames: Frames) -> tuple[np.ndarray, list[str]]:
    """Which moments to show."""
    total, n, d = frames.prediction.shape
    arrays = 1 + (frames.std is not None) + 2 * (frames.band is not None)
    arrays += frames.truth is not None
    room = max(2, MOST_NUMBERS // (n * d * arrays))
    if total <= room:
        return np.arange(total), []
    shown = np.unique(np.linspace(0, total - 1, room).round().astype(int))
    return shown, [f"{len(shown)} of {total} moments are shown, to keep the page small; the scores use all of them."]


def drawn(graph: Graph) -> tuple[dict[str, Any], list[str]]:
    """Places, links and names of a network, and what the reader has to know about them."""
    u, v, weight = layout.links(graph)
    notes = []
    if len(u) > MOST_LINKS:
        strongest = np.sort(np.argsort(-weight, kind="stable")[:MOST_LINKS])
        notes.append(f"The strongest {MOST_LINKS} of {len(u)} links are drawn and counted as neighbours.")
        u, v = u[strongest], v[strongest]
    places = np.rint(layout.placed(graph) * 65535).astype(np.int64)
    content = {
        "n": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "names": None if isinstance(graph.nodes, range) else [str(name) for name in graph.nodes],
        "placed": graph.positions is not None,
        "u": pack_integers(u),
        "v": pack_integers(v),
        "x": pack_integers(places[:, 0]),
        "y": pack_integers(places[:, 1]),
        "cell": pack_integers(layout.on_the_square(graph)),
    }
    return content, notes


def _states(frames: Frames, shown: np.ndarray) -> dict[str, Any]:
    """Rows are moments, of one feature after the other."""

    def packed(values: np.ndarray | None) -> dict[str, Any] | None:
        if values is None:
            return None
        return pack_exact(np.moveaxis(values[shown], 2, 0))

    lower, upper = frames.band or (None, None)
    return {
        "truth": packed(frames.truth),
        "prediction": packed(frames.prediction),
        "error": frames.truth is not None and frames.measured is not None,  # the page takes the difference itself
        "std": packed(frames.std),
        "lower": packed(lower),
        "upper": packed(upper),
    }


def _scale(frames: Frames, feature: int) -> dict[str, Any]:
    """From the least to the largest state that happened or is forecast, and a size of error that few exceed.

    What a forecast holds out as wrong does not stretch the colours.
    """
    guess = frames.prediction[:, :, feature]
    states = guess if frames.truth is None else frames.truth[:, :, feature]
    usual = states if frames.band is None or frames.truth is None else without_outliers(states)
    scale = style.colour_scale(usual if frames.band is None else np.stack([usual, guess]))
    low, high = float(scale.vmin or 0.0), float(scale.vmax or 0.0)
    content = {"low": low, "high": high, "gamma": float(getattr(scale, "gamma", 1.0))}
    error = None if frames.measured is None else np.abs(guess - states)
    std = None if frames.std is None else frames.std[:, :, feature]
    for name, values in (("error", error), ("std", std)):
        if values is not None:
            finite = values[np.isfinite(values)]
            content[name] = (float(np.quantile(finite, 0.98)) if len(finite) else 0.0) or 1e-6 * (high - low)
    return content
