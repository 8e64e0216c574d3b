from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from ndcn.tables import Calendar

import ndcn
import pages
from ndcn.report.dates import ticks_of
from ndcn.report.gather import gather
from ndcn.report.sections.law import law_of
from ndcn.solve import IntegrationError
from unpacking import unpack_exact, unpack_integers


def content_of(reg: ndcn.DynamicsRegressor, data: ndcn.Trajectory | ndcn.Dataset | None) -> dict:
    found = gather(reg, data, "model.ndcn", None if data is None else ["data"])
    return json.loads(json.dumps(found, allow_nan=False))


def states(content: dict, kind: str) -> np.ndarray:
    """(F, n, d), as the page unpacks them."""
    if kind == "error":
        return states(content, "prediction") - states(content, "truth")
    rows = unpack_exact(content["states"][kind])
    return np.moveaxis(rows.reshape(len(content["features"]), len(content["times"]), -1), 0, 2)


def test_it_shows_the_data_the_prediction_and_the_error() -> None:
    reg, data = pages.heat()
    content = content_of(reg, data)
    real, guess = data.states.double().numpy(), reg.predict(data.times).states.double().numpy()
    count, span = len(data), 25.0
    assert np.abs(states(content, "truth")[:count] - real).max() < 1e-4 * span
    assert np.abs(states(content, "prediction")[:count] - guess).max() < 1e-4 * np.abs(guess).max()
    assert np.abs(states(content, "error")[:count] - (guess - real)).max() < 1e-4 * np.abs(guess - real).max()
    assert np.isnan(states(content, "truth")[count:]).all()
    assert content["kinds"].count("t") == 80
    assert content["kinds"].count("i") == content["kinds"].count("e") == 20
    assert content["kinds"].endswith("f" * 30)
    assert content["times"][-1] == pytest.approx(1.25 * data.times[-1].item())


def test_small_errors_keep_their_digits() -> None:
    reg, data = pages.law()
    error = reg.predict(data.times).states.double().numpy() - data.states.double().numpy()
    shown = states(content_of(reg, data), "error")[: len(data)]
    assert np.abs(shown - error).max() < 1e-4 * np.abs(error).max()


def test_scores_are_those_of_evaluate_and_of_the_simple_guesses() -> None:
    reg, data = pages.heat()
    rows = {row["name"]: row["parts"] for row in content_of(reg, data)["scores"]["rows"]}
    assert list(rows) == ["ndcn", "persistence", "linear", "spline"]
    told = reg.evaluate(data).parts["extrapolation"]
    assert rows["ndcn"]["extrapolation"] == pytest.approx({key: told[key] for key in rows["ndcn"]["extrapolation"]})
    parts = ndcn.split(data, seed=0)
    line = ndcn.DynamicsRegressor("linear").fit(parts.train).predict(parts.extrapolation.times)
    assert rows["linear"]["extrapolation"]["normalized_l1"] == pytest.approx(
        ndcn.metrics.normalized_l1(line, parts.extrapolation)
    )


def test_guesses_are_judged_where_something_was_held_back() -> None:
    reg, data = pages.heat()
    content = content_of(reg, data)
    own, *guesses = content["scores"]["rows"]
    assert own["parts"]["train"]["snapshots"] == 80
    assert [row["parts"]["train"] for row in guesses] == [None] * 3
    known = [value is not None for value in content["scores"]["curves"]["spline"][0]]
    assert known == [kind in "ie" for kind in content["kinds"][: len(data)]]


def test_where_nothing_was_held_back_there_are_no_guesses() -> None:
    reg, data = pages.law()
    scores = content_of(reg, data[:20])["scores"]
    assert [row["name"] for row in scores["rows"]] == list(scores["curves"]) == ["interaction"]
    assert "held out" in scores["note"]


def test_the_command_repeats_the_split() -> None:
    reg, data = pages.heat()
    first, second = content_of(reg, data)["repeat"]["commands"]
    assert first == "ndcn fit data --model ndcn --epochs 10 --seed 0 --out model.ndcn"
    assert second == "ndcn report model.ndcn data --out report.html"
    reg, data = pages.hostile()
    assert "--interpolation 0.25 --split-seed 3 " in content_of(reg, data)["repeat"]["commands"][0]


@pytest.mark.parametrize("rows", [[0, 3, 4, 8], [0, 1, 2, 3]])
def test_a_training_set_that_no_split_gives_has_no_command(rows: list[int]) -> None:
    _, data = pages.law()
    reg = ndcn.DynamicsRegressor(epochs=1, progress=False).fit(data[[*rows, 29]])
    commands = content_of(reg, data)["repeat"]["commands"]
    assert len(commands) == 1
    assert "report" in commands[0]


def test_settings_versions_and_fingerprints() -> None:
    reg, data = pages.heat()
    repeat = content_of(reg, data)["repeat"]
    assert repeat["settings"]["epochs"] == {"value": "10", "default": False}
    assert repeat["settings"]["hidden"] == {"value": "default", "default": True}
    assert repeat["fingerprints"] == {"graph": data.graph.fingerprint, "data": data.fingerprint}
    assert repeat["versions"]["ndcn"] == ndcn.__version__


def test_a_law_has_equation_functions_and_a_band() -> None:
    reg, data = pages.law()
    content = content_of(reg, data)
    law = content["law"]
    assert law["equation"] == str(reg.equations())
    found = reg.functions(41)
    assert law["curves"][0]["f"] == pytest.approx(found.f[0, :, 0].tolist(), abs=1e-5)
    assert law["curves"][0]["g"][2] == pytest.approx(found.g[0, 40, :, 0].tolist(), rel=1e-4, abs=1e-5)
    _, deviation = reg.predict(data.times, return_std=True)
    expected = deviation.states.double().numpy()
    assert np.abs(states(content, "std")[: len(data)] - expected).max() < 0.01 * expected.max()
    assert content["training"]["epochs"] == 0


def test_splines_have_functions_and_no_equation() -> None:
    _, data = pages.law()
    law = law_of(ndcn.DynamicsRegressor("free_form", seed=0).fit(data[:20]))
    assert law is not None
    assert law["equation"] is None
    assert len(law["curves"]) == 1


def test_laws_that_cannot_be_followed_leave_no_band(monkeypatch: pytest.MonkeyPatch) -> None:
    reg, data = pages.law()

    def diverges(*arguments: object) -> torch.Tensor:
        raise ndcn.IntegrationError("it explodes", time=0.0)

    monkeypatch.setattr(ndcn.models.LawODE, "by", diverges)
    content = content_of(reg, data)
    assert content["states"]["std"] is None
    assert any("The standard deviation is not shown: posterior samples diverge" in note for note in content["notes"])


def test_without_data_it_shows_what_the_model_says_half_as_far_beyond() -> None:
    reg = pages.ensemble()
    content = content_of(reg, None)
    start = reg.train_[0].times
    assert content["states"]["truth"] is content["scores"] is None
    assert content["states"]["error"] is False
    assert set(content["kinds"]) == {"w", "f"}
    assert content["times"][-1] == pytest.approx(1.5 * start[-1].item())
    assert states(content, "std").max() > 0
    assert content["members"] == len(content["training"]["curves"]) == 3


def test_models_that_keep_their_snapshots_show_them_and_stay_on_their_steps() -> None:
    _, data = pages.law()
    content = content_of(ndcn.DynamicsRegressor("gru_gnn", epochs=2, progress=False).fit(data[:20]), None)
    assert content["kinds"] == "t" * 20 + "f" * 5
    assert np.diff(content["times"]) == pytest.approx(np.full(24, (data.times[1] - data.times[0]).item()), rel=1e-5)
    assert content["scores"]["rows"][0]["parts"]["train"]["snapshots"] == 20


def test_missing_entries_stay_missing() -> None:
    reg, data = pages.hostile()
    content = content_of(reg, data)
    truth = states(content, "truth")
    assert np.isnan(truth[9]).all()
    assert np.isnan(truth[5, 3]).all()
    assert np.isfinite(truth[4]).all()
    assert content["scores"]["curves"]["ndcn"][0][9] is None
    assert content["graph"]["names"][0] == pages.SCRIPT


def test_data_that_start_elsewhere_are_compared_from_there() -> None:
    reg, data = pages.law()
    other = ndcn.simulate(ndcn.laws.Heat(), data.graph, data.states[0] + 1, data.times)
    content = content_of(reg, other)
    assert content["kinds"].startswith("gi")
    assert "another state" in content["notes"][0]
    assert [row["name"] for row in content["scores"]["rows"]] == ["interaction"]
    assert "left out" in content["scores"]["note"]
    assert np.nanmax(np.abs(states(content, "error"))) < 1e-3


def test_data_in_another_order_are_sorted() -> None:
    reg, data = pages.law()
    content = content_of(reg, data[list(range(29, -1, -1))])
    assert content["times"] == content_of(reg, data)["times"]


def test_a_prediction_that_explodes_later_is_shown_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    reg, data = pages.heat()
    real = type(reg).predict

    def short(self: ndcn.DynamicsRegressor, times: torch.Tensor, **more: object) -> object:
        if times[-1] > data.times[-1]:
            raise IntegrationError("it explodes", time=5.1)
        return real(self, times, **more)

    monkeypatch.setattr(type(reg), "predict", short)
    content = content_of(reg, data)
    assert "f" not in content["kinds"]
    assert "explodes" in content["notes"][0]


def test_a_page_of_many_numbers_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    reg, data = pages.heat()
    monkeypatch.setattr(importlib.import_module("ndcn.report.gather"), "MOST_NUMBERS", 400 * 2 * 50)
    monkeypatch.setattr(importlib.import_module("ndcn.report.gather"), "MOST_LINKS", 100)
    content = content_of(reg, data)
    assert len(content["times"]) == len(content["kinds"]) == 50
    assert content["times"][0] == 0
    assert len(unpack_integers(content["graph"]["u"])) == 100
    assert "50 of 150 moments" in content["notes"][0]
    assert "100 of 1482 links" in content["notes"][1]
    assert content["scores"]["rows"][0]["parts"]["train"]["snapshots"] == 80


def test_data_of_another_graph_are_refused() -> None:
    reg, _ = pages.heat()
    _, other = pages.law()
    with pytest.raises(ValueError, match="another graph"):
        gather(reg, other, "model.ndcn", ["data"])


def test_a_model_of_ones_own_is_named_by_its_class() -> None:
    _, data = pages.law()
    reg = ndcn.DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(data[:20])
    content = content_of(reg, data)
    assert content["model"] == "Heat"
    assert "k = 1.0" in content["law"]["equation"]
    assert len(content["repeat"]["commands"]) == 1
    assert all(len(s["value"]) < 210 for s in content["repeat"]["settings"].values())


def test_constant_data_have_a_scale() -> None:
    graph = ndcn.networks.grid(4)
    data = ndcn.Trajectory(times=[0.0, 1.0, 2.0], states=torch.ones(3, 4, 1), graph=graph)
    content = content_of(ndcn.DynamicsRegressor("persistence").fit(data), data)
    (scale,) = content["scales"]
    assert scale["low"] < 1 < scale["high"]
    assert scale["error"] > 0
    assert math.isfinite(scale["error"])


def test_dates_are_those_of_the_calendar_and_go_on_in_whole_days() -> None:
    reg, data = pages.dated()
    for known in (data, data.trajectory, None):
        content = content_of(reg, known)
        assert content["dates"][:2] == ["2021-03-01", "2021-03-02"]
        assert content["dates"][36:38] == ["2021-04-09", "2021-04-10"]
        assert all(len(text) == 10 for text in content["dates"])
        levels = [[text for _, text in level] for level in content["ticks"]]
        assert ["2021-03", "2021-04"] in levels
        assert ["2021-03-01", "2021-03-08"] in [level[:2] for level in levels]
    assert content_of(reg, data)["score_dates"][-1] == "2021-04-09"
    assert content_of(*pages.law())["dates"] is content_of(*pages.law())["ticks"] is None


def test_dates_of_another_calendar_are_counted_as_the_models() -> None:
    reg, data = pages.dated()
    run = data.trajectory
    late = ndcn.Trajectory(
        times=run.times[20:] - run.times[20], states=run.states[20:], graph=run.graph, features=run.features
    )
    content = content_of(reg, ndcn.Dataset((late,), calendar=Calendar("2021-03-24", "day")))
    assert content["dates"][0] == "2021-03-24"
    assert content["kinds"].startswith("t" * len(late))


def test_hours_in_a_time_zone_have_ticks_at_its_own_midnight() -> None:
    hours = Calendar("2021-03-27T20:00:00", "hour", tz="Europe/Berlin")
    midnights = next(level for level in ticks_of(hours, np.array([0.0, 60.0])) if level[0][1] == "2021-03-28")
    assert midnights == [[3.0, "2021-03-28"], [26.0, "2021-03-29"], [50.0, "2021-03-30"]]  # the clock was put forward


def test_shifted_times_are_given_back() -> None:
    _, data = pages.law()
    reg = ndcn.DynamicsRegressor("linear").fit(ndcn.Dataset((data,), calendar=Calendar(-3.0, "number")))
    content = content_of(reg, data)
    assert content["times"][0] == content["score_times"][0] == -3.0
    assert content["trained_until"] == pytest.approx(data.times[-1].item() - 3)
    assert content["dates"] is None


def test_of_several_runs_one_is_shown() -> None:
    _, data = pages.law()
    runs = ndcn.Dataset((data[:10], data), names=("short", "long"))
    reg = ndcn.DynamicsRegressor(epochs=2, progress=False).fit(runs)
    content = content_of(reg, runs)
    assert content["kinds"].startswith("t" * 10 + "f")
    assert content["notes"][0] == "One of 2 runs is shown: short, the first."
    made = ndcn.Dataset((pages.days(20).trajectory, pages.days(40).trajectory))
    with pytest.warns(UserWarning, match="2 runs were given"):
        reg = ndcn.DynamicsRegressor("auto", progress=False).fit(made)
    about = gather(reg, made)
    assert "number 2, the longest" in about["notes"][0]


def test_of_a_network_that_changes_the_last_graph_is_drawn() -> None:
    _, data = pages.law()
    apart = ndcn.Graph.from_edges([(0, 1)], num_nodes=16)
    graphs = ndcn.GraphSequence([0.0, 1.0], [data.graph, apart])
    run = ndcn.Trajectory(times=data.times, states=data.states, graph=apart)
    known = ndcn.Dataset((run,), graphs=graphs)
    reg = ndcn.DynamicsRegressor(epochs=2, progress=False).fit(known)
    content = content_of(reg, known)
    assert content["graph"]["edges"] == 1
    assert "the last of its 2 graphs is drawn" in content["notes"][0]
    assert content["kinds"].startswith("t" * 30)
    guess = reg.predict(data.times).states.double().numpy()
    assert np.abs(states(content, "prediction")[:30] - guess).max() < 1e-4 * np.abs(guess).max()


def test_a_forecast_shows_the_past_and_what_comes_next_with_its_band() -> None:
    reg = pages.forecast()
    data = pages.days(40)
    content = content_of(reg, data)
    assert content["kinds"] == "t" * 37 + "f" * 5
    assert content["dates"][-1] == "2021-04-14"
    assert content["scores"] is content["states"]["std"] is None
    assert content["states"]["error"] is False
    assert np.isnan(states(content, "prediction")[:37]).all()
    assert np.isnan(states(content, "truth")[37:]).all()
    steps = np.arange(40.0, 45.0)
    low, high = reg.intervals(steps, level=0.9)
    for kind, expected in (("prediction", reg.predict(steps)), ("lower", low), ("upper", high)):
        assert np.abs(states(content, kind)[37:] - expected.states.numpy()).max() < 0.01
    [about] = content["forecast"]["features"]
    assert [line["steps"] for line in about["verdicts"]] == about["horizons"]
    assert all(len(line["words"]) < 90 for line in about["verdicts"])
    shown, rows = ([row[0] for row in table] for table in (about["table"], reg.forecast_.table.rows))
    pinned = ["combination", "best simple guess online", "persistence"]  # what is used, and what it is compared with
    assert shown == [*pinned, *(name for name in rows if name not in pinned)]
    assert content["repeat"]["commands"][0] == "ndcn fit data --model auto --seed 0 --horizon 5 --out model.ndcn"
    assert gather(reg, None)["kinds"] == content["kinds"]  # it still has its data


def test_a_forecast_is_judged_by_what_came_later(tmp_path: Path) -> None:
    reg = pages.forecast()
    content = content_of(reg, pages.days(48))
    assert content["kinds"] == "t" * 37 + "e" * 5 + "a" * 3
    rows = {row["name"]: row["parts"] for row in content["scores"]["rows"]}
    assert list(rows) == ["auto", "persistence", "linear"]
    told = reg.evaluate(pages.days(48)).parts["extrapolation"]
    expected = {key: told[key] for key in rows["auto"]["extrapolation"]}
    assert rows["auto"] == {"train": None, "interpolation": None, "extrapolation": pytest.approx(expected)}
    assert content["scores"]["curves"]["auto"][0][36] is None
    assert len(content["repeat"]["commands"]) == 1
    reg.save(tmp_path / "model.ndcn")
    alone = content_of(ndcn.load(tmp_path / "model.ndcn"), None)
    assert alone["kinds"] == "fffff"
    assert alone["states"]["truth"] is None
    with pytest.raises(ValueError, match="other nodes"):
        gather(
            reg, ndcn.Trajectory(times=[0.0], states=torch.ones(1, 4), graph=ndcn.networks.grid(4), features=["cases"])
        )


def test_what_is_not_known_of_files_is_said() -> None:
    reg, data = pages.dated()
    repeat = gather(reg, data)["repeat"]
    assert repeat["commands"][0].startswith("ndcn fit EDGES STATES --model ndcn ")
    assert repeat["commands"][1] == "ndcn report model.ndcn EDGES STATES --out report.html"
    assert "two files" in repeat["note"]
    assert "DATA stands for the folder" in gather(*pages.law())["repeat"]["note"]
    assert content_of(reg, data)["repeat"]["note"] is None


def test_nodes_are_drawn_where_the_data_say_even_if_the_model_does_not_know() -> None:
    _, data = pages.law()
    reg = ndcn.DynamicsRegressor("persistence").fit(data)
    where = np.random.default_rng(0).normal(size=(16, 2))
    placed = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph.with_positions(where))
    assert not content_of(reg, data)["graph"]["placed"]
    graph = content_of(reg, placed)["graph"]
    assert graph["placed"]
    x, y = (unpack_integers(graph[name]) / 65535 for name in "xy")
    assert np.corrcoef(x, where[:, 0])[0, 1] > 0.999999
    assert np.corrcoef(y, -where[:, 1])[0, 1] > 0.999999


def test_the_map_and_the_baselines_stay_where_a_node_is_unknown() -> None:
    reg, run = pages.forecast(), pages.days(48).runs[0]
    where = np.random.default_rng(0).normal(size=(5, 2))
    names = [*run.graph.nodes[:-1], "Atlantis"]
    graph = ndcn.Graph(run.graph.to_scipy(), nodes=names, positions=where)
    content = content_of(reg, ndcn.Dataset((run.replaced(graph=graph),), calendar=run.calendar))
    assert content["graph"]["placed"]
    x = unpack_integers(content["graph"]["x"])[:4] / 65535
    assert np.corrcoef(x, where[:4, 0])[0, 1] > 0.999
    rows = {row["name"]: row["parts"]["extrapolation"] for row in content["scores"]["rows"]}
    assert list(rows) == ["auto", "persistence", "linear"]
    known = run.states[:, :4, 0]
    assert rows["persistence"]["l1"] == pytest.approx((known[37:42] - known[36]).abs().mean().item())
    assert content["scores"]["note"].startswith(f"Baselines say nothing about {run.graph.nodes[-1]!r}")
