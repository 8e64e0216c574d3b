"""reg.evaluate and ndcn evaluate: persistence as yardstick, MASE, CRPS, coverage, errors by horizon, common nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from commands import output, parsed
from ndcn import DynamicsRegressor, Graph, Trajectory, metrics

GRAPH = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
STATES = torch.from_numpy(np.cumsum(np.random.default_rng(0).normal(size=(40, 4)), axis=0)[..., None])
DATA = Trajectory(times=np.arange(40.0), states=STATES, graph=GRAPH)


@pytest.fixture(scope="module")
def auto() -> DynamicsRegressor:
    return DynamicsRegressor(model=ndcn.forecast.Auto(horizon=6)).fit(DATA[:34])


def test_a_forecast_beside_persistence(auto: DynamicsRegressor) -> None:
    found = auto.evaluate(DATA)
    assert list(found.parts) == ["extrapolation"]
    part, real, guess = found.parts["extrapolation"], DATA[34:], auto.predict()
    still = Trajectory(times=real.times, states=STATES[33].expand(6, -1, -1), graph=GRAPH)
    assert part["l1"] == pytest.approx(metrics.l1(guess, real))
    assert part["persistence"] == pytest.approx(metrics.l1(still, real))
    assert part["ratio"] == pytest.approx(part["l1"] / part["persistence"])
    assert part["mase"] == pytest.approx(metrics.mase(guess, real, DATA[:34]))
    assert part["coverage_50"] == pytest.approx(metrics.coverage(*auto.intervals(level=0.5), real))
    assert part["coverage_90"] == pytest.approx(metrics.coverage(*auto.intervals(level=0.9), real))
    assert part["coverage_50"] <= part["coverage_90"]
    assert 0 < part["crps"] < part["l1"]
    assert [row["steps"] for row in found.by_horizon] == [1, 2, 3, 4, 5, 6]
    assert np.mean([row["l1"] for row in found.by_horizon]) == pytest.approx(part["l1"])
    assert found.by_horizon[0]["persistence"] == pytest.approx((STATES[34] - STATES[33]).abs().mean().item())
    assert found.to_pandas().loc["extrapolation", "snapshots"] == 6
    assert found.to_pandas("horizon")["time"].tolist() == real.times.tolist()
    assert "steps ahead" in str(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(ValueError, match="by must be"):
        found.to_pandas("node")


def test_persistence_holds_the_last_value_trained_on() -> None:
    kept = [0, 1, 2, 3, 5, 6, 8, 9]
    found = DynamicsRegressor("linear").fit(DATA[kept]).evaluate(DATA[:12])
    expected = (STATES[[4, 7]] - STATES[[3, 6]]).abs().mean().item()
    assert found.parts["interpolation"]["persistence"] == pytest.approx(expected)
    assert found.parts["interpolation"]["crps"] is None
    assert found.parts["extrapolation"]["persistence"] == pytest.approx((STATES[10:12] - STATES[9]).abs().mean().item())
    assert found.parts["train"]["l1"] == pytest.approx(0.0, abs=1e-6)
    assert [row["steps"] for row in found.by_horizon] == [1, 2]


def test_a_law_knows_the_data_that_it_was_found_in(tmp_path: Path) -> None:
    """Its initial state is estimated, and is not that of the data."""
    graph = ndcn.networks.grid(9)
    clean = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(1.0, 12))
    noise = 0.3 * torch.randn(clean.states.shape, generator=torch.Generator().manual_seed(0))
    data = Trajectory(times=clean.times, states=clean.states + noise, graph=graph)
    reg = DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(data[:10])
    assert not torch.allclose(reg.train_[0].x0, data.states[0])
    reg.save(tmp_path / "law.ndcn")
    for model in (reg, ndcn.load(tmp_path / "law.ndcn", model=ndcn.laws.Heat(k=None))):
        found = model.evaluate(data)
        assert [found.parts[name]["snapshots"] for name in ("train", "extrapolation")] == [10, 2]
        assert found.notes == ()
        assert found.parts["extrapolation"]["coverage_90"] is not None


def _files(folder: Path, days: int, names: list[str]) -> list[str]:
    table = pd.DataFrame({"date": pd.date_range("2021-03-01", periods=days)})
    values = np.cumsum(np.random.default_rng(1).normal(size=(40, 26)), axis=0)[:days]
    for name in names:
        table[name] = values[:, ord(name) - ord("a")]
    pd.DataFrame({"source": names[:-1], "target": names[1:]}).to_csv(folder / "edges.csv", index=False)
    table.to_csv(folder / "states.csv", index=False)
    return ["edges.csv", "states.csv"]


@pytest.mark.parametrize("model", ["auto", "ndcn"])
def test_nodes_that_only_one_side_has_are_named(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    more = [] if model == "auto" else ["--epochs", 2, "--extrapolation", 0, "--interpolation", 0]
    output("fit", *_files(tmp_path, 30, list("abcd")), "--model", model, *more)
    _files(tmp_path, 34, list("dbcxy"))  # another order, a gone, x and y new
    said = " ".join(output("evaluate", "model.ndcn", "edges.csv", "states.csv").split())
    assert "2 nodes of the data are unknown to the model and left out: 'x', 'y'" in said
    assert "1 node of the model is not in the data: 'a'" in said
    assert "2021-03-31" in said
    told = parsed("evaluate", "model.ndcn", "edges.csv", "states.csv")
    assert told["extrapolation"]["snapshots"] == 4
    assert told["by_horizon"][0]["date"] == "2021-03-31"
    data, reg = ndcn.read("edges.csv", "states.csv"), ndcn.load("model.ndcn")
    truth = data.trajectory[-4:]
    guess = reg.predict(truth.to_pandas("wide").index).to_pandas("wide")
    error = (guess - truth.to_pandas("wide"))[["b", "c", "d"]].abs().to_numpy().mean()
    assert told["extrapolation"]["l1"] == pytest.approx(error)
    assert (
        "unknown to the model"
        in output("report", "model.ndcn", "edges.csv", "states.csv") + Path("report.html").read_text()
    )
    with pytest.raises(
        ValueError, match="no node is in both: the model has 'a', 'b', 'c', 'd', the data have 'x', 'y'"
    ):
        reg.evaluate(ndcn.read(*_files(tmp_path, 34, list("xy"))))


def test_crps_of_small_counts_is_that_of_quantiles() -> None:
    """Ends of intervals are whole numbers, rounded outwards: taken for quantiles, they make CRPS larger than the error itself."""
    counts = np.random.default_rng(0).poisson(0.15, size=(70, 30)).astype(float)
    data = Trajectory(times=np.arange(70.0), states=counts, graph=ndcn.networks.small_world(30, seed=0))
    model = DynamicsRegressor(model=ndcn.forecast.Auto(horizon=6)).fit(data[:64])
    part = model.evaluate(data).parts["extrapolation"]
    assert part["crps"] < part["l1"]
    low, high = model.forecast_.intervals([65.0], 0.5, whole=False)
    shown = model.intervals([65.0], level=0.5)
    assert (shown[0].states <= low.states + 1e-6).all()
    assert (shown[1].states >= high.states - 1e-6).all()
