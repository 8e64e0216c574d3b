"""The data sets that come with the package: their tables against known totals, their laws, seeds and shapes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn._support.registries import DATASETS
from ndcn.datasets.ieee30 import grid_and_power
from ndcn.datasets.tables import table
from ndcn.datasets.us_epidemic import WEEKDAYS
from places import ROOT


def test_the_states_add_up_to_the_census_and_to_the_known_graph() -> None:
    states, graph = ndcn.datasets.us_states(), ndcn.datasets.epidemic().trajectory.graph
    assert np.corrcoef(graph.positions[:, 0], states["lon"])[0, 1] > 0.999999
    assert np.array_equal(graph.positions[:, 1], states["lat"])
    total, alaska, hawaii = 331_449_281, 733_391, 1_455_271  # census of 2020
    assert states["population"].sum() == total - alaska - hawaii
    assert (graph.num_nodes, graph.num_edges) == (49, 107)  # the graph of the contiguous states has 107 borders
    assert list(graph.nodes) == list(states.index) == sorted(states.index)
    degree = dict(zip(graph.nodes, graph.degrees.tolist(), strict=True))
    assert {name for name, d in degree.items() if d == 8} == {"Missouri", "Tennessee"}
    assert {name for name, d in degree.items() if d == 1} == {"Maine"}


def test_reports_of_the_epidemic() -> None:
    data = ndcn.datasets.epidemic()
    cases = data.trajectory.states[:, :, 0].numpy()
    assert data.trajectory.features == ("cases",)
    assert (cases >= 0).all()
    assert (cases == cases.round()).all()
    days = data.calendar.dates(data.trajectory.times.numpy())
    assert days[0].day_name() == "Monday"
    assert np.mean(WEEKDAYS) == pytest.approx(1.0)
    weekly = cases.sum(1).reshape(-1, 7).sum(0)
    assert weekly[6] < weekly[0]  # fewer reports on Sundays
    first = {name: int(cases[:, k].argmax()) for k, name in enumerate(data.trajectory.graph.nodes)}
    assert first["Washington"] < first["Colorado"] < first["Texas"] < first["Florida"]
    again, other = ndcn.datasets.epidemic(), ndcn.datasets.epidemic(seed=1)
    assert again.trajectory.fingerprint == data.trajectory.fingerprint != other.trajectory.fingerprint


def test_shares_of_the_epidemic_follow_its_law() -> None:
    run = ndcn.datasets.epidemic(reports=False).trajectory
    assert run.features == ("s", "i")
    law = ndcn.laws.MetapopulationSIR(beta=1.5 * 0.285, gamma=0.285, k=2.8e-3)
    exact = ndcn.simulate(law, run.graph, run.states[40], run.times[40:44], t0=40.0)
    torch.testing.assert_close(run.states[40:44], exact.states, rtol=0, atol=1e-6)


def test_the_grid_is_balanced_and_comes_to_rest_in_step() -> None:
    graph, power = grid_and_power()
    assert (graph.num_nodes, graph.num_edges) == (30, 41)
    assert table("ieee30_buses")["load"].sum() == pytest.approx(283.4)  # MW, of the test case
    assert power.sum() == pytest.approx(0.0)
    data = ndcn.datasets.power_grid()
    assert data.states[0, 0, 1] == 3.0
    assert data.states[0, 1:, 1].abs().max() == 0.0
    assert data.states[-1, :, 1].abs().max() < 0.2
    rest = data.states[0].clone()
    rest[0, 1] = 0.0
    law = ndcn.laws.Swing(power=power, damping=0.5)
    assert law(torch.tensor(0.0), rest, graph).abs().max() < 1e-8
    exact = ndcn.simulate(law, graph, data.states[50], data.times[50:53], t0=5.0)
    torch.testing.assert_close(data.states[50:53], exact.states, rtol=0, atol=1e-6)


def test_opinions_keep_their_mean_and_have_what_was_asked_for() -> None:
    data = ndcn.datasets.opinions()
    means = data.states.mean(dim=1)
    torch.testing.assert_close(means, means[:1].expand_as(means), rtol=0, atol=1e-6)
    assert data.mask is None
    worse = ndcn.datasets.opinions(noise=0.1, missing=0.2)
    assert 0.75 < worse.mask.double().mean() < 0.85
    error = (worse.states - data.states)[worse.mask]
    assert error.std() == pytest.approx(0.1, rel=0.1)
    for wrong in ({"noise": -1.0}, {"missing": 1.0}):
        with pytest.raises(ValueError, match="noise must be at least 0 and missing in"):
            ndcn.datasets.opinions(**wrong)


@pytest.mark.parametrize("name", DATASETS)
def test_every_named_set_is_public(name: str) -> None:
    assert DATASETS[name] is getattr(ndcn.datasets, name)
    assert name in ndcn.datasets.__all__
    assert f"## {name}" in (ROOT / "docs" / "datasets.md").read_text()
