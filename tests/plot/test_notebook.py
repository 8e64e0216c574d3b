"""What a notebook shows of a picture, also where pyplot was never imported."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import ndcn
from pages import law

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_function_returns_what_shows_itself() -> None:
    reg, data = law()
    guess = reg.predict(data.times)
    shown = [
        ndcn.plot.compare(data, guess),
        ndcn.plot.trajectories(data),
        ndcn.plot.heat_map(data, 1.0),
        ndcn.plot.surface(data, 1.0),
        ndcn.plot.network(data),
        ndcn.plot.error_over_time(guess, data),
        ndcn.plot.adjacency(data.graph),
        ndcn.plot.interaction(reg),
        ndcn.plot.panels({"grid": data}, {"grid": guess}),
        ndcn.plot.inspect(ndcn.Dataset((data,))),
        ndcn.plot.forecast(reg, nodes=[3]),
    ]
    for one in shown:
        assert one._repr_png_().startswith(PNG)


def test_axes_stay_axes_and_their_array_an_array() -> None:
    _, data = law()
    axes = ndcn.plot.compare(data, data)
    assert isinstance(axes, np.ndarray)
    assert axes.shape == (3, 6)
    assert axes[0, 0].figure is axes.figure
    assert axes[2].shape == (6,)
    assert repr(axes) == "<3 x 6 axes of one figure>"


def test_a_figure_of_ones_own_is_shown_by_whoever_made_it() -> None:
    """Else pyplot would show it, and the axes once more."""
    _, data = law()
    figure = Figure()
    ax = ndcn.plot.trajectories(data, ax=figure.add_subplot())
    assert not hasattr(ax, "_repr_png_")
    assert ndcn.plot.compare(data, data, ax=Figure().subplots(3, 6))._repr_png_() is None
