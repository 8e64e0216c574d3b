"""A seed decides the weights: in threads, whatever torch's defaults; and torch's own generator is left as found."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event, Thread

import pytest
import torch
from torch import nn

import ndcn
from small_runs import DATA, regressor, same, weights


class Dropping(nn.Module):
    """A model of one's own that draws in every epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: ndcn.Graph, t0: float) -> torch.Tensor:
        return torch.stack([x0 + (t - t0) * self.inner(x0) for t in times])


def in_threads(fit: object, count: int = 4) -> list[list[torch.Tensor]]:
    begin = Barrier(count)

    def one(seed: int) -> list[torch.Tensor]:
        begin.wait()
        return fit(seed)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.parametrize("model", ["ndcn", "own"])
def test_threads_learn_what_each_would_learn_alone(model: str) -> None:
    own = Dropping()

    def fit(seed: int) -> list[torch.Tensor]:
        made = regressor("ndcn", seed=seed, epochs=2) if model == "ndcn" else regressor(own, seed=seed, epochs=15)
        return weights(made.fit(DATA))

    alone = [fit(seed) for seed in range(4)]
    before = torch.random.get_rng_state()
    for _ in range(3):
        together = in_threads(fit)
        assert all(same(a, b) for a, b in zip(alone, together, strict=True))
    assert torch.random.get_rng_state().equal(before)


def test_node_networks_in_threads() -> None:
    data = ndcn.datasets.karate_club()

    def fit(seed: int) -> list[torch.Tensor]:
        baseline = ndcn.NodeBaseline("mlp", epochs=20, seed=seed)
        baseline.fit(data.graph, data.features, data.labels, data.train_mask)
        classifier = ndcn.NodeClassifier(hidden=4, epochs=3, seed=seed)
        classifier.fit(data.graph, data.features, data.labels, data.train_mask)
        return [baseline.predict_proba(), classifier.predict_proba()]

    alone = [fit(seed) for seed in range(4)]
    before = torch.random.get_rng_state()
    assert all(same(a, b) for a, b in zip(alone, in_threads(fit), strict=True))
    assert torch.random.get_rng_state().equal(before)


@contextmanager
def someone_draws() -> Iterator[None]:
    """Another thread that draws from torch's global generator all the time."""
    over = Event()

    def draw() -> None:
        while not over.is_set():
            torch.rand(3)

    other = Thread(target=draw)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join()


def test_what_other_threads_draw_makes_no_difference() -> None:
    data = ndcn.datasets.karate_club()

    def fit(seed: int) -> list[torch.Tensor]:
        baseline = ndcn.NodeBaseline("mlp", epochs=5, seed=seed)  # it has dropout
        baseline.fit(data.graph, data.features, data.labels, data.train_mask)
        classifier = ndcn.NodeClassifier(hidden=4, epochs=1, seed=seed)
        classifier.fit(data.graph, data.features, data.labels, data.train_mask)
        return [
            *weights(regressor(seed=seed, epochs=1).fit(DATA)),
            baseline.predict_proba(),
            classifier.predict_proba(),
        ]

    alone = [fit(seed) for seed in range(4)]
    with someone_draws():
        assert all(same(alone[seed], fit(seed)) for seed in range(4))


class DroppingField(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.k = nn.Parameter(torch.tensor(1.0))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        return -self.k * self.drop(x)


def test_a_field_of_ones_own_in_a_classifier_follows_the_seed() -> None:
    data = ndcn.datasets.karate_club()
    found = []
    for seed in (1, 1, 2):
        solver = ndcn.Solver("euler", step_size=0.5)
        classifier = ndcn.NodeClassifier(1.0, field=DroppingField(), solver=solver, hidden=4, epochs=3, seed=seed)
        found.append(classifier.fit(data.graph, data.features, data.labels, data.train_mask).predict_proba())
        torch.rand(3)  # what others draw has no effect
    assert found[0].equal(found[1])
    assert not found[0].equal(found[2])


def test_the_default_precision_does_not_change_the_weights() -> None:
    data = ndcn.datasets.karate_club()

    def fit() -> list[torch.Tensor]:
        found = weights(regressor(epochs=2).fit(DATA))
        clf = ndcn.NodeClassifier(hidden=4, epochs=2).fit(data.graph, data.features, data.labels, data.train_mask)
        return [*found, clf.predict_proba()]

    usual = fit()
    torch.set_default_dtype(torch.float64)
    try:
        assert same(usual, fit())
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("model", ["ndcn", "interaction", "law"])
def test_fit_learns_where_gradients_are_off(model: str, context: type) -> None:
    given = {"epochs": 2, "hidden": 4} if model == "ndcn" else {}
    named = ndcn.laws.Heat(k=None) if model == "law" else model
    with context():
        found = ndcn.DynamicsRegressor(named, **given).fit(DATA)
    times = [0.5, 1.5]
    assert found.predict(times).states.equal(ndcn.DynamicsRegressor(named, **given).fit(DATA).predict(times).states)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_a_classifier_learns_where_gradients_are_off(context: type) -> None:
    data = ndcn.datasets.karate_club()
    with context():
        clf = ndcn.NodeClassifier(hidden=4, epochs=2).fit(data.graph, data.features, data.labels, data.train_mask)
    assert len(clf.history_.loss) == 2
