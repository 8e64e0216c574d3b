"""Curves over time: what is drawn, which window is shaded, and what the spread is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import ndcn
from ndcn.training import History
from pictures import pair, png


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


def shaded(ax) -> list[tuple[float, float]]:
    """Where the shade begins and ends."""
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]


def above(ax) -> list[str]:
    """The words above the axes."""
    return [tick.get_text() for child in ax.child_axes for tick in child.get_xticklabels()]


@pytest.mark.parametrize(
    ("until", "end", "words"),
    [
        (1.0, 1.0, ["training", "extrapolation"]),
        (2.0, 2.1, ["training"]),
        (9.0, 2.1, ["training"]),
        (-1.0, None, ["extrapolation"]),
    ],
)
def test_the_training_window_is_shaded(until, end, words):
    truth, guess = pair()
    ax = ndcn.plot.error_over_time(guess, truth, train_until=until)
    assert above(ax) == words
    assert shaded(ax) == ([] if end is None else [(pytest.approx(-0.1), pytest.approx(end))])
    assert ax.get_xlim() == pytest.approx((-0.1, 2.1))
    assert len(ax.get_lines()) == len(words)
    assert png(ax.figure).std() > 0


def test_a_title_stands_above_the_words():
    truth, guess = pair()
    ax = ndcn.plot.error_over_time(guess, truth, train_until=1.0)
    title = ax.set_title("title")
    png(ax.figure)
    words = ax.child_axes[0].get_xticklabels()[0].get_window_extent()
    assert title.get_window_extent().y0 >= words.y1 - 1


# error_curves ---------------------------------------------------------------------------------------------------

TIMES = np.linspace(0.0, 2.0, 5)


def test_median_and_middle_half_of_the_runs():
    runs = np.arange(1.0, 6.0)[:, None] * np.ones(5)
    ax = ndcn.plot.error_curves({"NDCN": (TIMES, runs), "one": (TIMES, runs[4])}, train_until=1.0, ylabel="error, %")
    many, one = ax.get_lines()[:2]
    assert many.get_ydata().tolist() == [3.0] * 5
    assert one.get_ydata().tolist() == [5.0] * 5
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices
    assert (edges[:, 1].min(), edges[:, 1].max()) == (2.0, 4.0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["NDCN", "one"]
    assert "middle half" in ax.get_legend().get_title().get_text()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("time", "error, %", "linear")
    assert ax.get_ylim()[0] == 0
    assert above(ax) == ["training", "extrapolation"]


def test_mean_and_standard_deviation():
    runs = torch.tensor([[1.0] * 5, [3.0] * 5])
    ax = ndcn.plot.error_curves({"a": (TIMES, runs)}, centre="mean", legend=False)
    assert ax.get_lines()[0].get_ydata().tolist() == [2.0] * 5
    edges = ax.collections[0].get_paths()[0].vertices
    assert (edges[:, 1].min(), edges[:, 1].max()) == (1.0, 3.0)
    assert ax.get_legend() is None


def test_errors_that_span_decades_are_drawn_on_a_logarithmic_scale():
    own = Figure().add_subplot()
    small, large = np.array([0.0, 1.0, 1.0, 1.0, 1.0]), np.geomspace(1.0, 1e5, 5)
    assert ndcn.plot.error_curves({"a": (TIMES, small), "b": (TIMES, [large, large])}, ax=own) is own
    assert own.get_yscale() == "log"
    assert np.isnan(own.get_lines()[0].get_ydata()[0])  # 0 has no logarithm
    assert png(own.figure).std() > 0
    assert ndcn.plot.error_curves({"a": (TIMES, small)}).get_yscale() == "linear"
    assert ndcn.plot.error_curves({"a": (TIMES, 0 * small)}).get_yscale() == "linear"


def test_the_scale_can_be_asked_for():
    times, values = np.linspace(0, 1, 5), np.linspace(1, 2, 5)
    for scale in ("linear", "log"):
        assert ndcn.plot.error_curves({"a": (times, values)}, scale=scale).get_yscale() == scale
    with pytest.raises(ValueError, match="scale must be"):
        ndcn.plot.error_curves({"a": (times, values)}, scale="cubic")


@pytest.mark.parametrize("centre", ["median", "mean"])
def test_runs_that_broke_down_and_gaps(centre):
    runs = np.ones((3, 5))
    runs[:, 1] = np.nan
    runs[0, 2] = np.nan
    runs[:2, 3] = np.inf
    runs[0, 4] = np.inf
    ax = ndcn.plot.error_curves({"a": (TIMES, runs)}, centre=centre)
    drawn = ax.get_lines()[0].get_ydata()
    assert np.isnan(drawn).tolist() == [False, True, False, True, centre == "mean"]
    assert png(ax.figure).std() > 0


def test_every_model_has_a_look_of_its_own():
    ax = ndcn.plot.error_curves({f"model {k}": (TIMES, TIMES + k) for k in range(20)})
    looks = {
        (line.get_color(), line._unscaled_dash_pattern[1] and tuple(line._unscaled_dash_pattern[1]))
        for line in ax.get_lines()
    }
    assert len(looks) == 20


def test_times_in_any_order():
    ax = ndcn.plot.error_curves({"a": (TIMES[::-1], TIMES[::-1])})
    assert ax.get_lines()[0].get_xdata().tolist() == TIMES.tolist()


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({}, "nothing to draw"),
        ({"a": (TIMES, np.ones(4))}, r"a: times of shape \(5,\) need errors of shape \(runs, 5\)"),
        ({"a": (TIMES, np.ones((1, 2, 5)))}, "runs, 5"),
        ({"a": (TIMES, np.ones((0, 5)))}, "runs, 5"),
        ({"a": (TIMES, -TIMES)}, ">= 0"),
        ({"a": (TIMES * np.nan, TIMES)}, "finite"),
    ],
)
def test_error_curves_refuse_what_does_not_fit(errors, message):
    with pytest.raises(ValueError, match=message):
        ndcn.plot.error_curves(errors)


def test_error_curves_know_median_and_mean_only():
    with pytest.raises(ValueError, match="median"):
        ndcn.plot.error_curves({"a": (TIMES, TIMES)}, centre="mode")


def test_error_curves_need_times_and_errors():
    with pytest.raises(TypeError, match="a: expected a pair"):
        ndcn.plot.error_curves({"a": TIMES})


def test_long_names_leave_room_for_the_curves() -> None:
    graph = ndcn.Graph(ndcn.networks.grid(12).to_scipy(), nodes=[f"{k}, a town in the far North" for k in range(12)])
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 5, 20))
    figure = Figure(figsize=(3.3, 2.4), layout="constrained")
    ax = ndcn.plot.trajectories(data, ax=figure.add_subplot())
    png(figure)
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().width < 0.4 * figure.bbox.width
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == 12
    assert all("…" in name for name in names)


def test_what_is_no_trajectory_is_refused() -> None:
    truth, guess = pair()
    data = [truth]
    for draw in (
        lambda: ndcn.plot.trajectories(data),
        lambda: ndcn.plot.trajectories(truth, data),
        lambda: ndcn.plot.network(data),
        lambda: ndcn.plot.heat_map(data, 0.0),
        lambda: ndcn.plot.compare(data, guess),
        lambda: ndcn.plot.error_over_time(data, truth),
    ):
        with pytest.raises(TypeError, match=r"expected an ndcn.Trajectory, got list"):
            draw()
    with pytest.raises(TypeError, match=r"expected an ndcn.Graph, got Dataset: .*data\.runs\[0\]\.graph"):
        ndcn.plot.adjacency(ndcn.Dataset((truth,)))
    with pytest.raises(TypeError, match="got DynamicsRegressor: give its history_"):
        ndcn.plot.training_curve(ndcn.DynamicsRegressor())
