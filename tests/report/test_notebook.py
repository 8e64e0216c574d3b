from __future__ import annotations

import pandas as pd
import pytest
import torch

import ndcn
import pages

BAD = "<script>alert(1)</script>"


def test_a_graph_shows_nodes_edges_and_degrees() -> None:
    text = ndcn.Graph.from_edges([(BAD, "b"), ("b", "c", 2.0)])._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "2, undirected, weighted" in text
    assert "1 to 3, mean 2" in text


def test_many_nodes_are_cut() -> None:
    text = ndcn.networks.grid(400)._repr_html_()
    assert "400 (0, 1, 2, " in text
    assert len(text) < 600
    long = ndcn.Graph.from_edges([("x" * 500, "y" * 500)])._repr_html_()
    assert len(long) < 600


def test_a_trajectory_shows_ranges_and_what_is_missing() -> None:
    graph = ndcn.networks.grid(2)
    states = torch.tensor([[[1.0, 0.0], [2.0, 0.0]], [[3.0, 0.0], [4.0, 0.0]]])
    mask = torch.tensor([True, False]).expand(2, 2, 2)
    text = ndcn.Trajectory(times=[0.0, 1.5], states=states, graph=graph, mask=mask, features=[BAD, "w"])._repr_html_()
    assert "<script" not in text
    assert "2, from 0 to 1.5" in text
    assert "1 to 4" in text
    assert "never observed" in text
    assert "50 %" in text
    wide = ndcn.Trajectory(times=[0.0], states=torch.zeros(1, 2, 30), graph=graph)._repr_html_()
    assert "30 features in all" in wide


def test_a_dataset_shows_runs_dates_and_what_is_missing() -> None:
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    states = pd.DataFrame({"date": ["2021-03-01", "2021-03-02", "2021-03-04"], "a": [1, 2, 3.0], "b": [5, None, 7]})
    data = ndcn.read(edges, states)
    text = data._repr_html_()
    for words in ("3, from 2021-03-01 to 2021-03-04", "t in days from", "2 nodes, 1 edges", "1 to 7", "16.7 %"):
        assert words in text
    plain = ndcn.Trajectory(times=[0.0, 1.5], states=torch.ones(2, 2), graph=data.runs[0].graph, features=[BAD])
    text = ndcn.Dataset((plain, plain))._repr_html_()
    assert "<script" not in text
    assert "4 in 2 runs, from 0 to 1.5" in text
    assert "missing" not in text


def test_a_model_shows_what_it_learned() -> None:
    reg, _ = pages.hostile()
    shown = reg._repr_mimebundle_()
    assert shown["text/plain"] == repr(reg)
    assert "<b>v" not in shown["text/html"]
    assert "ndcn, " in shown["text/html"]
    assert "after 5 epochs" in shown["text/html"]
    reg, _ = pages.law()
    assert "<pre>dx_i/dt = " in reg._repr_mimebundle_()["text/html"]
    assert "3 members of " in pages.ensemble()._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("model", ["ndcn", "interaction"])
def test_before_fit_it_is_scikit_learns(model: str) -> None:
    assert "DynamicsRegressor" in ndcn.DynamicsRegressor(model)._repr_mimebundle_()["text/html"]


def test_result_tables_show_themselves() -> None:
    from ndcn.experiments.layout import Grid
    from ndcn.forecast.network_test import NetworkTest
    from ndcn.forecast.table import Table

    past = Table((1, 3), ((BAD, "guess", (0.5, None)), ("drift", "guess", (0.25, 1.0))), ("drift", "drift"))
    test = NetworkTest((1,), (1.0,), (0.9,), (0.8,), ((0.85,), (0.95,)), 0)
    errors = Grid("heat", ["grid"], [("heat", BAD, [("1.00", "4.10")])], ["a note"], ["a summary"])
    for shown, words in (
        (past, ["<td ...>0.500</td>", "<td ...>–</td>", "best: drift (1, 3)"]),
        (test, ["<td ...>0.8000</td>", "11.11", "The network"]),
        (errors, ["<td ...>1.00 (4.10)</td>", "a note", "a summary"]),
    ):
        text = shown._repr_html_()
        assert "<script" not in text
        for word in words:
            assert word.replace("...", 'style="text-align:right"') in text
    assert past.to_pandas().isna().to_numpy().tolist() == [[False, True], [False, False]]
    assert errors.to_pandas().loc[("heat", BAD), "grid"] == "1.00 (4.10)"
    assert len(ndcn.plot.table(past, best="min").texts) == 2 + 2 * 3


def test_a_forecast_shows_what_was_kept_and_the_table() -> None:
    import numpy as np

    from ndcn import forecast

    t = np.arange(40.0)
    states = np.sin(t / 5)[:, None] + np.linspace(0, 3, 9)
    data = ndcn.Trajectory(times=t, states=states, graph=ndcn.networks.grid(9), features=[BAD])
    found = forecast.auto(data, horizon=3, progress=False)
    text = found._repr_html_()
    assert "<script" not in text
    assert "3 steps of 1 after t = 39" in text
    assert found.table._repr_html_() in text


def test_a_model_without_a_law_can_be_looked_into() -> None:
    reg = pages.ensemble()
    assert not hasattr(reg, "law_")
    assert "predict" in dir(reg)
    assert reg._repr_html_() == reg._repr_mimebundle_()["text/html"]
    assert "DynamicsRegressor" in ndcn.DynamicsRegressor()._repr_html_()
    with pytest.raises(ValueError, match="has no law to read"):
        reg.law_  # noqa: B018
