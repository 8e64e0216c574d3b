"""Compare settings of ``NodeClassifier`` on validation nodes only, never on test nodes.

    python benchmarks/choose_classifier.py FOLDER [--seeds 2] [--only NAME ...] [--store FILE]

FOLDER holds the files of Cora, Citeseer and Pubmed. The validation nodes are cut into two halves by a fixed seed. A fit gets one half
to choose its epoch and to align its classes by, and is measured on the other; then the halves change places. So a setting that only
finds lucky epochs gains nothing. The test nodes are never looked at. Seeds begin at 0; the published tables begin at 1000. The
store, JSON lines, keeps each fit: the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import ndcn

GRAPHS = ("cora", "citeseer", "pubmed")
EARLIER: dict[str, Any] = {"normalize": True, "consistency": 1.0, "temperature": 0.4, "alignment": 0.0, "average": 0.0}
TRIED: dict[str, dict[str, Any]] = {
    "default": {},
    "earlier": EARLIER,
    "not aligned": {"alignment": 0.0},
    "half aligned": {"alignment": 0.5},
    "rows by their sums": {"normalize": True},
    "weights not averaged": {"average": 0.0},
    "long average": {"average": 0.98},
    "consistency 1": {"consistency": 1.0},
    "consistency 4": {"consistency": 4.0},
    "temperature 0.2": {"temperature": 0.2},
    "temperature 0.4": {"temperature": 0.4},
    "T = 4": {"T": 4.0},
    "T = 12, source 0.15": {"T": 12.0, "source": 0.15},
    "T = 16, source 0.1": {"T": 16.0, "source": 0.1},
    "rows dropped 0.5": {"row_dropout": 0.5},
    "features not dropped": {"dropout": 0.0},
    "hidden 32": {"hidden": 32},
    "hidden 32, two passes": {"hidden": 32, "passes": 2},
    "four members, one pass": {"members": 4, "passes": 1},
    "learning rate 0.03": {"learning_rate": 0.03},
}


def halves(nodes: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Masks of two halves of the validation nodes, drawn once, in either order."""
    places = nodes.nonzero().flatten()
    places = places[torch.randperm(len(places), generator=torch.Generator().manual_seed(0))]
    one, other = torch.zeros_like(nodes), torch.zeros_like(nodes)
    one[places[: len(places) // 2]] = True
    other[places[len(places) // 2 :]] = True
    yield one, other
    yield other, one


def measured(data: ndcn.datasets.NodeDataset, settings: dict[str, Any], seed: int) -> float:
    """The accuracy on the half of the validation nodes that the fit did not see."""
    found = []
    for seen, unseen in halves(data.val_mask):
        clf = ndcn.NodeClassifier(**settings, seed=seed, progress=False)
        clf.fit(data.graph, data.features, data.labels, data.train_mask, seen)
        found.append(clf.score(unseen))
    return mean(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--store", type=Path, default=Path("choose_classifier.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    graphs = {name: ndcn.datasets.planetoid(name, given.folder) for name in GRAPHS}
    for name in given.only:
        for graph, data in graphs.items():
            for seed in range(given.seeds):
                if any((row["name"], row["graph"], row["seed"]) == (name, graph, seed) for row in done):
                    continue
                accuracy = measured(data, TRIED[name], seed)
                done.append({"name": name, "graph": graph, "seed": seed, "accuracy": accuracy, "settings": TRIED[name]})
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
        cells = [
            [100 * row["accuracy"] for row in done if row["name"] == name and row["graph"] == graph] for graph in GRAPHS
        ]
        means = [mean(cell) for cell in cells]
        print(f"{name:24}" + "".join(f"{value:8.2f}" for value in (*means, mean(means))))


if __name__ == "__main__":
    main()
