"""Pictures: what they show, that they are written whole or not at all, and that matplotlib is left as found."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from PIL import Image

import ndcn
from ndcn.plot import square, style
from ndcn.training import History


def pair(n: int = 23, T: int = 11, features: list[str] | None = None) -> tuple[ndcn.Trajectory, ndcn.Trajectory]:
    graph, d = ndcn.networks.grid(n), len(features or ["x"])
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(T, n, d, generator=generator)
    times = torch.linspace(0, 2, T)
    return (
        ndcn.Trajectory(times=times, states=truth, graph=graph, features=features),
        ndcn.Trajectory(times=times, states=truth + 0.5, graph=graph, features=features),
    )


def png(figure: Figure) -> np.ndarray:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    buffer.seek(0)
    return np.asarray(Image.open(buffer).convert("RGB"))


# The square layout ----------------------------------------------------------------------------------------------


def test_nodes_lie_row_by_row_and_missing_cells_are_blank():
    cells = square.squares(torch.arange(7.0).reshape(1, 7))
    assert cells.shape == (1, 3, 3)
    assert cells[0, 1, 2] == 5
    assert np.isnan(cells[0, 2, 1:]).all()


@pytest.mark.parametrize(("n", "side"), [(1, 1), (4, 2), (5, 3), (9, 3), (10, 4)])
def test_side_is_the_ceiling_of_the_root(n, side):
    assert square.squares(torch.zeros(2, n)).shape == (2, side, side)


def test_colour_scale_is_linear_or_a_root():
    assert type(style.colour_scale(np.linspace(0, 1, 9))) is Normalize
    skewed = style.colour_scale(np.array([0.0, 0.1, 0.1, 10.0]))
    assert isinstance(skewed, PowerNorm)
    assert "square-root" in style.scale_label("x", skewed)
    flat = style.colour_scale(np.full(4, 3.0))
    assert (flat.vmin, flat.vmax) == (2.5, 3.5)


# compare --------------------------------------------------------------------------------------------------------


def test_compare_shows_truth_prediction_and_difference():
    truth, guess = pair()
    figure = ndcn.plot.compare(truth, guess, times=[0.0, 1.01, 2.0], label="NDCN")
    pictures = [ax for ax in figure.axes if ax.images]
    assert len(pictures) == 9
    assert [ax.get_title() for ax in pictures[:3]] == ["t = 0", "t = 1", "t = 2"]
    assert [pictures[k].get_ylabel() for k in (0, 3, 6)] == ["truth", "NDCN", "difference"]
    np.testing.assert_allclose(pictures[1].images[0].get_array().compressed(), truth.states[5, :, 0], rtol=1e-6)
    np.testing.assert_allclose(pictures[7].images[0].get_array().compressed(), 0.5, rtol=1e-5)
    assert pictures[0].images[0].get_clim() == pictures[3].images[0].get_clim()
    low, high = pictures[6].images[0].get_clim()
    assert low == -high
    assert high == pytest.approx(0.5)


def test_compare_shows_six_times_by_default_and_each_snapshot_once():
    truth, guess = pair()
    assert sum(bool(ax.images) for ax in ndcn.plot.compare(truth, guess).axes) == 18
    assert sum(bool(ax.images) for ax in ndcn.plot.compare(truth[:2], guess[:2]).axes) == 6


def test_compare_marks_the_end_of_the_training_window():
    truth, guess = pair()
    marked = ndcn.plot.compare(truth, guess, train_until=1.1)
    assert [text.get_text() for text in marked.texts] == ["after training →"]
    assert len(marked.artists) == 1
    assert not ndcn.plot.compare(truth, guess, train_until=2.0).texts
    assert not ndcn.plot.compare(truth[1:], guess[1:], train_until=0.1).artists


def test_compare_draws_missing_entries_and_equal_trajectories():
    truth, _ = pair()
    mask = torch.ones(11, 23, dtype=torch.bool)
    mask[0], mask[5, 3] = False, False
    seen = ndcn.Trajectory(times=truth.times, states=truth.states, graph=truth.graph, mask=mask)
    assert png(ndcn.plot.compare(seen, truth)).std() > 0
    assert png(ndcn.plot.compare(truth, truth)).std() > 0


def test_compare_takes_a_feature_by_name_or_position():
    truth, guess = pair(features=["prey", "predator"])
    by_name, by_place = (ndcn.plot.compare(truth, guess, feature=f) for f in ("predator", 1))
    assert (png(by_name) == png(by_place)).all()
    assert by_name.axes[6].get_ylabel().startswith("predator") or any(
        ax.get_ylabel().startswith("predator") for ax in by_name.axes
    )
    with pytest.raises(ValueError, match="known are prey, predator"):
        ndcn.plot.compare(truth, guess, feature="grass")
    with pytest.raises(ValueError, match=r"0\.\.1"):
        ndcn.plot.compare(truth, guess, feature=2)


def test_compare_refuses_what_does_not_fit():
    truth, guess = pair()
    with pytest.raises(ValueError, match="same times"):
        ndcn.plot.compare(truth, guess[:5])
    later = ndcn.Trajectory(times=guess.times + 1, states=guess.states, graph=guess.graph)
    with pytest.raises(ValueError, match="same times"):
        ndcn.plot.compare(truth, later)
    for times in ([], [float("nan")], [[1.0]]):
        with pytest.raises(ValueError, match="finite number"):
            ndcn.plot.compare(truth, guess, times=times)


# Curves ---------------------------------------------------------------------------------------------------------


def test_trajectories_draw_dots_and_lines():
    truth, guess = pair()
    ax = ndcn.plot.trajectories(truth)
    assert len(ax.get_lines()) == 12
    own = Figure().add_subplot()
    assert ndcn.plot.trajectories(truth, guess, nodes=[0, 5], train_until=1.0, ax=own) is own
    dots, line, _, _, end = own.get_lines()
    np.testing.assert_allclose(dots.get_ydata(), truth.states[:, 0, 0])
    np.testing.assert_allclose(line.get_ydata(), guess.states[:, 0, 0])
    assert dots.get_linestyle() == "None"
    assert end.get_xdata()[0] == 1.0
    assert [text.get_text() for text in own.get_legend().get_texts()] == ["0", "5"]


def test_trajectories_use_labels_and_sort_times():
    graph = ndcn.Graph.from_edges([("a", "b")])
    data = ndcn.Trajectory(times=[1.0, 0.0], states=torch.tensor([[1.0, 2.0], [3.0, 4.0]]), graph=graph, ordered=False)
    (line,) = ndcn.plot.trajectories(data, nodes=["b"]).get_lines()
    assert line.get_ydata().tolist() == [4.0, 2.0]
    with pytest.raises(ValueError, match="no node 'c'"):
        ndcn.plot.trajectories(data, nodes=["c"])
    with pytest.raises(ValueError, match="at least one"):
        ndcn.plot.trajectories(data, nodes=[])
    with pytest.raises(ValueError, match="23 nodes"):
        ndcn.plot.trajectories(data, pair()[0])


def test_training_curve():
    ax = ndcn.plot.training_curve(History([3.0, 2.0, 1.0], [(2, 2.5)]))
    training, validation = ax.get_lines()
    assert training.get_xdata().tolist() == [1, 2, 3]
    assert list(validation.get_ydata()) == [2.5]
    assert ax.get_yscale() == "log"
    own = Figure().add_subplot()
    assert ndcn.plot.training_curve(History([1.0, 0.0]), ax=own).get_yscale() == "linear"
    with pytest.raises(ValueError, match="empty"):
        ndcn.plot.training_curve(History())


def test_mean_of_the_error_curve_is_the_normalised_error():
    truth, guess = pair()
    ax = ndcn.plot.error_over_time(guess, truth, train_until=1.0)
    curve = ax.get_lines()[0].get_ydata()
    assert curve.mean() == pytest.approx(100 * ndcn.metrics.normalized_l1(guess, truth))
    zero = ndcn.Trajectory(times=truth.times, states=torch.zeros_like(truth.states), graph=truth.graph)
    with pytest.raises(ValueError, match="all 0"):
        ndcn.plot.error_over_time(guess, zero)


# Animation ------------------------------------------------------------------------------------------------------


def test_animation_has_the_frames_and_the_speed_asked_for(tmp_path):
    truth, guess = pair()
    ndcn.plot.animate(truth, guess, tmp_path / "all.gif", fps=10, train_until=1.5)
    with Image.open(tmp_path / "all.gif") as movie:
        assert (movie.n_frames, movie.info["duration"], movie.info["loop"]) == (11, 100, 0)
        first = np.asarray(movie.convert("RGB"))
        movie.seek(10)
        assert (np.asarray(movie.convert("RGB")) != first).any()
        assert (first[0, 0] == 255).all()
    ndcn.plot.animate(truth, guess, tmp_path / "few.gif", frames=3)
    with Image.open(tmp_path / "few.gif") as movie:
        assert movie.n_frames == 3
    ndcn.plot.animate(truth[:1], guess[:1], tmp_path / "one.gif")
    assert sorted(os.listdir(tmp_path)) == ["all.gif", "few.gif", "one.gif"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"path": "movie.avi"}, "GIF"), ({"frames": 0}, "frames"), ({"fps": 0.0}, "fps"), ({"fps": 60.0}, "fps")],
)
def test_animation_refuses_what_it_cannot_do(tmp_path, change, message):
    truth, guess = pair()
    settings = {"path": "movie.gif", **change}
    path = tmp_path / settings.pop("path")
    with pytest.raises(ValueError, match=message):
        ndcn.plot.animate(truth, guess, path, **settings)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_no_animation(tmp_path, monkeypatch):
    truth, guess = pair(T=2)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("PIL.Image.Image.save", full)
    with pytest.raises(OSError, match="No space left"):
        ndcn.plot.animate(truth, guess, tmp_path / "movie.gif")
    assert not list(tmp_path.iterdir())


# Manners --------------------------------------------------------------------------------------------------------


def test_matplotlib_is_left_as_found(tmp_path):
    before = dict(mpl.rcParams)
    truth, guess = pair()
    ndcn.plot.compare(truth, guess)
    ndcn.plot.trajectories(truth)
    ndcn.plot.animate(truth, guess, tmp_path / "movie.gif", frames=2)
    assert dict(mpl.rcParams) == before


def test_pyplot_is_not_imported():
    program = "import sys, ndcn.plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
