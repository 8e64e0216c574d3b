"""Numbers that no law can be computed with get a message at once, and few or exact data no traceback."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from finding import plain
from ndcn import Graph, Interaction, Trajectory, laws, networks, simulate
from ndcn.identify import discover
from ndcn.identify.observations import observed
from ndcn.identify.shooting_fit import fit, shots_of
from ndcn.laws import Equation, Formula, Term

GRAPH = networks.grid(16)
HEAT = simulate(
    laws.Heat(), GRAPH, torch.linspace(0.5, 3.0, 16, dtype=torch.float64).reshape(-1, 1), np.linspace(0, 2, 12)
)


def heat(times: object = HEAT.times, factor: float = 1.0, graph: Graph = GRAPH) -> Trajectory:
    return Trajectory(times=times, states=HEAT.states * factor, graph=graph)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e60])
@pytest.mark.parametrize("form", ["auto", "free"])
def test_states_of_another_magnitude(factor: float, form: str) -> None:
    with pytest.raises(ValueError, match=r"largest of the states is 3e.*another unit, for example divided by 3e"):
        discover([heat(factor=factor)], Interaction(form))


def test_weights_of_another_magnitude() -> None:
    with pytest.raises(ValueError, match=r"largest of the weights of edges is 1e\+300"):
        discover([heat(graph=Graph(GRAPH.to_scipy() * 1e300))], Interaction())


def test_a_jump_between_two_times_that_are_nearly_one() -> None:
    times = HEAT.times.clone()
    times[5] = times[4] + 1e-12
    with pytest.raises(ValueError, match=r"between t = 0.727272727273 and the next snapshot, 1e-12 later.*Drop one"):
        discover([heat(times)], Interaction())


def test_times_from_fast_to_slow_are_no_jump() -> None:
    times = np.concatenate([[0.0], np.geomspace(1e-7, 2, 40)])
    data = simulate(laws.Heat(), GRAPH, HEAT.states[0], times)
    assert discover([data], plain("x")).evidence.explained


@pytest.mark.parametrize("snapshots", [2, 3])
def test_a_handful_of_snapshots(snapshots: int) -> None:
    assert discover([HEAT[:snapshots]], plain("x")).evidence.form == "closed"


def test_one_node() -> None:
    t = np.linspace(0, 3, 20)
    alone = Trajectory(times=t, states=np.exp(-t)[:, None, None], graph=Graph.from_dense(np.zeros((1, 1))))
    assert discover([alone], plain("x")).evidence.form == "closed"


@pytest.mark.parametrize("form", ["closed", "free"])
def test_noise_on_a_graph_without_edges(form: str) -> None:
    t = np.linspace(0, 3, 20)
    states = np.exp(-t)[:, None] * np.array([1.0, 2.0]) + 0.02 * np.random.default_rng(0).normal(size=(20, 2))
    data = Trajectory(times=t, states=states, graph=Graph.from_dense(np.zeros((2, 2))))
    what = plain("x") if form == "closed" else Interaction("free")
    found = discover([data], what)
    x = torch.ones(2, 1, dtype=torch.float64)
    assert found.law(torch.tensor(0.0), x, data.graph).mean().item() == pytest.approx(-1.0, abs=0.15)


def test_a_fit_with_nothing_left_to_explain() -> None:
    """States that move by exactly what the law says: its misfit is 0, and so is what a step promises."""
    graph = Graph.from_dense(np.zeros((1, 1)))
    data = Trajectory(times=np.arange(4.0), states=np.arange(4.0)[:, None, None], graph=graph)
    one = observed(data, noisy=False)
    law = Equation((Term(Formula("1", ("x",)), False, 0),), torch.ones(1, dtype=torch.float64), 1)
    found = fit(law, [shots_of(one, torch.arange(3))], tolerance=torch.tensor([1e-8], dtype=torch.float64))
    assert found is not None
    assert found.misfit == 0


def test_a_computation_that_breaks_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise torch.linalg.LinAlgError("linalg.eigh: The algorithm failed to converge")

    monkeypatch.setattr("ndcn.identify.discovery._of_states", broken)
    with pytest.raises(ValueError, match=r"no law could be computed from these data \(.*jump back and forth"):
        discover([HEAT], Interaction())
