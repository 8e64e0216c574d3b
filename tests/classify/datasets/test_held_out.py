"""Which labelled nodes are held out."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn.datasets import node_tables
from node_files import EDGES, LABELS

pytestmark = pytest.mark.filterwarnings("ignore:too few labelled nodes")


def ring(sizes: dict[str, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    marks = [name for name, size in sizes.items() for _ in range(size)]
    n = len(marks)
    edges = pd.DataFrame({"source": range(n), "target": [(k + 1) % n for k in range(n)]})
    return edges, pd.DataFrame({"node": range(n), "label": marks})


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.floats(0, 0.6), st.floats(0, 0.39), st.integers(0, 5))
def test_every_class_is_trained_on_and_gives_its_share(
    sizes: list[int], test: float, validation: float, seed: int
) -> None:
    edges, labels = ring({f"c{k}": size for k, size in enumerate(sizes)} | {"rest": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = node_tables(edges, labels=labels, test=test, validation=validation, seed=seed)
        again = node_tables(edges, labels=labels, test=test, validation=validation, seed=seed)
    assert torch.equal(data.test_mask, again.test_mask)
    assert set(data.labels[data.train_mask].tolist()) == set(range(len(sizes) + 1))
    assert bool((data.train_mask | data.val_mask | data.test_mask).all())
    for k, size in enumerate([*sizes, 2]):
        for mask, share in ((data.test_mask, test), (data.val_mask, validation)):
            assert int((data.labels[mask] == k).sum()) <= share * size + 1
    assert int(data.test_mask.sum()) <= round(test * (sum(sizes) + 2))


def test_imbalance() -> None:
    edges, labels = ring({"common": 95, "few": 4, "once": 1})
    with pytest.warns(UserWarning, match=r"as training comes first: class 'once' \(1\)"):
        data = node_tables(edges, labels=labels)
    assert torch.bincount(data.labels[data.test_mask], minlength=3).tolist() == [19, 1, 0]
    with pytest.warns(UserWarning, match="once"):
        other = node_tables(edges, labels=labels, seed=1)
    assert not torch.equal(data.test_mask, other.test_mask)
    assert not node_tables(edges, labels=labels, test=0.0).test_mask.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": 1.0}, r"test must be a share in \[0, 1\)"),
        ({"validation": -0.1}, "validation must be a share"),
        ({"test": float("nan")}, "test must be a share"),
        ({"test": 0.5, "validation": 0.5}, "leaves none for training"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"duplicates": "all"}, "duplicates must be"),
    ],
)
def test_arguments_that_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        node_tables(EDGES, labels=LABELS, **settings)
