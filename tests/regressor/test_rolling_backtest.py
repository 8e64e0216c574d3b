"""ndcn.backtest: every kind of model at past origins, beside persistence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from commands import output, parsed, refused
from ndcn import DynamicsRegressor, Graph, Trajectory, backtest
from ndcn._support.registries import MODELS
from ndcn.data import Calendar

GRAPH = ndcn.networks.grid(9)
HEAT = ndcn.simulate(ndcn.laws.Heat(), GRAPH, ndcn.laws.initial_state(GRAPH), ndcn.sampling.regular_times(2.0, 24))
TRAINED = {"epochs": 2}
SETTINGS = {name: TRAINED for name in MODELS if name.endswith("gnn") or name.startswith("no_") or name == "ndcn"}


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("interaction", "free_form")])
def test_every_kind_of_model(model: str) -> None:
    found = backtest(HEAT, model, origins=1, horizon=2, **SETTINGS.get(model, {}))
    assert found.model == model
    assert found.errors.shape == (1, 2, 1)
    assert np.isfinite(found.errors).all()


def test_errors_by_hand() -> None:
    reg = DynamicsRegressor("linear")
    found = backtest(HEAT, reg, origins=3, horizon=4)
    assert "fitted_" not in vars(reg)
    assert found.origins.tolist() == [HEAT.times[k].item() for k in (11, 15, 19)]
    real = HEAT.states[16:20].double()
    guess = DynamicsRegressor("linear").fit(HEAT[:16]).predict(HEAT.times[16:20]).states.double()
    assert found.errors[1, :, 0] == pytest.approx((guess - real).abs().mean(dim=(1, 2)).numpy())
    assert found.persistence[1, :, 0] == pytest.approx((HEAT.states[15].double() - real).abs().mean(dim=(1, 2)).numpy())
    assert found.ratio == pytest.approx(found.errors.sum() / found.persistence.sum())
    assert backtest(HEAT, "persistence", origins=3, horizon=4).ratio == pytest.approx(1.0)
    table = found.to_pandas()
    assert list(table) == ["origin", "steps", "time", "feature", "error", "persistence", "ratio"]
    assert table["error"].tolist() == found.errors.reshape(-1).tolist()
    assert found.to_pandas("horizon")["error"].tolist() == pytest.approx(found.errors.mean(axis=(0, 2)).tolist())
    for shown in (str(found), repr(found), found._repr_html_()):
        assert "linear, 3 origins" in shown
        assert f"{found.errors[:, 0].mean():.4g}" in shown
    with pytest.raises(ValueError, match="by must be"):
        found.to_pandas("node")


def test_a_law_and_its_settings() -> None:
    law = DynamicsRegressor(ndcn.laws.Heat(k=None), seed=3)
    assert backtest(HEAT, law, origins=1, horizon=3).ratio < 0.1
    assert backtest(HEAT, ndcn.forecast.Auto(horizon=1), origins=1, horizon=3).horizon == 3


def _dated(states: Any, **more: Any) -> ndcn.Dataset:
    pair = Graph.from_edges([("a", "b")])
    run = Trajectory(times=np.arange(len(states), dtype=float), states=states, graph=pair, **more)
    return ndcn.Dataset((run,), calendar=Calendar("2021-03-01"))


def test_dates_missing_values_and_several_features() -> None:
    states = torch.arange(40.0).reshape(10, 2, 2).double()
    seen = torch.ones_like(states, dtype=torch.bool)
    seen[5:, 0, 1], seen[8] = False, False
    data = _dated(states, mask=seen, features=["cases", "deaths"])
    found = backtest(data, "linear", origins=["2021-03-06", pd.Timestamp("2021-03-05")], horizon=4)
    table = found.to_pandas()
    assert table["origin"].unique().tolist() == [pd.Timestamp("2021-03-05"), pd.Timestamp("2021-03-06")]
    assert table["time"].iloc[0] == pd.Timestamp("2021-03-06")
    assert found.persistence[1, :, 0].tolist() == pytest.approx([4, 8, np.nan, 16], nan_ok=True)
    assert found.persistence[1, 0, 1] == 4.0  # of the second node alone
    assert "2021-03-05 to 2021-03-06" in str(found)
    assert found.to_json()["errors"][1][2] == [None, None]
    with pytest.raises(ValueError, match="times from 2021-03-03 to 2021-03-06; got"):
        backtest(data, "linear", origins=["2021-03-09"], horizon=4)


def test_failures_are_listed_unless_all_fail() -> None:
    states = torch.rand(20, 2).double()
    seen = torch.ones_like(states, dtype=torch.bool)
    seen[:12, 0] = False
    data = _dated(states, mask=seen)
    with pytest.warns(UserWarning, match="failed at 1 of 2 origins: failed at 2021-03-10"):
        found = backtest(data, "linear", origins=2, horizon=2)
    assert np.isnan(found.errors[0]).all()
    assert np.isfinite(found.errors[1]).all()
    assert "has no curve for node 'a'" in str(found)
    with pytest.raises(ValueError, match="failed at every origin; the last time: linear has no curve"):
        backtest(data, "linear", origins=["2021-03-06"], horizon=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": 22}, "too few for a backtest 22 steps ahead, which needs 25"),
        ({"horizon": 0}, "horizon must be a whole number >= 1"),
        ({"origins": 0}, "origins must be a whole number >= 1"),
        ({"epochs": 5}, "`linear` does not use `epochs`"),
        ({"model": "nothing"}, "unknown model 'nothing'"),
    ],
)
def test_wrong_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        backtest(HEAT, **{"model": "linear", **settings})


def test_a_graph_that_changes_is_followed() -> None:
    other = Graph.from_edges([(0, 8)], num_nodes=9)
    graphs = ndcn.GraphSequence([0.0, 0.5], [GRAPH, other])
    found = backtest(ndcn.Dataset((HEAT,), graphs=graphs), "ndcn", origins=1, horizon=2, epochs=2)
    assert np.isfinite(found.errors).all()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cid\n")
    rows = "".join(f"2021-03-{k:02d},{k},{2 * k},{30 - k}\n" for k in range(1, 21))
    (tmp_path / "states.csv").write_text("date,ann,bob,cid\n" + rows)
    words = ["backtest", "edges.csv", "states.csv", "--model", "linear", "--horizon", 3, "--origins", 2]
    said = output(*words, "--out", "errors.csv")
    assert "linear, 2 origins from 2021-03-10 to 2021-03-17: 100 % less than persistence" in said
    assert pd.read_csv("errors.csv")["origin"].tolist() == ["2021-03-10"] * 3 + ["2021-03-17"] * 3
    told = parsed(*words)
    assert told["origin_dates"] == ["2021-03-10", "2021-03-17"]
    assert np.shape(told["errors"]) == (2, 3, 1)
    assert "does not use `epochs`" in refused(*words, "--epochs", 3)


def test_several_processes_find_the_same() -> None:
    one, two = (backtest(HEAT, "ndcn", origins=3, horizon=2, epochs=3, processes=jobs) for jobs in (1, 2))
    assert np.array_equal(one.errors, two.errors)
    assert one.failures == two.failures == ()
