"""`ndcn fit EDGES STATES` where a law explains the data, from the files to forecasts, and `--no-law`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from commands import output, parsed, refused, run
from ndcn import laws, networks

GRAPH = networks.power_law(40, seed=0)
DAYS = pd.date_range("2021-03-01", periods=60).strftime("%Y-%m-%d")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of an SIS epidemic in 40 places over 60 days, of which 1 % is noise, and the model that is fitted to them."""
    base = tmp_path_factory.mktemp("law")
    x0 = 0.01 + 0.1 * torch.rand(40, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    data = ndcn.simulate(laws.SIS(beta=0.1, delta=0.2), GRAPH, x0, np.arange(60.0))
    noise = np.random.default_rng(0).normal(size=(60, 40))
    states = data.states[..., 0].numpy() * (1 + 0.01 * noise)
    places = [f"place {k:02d}" for k in range(40)]
    edges = GRAPH.to_pandas()
    named = {name: [places[k] for k in edges[name]] for name in ("source", "target")}
    pd.DataFrame(named).to_csv(base / "edges.csv", index=False)
    pd.DataFrame(states, columns=places, index=pd.Index(DAYS, name="date")).to_csv(base / "states.csv")
    pd.DataFrame({"place": places, "region": ["north", "south"] * 20}).to_csv(base / "groups.csv", index=False)
    said = run("fit", base / "edges.csv", base / "states.csv", "--horizon", 7, "--out", base / "model.ndcn")
    (base / "said.txt").write_text(said.stdout)
    return base


def test_fit_finds_the_equation_and_says_why(base: Path) -> None:
    said = (base / "said.txt").read_text()
    assert said.startswith("dx_i/dt = -0.")
    assert "(1 - x_i)*x_j" in said
    assert "A law explains the data to their noise: found from the first 45 snapshots, it misses the last 15 by" in said
    assert "It is the model; --no-law gives a forecast by backtest." in said
    assert "forecasts of 7 steps, 2021-04-30 to 2021-05-06, written to" in said


def test_predict_goes_on_from_the_last_snapshot(folder: Path, base: Path) -> None:
    shown = run("predict", base / "model.ndcn", "--out", "ahead.csv")
    assert "7 times from 2021-04-30 to 2021-05-06, 40 nodes: x" in shown.stdout
    assert "intervals are those of observations, with their noise" in shown.stdout
    table = pd.read_csv("ahead.csv")
    assert list(table) == ["time", "node", "x", "x_lower", "x_upper"]
    assert len(table) == 7 * 40
    until = pd.read_csv(_written("predict", base / "model.ndcn", "--until", "2021-06-08", "--out", "far.csv"))
    assert until["time"].nunique() == 40  # a law goes on beyond the horizon
    past = pd.read_csv(_written("predict", base / "model.ndcn", "--times", "2021-03-05", "--out", "past.csv"))
    assert len(past) == 40
    changed = parsed("predict", base / "model.ndcn", "--what-if", "remove place 03", "--at", "2021-04-29")
    assert "changed" in changed
    assert "begin at 2021-04-30" in refused("predict", base / "model.ndcn", "--until", "2021-04-01")


def _written(*words: object) -> str:
    run(*words)
    return str(words[-1])


def test_what_needs_a_forecast_says_what_to_do(base: Path) -> None:
    said = refused("predict", base / "model.ndcn", "--groups", base / "groups.csv")
    assert "`ndcn fit --no-law`" in said


def test_no_law_takes_the_forecast(folder: Path, base: Path) -> None:
    said = output("fit", base / "edges.csv", base / "states.csv", "--no-law", "--horizon", 7)
    assert "combination" in said
    assert "dx_i/dt" not in said
    assert "No law" not in said
    run("predict", "model.ndcn", "--groups", base / "groups.csv", "--out", "sums.csv")
    assert "does not use `--law`" in refused(
        "fit", base / "edges.csv", base / "states.csv", "--model", "ndcn", "--no-law"
    )


def test_json_and_page(folder: Path, base: Path) -> None:
    told = json.loads(
        run("fit", base / "edges.csv", base / "states.csv", "--seconds", 20, "--json").stdout.splitlines()[-1]
    )
    assert told["choice"]["law"] is True
    assert told["choice"]["reason"] == "explained"
    assert told["law"]["form"] == "closed"
    assert told["model"] == "auto"
    run("report", base / "model.ndcn", base / "edges.csv", base / "states.csv", "--out", "page.html")
    page = Path("page.html").read_text()
    assert "A law explains the data to their noise" in page
    assert "ndcn fit" in page
    scores = parsed("evaluate", base / "model.ndcn", base / "edges.csv", base / "states.csv")
    assert scores


def test_counts_stay_a_forecast_and_it_says_so(folder: Path, base: Path) -> None:
    rng = np.random.default_rng(0)
    cases = rng.poisson(20 * np.exp(np.sin(np.arange(60) / 8))[:, None] * np.linspace(1, 3, 40))
    names = pd.read_csv(base / "states.csv", index_col="date").columns
    pd.DataFrame(cases, columns=names, index=pd.Index(DAYS, name="date")).to_csv("counts.csv")
    said = output("fit", base / "edges.csv", "counts.csv", "--horizon", 3)
    assert "No law explains these data: observations are" in said
    assert "The forecast was chosen by backtest." in said
