"""One snapshot: a heat map or a surface."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

import ndcn
from pictures import pair, png


def test_a_heat_map_shows_the_nearest_snapshot_and_leaves_cells_blank():
    truth, _ = pair(n=7)
    ax = ndcn.plot.heat_map(truth, 0.95)
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown.compressed(), truth.states[5, :, 0], rtol=1e-6)
    assert shown.mask.tolist() == [[False] * 3, [False] * 3, [False, True, True]]
    assert ax.get_title() == "t = 1"
    assert len(ax.figure.axes) == 2


@pytest.mark.parametrize("draw", [ndcn.plot.heat_map, ndcn.plot.surface])
def test_truth_and_prediction_can_share_a_scale(draw):
    truth, guess = pair(features=["prey", "predator"])
    drawn = draw(truth, 1.0, feature="predator")
    norm = (drawn.images or drawn.collections)[0].norm
    assert norm.vmax == pytest.approx(truth.states[..., 1].max().item())
    same = draw(guess, 1.0, feature=1, scale=norm)
    assert (same.images or same.collections)[0].norm is norm
    words = [ax.get_ylabel() for ax in same.figure.axes]
    assert any("predator" in word and "clipped" in word for word in words)
    assert png(same.figure).std() > 0


@pytest.mark.parametrize("draw", [ndcn.plot.heat_map, ndcn.plot.surface])
def test_snapshots_are_drawn_into_given_axes(draw):
    truth, _ = pair()
    own = Figure().add_subplot(projection="3d" if draw is ndcn.plot.surface else None)
    assert draw(truth, 0.0, ax=own) is own
    assert len(own.figure.axes) == 1


def test_a_surface_is_as_high_as_its_scale_and_no_higher():
    truth, _ = pair(n=9)
    ax = ndcn.plot.surface(truth, 0.0, scale=Normalize(0.3, 0.4))
    assert ax.get_zlim() == (0.3, 0.4)
    heights = np.asarray(ax.collections[0].get_array())
    assert heights.min() >= 0.3
    assert heights.max() <= 0.4
    assert ax.get_ylim() == (2, 0)  # the first row at the back


@pytest.mark.parametrize("n", [4, 5, 23, 25])
def test_a_surface_has_a_patch_for_each_complete_cell(n):
    truth, _ = pair(n=n)
    side = int(np.ceil(np.sqrt(n)))
    full = np.isfinite(np.pad(np.zeros(n), (0, side * side - n), constant_values=np.nan)).reshape(side, side)
    complete = (full[:-1, :-1] & full[:-1, 1:] & full[1:, :-1] & full[1:, 1:]).sum()
    colours = ndcn.plot.surface(truth, 0.0).collections[0].get_array()
    assert np.isfinite(np.ma.filled(colours, np.nan)).sum() >= complete


def test_snapshots_refuse_what_does_not_fit():
    truth, _ = pair()
    for draw in (ndcn.plot.heat_map, ndcn.plot.surface):
        with pytest.raises(ValueError, match="unknown feature"):
            draw(truth, 0.0, feature="y")
        with pytest.raises(ValueError, match="finite number"):
            draw(truth, float("inf"))
    with pytest.raises(TypeError, match="3d"):
        ndcn.plot.surface(truth, 0.0, ax=Figure().add_subplot())
    three = ndcn.Trajectory(times=[0.0], states=torch.rand(1, 3), graph=ndcn.networks.grid(3))
    with pytest.raises(ValueError, match="4 nodes, got 3"):
        ndcn.plot.surface(three, 0.0)


def test_missing_entries_are_no_surface():
    truth, _ = pair(n=16)
    mask = torch.ones(11, 16, dtype=torch.bool)
    mask[0, 5] = False
    seen = ndcn.Trajectory(times=truth.times, states=truth.states, graph=truth.graph, mask=mask)
    assert png(ndcn.plot.surface(seen, 0.0).figure).std() > 0
