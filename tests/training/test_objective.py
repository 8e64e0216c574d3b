"""Objectives against values computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from ndcn import CrossEntropy, Graph, Objective, Trajectory
from ndcn.training.objective import Target

GRAPH = Graph.from_edges([(0, 1)])
TIMES = [0.0, 1.0, 3.0]
STATES = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]])
PREDICTION = torch.tensor([[[1.5], [2.0]], [[3.0], [1.0]], [[5.0], [8.0]]])  # errors 0.5, 0, 0, -3, 0, 2


def target(objective: Objective, mask: object = None, scale: float = 1.0, states: torch.Tensor = STATES) -> Target:
    data = Trajectory(times=TIMES, states=states, graph=GRAPH, mask=mask)
    return objective.target(data, torch.full((states.shape[2],), scale), torch.float64, "cpu")


def value(objective: Objective, prediction: torch.Tensor = PREDICTION, **more: object) -> float:
    return objective.loss(prediction.double(), target(objective, **more)).item()


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ("l1", (0.5 + 3 + 2) / 6),
        ("l2", (0.25 + 9 + 4) / 6),
        ("huber", (0.125 + 2.5 + 1.5) / 6),  # e^2 / 2 up to 1, then |e| - 1/2
    ],
)
def test_running_loss(running: str, expected: float) -> None:
    assert value(Objective(running)) == pytest.approx(expected)


def test_the_scale_divides_the_observations() -> None:
    assert value(Objective("l1"), PREDICTION / 2, scale=2.0) == pytest.approx((0.5 + 3 + 2) / 12)


def test_gaps_weigh_a_snapshot_by_the_time_it_stands_for() -> None:
    # means of |error| 0.25, 1.5, 1; trapezoid weights 0.5, 1.5, 1 of 3
    expected = (0.5 * 0.25 + 1.5 * 1.5 + 1 * 1) / 3
    assert value(Objective("l1", time_weights="gaps")) == pytest.approx(expected)


def test_gaps_approximate_the_integral_on_irregular_times() -> None:
    generator = torch.Generator().manual_seed(0)
    times = torch.cat([torch.rand(400, generator=generator, dtype=torch.float64) ** 3 * 2, torch.tensor([0.0, 2.0])])
    times = times.sort().values
    one = Graph.from_edges([], num_nodes=1)
    data = Trajectory(times=times, states=torch.zeros(len(times), 1, 1), graph=one)
    error = torch.exp(times).reshape(-1, 1, 1)
    integral = (math.exp(2) - 1) / 2  # the mean over [0, 2]
    found = {}
    for weights in ("gaps", "uniform"):
        objective = Objective("l1", time_weights=weights)
        found[weights] = objective.loss(error, objective.target(data, torch.ones(1), torch.float64, "cpu")).item()
    assert found["gaps"] == pytest.approx(integral, rel=1e-3)
    assert abs(found["uniform"] - integral) > 0.5  # many early times


def test_one_snapshot_with_gaps() -> None:
    objective = Objective("l1", time_weights="gaps")
    data = Trajectory(times=[2.0], states=STATES[:1], graph=GRAPH)
    assert objective.loss(PREDICTION[:1], objective.target(data, torch.ones(1), torch.float32, "cpu")) == 0.25


MASK = torch.tensor([[[True], [True]], [[True], [False]], [[False], [True]]])


@pytest.mark.parametrize(
    "objective",
    [
        Objective("l1"),
        Objective("l2", time_weights="gaps"),
        Objective("huber", terminal="l1"),
        Objective(None, terminal="l2"),
        Objective("l1", terminal=lambda state: state[1].sum()),
    ],
    ids=["l1", "l2", "huber", "terminal", "own"],
)
def test_masked_entries_never_count(objective: Objective) -> None:
    hidden = ~MASK
    prediction = PREDICTION.double().requires_grad_()
    loss = objective.loss(prediction, target(objective, mask=MASK))
    loss.backward()
    assert (prediction.grad[hidden] == 0).all()
    assert (prediction.grad != 0).any()
    for other in (1e30, -7.0):
        changed_data = torch.where(MASK, STATES, other)
        assert objective.loss(prediction, target(objective, mask=MASK, states=changed_data)) == loss
        changed = torch.where(MASK, prediction, other)
        assert objective.loss(changed, target(objective, mask=MASK)) == loss


def test_masked_values() -> None:
    assert value(Objective("l1"), mask=MASK) == pytest.approx((0.5 + 0 + 0 + 2) / 4)
    # means of |error| over what was observed 0.25, 0, 2; weights 0.5, 1.5, 1 of 3
    assert value(Objective("l1", time_weights="gaps"), mask=MASK) == pytest.approx((0.125 + 0 + 2) / 3)
    assert value(Objective(None, terminal="l2"), mask=MASK) == pytest.approx(4)


def test_a_snapshot_without_observations_counts_for_nothing() -> None:
    mask = torch.tensor([[[True], [True]], [[True], [True]], [[False], [False]]])
    assert value(Objective("l1"), mask=mask) == pytest.approx(3.5 / 4)
    assert value(Objective("l1", time_weights="gaps"), mask=mask) == pytest.approx((0.5 * 0.25 + 1.5 * 1.5) / 2)
    assert value(Objective("l1", terminal="l1"), mask=mask) == pytest.approx(3.5 / 4)


@pytest.mark.parametrize(("terminal", "expected"), [("l1", 1.0), ("l2", 2.0), ("huber", 0.75)])
def test_terminal_loss_by_name(terminal: str, expected: float) -> None:
    assert value(Objective(None, terminal=terminal)) == pytest.approx(expected)
    assert value(Objective("l1", terminal=terminal, terminal_weight=3.0)) == pytest.approx(5.5 / 6 + 3 * expected)


def test_terminal_loss_by_a_function() -> None:
    assert value(Objective(None, terminal=lambda state: state.square().sum())) == pytest.approx(25 + 64)
    assert value(Objective("l1", terminal=torch.sum, terminal_weight=0.5)) == pytest.approx(5.5 / 6 + 6.5)


def test_cross_entropy() -> None:
    logits = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    first, second = 1 - math.log(math.e + 2), 0 - math.log(math.exp(2) + 2)
    assert CrossEntropy([0, 2])(logits).item() == pytest.approx(-(first + second) / 2)
    assert CrossEntropy([0, 2], mask=[False, True])(logits).item() == pytest.approx(-second)
    states = torch.zeros(3, 2, 3)
    objective = Objective(None, terminal=CrossEntropy([0, 2]))
    prediction = torch.stack([states[0], states[0], logits]).double()
    assert value(objective, prediction, states=states) == pytest.approx(-(first + second) / 2)


@pytest.mark.parametrize(
    ("labels", "mask", "message"),
    [
        ([0.5, 1.0], None, "labels must be whole numbers"),
        ([[0], [1]], None, r"labels must be whole numbers of shape \(n,\)"),
        ([0, 1], [True], r"mask must be boolean of shape \(2,\)"),
        ([0, 1], [1, 0], "mask must be boolean"),
        ([0, 1], [False, False], "no labelled node"),
        ([0, -1], None, "0 or more"),
    ],
)
def test_wrong_labels(labels: list, mask: list | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrossEntropy(labels, mask)


def test_labels_that_do_not_fit_the_state() -> None:
    with pytest.raises(ValueError, match="labels of 2 nodes in 3 classes do not fit"):
        CrossEntropy([0, 2])(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="do not fit"):
        CrossEntropy([0, 2])(torch.zeros(3, 3))
    assert CrossEntropy([0, -1], mask=[True, False])(torch.zeros(2, 2)).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"running": "l3"}, "unknown running loss 'l3'; known are l1, l2, huber"),
        ({"running": torch.abs}, "unknown running loss"),
        ({"terminal": "entropy"}, "unknown terminal loss 'entropy'"),
        ({"terminal": 3}, "unknown terminal loss 3"),
        ({"running": None}, "nothing to minimise"),
        ({"time_weights": "equal"}, 'time_weights must be "uniform" or "gaps"'),
        ({"terminal_weight": math.inf}, "terminal_weight must be finite"),
    ],
)
def test_wrong_objectives(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Objective(**arguments)
