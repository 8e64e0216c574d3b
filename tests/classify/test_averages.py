"""Running averages of weights: what is validated and kept, and what checkpoints hold."""

from __future__ import annotations

import pytest
import torch
from sklearn.base import clone

import ndcn
from ndcn.classify.averages import Averages


def test_the_average_of_the_last_steps() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    averages = Averages(layer, 0.5)
    for step, value in enumerate([8.0, 4.0, 2.0], start=1000):
        torch.nn.init.constant_(layer.weight, value)
        averages.add(step)
    with averages.in_use():
        assert layer.weight.item() == 0.5 * (0.5 * (0.5 * 0 + 0.5 * 8) + 0.5 * 4) + 0.5 * 2
    assert layer.weight.item() == 2.0  # training goes on from its own weights
    assert not [name for name in layer.state_dict() if name != "weight"]
    averages.keep()
    assert layer.weight.item() == 3.0
    assert not list(layer.buffers())


def test_the_first_weights_are_soon_forgotten() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(layer.weight, 1.0)
    averages = Averages(layer, 0.99)
    torch.nn.init.zeros_(layer.weight)
    for step in range(1, 6):
        averages.add(step)
    averages.keep()
    assert layer.weight.item() < 0.01


def test_what_is_kept_is_what_was_validated() -> None:
    data = ndcn.datasets.karate_club()
    some = torch.arange(34) % 3 == 1
    known = [data.graph, data.features, data.labels, data.train_mask, some & ~data.train_mask]
    clf = ndcn.NodeClassifier(hidden=8, epochs=30, field="diffusion", progress=False).fit(*known)
    with torch.no_grad():
        logits = clf.model_(clf._table(clf.features_, clf.recipe_), clf.graph_)[0][known[4]]
    entropy = torch.nn.functional.cross_entropy(logits, data.labels[known[4]]).item()
    assert any(abs(entropy - value) < 1e-6 for _, value in clf.history_.validation)
    other = ndcn.NodeClassifier(hidden=8, epochs=30, field="diffusion", average=0.0, progress=False).fit(*known)
    assert clf.history_.loss == other.history_.loss  # the same steps; only what is validated differs
    assert clf.history_.validation != other.history_.validation


def test_classes_are_drawn_to_their_shares() -> None:
    """Two equal cliques, a class each, of which the validation nodes show one three times as often."""
    cliques = [(i, j) for first in (0, 20) for i in range(first, first + 20) for j in range(first, i)]
    graph = ndcn.Graph.from_edges(cliques)
    labels = (torch.arange(40) >= 20).long()
    train, val = torch.zeros(40, dtype=torch.bool), torch.zeros(40, dtype=torch.bool)
    train[[0, 20]] = True
    val[[1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23]] = True

    def shares(alignment: float) -> list[float]:
        one = ndcn.NodeClassifier(hidden=8, epochs=40, alignment=alignment, field="diffusion", progress=False)
        fits = [
            clone(one).set_params(seed=seed).fit(graph, torch.ones(40, 1), labels, train, val) for seed in (0, 1, 2)
        ]
        return [fit.predict_proba().mean(dim=0)[0].item() for fit in fits]  # features say nothing

    assert shares(1.0) == pytest.approx([0.75] * 3, abs=0.03)
    assert min(shares(0.0)) < 0.6  # it depends on chance which class begins strong
