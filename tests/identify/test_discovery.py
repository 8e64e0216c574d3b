"""Evidence: whether the law explains the data is a field, for code to decide on; the sentence is for people."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace

import pytest
import torch

from ndcn import Trajectory, laws, networks, sampling, simulate
from ndcn.identify import Evidence, FoundLaw, Interaction, discover, estimate, estimation as module, search, weak_form
from ndcn.identify.library import library, ranges_of
from ndcn.identify.observations import observed


def heat(rate: float = 0.7) -> Trajectory:
    graph = networks.grid(16)
    return simulate(laws.Heat(rate), graph, laws.initial_state(graph), sampling.irregular_times(0.5, count=15, seed=0))


@pytest.fixture(scope="module")
def found() -> FoundLaw:
    return estimate(laws.Heat(None), [heat()])


@pytest.mark.parametrize(
    ("form", "closed", "free", "explained"),
    [
        ("closed", 0.3, None, True),
        ("closed", 30.0, None, False),
        ("free", 30.0, 1.0, True),
        ("free", 0.3, 30.0, False),
        ("known", None, None, False),
    ],
)
def test_files_that_do_not_say_it_are_judged_by_the_residuals_of_the_form_kept(
    form: str, closed: float | None, free: float | None, explained: bool
) -> None:
    assert Evidence(form, "because", (0.0,), closed, free).explained is explained


@pytest.mark.parametrize("explained", [True, False])
def test_what_was_said_is_kept(explained: bool) -> None:
    evidence = Evidence("closed", "because", (0.0,), 0.3, explained=explained)
    assert evidence.explained is explained
    assert Evidence(**asdict(evidence)) == evidence


def test_a_law_that_is_found_explains_its_data(found: FoundLaw) -> None:
    assert discover([heat()], Interaction()).evidence.explained
    assert found.evidence.explained


def test_a_wrong_law_does_not_and_estimate_warns_of_it() -> None:
    with pytest.warns(UserWarning, match="not the whole law"):
        found = estimate(laws.Gene(b=None), [heat()])
    assert found.evidence.explained is False


@pytest.mark.parametrize("explained", [True, False])
def test_the_warning_follows_the_field_not_the_words(
    found: FoundLaw, monkeypatch: pytest.MonkeyPatch, explained: bool
) -> None:
    reworded = replace(found, evidence=Evidence("known", "not the whole law", (0.0,), explained=explained))
    monkeypatch.setattr(module, "_estimated", lambda *args: reworded)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate(laws.Heat(None), [heat()])
    assert bool(caught) is not explained


# Large networks -----------------------------------------------------------------------------------------------------


def gene(b: float = 1.0, last: float = 1.0) -> Trajectory:
    graph = networks.small_world(60, seed=0, order=None)
    x0 = laws.Gene().initial_state(graph, seed=0).double()
    whole = simulate(laws.Gene(b=b), graph, x0, sampling.irregular_times(3.0, count=30, seed=0))
    other = simulate(laws.Gene(b=b * last), graph, whole.states[-1], [0.0, 0.5, 1.0])
    return Trajectory(
        times=torch.cat([whole.times, whole.times[-1] + other.times[1:]]),
        states=torch.cat([whole.states, other.states[1:]]),
        graph=graph,
    )


def test_a_law_of_a_large_network_is_found_on_some_intervals_and_judged_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LARGE", 10)
    monkeypatch.setattr(search, "JUDGED_AT_ONCE", 300)
    monkeypatch.setattr(weak_form, "MOST_ROWS", 100)
    fitted = []
    judged = search.Search._judged
    monkeypatch.setattr(search.Search, "_judged", lambda *given: fitted.append(judged(*given)) or fitted[-1])
    found = discover([gene()], Interaction())
    assert found.evidence.explained
    assert "x_j^" in str(found.law)
    assert len(fitted) == 1
    assert fitted[0].fit.count < 60 * 31  # the parameters are those of some intervals
    assert fitted[0].explains()


def test_what_some_intervals_do_not_show_is_seen_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LARGE", 10)
    monkeypatch.setattr(
        search, "spread_intervals", lambda one, count: torch.arange(min(count, len(one.spans)))
    )  # the change of the last two intervals is in none of them
    one = observed(gene(last=1.5), noisy=False)
    terms = library(("x",), ranges_of(one.level.reshape(-1, 1)))
    found = search.Search([one], terms).run()
    assert found is not None
    assert not found.explains()
