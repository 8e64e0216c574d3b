"""Inputs: what they are between their times, where they are known, and how trajectories and folders keep them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import ndcn

GRAPH = ndcn.networks.grid(4)


def run(inputs: ndcn.Inputs | None = None, last: float = 4.0) -> ndcn.Trajectory:
    times = torch.linspace(0, last, 5, dtype=torch.float64)
    return ndcn.Trajectory(times=times, states=torch.rand(5, 4), graph=GRAPH, inputs=inputs)


def test_held_and_linear() -> None:
    u = ndcn.Inputs([0.0, 1.0, 3.0], {"a": [1.0, 2.0, 5.0]})
    assert [u.at(t)["a"].item() for t in (0.0, 0.99, 1.0, 2.9, 3.0)] == [1, 1, 2, 2, 5]
    v = ndcn.Inputs([0.0, 1.0, 3.0], {"a": [1.0, 2.0, 6.0]}, between="linear")
    assert v.at([0.5, 2.0])["a"].flatten().tolist() == [1.5, 4.0]
    assert u.stops(0.0, 3.0) == [1.0]
    assert v.stops(0.0, 3.0) == [1.0]
    assert v.stops(0.0, 3.0, kinks=False) == []


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.floats(0, 1))
def test_linear_is_numpys(values: list[float], share: float) -> None:
    times = np.arange(len(values), dtype=float)
    u = ndcn.Inputs(times, {"a": values}, between="linear")
    t = share * times[-1]
    assert u.at(t)["a"].item() == pytest.approx(np.interp(t, times, values), abs=1e-12)


def test_a_straight_line_has_no_stops_and_a_value_that_stays_no_switch() -> None:
    assert ndcn.Inputs([0.0, 0.5, 3.0], {"a": [0.0, 0.5, 3.0]}, between="linear").stops(0, 3) == []
    assert ndcn.Inputs([0.0, 0.5, 1.0, 3.0], {"a": [1.0, 1.0, 2.0, 2.0]}).stops(0, 3) == [1.0]


def test_each_node_and_all_nodes() -> None:
    u = ndcn.Inputs([0.0, 4.0], {"all": [0.0, 1.0], "each": np.arange(8.0).reshape(2, 4)}, between="linear")
    assert u.at(2.0)["each"].tolist() == [2, 3, 4, 5]
    assert u.num_nodes == 4
    assert run(u).inputs is u
    assert u.of_nodes(torch.tensor([2, 0])).at(0.0)["each"].tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"values for 3 nodes, and the graph has 4"):
        run(ndcn.Inputs([0.0, 4.0], {"each": np.zeros((2, 3))}))


def test_times_that_may_not_be_written_give_no_warning() -> None:
    times = np.arange(3.0)
    times.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ndcn.Inputs(times, {"rain": [1.0, 2.0, 3.0]}).names == ("rain",)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ndcn.Inputs([0, 1], {}), "need names"),
        (lambda: ndcn.Inputs([0, 1], {"time": [0, 1]}), 'a name other than "time"'),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, 1]}, between="cubic"), '"held" or "linear"'),
        (lambda: ndcn.Inputs([1, 0], {"a": [0, 1]}), "not in increasing order"),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, 1, 2]}), r"with K = 2 times, got \(3, 1\)"),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, np.nan]}), "1 gaps .* the first at place 1"),
        (lambda: ndcn.Inputs([0, 1], {"a": ["x", "y"]}), "must be numbers"),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, 1]}, between="linear", until=3), "until is for inputs that are held"),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, 1]}, until=0.5), "after the last one"),
        (lambda: ndcn.Inputs([0, 1], {"a": [0, 1]}) | ndcn.Inputs([0, 1], {"a": [0, 1]}), "two are called a"),
    ],
)
def test_wrong_inputs(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]


def test_inputs_that_begin_too_late_or_end_too_early() -> None:
    with pytest.raises(
        ValueError, match=r"'a' is known until t = 3, and the snapshots go to t = 4: give its later values or until="
    ):
        run(ndcn.Inputs([0.0, 3.0], {"a": [0.0, 1.0]}))
    with pytest.raises(ValueError, match="'a' begins at t = 1, and the snapshots begin at t = 0"):
        run(ndcn.Inputs([1.0, 5.0], {"a": [0.0, 1.0]}))
    assert run(ndcn.Inputs([0.0, 3.0], {"a": [0.0, 1.0]}, until=4.0)).inputs is not None
    assert run(ndcn.Inputs([-2.0, 5.0], {"a": [0.0, 1.0]})).inputs is not None
    with pytest.raises(TypeError, match=r"inputs must be ndcn\.Inputs"):
        run({"a": [0, 1]})  # type: ignore[arg-type]


def test_the_future_follows_the_past() -> None:
    past = ndcn.Inputs([0.0, 1.0, 2.0], {"a": [0.0, 1.0, 2.0], "b": [0.0, 0.0, 1.0]})
    both = past.then(ndcn.Inputs([1.5, 4.0], {"a": [7.0, 8.0]}))
    assert [both.at(t)["a"].item() for t in (1.0, 1.5, 3.9, 4.0)] == [1, 7, 7, 8]
    assert both["b"] is past["b"]
    with pytest.raises(ValueError, match=r"no input .c.; there are a, b"):
        past.then(ndcn.Inputs([3.0], {"c": [0.0]}))
    with pytest.raises(ValueError, match="was held between its times in training, and is linear"):
        past.then(ndcn.Inputs([3.0, 4.0], {"a": [0.0, 1.0]}, between="linear"))
    with pytest.raises(ValueError, match="was one for all nodes in training, and is one for each of 4"):
        past.then(ndcn.Inputs([3.0, 4.0], {"a": np.zeros((2, 4))}))


def test_parts_of_a_trajectory_keep_them() -> None:
    u = ndcn.Inputs([0.0, 5.0], {"a": [0.0, 1.0]}, between="linear")
    data = run(u)
    assert data[1:3].inputs is u
    assert all(part is None or part.inputs is u for part in ndcn.split(data, interpolation=0.2, extrapolation=0.2))
    assert ndcn.Dataset((data,)).trajectory.inputs is u
    assert data.fingerprint != run().fingerprint
    assert "inputs a" in repr(data)


def test_folders_keep_them(tmp_path: object) -> None:
    rng = np.random.default_rng(0)
    u = ndcn.Inputs([0.0, 1.0, 4.0], {"each": rng.random((3, 4))}, between="linear") | ndcn.Inputs(
        [-1.0, 4.0], {"all": [0, 1]}
    )
    data = run(u)
    data.save(f"{tmp_path}/data")
    assert ndcn.Trajectory.load(f"{tmp_path}/data").inputs == u
    run().save(f"{tmp_path}/data")  # the table of inputs goes with the rest
    assert ndcn.Trajectory.load(f"{tmp_path}/data").inputs is None
