"""Compare settings of ``NodeClassifier`` on validation nodes only, never on test nodes.

    python benchmarks/choose_classifier.py FOLDER [--seeds 2] [--drawn] [--graphs cora] [--only NAME ...] [--store FILE]

FOLDER holds the files of Cora, Citeseer and Pubmed. The validation nodes are cut into two halves by a fixed seed. A fit gets one half
to choose its epoch and to align its classes by, and is measured on the other; then the halves change places. So a setting that only
finds lucky epochs gains nothing. With --drawn each seed also draws other training nodes, 20 of a class, from the training and
validation nodes, and cuts the rest in halves: what suits one training set only gains nothing either. The test nodes are never looked
at. Seeds begin at 0; the published tables begin at 1000. The store, JSON lines, keeps each fit: the same command continues where it was
stopped. Beside each mean stands its difference from the default at the same seeds, with a standard error.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
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
    "no similar nodes": {"similar": 0},
    "10 similar nodes": {"similar": 10},
}
PER_CLASS = 20  # training nodes, as published


def halves(nodes: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Masks of two halves of the validation nodes, drawn once, in either order."""
    places = nodes.nonzero().flatten()
    places = places[torch.randperm(len(places), generator=torch.Generator().manual_seed(0))]
    one, other = torch.zeros_like(nodes), torch.zeros_like(nodes)
    one[places[: len(places) // 2]] = True
    other[places[len(places) // 2 :]] = True
    yield one, other
    yield other, one


def drawn(data: ndcn.datasets.NodeDataset, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks of other training and validation nodes, drawn from these of the data; at most half of a class is trained on."""
    known = (data.train_mask | data.val_mask).nonzero().flatten()
    known = known[torch.randperm(len(known), generator=torch.Generator().manual_seed(100 + seed))]
    train = torch.zeros_like(data.train_mask)
    for k in range(len(data.classes)):
        mine = known[data.labels[known] == k]
        train[mine[: min(PER_CLASS, len(mine) // 2)]] = True
    return train, (data.train_mask | data.val_mask) & ~train


def measured(data: ndcn.datasets.NodeDataset, settings: dict[str, Any], seed: int, others: bool) -> float:
    """The accuracy on the half of the validation nodes that the fit did not see."""
    train, validation = drawn(data, seed) if others else (data.train_mask, data.val_mask)
    found = []
    for seen, unseen in halves(validation):
        clf = ndcn.NodeClassifier(**settings, seed=seed, progress=False)
        clf.fit(data.graph, data.features, data.labels, train, seen)
        found.append(clf.score(unseen))
    return mean(found)


def told(rows: list[dict[str, Any]], name: str, graph: str) -> str:
    """The mean accuracy of a setting, and its difference from the default, in percent."""
    mine, default = (
        {row["seed"]: 100 * row["accuracy"] for row in rows if (row["name"], row["graph"]) == (one, graph)}
        for one in (name, "default")
    )
    gains = [mine[seed] - default[seed] for seed in mine if seed in default]
    if name == "default" or len(gains) < 2:
        return f"{mean(mine.values()):8.2f}"
    return f"{mean(mine.values()):8.2f} ({mean(gains):+.2f} ± {stdev(gains) / len(gains) ** 0.5:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--drawn", action="store_true", help="other training nodes for each seed")
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--only", nargs="*", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--store", type=Path, default=Path("choose_classifier.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    done = [row for row in done if row.get("drawn", False) == given.drawn]
    graphs = {name: ndcn.datasets.planetoid(name, given.folder) for name in given.graphs}
    for name in given.only:
        for graph, data in graphs.items():
            for seed in range(given.seeds):
                if any((row["name"], row["graph"], row["seed"]) == (name, graph, seed) for row in done):
                    continue
                accuracy = measured(data, TRIED[name], seed, given.drawn)
                row = {"name": name, "graph": graph, "seed": seed, "drawn": given.drawn, "accuracy": accuracy}
                done.append({**row, "settings": TRIED[name]})
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
        print(f"{name:24}" + "".join(told(done, name, graph) for graph in graphs), flush=True)


if __name__ == "__main__":
    main()
