"""DynamicsRegressor(model="auto") where a law explains the data: all that a law can do, and the steps ahead unasked."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import ndcn
from ndcn import Dataset, DynamicsRegressor, GraphSequence, Trajectory, forecast, laws, networks
from ndcn.forecast import Auto
from ndcn.regressor.kind import Stored
from ndcn.regressor.kinds import chosen_law

GRAPH = networks.grid(25)
TIMES = np.linspace(0, 3, 40)
CLEAN = ndcn.simulate(laws.Gene(), GRAPH, laws.initial_state(GRAPH), TIMES)
NOISE = torch.randn(CLEAN.states.shape, generator=torch.Generator().manual_seed(0))
DATA = CLEAN.replaced(states=CLEAN.states * (1 + 0.01 * NOISE))
COUNTS = (
    np.random.default_rng(0).poisson(4e3 * np.exp(np.sin(TIMES / 8))[:, None] * np.linspace(1, 3, 25)).astype(float)
)
WITHOUT = Trajectory(times=TIMES, states=COUNTS, graph=GRAPH)
AHEAD = [3.1, 3.5]


@pytest.fixture(scope="module")
def reg() -> DynamicsRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return DynamicsRegressor(model="auto").fit(DATA)


def test_it_is_the_law_that_interaction_finds(reg: DynamicsRegressor) -> None:
    same = DynamicsRegressor(model="interaction").fit(DATA)
    assert str(reg.equations()) == str(same.equations())
    assert torch.equal(reg.predict(AHEAD).states, same.predict(AHEAD).states)
    assert torch.equal(reg.predict([0.5]).states, same.predict([0.5]).states)  # before the last snapshot, too
    (low, high), (lower, upper) = (
        [end.states for end in one.intervals(AHEAD, 0.8)] for one in (same, reg)
    )  # of states, and of observations
    assert (lower < low).all()
    assert (high < upper).all()


def test_it_says_which_and_why(reg: DynamicsRegressor) -> None:
    assert reg.choice_.law
    assert str(reg.choice_).startswith("A law explains the data to their noise: found from the first 30 snapshots, it")
    assert reg.evidence_.reason == reg.choice_.sentence
    assert reg.fitted_.can.law
    facts = reg.fitted_.facts()
    assert facts["choice"]["law"] is True
    assert facts["horizon"] == 10
    assert "--no-law" in reg.fitted_.summary()
    with pytest.raises(AttributeError, match=r"a law, no forecast by backtest; forecast.Auto\(law=False\)"):
        _ = reg.forecast_


def test_unasked_it_predicts_the_steps_after_the_last_snapshot(reg: DynamicsRegressor) -> None:
    step = 3 / 39
    assert reg.predict().times.tolist() == pytest.approx([3 + step * k for k in range(1, 11)])
    assert len(reg.table()) == 10 * 25
    assert {"x_lower", "x_upper"} <= set(reg.table())
    far = DynamicsRegressor(model=Auto(horizon=30)).fit(CLEAN)
    assert len(far.predict()) == 30  # a law goes further than half of the data
    truth = ndcn.simulate(laws.Gene(), GRAPH, laws.initial_state(GRAPH), np.append(0.0, far.predict().times))
    assert torch.allclose(far.predict().states.double(), truth.states[1:].double(), rtol=1e-4)


def test_what_a_law_can_do(reg: DynamicsRegressor, tmp_path: Path) -> None:
    assert reg.what_if("remove 3", AHEAD).states.isnan().any()
    other = networks.grid(16)
    x0 = laws.initial_state(other)
    truth = ndcn.simulate(laws.Gene(), other, x0, [0.0, 1.0])
    there = reg.predict([1.0], graph=other, x0=x0)
    assert ndcn.metrics.normalized_l1(there, truth[1:]) < 0.02
    assert reg.law_ is not None
    assert "Identified law" in _page(reg, tmp_path / "a.html", None)
    assert "A law explains the data" in _page(reg, tmp_path / "b.html", DATA)
    assert "text/html" in reg._repr_mimebundle_()
    assert ndcn.plot.forecast(reg, nodes=[0]) is not None


def _page(reg: DynamicsRegressor, path: Path, data: Trajectory | None) -> str:
    reg.report(path, data)
    return path.read_text()


def test_groups_say_what_to_do(reg: DynamicsRegressor) -> None:
    with pytest.raises(ValueError, match=r"fit one with forecast.Auto\(law=False\)"):
        reg.table(groups={0: "north"})


@pytest.mark.parametrize("model", ["auto", pytest.param(Auto(horizon=4, seconds=20), marks=pytest.mark.slow)])
def test_files(tmp_path: Path, model: str | Auto) -> None:
    before = DynamicsRegressor(model=model).fit(DATA)
    before.save(tmp_path / "m")
    after = ndcn.load(tmp_path / "m")
    assert after.model == model
    assert after.choice_ == before.choice_
    assert after.fitted_.notes == before.fitted_.notes
    assert str(after.equations()) == str(before.equations())
    assert torch.equal(after.predict().times, before.predict().times)
    for ask in (None, AHEAD):
        assert torch.equal(after.predict(ask).states, before.predict(ask).states)
    for mine, other in zip(after.intervals(), before.intervals(), strict=True):
        assert torch.equal(mine.states, other.states)
    assert ndcn.plot.forecast(after, nodes=[0]) is not None
    after.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("noise", [[[0.1]], [[-1.0], [0.0]], [[0.1, 0.1], [0.0, 0.0]], [[float("inf")], [0.0]]])
def test_noise_of_a_file_is_checked(reg: DynamicsRegressor, noise: list[list[float]]) -> None:
    about, tensors = reg.fitted_.state()
    stored = Stored({**about, "noise": noise}, tensors, reg.fitted_.initial)
    with pytest.raises(ValueError, match="noise of observations"):
        chosen_law._stored_noise(stored)


@pytest.mark.slow
def test_update(tmp_path: Path) -> None:
    reg = DynamicsRegressor(model=Auto(horizon=3)).fit(DATA[:30])
    reg.update(DATA[30:])
    assert reg.choice_.law
    assert reg.choice_.known + reg.choice_.held == 40
    assert reg.predict().times[0].item() > 3
    reg.update(Trajectory(times=[3.08], states=np.full((1, 25), 1e3), graph=GRAPH))  # no law explains that
    assert not reg.choice_.law
    assert reg.forecast_.horizon == 3


def test_evaluation_and_backtest() -> None:
    reg = DynamicsRegressor(model="auto").fit(CLEAN[:30])
    judged = reg.evaluate(CLEAN)
    assert judged.parts["extrapolation"]["snapshots"] == 10
    past = ndcn.backtest(CLEAN, "auto", origins=2, horizon=3)
    assert np.nanmax(past.errors) < 1e-4
    assert "auto" in str(past)


def test_dates() -> None:
    days = pd.date_range("2021-03-01", periods=40).astype(str)
    states = pd.DataFrame(CLEAN.states[..., 0].numpy(), columns=[f"n{k}" for k in range(25)]).assign(date=days)
    names = GRAPH.to_pandas().assign(
        source=lambda t: "n" + t.source.astype(str), target=lambda t: "n" + t.target.astype(str)
    )
    reg = DynamicsRegressor(model="auto").fit(ndcn.read(names, states, directed=False))
    assert reg.choice_.law
    assert str(reg.table()["time"].iloc[0]) == "2021-04-10 00:00:00"
    assert reg.predict(["2021-03-05"]).states.shape == (1, 25, 1)


# Forecasts as before ------------------------------------------------------------------------------------------------


def test_options_of_forecasts_take_a_forecast() -> None:
    for options in ({"law": False}, {"kind": "values"}, {"period": 7}):
        reg = DynamicsRegressor(model=Auto(horizon=3, **options)).fit(CLEAN)
        assert reg.choice_.reason == "not asked for"
        assert not reg.choice_.tried
        assert reg.forecast_.horizon == 3
        assert "law" not in reg.fitted_.summary().lower()
    same = forecast.auto(CLEAN, horizon=3)
    plain = DynamicsRegressor(model=Auto(horizon=3, law=False)).fit(CLEAN)
    assert torch.equal(plain.predict().states, same.predict(plain.predict().times).states)
    assert DynamicsRegressor(model="ndcn", epochs=1).fit(CLEAN).choice_ is None


def test_data_without_a_law_are_forecast_as_before(tmp_path: Path) -> None:
    reg = DynamicsRegressor(model="auto").fit(WITHOUT)
    same = forecast.auto(WITHOUT)
    assert torch.equal(reg.predict().states, same.predict(reg.predict().times).states)
    assert reg.choice_.reason == "counts"
    assert "No law explains these data: they are counts" in reg.fitted_.summary()
    assert reg.fitted_.facts()["choice"]["sentence"] == reg.choice_.sentence
    reg.save(tmp_path / "m")
    assert ndcn.load(tmp_path / "m").choice_ == reg.choice_
    assert "No law explains these data" in _page(reg, tmp_path / "p.html", None)
    with pytest.raises(ValueError, match="has no law to read"):
        reg.equations()


def test_intervals_hold_observations(reg: DynamicsRegressor, tmp_path: Path) -> None:
    later = np.linspace(3.1, 4.0, 10)
    truth = ndcn.simulate(laws.Gene(), GRAPH, CLEAN.states[0], [0.0, *later]).states[1:]
    noise = torch.randn(truth.shape, generator=torch.Generator().manual_seed(1))
    seen = truth * (1 + 0.01 * noise)
    lower, upper = (end.states for end in reg.intervals(later, level=0.9))
    inside = ((lower <= seen) & (seen <= upper)).double().mean().item()
    assert 0.84 < inside < 0.96
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m").intervals(later, level=0.9)
    assert torch.equal(again[0].states, lower)
    assert torch.equal(again[1].states, upper)


@pytest.mark.slow
def test_wrong_cells_do_not_hide_a_law(tmp_path: Path) -> None:
    states = DATA.states.clone()
    states[7, 3] = -999.0
    wrong = DATA.replaced(states=states)
    reg = DynamicsRegressor(model="auto").fit(wrong)
    assert reg.choice_.law
    assert reg.choice_.outliers == 1
    assert reg.fitted_.notes[0].startswith("1 outlier held out of the law")
    truth = ndcn.simulate(laws.Gene(), GRAPH, laws.initial_state(GRAPH), [*AHEAD]).states
    torch.testing.assert_close(reg.predict(AHEAD).states, truth, rtol=0.02, atol=0.02)
    reg.save(tmp_path / "m")
    assert ndcn.load(tmp_path / "m").choice_ == reg.choice_
    kept = DynamicsRegressor(model=Auto(keep_outliers=True)).fit(wrong)
    assert not kept.choice_.law


def test_several_runs_and_graphs() -> None:
    with pytest.warns(UserWarning, match="2 runs were given, and one is used"):
        reg = DynamicsRegressor(model="auto").fit(Dataset((CLEAN, CLEAN[:20])))
    assert reg.choice_.reason == "several runs"
    ring = ndcn.Graph.from_edges([(k, (k + 1) % 25) for k in range(25)])
    changing = GraphSequence([0.0, 1.5], [GRAPH, ring])
    assert DynamicsRegressor(model="auto").fit(Dataset((CLEAN,), graphs=changing)).choice_.reason == "graphs change"


def test_settings() -> None:
    with pytest.raises(TypeError, match="law must be True or False, got 'yes'"):
        Auto(law="yes")
    for wrong in (0, -1.0, None, "long"):
        with pytest.raises(ValueError, match="seconds must be a number of seconds > 0"):
            Auto(seconds=wrong)
    assert clone(DynamicsRegressor(model=Auto(law=False))).model == Auto(law=False)
    kind = DynamicsRegressor(model="auto").kind_
    assert kind.words(Auto(law=False, seconds=5)) == ["--model", "auto", "--seconds", "5", "--no-law"]
    assert kind.configured({"law": False}) == Auto(law=False)
    assert kind.configured({"seconds": 5.0}) == Auto(seconds=5.0)
    assert kind.from_plain(kind.plain(Auto(law=False))) == Auto(law=False)
    assert "law" not in kind.plain(Auto(horizon=3))
