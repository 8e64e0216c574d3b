"""Values of nodes, drawn."""

import numpy as np
import pandas as pd
import pytest

import ndcn

GRAPH = ndcn.networks.grid(9)
TABLE = pd.DataFrame({"b_i": np.arange(9.0), "K_i": np.ones(9), "b_i error": 0.1, "K_i error": 0.2})


def test_a_row_for_each_value() -> None:
    axes = ndcn.plot.node_values(TABLE, graph=GRAPH)
    assert axes.shape == (2, 2)
    assert [ax.get_ylabel() for ax in axes[:, 1]] == ["$b_i$", "$K_i$"]
    line = axes[0, 1].lines[0]
    np.testing.assert_allclose(line.get_ydata(), TABLE["b_i"])
    np.testing.assert_allclose(line.get_xdata(), GRAPH.degrees.numpy())


def test_against_an_attribute_in_given_axes() -> None:
    first = ndcn.plot.node_values(TABLE[["b_i", "b_i error"]], graph=GRAPH)
    again = ndcn.plot.node_values(
        TABLE[["b_i", "b_i error"]], np.arange(9.0) ** 2, name="population", graph=GRAPH, ax=first
    )
    assert again[0, 1].get_xlabel() == "population"


def test_what_cannot_be_drawn_is_said() -> None:
    class Alike:
        node_values_ = None

    with pytest.raises(ValueError, match="same at every node"):
        ndcn.plot.node_values(Alike())
    with pytest.raises(ValueError, match="graph=graph"):
        ndcn.plot.node_values(TABLE)
    with pytest.raises(ValueError, match="9 nodes, the graph 4"):
        ndcn.plot.node_values(TABLE, graph=ndcn.networks.grid(4))
    with pytest.raises(ValueError, match="a number for each"):
        ndcn.plot.node_values(TABLE, [1.0], graph=GRAPH)
    with pytest.raises(ValueError, match="need 4 axes"):
        ndcn.plot.node_values(TABLE, graph=GRAPH, ax=ndcn.plot.node_values(TABLE, graph=GRAPH)[0])
