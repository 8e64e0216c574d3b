"""The weak form: laws recovered where the path is exact, and the search for supports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ndcn import Graph, Trajectory, laws, networks
from ndcn.identify.known_law import checked_law
from ndcn.identify.library import COUPLING, SELF, library, ranges_of
from ndcn.identify.observations import Observations, inside, observed
from ndcn.identify.weak_form import stretches, supports, unexplained_increments, weak_form
from ndcn.laws import Term
from ndcn.laws.formula import Formula
from problems import heat, states

GRAPH = networks.random(12, seed=0)
TIMES = torch.linspace(0, 0.5, 9, dtype=torch.float64)
TERMS = [
    Term(Formula(text), coupling)
    for text, coupling in [
        ("1", False),
        ("x", False),
        ("x^2", False),
        ("x_j", True),
        ("x_j - x_i", True),
        ("x_i*x_j", True),
        ("sin(x_j)", True),
    ]
]


def exact(graph: Graph = GRAPH, k: float = 0.7, decay: float = 0.0) -> Observations:
    """dx_i/dt = k sum_j A_ij (x_j - x_i) - decay x_i along its exact path, in two independent features."""
    x0 = states(graph, 1)

    def path(t: np.ndarray) -> np.ndarray:
        return (
            heat(graph, x0, k * torch.from_numpy(t)) * torch.exp(-decay * torch.from_numpy(t))[:, None, None]
        ).numpy()

    level = torch.from_numpy(path(TIMES.numpy()))
    one = observed(Trajectory(times=TIMES, states=level, graph=graph), noisy=False)
    return replace(one, inner=inside(path, TIMES))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_what_a_known_law_leaves_open_is_recovered(power: float) -> None:
    one = exact(decay=0.4)
    base = checked_law(laws.Heat(0.7), one.network, one.level)
    form = weak_form([one], [torch.arange(8)], TERMS, power, base=base)
    (single,) = [s for s in supports(form, 0, most=1) if s.members == (1,)]
    np.testing.assert_allclose(single.coefficients, [-0.4], rtol=1e-5)
    assert single.rest < 1e-9
    whole = exact()
    assert unexplained_increments(whole, torch.tensor([0, 5]), base).abs().max() < 1e-6
    torch.testing.assert_close(
        unexplained_increments(whole, torch.tensor([0, 5]), None)[1], whole.level[6] - whole.level[5]
    )


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_linear_law_is_recovered(power: float) -> None:
    one = exact(decay=0.4)
    form = weak_form([one], [torch.arange(8)], TERMS, power)
    assert form.rows == 8 * 12
    pair = next(s for s in supports(form, 0, most=3) if s.members == (1, 4))
    np.testing.assert_allclose(pair.coefficients, [-0.4, 0.7], rtol=1e-5)
    assert pair.rest < 1e-9
    best = min((s for s in supports(form, 0, most=2) if len(s.members) == 2), key=lambda s: s.rest)
    assert best.members == (1, 4)


def test_full_least_squares_finds_no_other_terms() -> None:
    form = weak_form([exact(decay=0.4)], [torch.arange(8)], TERMS, 0.0)
    c = np.linalg.lstsq(form.gram[0], form.moment[0], rcond=1e-14)[0]
    np.testing.assert_allclose(c, [0, -0.4, 0, 0, 0.7, 0, 0], atol=2e-4)


def test_several_trajectories_on_other_graphs_are_one_system() -> None:
    data = [exact(), exact(networks.grid(9))]
    form = weak_form(data, [torch.arange(8), torch.tensor([0, 3])], TERMS, 0.5)
    assert form.rows == 8 * 12 + 2 * 9
    best = supports(form, 0, most=1)[0]
    assert best.members == (4,)
    assert best.coefficients[0] == pytest.approx(0.7, rel=1e-6)


def test_each_feature_has_a_system_of_its_own() -> None:
    level = states(GRAPH, 5, 2)
    one = observed(Trajectory(times=TIMES[:5], states=level, graph=GRAPH, features=("v", "w")), noisy=False)
    terms = [
        Term(Formula("v", ("v", "w")), False, 0),
        Term(Formula("w", ("v", "w")), False, 1),
        Term(Formula("v_j*w_i", ("v", "w")), True, 1),
    ]
    form = weak_form([one], [torch.arange(4)], terms, 0.5)
    assert [len(t) for t in form.terms] == [1, 2]
    assert [g.shape for g in form.gram] == [(1, 1), (2, 2)]


def test_terms_that_are_not_finite_are_left_out() -> None:
    terms = [*TERMS, Term(Formula("log(x - 100)"), False), Term(Formula("exp(10000*x)"), False)]
    form = weak_form([exact()], [torch.arange(8)], terms, 0.5)
    assert np.isfinite(form.gram[0]).all()
    assert supports(form, 0, most=1)[0].members == (4,)


def test_of_one_family_a_support_holds_one_member() -> None:
    terms = [*TERMS, *(Term(Formula("x_j/(K + x_j)"), True, 0, (K,)) for K in (0.1, 0.5, 2.0, 8.0))]
    form = weak_form([exact()], [torch.arange(8)], terms, 0.5)
    for support in supports(form, 0, most=5):
        families = [form.terms[0][m].family for m in support.members]
        assert len(set(families)) == len(families)


def test_supports_grow_from_a_start() -> None:
    form = weak_form([exact(decay=0.4)], [torch.arange(8)], TERMS, 0.5)
    grown = supports(form, 0, most=2, start=(1,))
    assert all(len(s.members) == 2 for s in grown)
    assert min(grown, key=lambda s: s.rest).members == (1, 4)


def test_the_library_holds_at_least_25_families() -> None:
    found = library(["x"], np.array([[0.0], [5.0]]))
    assert len({t.family for t in found}) == len(SELF) + len(COUPLING) >= 25
    assert all(len(t.values) == len(t.formula.parameters) for t in found)
    assert all(np.isfinite(t.values).all() for t in found)


def test_the_library_takes_terms_and_leaves_others_out() -> None:
    ranges = np.array([[0.0], [5.0]])
    more = library(["x"], ranges, extra=["x_j^4/(K^4 + x_j^4)", "x^5"], without=["x_j-x_i", "x^2"])
    texts = {(t.formula.text, t.coupling) for t in more}
    assert ("x_j^4/(K^4 + x_j^4)", True) in texts
    assert ("x^5", False) in texts
    assert not texts & {("x_j - x_i", True), ("x^2", False)}


def test_the_library_of_several_features_is_in_their_names() -> None:
    found = library(("s", "i"), np.array([[0.0, 0.0], [1.0, 1.0]]))
    families = {t.family for t in found}
    for output in (0, 1):
        for expected in (("s_i*i_j", True, output), ("s*i", False, output), ("i_j - i_i", True, output)):
            assert expected in families
    assert all(t.formula.features == ("s", "i") for t in found)
    names = {name for t in found for name in t.formula.parameters}
    assert names <= {"a", "b", "c", "h", "m", "K"}


def test_states_that_do_not_vary_have_a_library() -> None:
    found = library(["x"], ranges_of(torch.zeros(4, 3, 1, dtype=torch.float64)))
    assert all(np.isfinite(t.values).all() for t in found)


def with_gaps(one: Observations, doubt: float) -> tuple[Observations, torch.Tensor]:
    """Half of the entries unseen, some nodes never; between the others the path is wrong in the last three intervals."""
    seen = torch.rand(one.seen.shape, generator=torch.Generator().manual_seed(1)) > 0.5
    seen[:, 3] = False
    inner, wrong = one.inner.clone(), torch.zeros_like(one.level[1:])
    inner[5:, :, ::2] *= 1.3
    wrong[5:, ::2] = doubt
    return replace(one, seen=seen, level=torch.where(seen, one.level, 1e3), inner=inner, doubt=wrong), seen


def test_gaps_are_bridged_from_one_time_a_node_was_seen_to_the_next() -> None:
    one, seen = with_gaps(exact(decay=0.4), 0.0)
    clean = replace(one, inner=exact(decay=0.4).inner)
    form = weak_form([clean], [torch.arange(8)], TERMS, 0.5)
    assert form.rows == int((seen.sum(0) - 1).clamp(min=0).sum())
    pair = next(s for s in supports(form, 0, most=3) if s.members == (1, 4))
    np.testing.assert_allclose(pair.coefficients, [-0.4, 0.7], rtol=1e-5)
    base = checked_law(laws.Heat(0.7), one.network, exact().level)
    form = weak_form([clean], [torch.arange(8)], TERMS, 0.5, base=base)
    (single,) = [s for s in supports(form, 0, most=1) if s.members == (1,)]
    np.testing.assert_allclose(single.coefficients, [-0.4], rtol=1e-5)


def test_stretches_in_doubt_count_less() -> None:
    missed = []
    for doubt in (0.0, 0.3, 100.0):
        form = weak_form([with_gaps(exact(decay=0.4), doubt)[0]], [torch.arange(8)], TERMS, 0.5)
        pair = next(s for s in supports(form, 0, most=3) if s.members == (1, 4))
        missed.append(np.abs(pair.coefficients - [-0.4, 0.7]).max())
    assert missed[2] < 0.5 * missed[1] < 0.5 * missed[0]


def test_one_gap_makes_no_trajectory_heavier_than_another() -> None:
    whole = exact(decay=0.4)
    seen = torch.ones_like(whole.seen)
    seen[4, 2] = False
    broken = replace(whole, seen=seen, doubt=torch.zeros_like(whole.level[1:]))
    a, b = (stretches(one, torch.arange(8), 0, 1.0) for one in (whole, broken))
    assert len(b.step) == len(a.step) - 1
    assert np.median(a.weight) == pytest.approx(np.median(b.weight), rel=0.1)
