"""NodeDataset and the karate club."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from ndcn.datasets import karate_club


def test_karate_club() -> None:
    data = karate_club()
    assert (data.graph.num_nodes, data.graph.num_edges, data.graph.weighted) == (34, 78, False)
    assert data.features.shape == (34, 34)
    assert torch.bincount(data.labels).tolist() == [17, 17]
    assert data.test_mask.equal(~data.train_mask)


def test_one_of_a_kind_is_singular() -> None:
    club = karate_club()
    narrow = replace(club, features=club.features[:, :1])
    assert "34 nodes, 1 feature, 2 classes" in repr(narrow)


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        karate_club().labels = torch.zeros(34)


def test_what_does_not_fit_is_told() -> None:
    data = karate_club()
    with pytest.raises(ValueError, match="34 nodes, but there are 33 rows of features"):
        replace(data, features=data.features[:-1])
    with pytest.raises(ValueError, match=r"34 nodes, but val_mask has shape \(33,\)"):
        replace(data, val_mask=data.val_mask[1:])
    with pytest.raises(ValueError, match="from -1 to 1: there are 2 classes"):
        replace(data, labels=data.labels + 1)
    with pytest.raises(ValueError, match="overlap"):
        replace(data, val_mask=data.train_mask)
    with pytest.raises(ValueError, match="train_mask holds a node whose class is not known"):
        replace(data, labels=data.labels - 1)
