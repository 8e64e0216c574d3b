"""How far a what-if is from anything seen, and where its values are not plausible."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest
import torch

import ndcn
from commands import run
from ndcn.regressor.plausible import SeenRange, seen_ranges

CHAIN = ndcn.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])


@pytest.fixture(scope="module")
def heat() -> ndcn.DynamicsRegressor:
    """Heat on a chain, from 0 to 10: it falls at some nodes."""
    data = ndcn.simulate(ndcn.laws.Heat(), CHAIN, [[10.0], [0.0], [0.0], [0.0]], torch.linspace(0, 2, 20))
    return ndcn.DynamicsRegressor(model=ndcn.laws.Heat(k=None)).fit(data)


@pytest.fixture(scope="module")
def totals() -> ndcn.DynamicsRegressor:
    """dx_i/dt = sum_j A_ij x_j: it never falls."""
    graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
    data = ndcn.simulate(Growth(r=1.0), graph, [[1.0], [1.0], [2.0]], torch.linspace(0, 1, 20))
    return ndcn.DynamicsRegressor(model=Growth(r=None)).fit(data)


class Growth(ndcn.laws.Law):
    """dx_i/dt = r sum_j A_ij x_j."""

    def __init__(self, r: float | None = 1.0) -> None:
        super().__init__()
        self._set(r=r)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return self._number("r", x_i) * x_j


def noted(reg: ndcn.DynamicsRegressor, changes: object, times: list[float], **more: object) -> tuple[str, ...]:
    """The notes of a what-if, each of which must be a warning too."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = reg.what_if(changes, times, **more)
    assert [str(one.message) for one in said] == list(found.notes)
    return found.notes


def test_what_was_seen() -> None:
    states = torch.tensor([[1.0, 5.0], [2.0, 4.0], [3.0, float("nan")], [4.0, 7.0]])
    one = seen(states)
    assert seen_ranges([one]) == (SeenRange(1.0, 7.0, falls=True),)
    rising = seen(states[[0, 3]])
    assert seen_ranges([rising]) == (SeenRange(1.0, 7.0, falls=False),)
    gap = torch.tensor([[1.0, 5.0], [2.0, float("nan")], [3.0, 4.0]])
    over_a_gap = seen(gap)
    assert seen_ranges([rising, over_a_gap]) == (SeenRange(1.0, 7.0, falls=True),)
    assert SeenRange(3.0, 3.0, falls=False).width == 3.0
    assert SeenRange(0.0, 0.0, falls=False).width == 1.0


def seen(states: torch.Tensor) -> ndcn.Trajectory:
    pair = ndcn.Graph.from_edges([("a", "b")])
    return ndcn.Trajectory(times=range(len(states)), states=states, graph=pair, mask=~states.isnan())


def test_nothing_is_said_of_changes_within_what_was_seen(heat: ndcn.DynamicsRegressor) -> None:
    assert noted(heat, "shock b +2", [0.5, 1.0]) == ()
    found = heat.what_if("shock b +2", [0.5, 1.0])
    assert found.distances == (0.0,)
    assert found.lost_input == {}


def test_a_state_that_was_never_seen(heat: ndcn.DynamicsRegressor) -> None:
    (note,) = noted(heat, "shock b =15", [0.0])
    assert note.startswith("just after the changes, x of 'b' is 15, and training showed 0 to 10: 0.5 times that range")
    with pytest.warns(UserWarning, match="never tested"):
        assert heat.what_if("shock b =15", [0.0]).distances == (pytest.approx(0.5),)


def test_values_below_0(heat: ndcn.DynamicsRegressor) -> None:
    """Never -356 without a word."""
    notes = noted(heat, "shock b =-356", [0.0, 1.0])
    assert "x of 'b' is -356, and training showed 0 to 10: 36 times that range outside" in notes[0]
    assert notes[1].startswith("not plausible: x of 'b', and ")
    assert notes[1].endswith("comes to -356 at t = 0, though it was never below 0 in training")
    assert len(notes) == 2
    slight = noted(heat, "shock b =-1", [1.0])  # inside the range again by then
    assert len(slight) == 1


def test_totals_that_fall(totals: ndcn.DynamicsRegressor) -> None:
    notes = noted(totals, "shock b =-1", [0.0, 0.25, 0.5], at=0.0)
    assert any("of 'a'" in note and "falls from 1 to" in note and "never fell in training" in note for note in notes)
    assert noted(totals, "shock b +0.5", [0.5, 0.0, 0.25], at=0.0) == ()  # times in any order


def test_values_far_away(totals: ndcn.DynamicsRegressor) -> None:
    (note,) = noted(totals, "shock a *1.1", [6.0], at=0.0)
    assert note.startswith("not plausible: x of 'b', and 2 more nodes comes to")
    assert "far from the 1 to" in note


def test_input_that_is_lost(heat: ndcn.DynamicsRegressor) -> None:
    (note,) = noted(heat, "remove b", [1.0])
    assert "100 % of that of 'a', 50 % of that of 'c'" in note
    found = heat.what_if("cut b c", [1.0])
    assert found.lost_input == {"b": 0.5, "c": 0.5}
    ring = ndcn.Graph.from_edges([(i, j) for i in range(5) for j in range(i)], num_nodes=5)
    dense = ndcn.simulate(ndcn.laws.Heat(), ring, [[4.0], [3.0], [2.0], [1.0], [0.0]], torch.linspace(0, 1, 20))
    reg = ndcn.DynamicsRegressor(model=ndcn.laws.Heat(k=None)).fit(dense)
    assert noted(reg, "cut 0 1", [0.5]) == ()  # a quarter of the input


def test_nothing_is_said_before_the_changes(heat: ndcn.DynamicsRegressor) -> None:
    assert noted(heat, "shock b =-356", [0.0, 0.5], at=1.0) == ()


def test_files_keep_what_was_seen(
    heat: ndcn.DynamicsRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heat.save("heat.ndcn")
    again = ndcn.load("heat.ndcn", model=ndcn.laws.Heat(k=None))
    assert again.seen_ == heat.seen_ == (SeenRange(0.0, pytest.approx(10.0), falls=True),)
    again.seen_ = None  # as of a file of an earlier version
    again.save("old.ndcn")
    (note,) = noted(ndcn.load("old.ndcn", model=ndcn.laws.Heat(k=None)), "shock b =-356", [1.0])
    assert "does not tell which states were seen" in note
    ndcn.DynamicsRegressor(epochs=2).fit(heat.data_).save("ndcn.ndcn")
    words = ("predict", "ndcn.ndcn", "--times", "0,1", "--what-if", "shock b =-356")
    assert "note: just after the changes, x of 'b' is -356" in run(*words).stderr
    assert "training showed 0 to 10" in json.loads(run(*words, "--json").stdout)["notes"][0]


def test_dates_in_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = ndcn.simulate(ndcn.laws.Heat(), CHAIN, [[10.0], [0.0], [0.0], [0.0]], torch.arange(12) / 4)
    wide = pd.DataFrame(data.states[..., 0].numpy(), columns=list("abcd"))
    wide.insert(0, "date", pd.date_range("2021-03-01", periods=12).strftime("%Y-%m-%d"))
    edges = pd.DataFrame({"source": list("abc"), "target": list("bcd")})
    reg = ndcn.DynamicsRegressor(model=ndcn.laws.Heat(k=None)).fit(ndcn.read(edges, wide))
    assert " at 2021-03-01, though" in noted(reg, "shock b =-356", [0.0, 1.0])[1]
