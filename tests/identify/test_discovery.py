"""Evidence: whether the law explains the data is a field, for code to decide on; the sentence is for people."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace

import pytest

from ndcn import Trajectory, laws, networks, sampling, simulate
from ndcn.identify import Evidence, FoundLaw, Interaction, discover, estimate, estimation as module


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
