"""`ndcn simulate`: what it writes, and what it refuses."""

from __future__ import annotations

import pytest
import torch

import ndcn
from commands import parsed, refused, run


@pytest.mark.parametrize(
    ("law", "network", "last"),
    [
        ("heat", "random", 0.1),
        ("heat", "community", 0.2),
        ("gene", "power_law", 5.0),
        ("mutualistic", "small_world", 5.0),
        ("sis", "small_world", 5.0),
        ("sir", "random", 5.0),
        ("kuramoto", "community", 5.0),
        ("consensus", "grid", 5.0),
        ("lotka_volterra", "power_law", 5.0),
        ("wilson_cowan", "power_law", 5.0),
        ("fitzhugh_nagumo", "small_world", 100.0),
        ("michaelis_menten", "power_law", 5.0),
    ],
)
def test_simulate(folder, law, network, last):
    about = parsed("simulate", "--law", law, "--network", network, "--nodes", 30, "--snapshots", 12, "--order", "none")
    data = ndcn.Trajectory.load("data")
    assert about["out"] == "data"
    assert (about["nodes"], about["edges"], about["snapshots"]) == (30, data.graph.num_edges, 12)
    assert about["time"] == last
    assert data.times[-1] <= last
    graph = ndcn.networks.grid(30) if network == "grid" else ndcn.networks.NAMED[network](30, seed=0, order=None)
    assert data.graph == graph
    rule = ndcn.laws.NAMED[law]()
    again = ndcn.simulate(rule, graph, rule.initial_state(graph, seed=0), data.times)
    torch.testing.assert_close(data.states, again.states)
    assert data.features == again.features


def test_simulate_names_the_parameters_of_every_law():
    text = " ".join(run("simulate", "--help").stdout.replace("│", " ").split())
    for name, law in ndcn.laws.NAMED.items():
        assert f"{name}: {', '.join(parameter for parameter, _ in law().named_buffers())}" in text


def test_simulate_draws_states_by_the_seed(folder):
    for seed in (0, 1):
        run("simulate", "--law", "sir", "--nodes", 16, "--snapshots", 4, "--seed", seed, "--out", f"data{seed}")
    first, other = (ndcn.Trajectory.load(f"data{seed}") for seed in (0, 1))
    assert first.features == ("s", "i")
    assert not torch.equal(first.states[0], other.states[0])


def test_simulate_takes_parameters_times_and_seeds(folder):
    words = ["--law", "mutualistic", "--network", "random", "--nodes", 20, "--snapshots", 5, "--sampling", "regular"]
    about = parsed("simulate", *words, "--time", 2, "--param", "e=0.1", "--param", "h=0.9", "--seed", 3)
    assert about["parameters"]["e"] == 0.1
    assert about["parameters"]["b"] == pytest.approx(0.1)
    data = ndcn.Trajectory.load("data")
    assert data.times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert data.graph == ndcn.networks.random(20, seed=3)
    said = run("simulate", "--nodes", 9, "--snapshots", 1500, "--order", "louvain", "--out", "many").stdout
    assert "1500 snapshots of 9 nodes" in said
    assert "written to many" in said


def test_simulate_replaces_its_own_data_only(folder):
    run("simulate", "--nodes", 9, "--snapshots", 4)
    run("simulate", "--nodes", 16, "--snapshots", 4)
    assert ndcn.Trajectory.load("data").graph.num_nodes == 16
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("precious")
    assert "not ndcn data" in refused("simulate", "--out", "mine")
    assert (folder / "mine" / "notes.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--param", "q=1"], "known are k"),
        (["--param", "k=fast"], "name=number"),
        (["--param", "k"], "name=number"),
        (["--param", "k=nan"], "finite"),
        (["--time", "-1"], "positive"),
        (["--time", "nan"], "positive"),
        (["--out", "no/such/folder"], "there is no folder"),
    ],
)
def test_simulate_refuses(folder, words, message):
    assert message in refused("simulate", *words)
    assert not list(folder.iterdir())


def test_an_explosion_is_a_failure(folder):
    text = refused("simulate", "--nodes", 25, "--param", "k=-1000", code=1)
    assert text.startswith("error: ")
    assert not list(folder.iterdir())
