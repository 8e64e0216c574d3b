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
def test_four_panels_with_gaps(dates: bool) -> None:
    figure = ndcn.plot.inspect(ndcn.read(EDGES, wide(dates)))
    assert len(figure.axes) == 4
    degrees, _, curves, seen = figure.axes
    assert sum(bar.get_height() for bar in degrees.patches) == 3
    assert curves.get_title().endswith("gaps shaded")
    assert np.isnan(np.asarray(curves.get_lines()[0].get_ydata(), dtype=float)).sum() == 1  # the line breaks at the gap
    assert seen.get_title() == "everything was observed"
    assert png(figure).std() > 0


def test_what_is_missing_is_dark() -> None:
    figure = ndcn.plot.inspect(ndcn.read(EDGES, wide(b=[1.0, np.nan, np.nan, 4, 5, 6])))
    shares = np.asarray(figure.axes[3].collections[0].get_array()).reshape(3, 6)
    assert (shares == 0).tolist() == [[False] * 6, [False, True, True, False, False, False], [False] * 6]
    assert "11.1 % missing" in figure.axes[3].get_title()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "$x_1$", "_hidden", "a\nb", "ünï", "$"])
def test_names_are_drawn_as_they_are(name: str) -> None:
    edges, states = EDGES.replace("a", name), wide().rename(columns={"a": name})
    png(ndcn.plot.inspect(ndcn.read(edges, states)))


def test_one_node_one_snapshot_and_many_nodes() -> None:
    alone = pd.DataFrame({"node": ["a"], "time": [3.0], "x": [1.0]})
    png(ndcn.plot.inspect(ndcn.read(pd.DataFrame({"source": ["a"], "target": ["a"]}), alone)))
    n = 1000
    ring = pd.DataFrame({"source": np.arange(n), "target": (np.arange(n) + 1) % n})
    states = pd.DataFrame(np.random.default_rng(0).random((500, n))).rename_axis("time")
    figure = ndcn.plot.inspect(ndcn.read(ring, states))
    assert np.asarray(figure.axes[3].collections[0].get_array()).size == 200 * 400
    png(figure)


def test_several_variables_and_shifted_times() -> None:
    long = pd.DataFrame({"node": ["a", "b"] * 3, "time": [-2, -2, -1, -1, 0, 0], "x": range(6), "y": range(6)})
    figure = ndcn.plot.inspect(ndcn.read(EDGES, long))
    assert figure.axes[2].get_xlim()[0] < -1.9
    assert {text.get_text() for text in figure.axes[1].get_legend().get_texts()} == {"x", "y"}
