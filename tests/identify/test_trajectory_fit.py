"""Fitting whole trajectories: parameters and initial states, steps, draws."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from ndcn import Trajectory, laws, networks, simulate
from ndcn.identify import initial_states
from ndcn.identify.data_smoothing import Noise
from ndcn.identify.form_choice import judged
from ndcn.identify.observations import observed
from ndcn.identify.shooting import steps_needed
from ndcn.identify.tape import roll
from ndcn.identify.trajectory_fit import Prior, TrajectoryFit, fit_trajectories, objective, posterior_samples
from ndcn.identify.trajectory_problem import TrajectoryProblem, problems_for, steps_along
from ndcn.laws import Equation
from ndcn.solve.methods.tableau import RK4
from problems import equation

GRAPH = networks.random(16, seed=0)
TOLERANCE = torch.tensor([1e-8], dtype=torch.float64)


HEAT = equation((0.7, "x_j - x_i", True))
GENE = equation((-1.0, "x", False), (1.0, "x_j^h/(1 + x_j^h)", True, [2.0]))


def problem(
    law: laws.Law, model: Equation, noise: float = 0.0, missing: float = 0.0, first: bool = True, seed: int = 0
) -> tuple[TrajectoryProblem, torch.Tensor]:
    """Twenty snapshots, and the true initial state."""
    generator = torch.Generator().manual_seed(seed)
    x0 = 3 * torch.rand(16, 1, generator=generator, dtype=torch.float64) + 0.5
    data = simulate(law, GRAPH, x0, torch.linspace(0, 1, 20))
    noisy = data.states * (1 + noise * torch.randn(data.states.shape, generator=generator, dtype=torch.float64))
    mask = torch.rand(noisy.shape, generator=generator) >= missing
    mask[0] &= first
    whole = bool(mask.all())
    one = observed(
        Trajectory(times=data.times, states=noisy, graph=GRAPH, mask=None if whole else mask), noisy=noise > 0
    )
    found = problems_for([one], model, TOLERANCE)
    assert found is not None
    return found[0], x0


def test_explosions_are_none() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT)
    assert objective(equation((1e5, "x^3", False)), [found]) is None
    assert fit_trajectories(equation((1e5, "x^3", False)), [found]) is None
    assert problems_for([found.data], equation((-1e7, "x", False)), TOLERANCE) is None


def test_parameters_are_recovered() -> None:
    found, _ = problem(laws.Gene(), GENE)
    start = GENE.with_parameters(torch.tensor([-0.7, 1.3, 1.6], dtype=torch.float64))
    path = fit_trajectories(start, [found], iterations=25)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([-1.0, 1.0, 2.0], rel=1e-3)
    assert path.excess < 5


def test_an_unknown_first_state_is_recovered() -> None:
    found, x0 = problem(laws.Heat(0.7), HEAT, missing=0.2, first=False)
    assert (found.x0 - x0).abs().mean() > 0.005
    path = fit_trajectories(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), [found], iterations=25)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=1e-3)
    assert (path.problems[0].x0 - x0).abs().max() < 0.01 * x0.abs().max()


def test_noise_is_averaged_and_its_size_found() -> None:
    found, x0 = problem(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_trajectories(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), [found], iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.05)
    assert 0.7 < path.excess < 2
    assert (path.problems[0].x0 - x0).abs().mean() < (found.guess - x0).abs().mean()


def test_a_few_gross_errors_do_little_harm() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    states = found.data.states.clone()
    states[[3, 9, 15], [0, 5, 11]] *= 10
    spoiled = replace(found, data=replace(found.data, states=states))
    path = fit_trajectories(HEAT.with_parameters(torch.tensor([0.6], dtype=torch.float64)), [spoiled], iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.1)


def test_several_trajectories_together() -> None:
    problems = [problem(laws.Heat(0.7), HEAT, noise=0.05, seed=seed)[0] for seed in (1, 2)]
    path = fit_trajectories(HEAT.with_parameters(torch.tensor([0.5], dtype=torch.float64)), problems, iterations=15)
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([0.7], rel=0.04)
    assert path.count == sum(c.data.states[1:].numel() for c in problems)


def test_the_first_state_can_be_held() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_trajectories(HEAT, [found], iterations=3, move_initial=False)
    assert path is not None
    assert torch.equal(path.problems[0].x0, found.x0)
    parameters, starts = posterior_samples(path, 5, 0, move_initial=False)
    assert parameters.shape == (5, 1)
    assert torch.equal(starts[0], found.x0.expand(5, -1, -1))


def test_draws_are_as_wide_as_the_information_says() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    path = fit_trajectories(HEAT, [found], iterations=10)
    assert path is not None
    parameters, starts = posterior_samples(path, 200, 0)
    assert parameters.shape == (200, 1)
    assert starts[0].shape == (200, 16, 1)
    unit = max(1.0, path.excess)  # residuals larger than the noise was taken to be
    width = unit * float(path.normal.inverse().sqrt())
    assert float(parameters.std()) == pytest.approx(width, rel=0.25)
    assert abs(float(parameters.mean() - path.model.parameters)) < 4 * width / 200**0.5
    assert (starts[0].std(0) < unit * found.error * 1.3).float().mean() > 0.9
    again, _ = posterior_samples(path, 200, 0)
    assert torch.equal(again, parameters)
    other, _ = posterior_samples(path, 200, 1)
    assert not torch.equal(other, parameters)


def test_first_states_stay_near_what_was_seen() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT)
    far = found.moved(torch.full_like(found.x0, 1e6))
    assert far.x0.max() <= found.bounds[1].max()
    assert found.moved(torch.full_like(found.x0, -1e6)).x0.min() >= 0


def test_what_was_known_before_counts() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    free = fit_trajectories(HEAT, [found], iterations=15)
    mean = torch.tensor([0.2], dtype=torch.float64)
    firm = fit_trajectories(HEAT, [found], iterations=15, prior=Prior(mean, torch.tensor([[1e9]], dtype=torch.float64)))
    assert free is not None
    assert firm is not None
    assert firm.model.parameters.tolist() == pytest.approx([0.2], rel=1e-2)
    as_sure = Prior(mean, free.normal)
    between = fit_trajectories(HEAT, [found], iterations=15, prior=as_sure)
    assert between is not None
    assert 0.2 < float(between.model.parameters) < float(free.model.parameters)
    assert as_sure.cost(mean) == 0
    assert as_sure.cost(mean + 1) == pytest.approx(float(free.normal))
    assert 0 < free.share() < firm.share() < 1
    assert free.share() == pytest.approx(0.05 * float(found.data.states.mean() / found.data.states.std()), rel=0.5)


def test_draws_are_no_wider_than_what_was_known_before() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    tiny = Noise(torch.full((1,), 1e-6).double(), torch.zeros(1).double())
    sharp = replace(found, data=replace(found.data, measured=tiny))
    prior = Prior(torch.tensor([0.7], dtype=torch.float64), torch.tensor([[1e16]], dtype=torch.float64))
    path = fit_trajectories(HEAT, [sharp], iterations=3, prior=prior)
    assert path is not None
    assert path.excess > 50  # the noise is far larger than it is taken to be
    parameters, _ = posterior_samples(path, 200, 0)
    assert float(parameters.std()) == pytest.approx(1e-8, rel=0.3)


def test_the_share_that_is_missed_is_that_of_the_worst_feature() -> None:
    decay = equation((-1e-9, "v", False), (-1.0, "w", False, [], 1), features=("v", "w"))
    still = decay.with_parameters(torch.tensor([-1e-9, -1e-9], dtype=torch.float64))
    times = torch.linspace(0, 2, 12, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    x0 = torch.rand(16, 2, generator=rng, dtype=torch.float64) * torch.tensor([100.0, 1.0]) + torch.tensor(
        [1000.0, 1.0]
    )
    states = torch.stack([x0[:, 0].expand(12, -1), x0[:, 1] * torch.exp(-times)[:, None]], dim=-1)
    one = observed(Trajectory(times=times, states=states, graph=GRAPH, features=("v", "w")), noisy=False)
    right, wrong = (fit_trajectories(m, problems_for([one], m, TOLERANCE), iterations=0) for m in (decay, still))
    assert right.share() < 1e-4
    assert wrong.share() > 0.5


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_steps_do_not_depend_on_units(unit: float) -> None:
    turn = equation((unit, "w", False), (-1 / unit, "v", False, [], 1), features=("v", "w"))
    times = torch.linspace(0, 2, 12, dtype=torch.float64)
    circle = torch.stack([unit * torch.sin(times), torch.cos(times)], dim=-1)[:, None].expand(-1, 16, -1).contiguous()
    one = observed(Trajectory(times=times, states=circle, graph=GRAPH, features=("v", "w")), noisy=False)
    steps = steps_along(turn, one, circle, 1e-4 * circle.abs().amax(dim=(0, 1)), 128)
    assert steps.tolist() == [2] * 11


# Gaps ---------------------------------------------------------------------------------------------------------------


def half() -> TrajectoryProblem:
    """Half of the entries unseen, first ones too."""
    found, _ = problem(laws.Gene(), GENE, missing=0.5)
    assert found.data.gaps
    assert 0 < int(found.data.seen[0].sum()) < 16
    return found


def test_unseen_first_states_are_eliminated_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    start = GENE.with_parameters(torch.tensor([-0.9, 1.1, 1.9], dtype=torch.float64))
    exact = fit_trajectories(start, [half()], iterations=1)
    monkeypatch.setattr(initial_states, "EXACT_UNKNOWNS", 0)
    monkeypatch.setattr(initial_states, "CG_TOLERANCE", 1e-14)
    by_gradients = fit_trajectories(start, [half()], iterations=1, cg=400)
    assert exact is not None
    assert by_gradients is not None
    torch.testing.assert_close(exact.model.parameters, by_gradients.model.parameters, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(exact.normal, by_gradients.normal, rtol=1e-4, atol=1e-4 * float(exact.normal.max()))
    seen = half().data.seen[0]
    assert torch.equal(exact.problems[0].x0[seen], half().x0[seen])
    assert not torch.equal(exact.problems[0].x0[~seen], half().x0[~seen])


def test_the_matrix_of_an_iteration_guides_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    start = GENE.with_parameters(torch.tensor([-0.99, 1.01, 1.99], dtype=torch.float64))
    formed = []
    whole = initial_states._matrix
    monkeypatch.setattr(initial_states, "_matrix", lambda *given: formed.append(1) or whole(*given))
    guided = fit_trajectories(start, [half()], iterations=5, enough=0.0)
    once = len(formed)
    monkeypatch.setattr(initial_states, "GUIDED_SHARE", 2.0)  # which no matrix has
    exact = fit_trajectories(start, [half()], iterations=5, enough=0.0)
    assert guided is not None
    assert exact is not None
    assert once == 1 < len(formed) - once
    torch.testing.assert_close(guided.model.parameters, exact.model.parameters, rtol=1e-7, atol=0.0)
    torch.testing.assert_close(guided.normal, exact.normal, rtol=1e-4, atol=1e-6 * float(exact.normal.max()))


@pytest.mark.parametrize("cg", [1, 3])
def test_steps_lead_down_however_little_is_known_of_first_states(monkeypatch: pytest.MonkeyPatch, cg: int) -> None:
    monkeypatch.setattr(initial_states, "EXACT_UNKNOWNS", 0)
    path: TrajectoryFit | None = fit_trajectories(GENE, [half()], iterations=0)
    assert path is not None
    chi2 = [path.chi2]
    for _ in range(6):
        path = fit_trajectories(path.model, path.problems, iterations=1, cg=cg)
        assert path is not None
        chi2.append(path.chi2)
    assert all(b < a for a, b in itertools.pairwise(chi2[:5]))
    assert chi2[-1] < 0.01 * chi2[0]


def test_the_law_and_first_states_are_found_through_gaps() -> None:
    found, x0 = problem(laws.Gene(), GENE, missing=0.5)
    path = fit_trajectories(
        GENE.with_parameters(torch.tensor([-0.7, 1.3, 1.6], dtype=torch.float64)), [found], iterations=25
    )
    assert path is not None
    assert path.model.parameters.tolist() == pytest.approx([-1.0, 1.0, 2.0], rel=1e-3)
    assert (path.problems[0].x0 - x0).abs().max() < 1e-3
    assert path.excess < 5


def test_first_states_at_their_bounds_move_inwards_only() -> None:
    found, _ = problem(laws.Heat(0.7), HEAT, noise=0.05)
    low = replace(found, x0=found.bounds[0].expand_as(found.x0).clone())
    down = np.where(np.arange(16) % 2, 1.0, -1.0)
    assert low.movable(down).tolist() == (down > 0).tolist()
    high = replace(found, x0=found.bounds[1].expand_as(found.x0).clone())
    assert high.movable(down).tolist() == (down < 0).tolist()
    assert found.movable(down).all()


def test_steps_are_stable_where_nothing_happens() -> None:
    fast = equation((-60.0, "x", False), (60.0, "1", False))  # 1 is where it stands still
    found, _ = problem(laws.Heat(0.7), HEAT)
    still = torch.ones_like(found.data.level)
    one = replace(found.data, times=torch.linspace(0, 4, 20, dtype=torch.float64))
    needed = steps_needed(fast, one.network, still[:-1], one.spans, TOLERANCE, 128, RK4)
    assert roll(fast, one.network, still[0] + 1e-6, one.spans, needed.tolist()).abs().max() > 10
    steps = steps_along(fast, one, still, TOLERANCE, 128)
    torch.testing.assert_close(roll(fast, one.network, still[0] + 1e-6, one.spans, steps.tolist())[-1], still[0])
    assert (steps_along(fast, one, still, TOLERANCE, 4) == 0).all()


def test_poor_laws_through_gaps_are_said_to_be_so() -> None:
    found, _ = problem(laws.Gene(), GENE, missing=0.3)
    right = fit_trajectories(GENE, [found], iterations=15)
    wrong = fit_trajectories(
        GENE.with_parameters(torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)), [found], iterations=0
    )
    assert right is not None
    assert wrong is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judged(right, True, "why", False) == (True, "why")
    with pytest.warns(UserWarning, match=r"misses typical states by .* %.*per_node"):
        assert judged(wrong, False, "why", False) == (False, "why")
    with pytest.warns(UserWarning, match="does not explain the data"):
        assert not judged(wrong, False, "why", True)[0]


def test_a_fit_that_cannot_come_near_enough_is_given_up() -> None:
    wrong = equation((-0.5, "x", False))
    one, _ = problem(laws.Heat(k=0.7), HEAT, noise=0.02)
    whole = fit_trajectories(wrong, [one], iterations=20)
    assert whole is not None
    soon = fit_trajectories(wrong, [one], iterations=20, least=whole.chi2 / 100)
    late = fit_trajectories(wrong, [one], iterations=20, least=whole.chi2 * 1.001)
    assert soon is not None
    assert late is not None
    assert soon.chi2 > whole.chi2 / 100
    assert late.chi2 == pytest.approx(whole.chi2)
