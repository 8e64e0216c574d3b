"""The network as dots and lines: what is coloured how, what is drawn at which place, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

import ndcn
from pictures import pair, png


def test_nodes_have_the_colour_of_their_state():
    truth, _ = pair()
    own = Figure().add_subplot()
    assert ndcn.plot.network(truth, 0.4, ax=own) is own
    lines, dots = own.collections
    np.testing.assert_allclose(dots.get_array(), truth.states[2, :, 0])
    assert len(lines.get_segments()) == truth.graph.num_edges
    assert own.get_title() == "t = 0.4"
    assert ndcn.plot.network(truth).get_title() == "t = 2"
    new = ndcn.plot.network(truth, scale=Normalize(0.2, 0.4))
    assert "clipped" in new.figure.axes[0].get_ylabel()
    assert png(new.figure).std() > 0


def test_links_end_at_their_nodes():
    graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
    where = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    ax = ndcn.plot.network(graph, positions=where, labels=True)
    segments = {tuple(map(tuple, segment)) for segment in ax.collections[0].get_segments()}
    assert segments == {((0.0, 0.0), (1.0, 0.0)), ((1.0, 0.0), (1.0, 2.0))}
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), where)
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]


def test_groups_have_a_legend_and_missing_nodes_are_grey():
    truth, _ = pair()
    ax = ndcn.plot.network(truth.graph, values=[k < 5 for k in range(23)])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["False", "True"]
    assert [len(dots.get_offsets()) for dots in ax.collections[1:]] == [18, 5]
    mask = torch.ones_like(truth.states, dtype=torch.bool)
    mask[-1, :4] = False
    gaps = ndcn.Trajectory(times=truth.times, states=truth.states, graph=truth.graph, mask=mask)
    assert [len(dots.get_offsets()) for dots in ndcn.plot.network(gaps).collections[1:]] == [4, 19]


def test_many_links_are_thinned_and_a_lonely_graph_is_drawn():
    graph = ndcn.networks.random(400, p=0.5, seed=0, order=None)
    assert graph.num_edges > 30_000
    ax = ndcn.plot.network(graph, positions=np.random.default_rng(0).random((400, 2)))
    assert len(ax.collections[0].get_segments()) == 30_000
    assert ndcn.plot.network(ndcn.networks.grid(1)).collections[1].get_offsets().shape == (1, 2)


def test_what_does_not_fit_is_refused():
    truth, _ = pair()
    for arguments, words in (
        ({"values": [1, 2]}, "each of 23 nodes"),
        ({"values": [str(k) for k in range(23)]}, "at most 9 groups"),
        ({"labels": ["nobody"]}, "no node 'nobody'"),
        ({"positions": np.zeros((3, 2))}, r"shape \(23, 2\)"),
        ({"time": 1.0, "values": range(23)}, "a time needs states"),
        ({"time": float("nan")}, "finite"),
        ({"feature": "y"}, "unknown feature"),
    ):
        with pytest.raises(ValueError, match=words):
            ndcn.plot.network(truth, **arguments)
    with pytest.raises(ValueError, match="a time needs states"):
        ndcn.plot.network(truth.graph, 1.0)


def test_nodes_lie_where_the_graph_says() -> None:
    graph = ndcn.networks.grid(4).with_positions([[0, 0], [3, 0], [0, 1], [3, 1]])
    where = np.asarray(ndcn.plot.network(graph).collections[-1].get_offsets())
    assert where[1, 0] - where[0, 0] == pytest.approx(3 * (where[2, 1] - where[0, 1]))
    assert where[2, 1] > where[0, 1]
