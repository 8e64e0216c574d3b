"""Figures of many panels: what lies where, on which scale, and what is marked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import ndcn
from pictures import pair, png, steady


def test_compare_shows_truth_prediction_and_difference():
    truth, guess = pair()
    figure = ndcn.plot.compare(truth, guess, times=[0.0, 1.01, 2.0], label="NDCN")[0, 0].figure
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
    assert sum(bool(ax.images) for ax in ndcn.plot.compare(truth, guess)[0, 0].figure.axes) == 18
    assert sum(bool(ax.images) for ax in ndcn.plot.compare(truth[:2], guess[:2])[0, 0].figure.axes) == 6


def test_compare_marks_the_end_of_the_training_window():
    truth, guess = pair()
    marked = ndcn.plot.compare(truth, guess, train_until=1.1)[0, 0].figure
    assert [text.get_text() for text in marked.texts] == ["after training →"]
    assert len(marked.artists) == 1
    assert not ndcn.plot.compare(truth, guess, train_until=2.0)[0, 0].figure.texts
    assert not ndcn.plot.compare(truth[1:], guess[1:], train_until=0.1)[0, 0].figure.artists


def test_compare_draws_missing_entries_and_equal_trajectories():
    truth, _ = pair()
    mask = torch.ones(11, 23, dtype=torch.bool)
    mask[0], mask[5, 3] = False, False
    seen = ndcn.Trajectory(times=truth.times, states=truth.states, graph=truth.graph, mask=mask)
    assert png(ndcn.plot.compare(seen, truth)[0, 0].figure).std() > 0
    assert png(ndcn.plot.compare(truth, truth)[0, 0].figure).std() > 0


def test_compare_takes_a_feature_by_name_or_position():
    truth, guess = pair(features=["prey", "predator"])
    by_name, by_place = (ndcn.plot.compare(truth, guess, feature=f)[0, 0].figure for f in ("predator", 1))
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


def test_an_exploding_prediction_does_not_blank_the_truth():
    truth, _ = pair()
    figure = ndcn.plot.compare(truth, steady(1e9, truth))[0, 0].figure
    assert figure.axes[0].images[0].get_clim()[1] < 1.01
    assert any("clipped" in ax.get_ylabel() for ax in figure.axes)


# panels ---------------------------------------------------------------------------------------------------------


def networks(*names: str, n: int = 9) -> tuple[dict[str, ndcn.Trajectory], dict[str, ndcn.Trajectory]]:
    pairs = {name: pair(n) for name in names}
    return {name: two[0] for name, two in pairs.items()}, {name: two[1] for name, two in pairs.items()}


def words(figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("kind", ["surface", "heat_map"])
@pytest.mark.parametrize("matrices", [True, False])
def test_panels_have_a_column_for_each_network(kind, matrices):
    truths, guesses = networks("grid", "small_world")
    figure = ndcn.plot.panels(truths, guesses, kind=kind, matrices=matrices, label="NDCN", title="Heat")
    assert len(figure.axes) == 2 * (matrices + 3 * 2 + 1)
    shown = words(figure)
    assert [word in shown for word in ("Heat", "grid", "small world", "network")] == [True, True, True, matrices]
    assert (shown.count("truth"), shown.count("NDCN")) == (3, 3)
    assert [shown.count(f"t = {t}") for t in (0, 1, 2)] == [2, 2, 2]
    assert png(figure).std() > 0


@pytest.mark.parametrize("count", [1, 3, 5])
def test_panels_fit_on_a_page(count):
    truths, guesses = networks(*"abcde"[:count])
    for kind in ("surface", "heat_map"):
        figure = ndcn.plot.panels(truths, guesses, kind=kind, title="one page")
        width, height = figure.get_size_inches()
        assert width <= 7.21
        assert height <= 11
        assert min(text.get_fontsize() for text in figure.texts) >= 7
        assert all(tick.get_fontsize() >= 7 for ax in figure.axes for tick in ax.get_xticklabels())


def test_truth_and_prediction_of_a_network_share_the_scale_of_the_truth():
    truths, guesses = networks("a", "b")
    truths["b"], guesses["b"] = steady(3.0, truths["b"]), steady(1e6, truths["b"])
    figure = ndcn.plot.panels(truths, guesses, kind="heat_map", matrices=False)
    norms = [ax.images[0].norm for ax in figure.axes if ax.images]
    first, second = set(norms[:6]), set(norms[6:])
    assert len(first) == len(second) == 1
    assert second.pop().vmax == 3.5
    shown = truths["a"].states[[0, 5, 10]]
    assert first.pop().vmax == pytest.approx(shown.max().item())
    assert [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()] == ["x\nclipped outside"] * 2


def test_surfaces_share_scale_and_height():
    truths, guesses = networks("a")
    figure = ndcn.plot.panels(truths, guesses, matrices=False)
    surfaces = [ax for ax in figure.axes if ax.name == "3d"]
    assert len(surfaces) == 6
    assert len({ax.collections[0].norm for ax in surfaces}) == 1
    assert len({ax.get_zlim() for ax in surfaces}) == 1


def test_times_after_training_are_marked():
    truths, guesses = networks("a", "b", "c")
    figure = ndcn.plot.panels(
        truths, guesses, times=[0.0, 1.0, 1.4, 2.0], train_until={"a": 1.0, "b": None}, kind="heat_map"
    )
    marked = [text for text in words(figure) if "extrapolation" in text]
    assert marked == ["t = 1.4, extrapolation", "t = 2, extrapolation"]
    assert sum(isinstance(artist, Rectangle) for artist in figure.artists + figure.patches) == 2


def test_shares_are_of_each_network_own_time_span():
    truths, guesses = networks("a", "b")
    for side in (truths, guesses):
        slow = side["b"]
        side["b"] = ndcn.Trajectory(times=10 * slow.times, states=slow.states, graph=slow.graph)
    figure = ndcn.plot.panels(truths, guesses, shares=[0.0, 0.5], kind="heat_map")
    assert [text for text in words(figure) if text.startswith("t =")] == ["t = 0", "t = 1", "t = 0", "t = 10"]


def test_long_labels_take_two_lines():
    truths, guesses = networks("a")
    assert "a model with a\nlong name" in words(ndcn.plot.panels(truths, guesses, label="a model with a long name"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "bars"}, "surface"),
        ({"shares": []}, "at least one"),
        ({"shares": [0.5, 2.0]}, "between 0 and 1"),
        ({"times": [float("nan")]}, "finite"),
        ({"times": []}, "at least one"),
        ({"train_until": {"z": 1.0}}, "'z'"),
        ({"truths": {}, "predictions": {}}, "nothing to draw"),
        ({"predictions": {}}, "same names"),
        ({"feature": 3}, "feature 3"),
    ],
)
def test_panels_refuse_what_does_not_fit(change, message):
    truths, guesses = networks("a")
    arguments = {"truths": truths, "predictions": guesses, **change}
    with pytest.raises(ValueError, match=message):
        ndcn.plot.panels(**arguments)


def test_panels_refuse_other_times_and_too_few_nodes():
    truths, guesses = networks("a")
    with pytest.raises(ValueError, match=r"a is .* same times"):
        ndcn.plot.panels(truths, {"a": guesses["a"][:3]})
    small = networks("a", n=3)
    with pytest.raises(ValueError, match="heat map"):
        ndcn.plot.panels(*small)
    assert ndcn.plot.panels(*small, kind="heat_map").axes


def test_compare_draws_into_axes_that_are_given():
    truth, guess = pair()
    figure = Figure(figsize=(3.4, 3.6), layout="constrained")
    axes = figure.subplots(3, 2)
    assert ndcn.plot.compare(truth, guess, [0.0, 2.0], train_until=1.0, ax=axes).tolist() == axes.tolist()
    assert [panel.get_title() for panel in axes[0]] == ["t = 0", "t = 2\nafter training"]
    np.testing.assert_allclose(axes[2, 1].images[0].get_array().compressed(), 0.5, rtol=1e-5)
    assert axes[0, 0].images[0].norm is axes[1, 1].images[0].norm
    assert len(figure.axes) == 8
    assert png(figure).std() > 0
    with pytest.raises(ValueError, match=r"subplots\(3, 3\)"):
        ndcn.plot.compare(truth, guess, [0.0, 1.0, 2.0], ax=axes)
