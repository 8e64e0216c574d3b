"""Compare settings of ``NodeClassifier`` where neighbours differ, on training and validation nodes only, never on test nodes.

    python benchmarks/choose_heterophily.py FOLDER [texas wisconsin film] [--splits 10] [--only NAME ...] [--store FILE]

FOLDER holds files of Geom-GCN. In each published split the validation nodes are cut into two halves. A fit gets one half to choose
its epoch, and for "default" also its field, and is measured on the other; then the halves change places. Seed k goes with split k.
The store, JSON lines, keeps each fit: the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import ndcn
from choose_classifier import halves

EARLIER: dict[str, Any] = {"normalize": "euclidean", "weight_decay": 2e-3, "members": 1}
TRIED: dict[str, dict[str, Any]] = {
    "default": {},
    "signed": {"field": "signed"},
    "signed, earlier": {"field": "signed", **EARLIER},
    "signed, one member": {"field": "signed", "members": 1},
    "signed, rows euclidean": {"field": "signed", "normalize": "euclidean"},
    "signed, decay 0.002": {"field": "signed", "weight_decay": 2e-3},
    "signed, decay 0.01": {"field": "signed", "weight_decay": 1e-2},
    "signed, T = 1": {"field": "signed", "T": 1.0},
    "signed, T = 4": {"field": "signed", "T": 4.0},
    "features": {"field": "features"},
    "features, earlier": {"field": "features", **EARLIER},
}


def measured(folder: Path, name: str, split: int, settings: dict[str, Any]) -> list[float]:
    """The accuracies on the halves of the validation nodes that the fits did not see."""
    data = ndcn.datasets.geom_gcn(name, folder, split=split)
    found = []
    for seen, unseen in halves(data.val_mask):
        clf = ndcn.NodeClassifier(**settings, seed=split, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a class without training nodes
            clf.fit(data.graph, data.features, data.labels, data.train_mask, seen)
        found.append(clf.score(unseen))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("graphs", nargs="*", default=["texas", "wisconsin", "film"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--store", type=Path, default=Path("choose_heterophily.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    for name in given.only:
        for graph in given.graphs:
            for split in range(given.splits):
                if any((row["name"], row["graph"], row["split"]) == (name, graph, split) for row in done):
                    continue
                accuracy = measured(given.folder, graph, split, TRIED[name])
                done.append({"name": name, "graph": graph, "split": split, "accuracy": accuracy})
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
        cells = [
            [100 * mean(row["accuracy"]) for row in done if (row["name"], row["graph"]) == (name, graph)]
            for graph in given.graphs
        ]
        print(f"{name:24}" + "".join(f"{mean(cell):8.2f}" for cell in cells))


if __name__ == "__main__":
    main()
