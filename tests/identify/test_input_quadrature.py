"""Integrals of inputs times a path, and pieces between their knots."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, strategies as st

import ndcn
from ndcn.identify.input_quadrature import input_weights, pieces_of
from ndcn.identify.observations import inside

TIMES = torch.tensor([0.0, 0.7, 1.0, 2.5], dtype=torch.float64)


@given(st.lists(st.floats(0.05, 2.45), min_size=1, max_size=5, unique=True))
def test_a_cubic_times_a_switching_input_is_integrated_exactly(switches: list[float]) -> None:
    knots = [0.0, *sorted(switches)]
    values = [float(k % 2) + 0.5 for k in range(len(knots))]
    weights = input_weights(ndcn.Inputs(knots, {"u": values}, until=2.5), TIMES)["u"]
    path = inside(lambda t: (1 + t - 2 * t**2 + t**3)[:, None], TIMES)
    found = (path * weights).sum(1).flatten().numpy()

    def integral(t: np.ndarray) -> np.ndarray:
        return np.asarray(t + t**2 / 2 - 2 * t**3 / 3 + t**4 / 4)

    for k, (a, b) in enumerate(zip(TIMES[:-1].tolist(), TIMES[1:].tolist(), strict=True)):
        bounds = np.clip([*knots, 2.5], a, b)
        exact = sum(u * (integral(y) - integral(x)) for u, x, y in zip(values, bounds[:-1], bounds[1:], strict=True))
        assert abs(found[k] - exact) < 1e-10


def test_a_linear_input_of_each_node() -> None:
    u = ndcn.Inputs([0.0, 1.5, 2.5], {"u": [[0.0, 1.0], [3.0, 1.0], [0.0, 1.0]]}, between="linear")
    weights = input_weights(u, TIMES)["u"]
    assert torch.allclose(weights.sum(1)[:, 1], TIMES.diff())
    assert torch.allclose(weights.sum((0, 1)), torch.tensor([3.75, 2.5]).double())


def test_pieces_stop_where_inputs_jump_and_bend() -> None:
    u = ndcn.Inputs([0.0, 0.2, 2.0], {"a": [0.0, 1.0, 0.0]}, until=2.5)
    v = ndcn.Inputs([0.0, 0.5, 2.5], {"b": [0.0, 1.0, 0.0]}, between="linear")
    pieces = pieces_of(u | v, TIMES)
    assert pieces.lengths[0].tolist() == [0.2, 0.3, 0.19999999999999996]
    assert torch.allclose(pieces.lengths.sum(1), TIMES.diff())
    assert pieces.first[0, :, 0].tolist() == [[0.0, 0.0], [1.0, 0.4], [1.0, 1.0]]
    assert pieces.last[0, 0, 0].tolist() == [0.0, 0.4]  # the held one has not switched yet
    halves = pieces.split(2)
    assert torch.allclose(halves.lengths.sum(1), TIMES.diff())
    assert torch.allclose(halves.first[0, 1, 0], torch.tensor([0.0, 0.2]).double())
    coarse = pieces_of(u | v, TIMES, straight=0.5)
    assert coarse.count < pieces.count  # the bend is passed over, jumps are not
