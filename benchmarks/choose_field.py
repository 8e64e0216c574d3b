"""How to choose between fields where neighbours differ, compared on training and validation nodes only, never on test nodes.

    python benchmarks/choose_field.py FOLDER [texas wisconsin film] [--splits 10] [--store FOLDER]

FOLDER holds files of Geom-GCN. Each field is trained once for each published split, and its logits on the validation nodes are kept for
each epoch. Then one half of these nodes chooses the epoch of each field and the field, and the other half measures; four cuts into halves, both
ways. No class shares are taken from validation nodes by the two fields that are compared. Diffusion is left out: on these graphs it is 30
points below the others. Beside the rules stand means of both fields, and of the ten best epochs.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional

import ndcn
from ndcn.classify.features import FeatureTable
from ndcn.classify.training import ClassifierTask, LabelledNodes, build

FIELDS = ("signed", "features")
ERRORS = (0.5, 1.0, 1.5, 2.0)  # standard errors by which features alone must be better than the signed field
CUTS = 4
FIRST = 5  # epoch from which the averaged weights may be chosen


def trained(data: ndcn.datasets.NodeDataset, field: str, seed: int) -> torch.Tensor:
    """Logits of the validation nodes after each epoch, shape (epochs, m, c), as ``NodeClassifier`` trains."""
    recipe = ndcn.NodeClassifier().recipe(field, int(data.train_mask.sum()))
    table = FeatureTable(sparse.csr_array(data.features), normalize=recipe.normalize)
    train, validation = (mask.nonzero().flatten() for mask in (data.train_mask, data.val_mask))
    nodes = LabelledNodes(table, data.graph, data.labels, np.array(data.classes), train, validation)
    model = build(recipe, table.shape[1], len(data.classes), False, False, seed)
    task = ClassifierTask(model, nodes, recipe, seed)
    optimizer = torch.optim.Adam(task.groups(recipe.weight_decay), lr=recipe.learning_rate)
    found = []
    for epoch in range(recipe.epochs):
        model.train()
        for loss in task.losses(epoch):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        if epoch >= FIRST:
            assert task.averages is not None
            with torch.no_grad(), task.averages.in_use():
                found.append(task.logits()[validation])
    return torch.stack(found)


def right(logits: torch.Tensor, labels: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """Which of the nodes are classified right, shape (m,)."""
    return logits[nodes].argmax(dim=1) == labels[nodes]


def rank(logits: torch.Tensor, labels: torch.Tensor, nodes: torch.Tensor) -> tuple[float, float]:
    """Accuracy on these nodes, then minus the cross-entropy."""
    accuracy = right(logits, labels, nodes).double().mean().item()
    return accuracy, -functional.cross_entropy(logits[nodes], labels[nodes]).item()


def chosen(epochs: dict[str, torch.Tensor], labels: torch.Tensor, seen: torch.Tensor) -> dict[str, torch.Tensor]:
    """The logits that each rule takes, by what it sees."""
    ordered = {
        field: sorted(logits, key=lambda one: rank(one, labels, seen), reverse=True) for field, logits in epochs.items()
    }
    best = {field: some[0] for field, some in ordered.items()}
    signed, features = best["signed"], best["features"]
    rules = dict(best)
    rules |= {f"{field}, mean of ten epochs": torch.stack(some[:10]).mean(dim=0) for field, some in ordered.items()}
    rules["the better of both"] = max(best.values(), key=lambda one: rank(one, labels, seen))
    one, other = right(features, labels, seen), right(signed, labels, seen)
    won, lost = int((one & ~other).sum()), int((other & ~one).sum())
    for errors in ERRORS:
        rules[f"signed unless {errors:g} errors"] = features if won - lost > errors * (won + lost) ** 0.5 else signed
    rules["mean of logits"] = (signed + features) / 2
    rules["mean of probabilities"] = (signed.softmax(dim=1) + features.softmax(dim=1)).log()
    mixed = [w * signed + (1 - w) * features for w in (0.5, 0.25, 0.75, 0.0, 1.0)]
    rules["weighted by the seen half"] = max(mixed, key=lambda one: rank(one, labels, seen))
    return rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("graphs", nargs="*", default=["texas", "wisconsin", "film"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument(
        "--store", type=Path, default=Path("choose_field"), help="folder of the logits, to continue from"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.store.mkdir(parents=True, exist_ok=True)
    for graph in given.graphs:
        found: dict[str, list[float]] = defaultdict(list)
        for split in range(given.splits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a class without training nodes
                data = ndcn.datasets.geom_gcn(graph, given.folder, split=split)
            epochs = {}
            for field in FIELDS:
                path = given.store / f"{graph}_{split}_{field}.npy"
                if not path.exists():
                    np.save(path, trained(data, field, split).numpy())
                epochs[field] = torch.from_numpy(np.load(path))
            labels = data.labels[data.val_mask]
            for cut in range(CUTS):
                places = torch.randperm(len(labels), generator=torch.Generator().manual_seed(cut))
                halves = places[: len(places) // 2], places[len(places) // 2 :]
                for seen, unseen in (halves, halves[::-1]):
                    for name, logits in chosen(epochs, labels, seen).items():
                        found[name].append(right(logits, labels, unseen).double().mean().item())
        for name, some in found.items():
            print(f"{graph:10} {name:32}{100 * mean(some):6.2f}", flush=True)


if __name__ == "__main__":
    main()
