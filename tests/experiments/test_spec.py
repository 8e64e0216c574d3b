"""What the TOML files say, against the paper's tables where they are at hand."""

from __future__ import annotations

import dataclasses
import json

import pytest

import ndcn
from ndcn.experiments.spec import Run, load_table, read_toml, resolved
from ndcn.training import recipes
from places import SHARED

TABLES = ("extrapolation", "interpolation", "regular")
PAPER = SHARED / "paper" / "tables.json"
SOURCES = {"extrapolation": "extrapolation", "interpolation": "interpolation", "regular": "regular_extrapolation"}


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_has_a_time_a_decay_and_the_papers_values(name: str) -> None:
    table = load_table(name)
    assert len(table.cells) == 15
    for dynamics, network in table.cells:
        assert table.terminal_time[dynamics][network] > 0
        for model in table.models:
            if model.settings.get("preset") == "paper":
                assert table.weight_decay[dynamics][network][model.name] > 0
        assert set(table.paper[dynamics][network]) >= {"ndcn"}
        assert set(table.paper[dynamics][network]) <= {model.name for model in table.models}


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's tables are not at hand")
@pytest.mark.parametrize("name", TABLES)
def test_numbers_are_those_of_the_paper(name: str) -> None:
    paper, table = json.loads(PAPER.read_text()), load_table(name)
    assert table.paper == paper["dynamics"][SOURCES[name]]
    assert table.terminal_time == paper["terminal_time"]
    for dynamics, rows in paper["weight_decay"][SOURCES[name]].items():
        for network, decays in rows.items():
            assert table.weight_decay[dynamics][network].items() >= decays.items()
    assert read_toml("parameters")["paper"] == paper["parameters"]


@pytest.mark.parametrize("name", TABLES)
def test_every_model_is_known_to_the_estimator(name: str) -> None:
    for model in load_table(name).models:
        ndcn.DynamicsRegressor(**model.settings).recipe()


def test_a_run_is_known_by_its_settings() -> None:
    run = next(load_table("regular").all_runs())
    assert Run(json.loads(json.dumps(run.settings))).key == run.key


def test_all_runs_differ_and_the_first_seed_comes_first() -> None:
    table = load_table("regular").narrowed(runs=3)
    runs = list(table.all_runs())
    assert len({run.key for run in runs}) == len(runs) == 3 * 15 * len(table.models)
    assert [run.settings["seed"] for run in runs] == sorted(run.settings["seed"] for run in runs)
    assert {run.settings["seed"] for run in runs if run.keep_states} == {0}


def test_interpolation_and_extrapolation_are_the_same_runs() -> None:
    pair = [{run.key for run in load_table(name).all_runs()} for name in ("interpolation", "extrapolation")]
    assert pair[0] == pair[1]


def test_only_the_mutualistic_law_has_a_printed_form_of_its_own() -> None:
    table = load_table("extrapolation").narrowed(runs=1)
    for ours, printed in zip(table.all_runs(), table.narrowed(printed=True).all_runs(), strict=True):
        assert (ours.key != printed.key) == (ours.settings["law"]["name"] == "mutualistic")
    law = ndcn.laws.Mutualistic(**table.printed["mutualistic"])
    assert dict(law.named_buffers()) == dict(ndcn.laws.Mutualistic().named_buffers())


def test_narrowing() -> None:
    table = load_table("extrapolation")
    narrow = table.narrowed(only=["gene/random", "heat"], models=["ndcn", "lstm_gnn"], runs=2, nodes=16, epochs=3)
    assert narrow.cells == (*(("heat", n) for n in table.terminal_time["heat"]), ("gene", "random"))
    assert [model.name for model in narrow.models] == ["ndcn"]
    run = next(narrow.all_runs())
    assert run.settings["network"]["nodes"] == 16
    assert run.settings["model"]["epochs"] == 3
    assert run.name == "heat/grid ndcn, published recipe, seed 0"
    again = narrow.narrowed(only=["gene"])
    assert (again.cells, again.nodes, again.epochs, again.runs) == ((("gene", "random"),), 16, 3, 2)
    assert table.narrowed(only=["cora"]).cells == ()


def test_a_run_is_known_by_its_defaults_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed recipe or width must not be taken for what is in the store."""
    table = load_table("regular").narrowed(models=["residual_gnn"], runs=1)
    before = next(table.all_runs()).key
    changed = dataclasses.replace(recipes.RESIDUAL_GNN["default"], learning_rate=0.007)
    monkeypatch.setitem(recipes.RESIDUAL_GNN, "default", changed)
    resolved.cache_clear()
    try:
        assert next(table.all_runs()).key != before
    finally:
        resolved.cache_clear()
    assert next(table.all_runs()).settings["resolved"]["hidden"] == 20
