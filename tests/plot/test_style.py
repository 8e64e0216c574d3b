"""One colour scale, what it clips, and what its label says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import Normalize, PowerNorm

from ndcn.plot import style


def test_colour_scale_is_linear_or_a_root():
    assert type(style.colour_scale(np.linspace(0, 1, 9))) is Normalize
    skewed = style.colour_scale(np.array([0.0, 0.1, 0.1, 10.0]))
    assert isinstance(skewed, PowerNorm)
    assert "square-root" in style.scale_label("x", skewed)
    flat = style.colour_scale(np.full(4, 3.0))
    assert (flat.vmin, flat.vmax) == (2.5, 3.5)


def test_colour_scale_of_nothing():
    scale = style.colour_scale(np.full(3, np.nan))
    assert (scale.vmin, scale.vmax) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "side"),
    [([0.0, 1.0, 1.003], "neither"), ([2.0], "max"), ([-1.0], "min"), ([-9.0, 9.0], "both"), ([np.nan], "neither")],
)
def test_values_outside_are_noticed(values, side):
    assert style.clipped(Normalize(0, 1), np.array(values)) == side


def test_labels_say_what_is_clipped():
    assert style.scale_label("x", Normalize(0, 1)) == "x"
    assert "clipped" in style.scale_label("x", Normalize(0, 1), "max")
    assert style.scale_label("x", PowerNorm(0.5, 0, 1), "both", narrow=True).count("\n") == 2


def test_times_in_titles():
    assert [style.at_time(t) for t in (0.0, 0.3333, 12345.0)] == ["t = 0", "t = 0.333", "t = 12345"]
