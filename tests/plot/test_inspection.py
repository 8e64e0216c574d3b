"""The picture of a dataset."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ndcn
from pictures import png

EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})


def wide(dates: bool = False, **changes: object) -> pd.DataFrame:
    times = np.array([0, 1, 2, 3, 10, 11])
    clock = pd.Timestamp("2021-03-01") + pd.to_timedelta(times, "D") if dates else times
    return pd.DataFrame({"time": clock, "a": times * 1.0, "b": times * 2.0, "c": times * 3.0}).assign(**changes)


@pytest.mark.parametrize("dates", [False, True])
def test_five_panels_with_gaps(dates: bool) -> None:
    figure = ndcn.plot.inspect(ndcn.read(EDGES, wide(dates)))
    degrees, _, curves, seen, network = figure.axes
    assert sum(bar.get_height() for bar in degrees.patches) == 3
    assert curves.get_title().endswith("gaps shaded")
    assert np.isnan(np.asarray(curves.get_lines()[0].get_ydata(), dtype=float)).sum() == 1  # the line breaks at the gap
    assert seen.get_title() == "observed (light), missing (dark): 1 gap in time"
    shares = np.asarray(seen.collections[0].get_array()).reshape(3, 7)
    assert (shares == [1, 1, 1, 1, 0, 1, 1]).all()  # the gap is dark
    edges = np.asarray(seen.collections[0].get_coordinates())[0, :, 0]
    np.testing.assert_allclose(np.diff(edges), [1, 1, 1, 1, 6, 1, 1])
    assert {text.get_text() for text in network.texts} == {"a", "b", "c"}
    assert png(figure).std() > 0


def test_the_axis_of_dates_says_from_when_to_when() -> None:
    times = pd.date_range("2021-01-04", periods=80)
    states = pd.DataFrame({"time": times, **dict.fromkeys("abc", np.arange(80.0))})
    figure = ndcn.plot.inspect(ndcn.read(EDGES, states))
    png(figure)
    assert figure.axes[3].get_xlabel() == "date, 2021-01-04 to 2021-03-24"
    assert figure.axes[3].xaxis.get_offset_text().get_text() == ""
    assert figure.axes[3].get_title() == "everything was observed"


def test_irregular_times_have_no_missing_snapshots() -> None:
    times = np.random.default_rng(0).random(60).cumsum()
    states = pd.DataFrame({"time": times, **dict.fromkeys("abc", np.arange(60.0))})
    assert ndcn.plot.inspect(ndcn.read(EDGES, states)).axes[3].get_title() == "everything was observed"


def test_what_is_missing_is_dark() -> None:
    figure = ndcn.plot.inspect(ndcn.read(EDGES, wide(b=[1.0, np.nan, np.nan, 4, 5, 6])))
    shares = np.asarray(figure.axes[3].collections[0].get_array()).reshape(3, 7)
    assert shares.tolist() == [[1, 1, 1, 1, 0, 1, 1], [1, 0, 0, 1, 0, 1, 1], [1, 1, 1, 1, 0, 1, 1]]
    title = "observed (light), missing (dark): 11.1 % of the entries and 1 gap in time"
    assert figure.axes[3].get_title() == title


def test_every_variable_has_curves_and_what_is_missing_in_part_is_explained() -> None:
    long = pd.DataFrame({"node": ["a", "b"] * 5, "time": np.repeat(range(5), 2), "x": range(10), "y": range(10)})
    long.loc[3, "y"] = np.nan
    figure = ndcn.plot.inspect(ndcn.read(EDGES, long))
    assert [figure.axes[k].get_title() for k in (2, 4)] == [
        "x of 2 nodes (variable 1 of 2)",
        "y of 2 nodes (variable 2 of 2)",
    ]
    assert figure.axes[3].get_title() == "observed (light), in part (grey), missing (dark): 5 % of the entries"
    assert len(figure.axes[4].get_lines()) == 2
    png(figure)


def test_a_large_network_is_not_drawn() -> None:
    n = 3002
    ring = pd.DataFrame({"source": np.arange(n), "target": (np.arange(n) + 1) % n})
    states = pd.DataFrame(np.random.default_rng(0).random((5, n))).rename_axis("time")
    assert len(ndcn.plot.inspect(ndcn.read(ring, states)).axes) == 4


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "$x_1$", "_hidden", "a\nb", "ünï", "$"])
def test_names_are_drawn_as_they_are(name: str) -> None:
    edges, states = EDGES.replace("a", name), wide().rename(columns={"a": name})
    png(ndcn.plot.inspect(ndcn.read(edges, states)))


def test_one_node_one_snapshot_and_many_nodes() -> None:
    alone = pd.DataFrame({"node": ["a"], "time": [3.0], "x": [1.0]})
    png(ndcn.plot.inspect(ndcn.read(pd.DataFrame({"source": ["a"], "target": ["a"]}), alone)))
    n = 250
    ring = pd.DataFrame({"source": np.arange(n), "target": (np.arange(n) + 1) % n})
    states = pd.DataFrame(np.random.default_rng(0).random((500, n))).rename_axis("time")
    figure = ndcn.plot.inspect(ndcn.read(ring, states))
    assert np.asarray(figure.axes[3].collections[0].get_array()).size == 200 * 400
    png(figure)


def test_several_variables_and_shifted_times() -> None:
    long = pd.DataFrame({"node": ["a", "b"] * 3, "time": [-2, -2, -1, -1, 0, 0], "x": range(6), "y": range(6)})
    figure = ndcn.plot.inspect(ndcn.read(EDGES, long))
    assert len(figure.axes) == 6
    assert figure.axes[2].get_xlim()[0] < -1.9
    assert {text.get_text() for text in figure.axes[1].get_legend().get_texts()} == {"x", "y"}
