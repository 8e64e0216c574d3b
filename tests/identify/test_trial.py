"""A law on trial: the search gives up early, stops at once, and keeps no law that there are doubts about."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest
import torch

import ndcn
from ndcn import Trajectory, laws, networks
from ndcn.identify import Interaction, discover, held_out, law_on_trial, open_share
from ndcn.identify.agreement import disagreement
from ndcn.identify.clock import followed, time_is_over, time_limit

GRID = networks.grid(25)
HEAT = ndcn.simulate(laws.Heat(), GRID, laws.initial_state(GRID), np.linspace(0, 2, 40))


@pytest.mark.parametrize(("left", "after"), [(100.0, 4), (20.0, 8), (3.0, None)])
def test_it_gives_up_where_no_candidate_comes_near(left: float, after: int | None) -> None:
    with time_limit(60.0, trial=True):
        counts = []
        for _ in range(12):
            followed(left)
            counts.append(time_is_over())
    assert (counts.index(True) + 1 if True in counts else None) == after
    with time_limit(60.0):  # a search that was asked for goes on
        for _ in range(12):
            followed(left)
        assert not time_is_over()


def test_an_interrupt_ends_everything_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), time_limit(60.0, trial=True):
        signal.raise_signal(signal.SIGINT)
    with time_limit(60.0):
        signal.raise_signal(signal.SIGINT)
        assert time_is_over()


def test_doubts_are_no_law_and_no_warning() -> None:
    rng = np.random.default_rng(0)
    still = Trajectory(times=np.arange(40.0), states=5 + 0.05 * rng.normal(size=(40, 25)), graph=GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert law_on_trial([still], 30.0) is None
        assert law_on_trial([still.replaced(states=torch.ones(40, 25, 1))], 30.0) is None  # no state ever changes
        assert law_on_trial([HEAT], 30.0) is not None


def test_errors_held_out_are_those_of_noise() -> None:
    drawn = torch.randn(HEAT.states.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    noisy = HEAT.replaced(states=HEAT.states.double() * (1 + 0.03 * drawn))
    found = discover([noisy[:30]], Interaction("closed"))
    judged = held_out(found, noisy[:30], noisy[30:])
    assert judged.error == pytest.approx(0.8 * 0.03, rel=0.1)
    assert judged.noise == pytest.approx(0.8 * 0.03, rel=0.1)
    assert judged.excess == pytest.approx(1, abs=0.15)
    wrong = held_out(found, noisy[:30], noisy[30:].replaced(states=1.2 * noisy[30:].states))
    assert wrong.excess > 3
    exact = held_out(discover([HEAT[:30]], Interaction("closed")), HEAT[:30], HEAT[30:])
    assert exact.excess < 0.01


def test_how_far_two_laws_are_apart() -> None:
    one, other = (
        discover([ndcn.simulate(laws.Heat(k), GRID, laws.initial_state(GRID), HEAT.times)], Interaction("closed"))
        for k in (1.0, 1.1)
    )
    assert disagreement(one, one, GRID) == 0
    assert disagreement(other, one, GRID) == pytest.approx(0.1, rel=1e-3)


def test_what_all_terms_together_leave_open() -> None:
    rng = np.random.default_rng(0)
    walk = 20 + np.cumsum(rng.normal(size=(60, 25)), axis=0)
    assert open_share([HEAT]) < 0.01
    assert open_share([Trajectory(times=np.arange(60.0), states=walk, graph=GRID)]) > 0.6


def test_a_gap_among_many_snapshots() -> None:
    graph = networks.grid(16)
    data = ndcn.simulate(laws.Heat(), graph, laws.initial_state(graph), np.linspace(0, 3, 90))
    states = data.states.clone()
    states[80:, 3] = float("nan")
    states[5, 7] = float("nan")
    assert open_share([data.replaced(states=states, mask=states.isfinite())]) < 0.05
