"""DynamicsRegressor(model="auto"): forecasts, intervals, the test of the network, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors
import safetensors.torch
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ndcn
from ndcn import Dataset, DynamicsRegressor, Graph, GraphSequence, Trajectory, forecast, laws, networks
from ndcn.forecast import Auto
from places import SHARED

GRAPH = networks.grid(9)
T = np.arange(48.0)
COUNTS = np.random.default_rng(0).poisson(20 * np.exp(np.sin(T / 8))[:, None] * np.linspace(1, 3, 9)).astype(float)
DATA = Trajectory(times=T, states=COUNTS, graph=GRAPH)
REAL = SHARED / "data" / "temporal"
AHEAD = [48.0, 49.5, 52.0]


@pytest.fixture(scope="module")
def reg() -> DynamicsRegressor:
    return DynamicsRegressor(model=Auto(horizon=5)).fit(DATA)


def test_it_is_what_forecast_auto_says(reg: DynamicsRegressor) -> None:
    same = forecast.auto(DATA, horizon=5)
    assert torch.equal(reg.predict(AHEAD).states, same.predict(AHEAD).states)
    assert reg.forecast_.sentence == same.sentence
    assert str(reg.forecast_.table) == str(same.table)
    for mine, other in zip(reg.intervals(AHEAD, 0.8), same.intervals(AHEAD, 0.8), strict=True):
        assert torch.equal(mine.states, other.states)


def test_the_standard_deviation_is_half_of_the_68_percent_interval(reg: DynamicsRegressor) -> None:
    mean, deviation = reg.predict(AHEAD, return_std=True)
    low, high = reg.forecast_.intervals(AHEAD, 0.6827)
    assert torch.equal(mean.states, reg.predict(AHEAD).states)
    wider = (high.states - low.states) / 2 - deviation.states  # ends are whole numbers of counts, rounded outwards
    assert ((wider >= -1e-6) & (wider <= 1)).all()
    assert torch.equal(low.states, low.states.round())
    assert (deviation.states > 0).all()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"times": [20.0]}, r"only after the last snapshot, from t = 48 to 52 \(5 steps of 1\), but t = 20"),
        ({"times": [53.0]}, "t = 53 was asked for; fit with a longer horizon"),
        ({"times": AHEAD, "x0": COUNTS[0]}, "continues from the last snapshot"),
        ({"times": AHEAD, "t0": 1.0}, "continues from the last snapshot"),
        ({"times": AHEAD, "graph": networks.grid(16)}, "takes no x0, t0 or other graph"),
    ],
)
def test_what_a_forecast_cannot_say(reg: DynamicsRegressor, ask: dict, message: str) -> None:
    for answer in (reg.predict, reg.intervals):
        with pytest.raises(ValueError, match=message):
            answer(**ask)


def test_scores_and_scikit_learn(reg: DynamicsRegressor) -> None:
    later = Trajectory(times=[48.0, 49.0], states=COUNTS[-2:], graph=GRAPH)
    assert reg.score(later) < 1
    assert clone(reg).model == Auto(horizon=5)
    assert "text/html" in reg._repr_mimebundle_()
    with pytest.raises(ValueError, match="has no law to read"):
        reg.equations()
    with pytest.raises(NotFittedError):
        DynamicsRegressor(model="auto").intervals([1.0])


def test_settings() -> None:
    for settings, message in (
        ({"epochs": 3}, "`auto` does not use `epochs`; remove it, or name a model that is trained"),
        ({"ensemble": 2, "hidden": 3}, "`auto` does not use `hidden`, `ensemble`"),
    ):
        for model in ("auto", Auto(horizon=2)):
            with pytest.raises(ValueError, match=message):
                DynamicsRegressor(model=model, **settings).fit(DATA)
    with pytest.raises(ValueError, match="horizon must be a whole number of steps, at least 1, got 0"):
        Auto(horizon=0)
    with pytest.raises(ValueError, match="names of ndcn, interaction, gru_gnn, got 'oracle'"):
        Auto(learned=["oracle"])
    for name in ("foo_gnn", "spline", "auto", 3):
        with pytest.raises(ValueError, match=f"got {name!r}; other models that start from any state are no_encode"):
            Auto(learned=[name])
    with pytest.raises(TypeError, match="learned must be a list of names"):
        Auto(learned="ndcn")
    with pytest.raises(ValueError, match="at least 12 snapshots, got 5"):
        DynamicsRegressor(model="auto").fit(DATA[:5])
    with pytest.raises(ValueError, match="from 1 to 24"):
        DynamicsRegressor(model=Auto(horizon=25)).fit(DATA)


def test_of_several_runs_the_longest_is_used(reg: DynamicsRegressor) -> None:
    data = Dataset((DATA[:20], DATA, DATA[:30]), names=("a", "b", "c"))
    with pytest.warns(
        UserWarning, match="3 runs were given, and one is used: b, the first of the longest, 48 snapshots"
    ):
        chosen = DynamicsRegressor(model=Auto(horizon=5)).fit(data)
    assert torch.equal(chosen.predict(AHEAD).states, reg.predict(AHEAD).states)


def test_graphs_that_change_are_given_on() -> None:
    ring = Graph.from_edges([(k, (k + 1) % 9) for k in range(9)])
    graphs = GraphSequence([0.0, 30.0], [ring, GRAPH])
    later = DATA[20:]
    reg = DynamicsRegressor(model=Auto(horizon=5)).fit(Dataset((later,), graphs=graphs))
    assert torch.equal(reg.predict(AHEAD).states, forecast.auto(later, horizon=5, graphs=graphs).predict(AHEAD).states)
    assert reg.train_[0].graph == GRAPH
    assert reg.network_test(shuffles=19) == forecast.network_test(later, graphs=graphs, shuffles=19)


def test_fitting_another_model_forgets_the_forecast() -> None:
    reg = DynamicsRegressor(model="auto").fit(DATA)
    assert reg.forecast_.horizon == 12  # a quarter
    reg.set_params(model="persistence").fit(DATA)
    assert not hasattr(reg, "forecast_")
    assert reg.predict([3.0]).states.shape == (1, 9, 1)


@pytest.mark.skipif(not (REAL / "england_covid.json").exists(), reason="needs the data of COVID-19 in England")
def test_england_with_a_graph_for_each_day() -> None:
    """Read from tables as people have them: dates, names, an edge list with a column of days."""
    raw = json.loads((REAL / "england_covid.json").read_text())
    days = pd.date_range("2020-03-03", periods=61).strftime("%Y-%m-%d")
    index, weight = raw["edge_mapping"]["edge_index"], raw["edge_mapping"]["edge_weight"]
    edges = pd.DataFrame(
        [
            (f"R{u}", f"R{v}", w, days[t])
            for t in range(61)
            for (u, v), w in zip(index[str(t)], weight[str(t)], strict=True)
        ],
        columns=["source", "target", "weight", "date"],
    )
    cases = pd.DataFrame(np.array(raw["y"]), columns=[f"R{k}" for k in range(129)]).assign(date=days)
    data = ndcn.read(edges, cases)
    assert data.graphs is not None
    assert len(data.graphs) == 61
    reg = DynamicsRegressor(model=Auto(horizon=7)).fit(data)
    assert "counts" in reg.forecast_.kind
    ahead = [data.calendar.number("2020-05-03"), data.calendar.number("2020-05-09")]
    low, high = reg.intervals(ahead)
    assert (low.states >= 0).all()
    assert (high.states > low.states).any()
    answer = reg.network_test(shuffles=19)
    assert answer.helps
    assert 0.001 < answer.gain < 0.003  # it matters, but hardly


# Intervals and the test of the network with other models -----------------------------------------------------------


def test_intervals_of_ensembles_and_laws() -> None:
    reg = DynamicsRegressor(epochs=3, ensemble=2, jobs=1).fit(DATA)
    mean, deviation = reg.predict([1.0, 60.0], return_std=True)
    low, high = reg.intervals([1.0, 60.0], 0.95)
    assert torch.allclose((high.states - low.states) / 2, 1.959964 * deviation.states)
    assert torch.allclose((high.states + low.states) / 2, mean.states, atol=1e-4)
    x0 = torch.linspace(0.2, 2.0, 9, dtype=torch.float64).reshape(9, 1)
    heat = ndcn.simulate(laws.Heat(), GRAPH, x0, torch.linspace(0, 2, 12, dtype=torch.float64))
    law = DynamicsRegressor(model=laws.Heat(k=None)).fit(heat)
    low, high = law.intervals([1.0, 0.5])
    assert (high.states >= low.states).all()
    for level in (0, 1.0, 90, "much"):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            reg.intervals([1.0], level)
    with pytest.raises(ValueError, match="one model has no spread"):
        DynamicsRegressor(epochs=2).fit(DATA).intervals([1.0])


def test_the_network_of_any_model(tmp_path: Path) -> None:
    reg = DynamicsRegressor(epochs=2).fit(DATA)
    answer = reg.network_test(shuffles=19, horizon=2, seed=1)
    assert answer == forecast.network_test(DATA, shuffles=19, horizon=2, seed=1)
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m")
    with pytest.raises(ValueError, match=r"does not hold the data .* network_test\(data=\.\.\.\)"):
        again.network_test()
    assert again.network_test(DATA, shuffles=19, horizon=2, seed=1) == answer


@pytest.mark.slow
def test_members_do_not_send_the_data_back() -> None:
    reg = DynamicsRegressor(epochs=2, ensemble=2, jobs=2).fit(DATA)
    assert reg.data_ is DATA


# Files -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(reg: DynamicsRegressor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("auto") / "auto.ndcn"
    reg.save(path)
    return path


@pytest.mark.parametrize("model", ["auto", Auto(horizon=5, learned=())])
def test_files(tmp_path: Path, model: str | Auto) -> None:
    two = Trajectory(times=T, states=np.stack([COUNTS, COUNTS.cumsum(0)], axis=2), graph=GRAPH, features=("a", "b"))
    before = DynamicsRegressor(model=model).fit(two[24:])
    before.save(tmp_path / "m")
    after = ndcn.load(tmp_path / "m")
    assert after.model == model
    for ask in ("predict", "intervals"):
        mine, other = getattr(before, ask)(AHEAD), getattr(after, ask)(AHEAD)
        for a, b in zip(*([x] if ask == "predict" else x for x in (mine, other)), strict=True):
            assert torch.equal(a.states, b.states)
            assert a.features == b.features == ("a", "b")
    assert after.forecast_.sentence == before.forecast_.sentence
    assert str(after.forecast_.tables[1]) == str(before.forecast_.tables[1])
    assert after.history_ == before.history_
    assert after.train_[0].graph == GRAPH
    after.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def changed(path: Path, source: Path, change: object, tensor: dict | None = None, drop: str | None = None) -> Path:
    with safetensors.safe_open(source, "pt") as opened:
        about = json.loads(opened.metadata()["ndcn"])
        about.pop("sha256")  # as files before 0.3
        tensors = {name: opened.get_tensor(name) for name in opened.keys() if name != drop}  # noqa: SIM118  # it is no dict
    change(about)
    safetensors.torch.save_file({**tensors, **(tensor or {})}, path, metadata={"ndcn": json.dumps(about)})
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.update(forecast=None), "does not fit: a forecast is chosen by fit, and there is none"),
        (lambda a: a["settings"].update(model="ndcn"), "does not fit: it holds no encoder.0.weight"),
        (lambda a: a.update(forecast=[1]), "does not fit"),
        (lambda a: a["forecast"].pop("step"), "damaged: it has no entry 'step'"),
        (lambda a: a["forecast"].update(step=0), "does not fit: a start and a step > 0"),
        (lambda a: a["forecast"].update(start="now"), "does not fit"),
        (lambda a: a["forecast"].update(features=["a", "b"]), "does not fit: forecasts for 9 nodes and 2 features"),
        (lambda a: a["forecast"].update(kinds=[]), "does not fit: the choice of 1 features"),
        (lambda a: a["forecast"].update(tables=[3]), "does not fit"),
        (lambda a: a["settings"]["model"].update(horizon=-1), "does not fit: horizon must be"),
        (lambda a: a["settings"]["model"].update(learned="x"), "does not fit: learned must be"),
        (lambda a: a["settings"]["model"].update(colour="red"), "does not fit: .*colour"),
        (lambda a: a.update(histories=[]), "does not fit"),
    ],
)
def test_damaged_settings(tmp_path: Path, file: Path, change: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ndcn.load(changed(tmp_path / "m", file, change))


def test_damaged_numbers(tmp_path: Path, file: Path) -> None:
    for drop in ("path", "residuals.0.quantiles", "residuals.0.sizes"):
        with pytest.raises(ValueError, match=f"damaged: it has no entry '{drop}'"):
            ndcn.load(changed(tmp_path / "m", file, lambda a: None, drop=f"forecast.{drop}"))
    for name, wrong in (
        ("path", torch.zeros(6, 8, 1)),
        ("path", torch.full((6, 9, 1), torch.nan)),
        ("residuals.0.sizes", torch.zeros(3, 8)),
        ("residuals.0.quantiles", torch.zeros(3, 7)),
        ("residuals.0.horizons", torch.zeros(0)),
    ):
        with pytest.raises(ValueError, match=r"does not fit: .* were expected"):
            ndcn.load(changed(tmp_path / "m", file, lambda a: None, {f"forecast.{name}": wrong}))


def test_truncated_and_flipped_files(tmp_path: Path, file: Path) -> None:
    whole = file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for length in range(0, len(whole), 997):
        (tmp_path / "m").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is not an ndcn model, or is damaged"):
            ndcn.load(tmp_path / "m")
    for place in range(0, header, 29):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        (tmp_path / "m").write_bytes(flipped)
        try:
            ndcn.load(tmp_path / "m").predict(AHEAD)
        except ValueError:
            continue
