"""What is told about a dataset."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from ndcn.tables import inspect

import ndcn

EDGES = pd.DataFrame({"source": ["a", "b", "d"], "target": ["b", "c", "e"], "weight": [1.0, 2, 3]})


def states(**changes: object) -> pd.DataFrame:
    times = np.array([0.0, 1, 2, 3, 7, 8])
    table = pd.DataFrame(
        {"time": times, "a": times**2, "b": times**2, "c": 5.0, "d": -times, "e": times, "f": times + 0.5}
    )
    return table.assign(**changes)


def test_the_network() -> None:
    facts = inspect(ndcn.read(EDGES, states()))
    assert (facts.nodes, facts.edges, facts.directed, facts.weighted) == (6, 3, False, True)
    assert (facts.components, facts.largest, facts.isolated) == (3, 3, ("f",))
    assert (facts.degrees.min, facts.degrees.max) == (0, 2)
    assert facts.weights is not None
    assert facts.weights.max == 3


def test_times_and_gaps() -> None:
    run = inspect(ndcn.read(EDGES, states())).runs[0]
    assert (run.snapshots, run.first, run.last, run.step, run.equal_steps) == (6, "0", "8", 1, False)
    assert run.gaps == (("3", "7"),)
    dated = states(time=pd.to_datetime("2021-03-01") + pd.to_timedelta([0, 1, 2, 3, 7, 8], "D"))
    facts = inspect(ndcn.read(EDGES, dated))
    assert facts.unit == "day"
    assert facts.runs[0].gaps == (("2021-03-04", "2021-03-08"),)
    assert "usually 1 day apart" in str(facts)
    assert "gap       2021-03-04 to 2021-03-08" in str(facts)


def test_what_says_nothing() -> None:
    facts = inspect(ndcn.read(EDGES, states()))
    assert facts.constant_nodes == ("c",)
    assert facts.equal_nodes == (("a", "b"),)
    long = states().melt(id_vars="time", var_name="node", value_name="x").assign(same=1.0)
    long["again"] = long["x"]
    facts = inspect(ndcn.read(EDGES, long))
    assert facts.constant_features == ("same",)
    assert facts.equal_features == (("x", "again"),)
    assert any("leave one out" in plan for plan in facts.plans)


def test_missing_and_ranges() -> None:
    facts = inspect(ndcn.read(EDGES, states(a=[1.0, np.nan, 3, np.nan, np.nan, 6])))
    assert "filled in" not in " ".join(facts.notes)
    assert any("a forecast (without --model) holds the last value" in plan for plan in facts.plans)
    assert facts.missing == pytest.approx(3 / 36)
    assert facts.ranges["x"].min == -8
    assert any("masked" in plan for plan in facts.plans)


def test_json_is_plain() -> None:
    facts = inspect(ndcn.read(EDGES, states()))
    again = json.loads(json.dumps(facts.to_json(), allow_nan=False))
    assert again["runs"][0]["snapshots"] == 6
    assert again["degrees"]["max"] == 2


def test_several_runs_and_one_snapshot() -> None:
    long = states().melt(id_vars="time", var_name="node", value_name="x")
    many = pd.concat([long.assign(run=k) for k in range(7)])
    text = str(inspect(ndcn.read(EDGES, many)))
    assert "run 4: 6 snapshots" in text
    assert "and 2 more runs" in text
    one = inspect(ndcn.read(EDGES, states().iloc[:1]))
    assert any("no dynamics" in plan for plan in one.plans)
    assert one.constant_nodes == ()


def test_the_kind_of_data_and_the_forecast_are_told() -> None:
    totals = torch.arange(30.0)[:, None].cumsum(0) + torch.arange(9.0)
    run = ndcn.Trajectory(times=torch.arange(30.0), states=totals, graph=ndcn.networks.grid(9), features=["cases"])
    plans = inspect(ndcn.Dataset((run,))).plans
    assert any(plan.startswith("without --model, a law is looked for first") for plan in plans)
    assert any(plan.startswith("cases: totals so far (cumulative)") for plan in plans)
    times = torch.cat([torch.arange(29.0), torch.tensor([1e9])])
    far = ndcn.Trajectory(times=times, states=totals, graph=run.graph)
    assert any("Is a time wrong?" in plan for plan in inspect(ndcn.Dataset((far,))).plans)
