"""A law that the data do not decide is not told as if they did."""

from __future__ import annotations

import signal
import threading
import warnings

import numpy as np
import pytest
import torch

import ndcn
from finding import plain
from ndcn import Interaction, Trajectory, laws, networks, simulate
from ndcn.identify import discover, estimate
from ndcn.identify.clock import in_time, interrupted, time_is_over, time_limit
from ndcn.identify.doubts import doubt_of_numbers, no_motion, told_if_rough, undecided
from ndcn.identify.library import MOST_STARTS, library
from ndcn.identify.observations import observed
from ndcn.identify.result import Evidence
from ndcn.identify.shooting_fit import fit, shots_of
from ndcn.identify.trajectory_fit import TrajectoryFit, fit_trajectories
from ndcn.identify.trajectory_problem import problems_for
from ndcn.laws import Equation, Formula, Term


def heat(graph: ndcn.Graph, count: int, noise: float = 0.0) -> Trajectory:
    x0 = torch.linspace(0.5, 3.0, graph.num_nodes, dtype=torch.float64).reshape(-1, 1)
    data = simulate(laws.Heat(), graph, x0, np.linspace(0, 1, count))
    drawn = torch.from_numpy(np.random.default_rng(0).standard_normal(data.states.shape))
    return Trajectory(times=data.times, states=data.states + noise * drawn, graph=graph)


def doubt(data: Trajectory, *formulas: str) -> str | None:
    """What is doubted of a law with these terms, fitted to the data."""
    terms = tuple(Term(Formula(text, ("x",)), "_j" in text, 0) for text in formulas)
    law = Equation(terms, torch.full((len(terms),), 0.1, dtype=torch.float64), 1)
    shots = shots_of(observed(data, noisy=False), torch.arange(len(data) - 1))
    found = fit(law, [shots], tolerance=torch.tensor([1e-7], dtype=torch.float64))
    return doubt_of_numbers([data], found.model, found.normal)


def test_numbers_that_the_data_leave_open() -> None:
    """On a complete graph sum_j (x_j - x_i) is a constant less n x_i: three terms say what one does."""
    data = heat(networks.grid(4), 5)
    with pytest.warns(UserWarning, match="do not trust this law far: the data leave 1 of its 3 numbers open"):
        assert doubt(data, "1", "x", "x_j - x_i") is not None
    assert doubt(data, "x_j - x_i") is None


def test_more_numbers_than_data() -> None:
    data = heat(networks.grid(4), 3)[:2]
    with pytest.warns(UserWarning, match="its 3 numbers were found from 4 changes of states"):
        assert doubt(data, "x", "x^2", "x_j") is not None


def test_the_evidence_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.identify.discovery.doubt_of_numbers", lambda *_: "it is open")
    evidence = discover([heat(networks.grid(16), 8)], plain("x")).evidence
    assert evidence.reason.endswith("; it is open")
    assert evidence.explained is False


def test_a_law_that_the_data_decide_is_not_doubted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discover([heat(networks.grid(16), 8)], plain("x")).evidence.explained


def test_directions_that_are_not_seen() -> None:
    S = torch.rand(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert undecided(S.T @ S) == 0
    S = torch.cat([S, S[:, :1] + 1e3 * S[:, 1:2]], dim=1) * torch.tensor([1.0, 1e-8, 1e8, 1.0])
    assert undecided(S.T @ S) == 1
    assert undecided(torch.full((2, 2), torch.nan)) == 2


@pytest.mark.slow
def test_white_noise_has_no_law() -> None:
    rng = np.random.default_rng(0)
    data = Trajectory(times=np.arange(20.0), states=5 + rng.standard_normal((20, 9, 1)), graph=networks.grid(9))
    without = [text for text in {t.formula.text for t in library(("x",), np.array([[0.0], [1.0]]))} if text != "x"]
    with pytest.warns(UserWarning, match="a constant for each node explains the data as well"):
        found = discover(
            [data], Interaction("closed", without=[text for text in without if text not in ("1", "x_j - x_i")])
        )
    assert found.evidence.explained is False
    assert "no motion beyond their noise" in found.evidence.reason


def along(data: Trajectory, text: str) -> TrajectoryFit:
    """A law of one coupling, fitted along noisy data."""
    law = Equation((Term(Formula(text, ("x",)), True, 0),), torch.tensor([0.5], dtype=torch.float64), 1)
    one = observed(data, noisy=True)
    problems = problems_for([one], law, torch.tensor([1e-4], dtype=torch.float64))
    assert problems is not None
    found = fit_trajectories(law, problems, iterations=10)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", [89, 93])
def test_noise_that_a_law_fits_by_chance(seed: int) -> None:
    """Heat was better than constants by 18 and 25 of chi^2 on these, and was told as a law."""
    rng = np.random.default_rng(1000 + seed)
    times = np.asarray(ndcn.sampling.irregular_times(5.0, seed=seed))
    states = 2 + 0.3 * rng.standard_normal((len(times), 40))
    kept = np.sort(np.random.default_rng(seed).permutation(100)[:80])
    kept[0] = 0
    states = states * (1 + 0.05 * np.random.default_rng(seed).standard_normal(states.shape))
    graph = networks.power_law(40, seed=seed)
    assert no_motion(along(Trajectory(times=times[kept], states=states[kept][..., None], graph=graph), "x_j - x_i"))


def test_rates_that_are_known_roughly() -> None:
    data = heat(networks.grid(16), 20, noise=0.05)
    found = along(data, "x_j - x_i")
    evidence = Evidence("closed", "it does", (0.05,), 1.0, explained=True)
    one, k = found.problems[0].data, found.model.parameters
    assert told_if_rough(evidence, [one], found.model, k * torch.tensor([[0.99], [1.01]])) is evidence
    with pytest.warns(UserWarning, match="rates of change have an error of about 20 %"):
        told = told_if_rough(evidence, [one], found.model, k * torch.tensor([[0.8], [1.2]]))
    assert told.reason == "it does; the data leave its rates of change open by about 20 %"


def test_motion_is_seen_beside_outliers() -> None:
    data = heat(networks.grid(16), 20, noise=0.05)
    assert not no_motion(along(data, "x_j - x_i"))
    far = torch.rand(data.states.shape, generator=torch.Generator().manual_seed(0)) < 0.03
    assert not no_motion(along(data.replaced(states=torch.where(far, 50.0, data.states)), "x_j - x_i"))


def test_motion_in_noise_is_not_doubted() -> None:
    without = [text for text in {t.formula.text for t in library(("x",), np.array([[0.0], [1.0]]))} if text != "x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = Interaction("closed", without=[text for text in without if text not in ("1", "x_j - x_i")])
        assert discover([heat(networks.grid(16), 20, noise=0.05)], few).evidence.explained


def test_a_known_law_whose_numbers_are_not_decided() -> None:
    """Without links nothing is seen of what flows through them."""
    graph = ndcn.Graph.from_dense(np.zeros((4, 4)))
    decay = simulate(laws.SIS(beta=1.0, delta=0.5), graph, [[0.1], [0.2], [0.5], [0.7]], np.linspace(0, 2, 10))
    with pytest.warns(UserWarning, match="the data leave 1 of its 2 numbers open"):
        found = estimate(laws.SIS(beta=None, delta=None), [decay])
    assert found.evidence.explained is False
    few = heat(networks.grid(16), 8)
    with pytest.raises(ValueError, match="largest of the states"):
        estimate(laws.Heat(None), [Trajectory(times=few.times, states=few.states * 1e300, graph=few.graph)])


# A time limit ---------------------------------------------------------------------------------------------------------


class Odd(laws.Law):
    """No formula of the library."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(3 * x) - 0.3 * x**2

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return torch.atan(2 * x_j) * torch.sqrt(x_i + 1)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_after_the_time_limit_the_best_law_so_far_is_given(noise: float) -> None:
    graph = networks.grid(9)
    x0 = torch.linspace(0.5, 3.0, 9, dtype=torch.float64).reshape(-1, 1)
    data = simulate(Odd(), graph, x0, np.linspace(0, 1, 20))
    drawn = torch.from_numpy(np.random.default_rng(0).standard_normal(data.states.shape))
    noisy = Trajectory(times=data.times, states=data.states + noise * drawn, graph=graph)
    with pytest.warns(UserWarning, match=r"the time limit of 0.01 s ended the search.*seconds=10 "):
        found = discover([noisy], Interaction(seconds=0.01))
    assert "best law so far" in found.evidence.reason
    assert found.evidence.explained is False


def test_a_law_that_is_found_in_time_is_the_same() -> None:
    data = heat(networks.grid(16), 8)
    usual, limited = (
        discover([data], what) for what in (plain("x"), Interaction(without=plain("x").without, seconds=1e6))
    )
    assert usual.law.equation.parameters.equal(limited.law.equation.parameters)
    assert usual.evidence == limited.evidence


def test_the_limit_holds_in_its_context_only() -> None:
    with time_limit(1e-9):
        assert time_is_over()
        assert list(in_time([1, 2, 3])) == [1]
        with time_limit(None):
            assert list(in_time([1, 2, 3])) == [1, 2, 3]
    assert not time_is_over()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "soon"])
def test_wrong_limits(seconds: object) -> None:
    with pytest.raises(ValueError, match="seconds must be a number of seconds > 0"):
        Interaction(seconds=seconds)


# Terms of one's own ---------------------------------------------------------------------------------------------------


def test_starting_values_are_bounded() -> None:
    ranges = np.array([[0.0], [2.0]])
    many = "(p1*x + p2*x^2 + p3)/(1 + p4*x + p5*x^2 + p6*x^3 + p7*x^4 + p8*x^5 + p9 + p10)"
    starts = [term for term in library(("x",), ranges, [many]) if term.formula.text == many]
    assert 100 < len(starts) <= MOST_STARTS
    values = np.array([term.values for term in starts])
    assert values.shape[1] == 10
    assert all(set(column) == {0.2, 1.0, 5.0} for column in values.T)
    few = [term for term in library(("x",), ranges, ["q1*x/(q2 + q3*x)"]) if "q1" in term.formula.text]
    assert len(few) == 27


@pytest.mark.parametrize("text", ["x^(x^(x^x))", "exp(exp(exp(x)))"])
def test_a_term_that_is_not_finite_is_told(text: str) -> None:
    with pytest.warns(UserWarning, match=r"the term .* is NaN or infinite at some of the states seen"):
        assert discover([heat(networks.grid(16), 8)], Interaction(terms=[text])).evidence.explained


@pytest.mark.parametrize("text", ["(1 - x^2)*x", "x^2.5", "x^2 - 1"])
def test_sums_and_powers_of_ones_own(text: str) -> None:
    what = Interaction(terms=[text], without=plain("x").without)
    assert discover([heat(networks.grid(16), 8)], what).evidence.explained


def test_the_first_interrupt_gives_the_best_law_so_far_and_the_second_ends_everything() -> None:
    graph = networks.grid(9)
    x0 = torch.linspace(0.5, 3.0, 9, dtype=torch.float64).reshape(-1, 1)
    data = simulate(Odd(), graph, x0, np.linspace(0, 1, 20))
    before = signal.getsignal(signal.SIGINT)
    later = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    later.start()
    with pytest.warns(UserWarning, match="Ctrl-C ended the search"):
        found = discover([data], Interaction())
    later.join()
    assert found.evidence.explained is False
    assert signal.getsignal(signal.SIGINT) is before
    with time_limit(None):
        assert not time_is_over()
        signal.raise_signal(signal.SIGINT)
        assert time_is_over()
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
