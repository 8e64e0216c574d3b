"""Trajectory: what it guarantees and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn import Graph, Trajectory
from ndcn.data import checked_state
from problems import GRAPHS, trajectory

PAIR = Graph.from_edges([("a", "b")])
NAN, INF = float("nan"), float("inf")


def _make(**changes: Any) -> Trajectory:
    arguments = {"times": [0.0, 0.5, 2.0], "states": torch.arange(12.0).reshape(3, 2, 2), "graph": PAIR}
    return Trajectory(**{**arguments, **changes})


# What it keeps ------------------------------------------------------------------------------------------------------


def test_shapes_names_and_printing() -> None:
    data = _make()
    assert (len(data), data.num_features, data.features) == (3, 2, ("x1", "x2"))
    assert data.times.dtype == torch.float64
    assert data.mask is None
    assert repr(data) == "Trajectory(3 snapshots of 2 nodes, 2 features, t = 0 .. 2)"
    single = Trajectory(times=[1], states=[[7]], graph=GRAPHS["single"])
    assert repr(single) == "Trajectory(1 snapshot of 1 node, 1 feature, t = 1 .. 1)"
    assert single.features == ("x",)


def test_missing_entries_are_counted_when_printing() -> None:
    mask = torch.ones(3, 2, dtype=torch.bool)
    mask[0, 0] = False
    assert "16.7 % missing" in repr(_make(mask=mask))


@pytest.mark.parametrize(
    ("states", "dtype"),
    [
        (torch.zeros(3, 2, 1, dtype=torch.float64), torch.float64),
        (torch.zeros(3, 2, dtype=torch.float32), torch.float32),
        (np.zeros((3, 2, 1)), torch.float64),
        (np.zeros((3, 2), dtype=int), torch.float32),
        ([[0, 1], [2, 3], [4, 5]], torch.float32),
        (pd.DataFrame(np.zeros((3, 2))), torch.float64),
    ],
)
def test_states_keep_their_floating_type(states: Any, dtype: torch.dtype) -> None:
    data = _make(states=states)
    assert data.states.dtype == dtype
    assert data.states.shape == (3, 2, 1)


@pytest.mark.parametrize(
    "times",
    [[0, 1, 2], np.array([0, 1, 2]), torch.tensor([0, 1, 2]), pd.Series([9, 0, 1, 2])[1:], pd.Index([0, 1, 2])],
    ids=["list", "array", "tensor", "series", "index"],
)
def test_times_of_any_kind(times: Any) -> None:
    assert _make(times=times).times.tolist() == [0, 1, 2]


def test_what_was_given_can_change_without_harm() -> None:
    times, states = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64), torch.zeros(3, 2, 1, requires_grad=True)
    data = _make(times=times, states=states)
    times += 1
    states.data += 1
    assert data.times[0] == 0
    assert data.states.sum() == 0
    assert not data.states.requires_grad


def test_states_are_taken_without_a_copy_on_request() -> None:
    states = torch.zeros(3, 2, 1)
    assert _make(states=states, copy=False).states.data_ptr() == states.data_ptr()
    assert _make(states=states).states.data_ptr() != states.data_ptr()


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 2)])
def test_entries_that_were_not_observed_are_nan(shape: tuple[int, ...]) -> None:
    mask = torch.ones(shape, dtype=torch.bool)
    mask[1, 0] = False
    data = _make(mask=mask)
    assert data.states[1, 0].isnan().all()
    assert data.mask.shape == data.states.shape
    assert torch.equal(data.mask, ~data.states.isnan())


def test_a_mask_of_everything_is_none() -> None:
    assert _make(mask=torch.ones(3, 2, dtype=torch.bool)).mask is None


def test_nan_behind_the_mask_is_fine() -> None:
    states = torch.arange(12.0).reshape(3, 2, 2)
    states[2, 1, 0] = NAN
    assert _make(states=states, mask=states.isfinite()).mask.sum() == 11


# What it refuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, 2, 1], r"not in increasing order: times\[1\] = 2, times\[2\] = 1; sort the snapshots"),
        ([0, 1, 1], r"repeated: times\[1\] = 1, times\[2\] = 1; .* keep one for each time"),
        ([-1, 0, 1], "must be >= 0, but the smallest is -1; shift"),
        ([0, NAN, 1], r"finite, but times\[1\] is nan"),
        ([0, 1, INF], r"finite, but times\[2\] is inf"),
        ([[0], [1], [2]], r"shape \(T,\); got shape \(3, 1\)"),
        ([], "at least one number"),
        (1.0, r"got shape \(\)"),
        (["a", "b", "c"], "times must be numbers"),
        (pd.Series(["a", "b", "c"]), "times must be numbers"),
    ],
)
def test_bad_times(times: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _make(times=times)


def test_times_in_any_order_only_on_request() -> None:
    data = _make(times=[2, 0, 2], ordered=False)
    assert data.times.tolist() == [2, 0, 2]
    assert "t = 0 .. 2" in repr(data)
    with pytest.raises(ValueError, match=">= 0"):
        _make(times=[2, -1, 2], ordered=False)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_states_that_are_not_finite_without_a_mask(value: float) -> None:
    states = torch.zeros(3, 2, 2)
    states[1, 0, 1] = value
    with pytest.raises(ValueError, match=r"1 NaN .* first at time 1, node 0, feature 1; .* mask=states.isfinite\(\)"):
        _make(states=states)


def test_infinite_states_are_refused_though_others_are_masked() -> None:
    states = torch.tensor([[INF, NAN], [1, 2], [3, 4]])
    with pytest.raises(ValueError, match="1 NaN or infinite entries, the first at time 0, node 0"):
        _make(states=states, mask=~states.isnan())


@pytest.mark.parametrize("shape", [(3, 3, 1), (2, 2, 1), (3,), (3, 2, 0), (1, 3, 2, 1)])
def test_shapes_that_do_not_fit_the_graph(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(T, n, d\) with T = 3 times and n = 2 nodes of the graph, got"):
        _make(states=torch.zeros(shape))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(3, 2), "mask must be boolean .*got torch.float32"),
        (torch.ones(3, 1, dtype=torch.bool), r"the shape of states \(3, 2, 2\), got \(3, 1\)"),
        ("abc", "mask must be numbers"),
    ],
)
def test_bad_masks(mask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _make(mask=mask)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["x"], "2 distinct names, got"),
        (["x", "x"], "2 distinct names, got"),
        (["time", "x"], '"time" or "node"'),
        (["x", "node"], '"time" or "node"'),
    ],
)
def test_bad_feature_names(features: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _make(features=features)


@pytest.mark.parametrize(
    "states", [torch.ones(3, 2, dtype=torch.complex64), np.ones((3, 2), dtype=complex), [[1j, 0]] * 3]
)
def test_complex_states_are_refused(states: Any) -> None:
    with pytest.raises(ValueError, match=r"states must be real numbers, got torch.complex.*two features"):
        _make(states=states)
    with pytest.raises(ValueError, match="x0 must be real numbers"):
        checked_state(states[0], PAIR)


@pytest.mark.parametrize("times", [torch.tensor([0, 1, 2j]), np.array([0, 1, 2j]), pd.Series([0, 1, 2j])])
def test_complex_times_are_refused(times: Any) -> None:
    with pytest.raises(ValueError, match="times must be real numbers"):
        _make(times=times)


def test_dates_are_refused_with_a_way_to_numbers() -> None:
    dates = pd.date_range("2020-01-01", periods=3)
    for times in (dates, dates.to_numpy(), pd.Series(dates), dates - dates[0]):
        with pytest.raises(
            ValueError, match=r"dates or durations; .* \(times - times.min\(\)\) / pandas.Timedelta\(days=1\)"
        ):
            _make(times=times)
    assert _make(times=(dates - dates.min()) / pd.Timedelta(days=1)).times.tolist() == [0, 1, 2]


def test_states_that_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="states must be numbers"):
        _make(states=[["a", "b"]] * 3)


def test_another_graph_class_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be an ndcn.Graph, got str; see Graph.from_networkx"):
        _make(graph="graph")


# Some of it ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "chosen"),
    [
        (0, [0]),
        (-1, [2]),
        (np.int64(1), [1]),
        (slice(1, None), [1, 2]),
        ([0, 2], [0, 2]),
        (np.array([True, False, True]), [0, 2]),
        (torch.tensor([2, 0]), [2, 0]),
        ([1, 1], [1, 1]),
    ],
)
def test_snapshots_by_position(index: Any, chosen: list[int]) -> None:
    data = _make(features=["u", "v"], mask=torch.arange(12).reshape(3, 2, 2) != 3)
    part = data[index]
    assert torch.equal(part.times, data.times[chosen])
    torch.testing.assert_close(part.states, data.states[chosen], equal_nan=True)
    assert part.features == ("u", "v")
    assert part.graph is data.graph
    assert part.mask is None or torch.equal(part.mask, data.mask[chosen])


@pytest.mark.parametrize("index", [slice(3, None), [], np.zeros(3, dtype=bool)])
def test_selecting_nothing_is_refused(index: Any) -> None:
    with pytest.raises(ValueError, match="selects none of the 3 snapshots"):
        _make()[index]


def test_an_integer_outside_ends_iteration() -> None:
    assert [part.times.item() for part in _make()] == [0, 0.5, 2]
    with pytest.raises(IndexError):
        _make()[3]


def test_first_state_without_a_mask() -> None:
    assert torch.equal(_make().first_state(), _make().states[0])


def test_first_state_takes_the_next_observation_and_means() -> None:
    states = torch.tensor([[[1.0, NAN], [NAN, NAN], [NAN, NAN]], [[2.0, NAN], [5.0, NAN], [NAN, NAN]]])
    data = Trajectory(times=[0, 1], states=states, graph=GRAPHS["edgeless"], mask=~states.isnan())
    assert data.first_state().tolist() == [[1, 0], [5, 0], [3, 0]]


@given(st.integers(0, 2**16), st.integers(1, 3))
def test_first_state_is_finite_whatever_is_missing(bits: int, d: int) -> None:
    x = torch.rand(4, 4, d)
    mask = torch.tensor([(bits >> k) & 1 for k in range(16)], dtype=torch.bool).reshape(4, 4)
    if not mask.any():
        mask[0, 0] = True
    data = Trajectory(times=range(4), states=x, graph=GRAPHS["path"], mask=mask)
    assert data.first_state().isfinite().all()
    assert torch.equal(data.first_state()[mask[0]], x[0][mask[0]])


def test_fingerprint_follows_times_states_mask_and_graph() -> None:
    base = trajectory(GRAPHS["path"])
    others = [
        Trajectory(times=base.times + 1, states=base.states, graph=base.graph),
        Trajectory(times=base.times, states=base.states + 1, graph=base.graph),
        Trajectory(times=base.times, states=base.states.double(), graph=base.graph),
        Trajectory(times=base.times, states=base.states, graph=Graph.from_edges([], num_nodes=4)),
        trajectory(GRAPHS["path"], missing=True),
    ]
    assert base.fingerprint == trajectory(GRAPHS["path"]).fingerprint
    assert len({data.fingerprint for data in [base, *others]}) == 6


# One state ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [torch.zeros(2), np.zeros((2, 1)), [0, 0], pd.Series([9, 0, 0])[1:]])
def test_a_state_gets_two_axes(x: Any) -> None:
    state = checked_state(x, PAIR)
    assert state.shape == (2, 1)
    assert state.is_floating_point()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(3), r"x0 must have shape \(n, d\) with n = 2 nodes of the graph, got \(3, 1\)"),
        (torch.zeros(2, 0), "must have shape"),
        (torch.zeros(1, 2, 1), "must have shape"),
        ([0.0, NAN], "x0 has NaN or infinite entries, the first at node 'b'; give every node a finite state"),
        (["a", "b"], "x0 must be numbers"),
    ],
)
def test_bad_states(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_state(x, PAIR)
