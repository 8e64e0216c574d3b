"""Random block graphs: how the default classifier does beside MLP and GCN, whatever classes neighbours have.

    python benchmarks/block_graphs.py [--seeds 5] [--first 200] [--store FILE]

600 nodes of mean degree 8. Classes are joined in pairs, in a ring, weakly to themselves, strongly to themselves, or not at all; features are
300 words or 16 measurements that say little. A share of the nodes is trained on, half of the others validate, the rest is measured. Settings
were chosen on seeds below 60. The store, JSON lines, keeps each fit: the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch
from scipy import sparse

import ndcn

NODES, DEGREE = 600, 8
# How classes are joined, how many there are, what features nodes have, and how much these say; the share to train on.
KINDS: tuple[tuple[str, int, str, float, float], ...] = (
    ("pairs", 6, "words", 0.05, 0.1),
    ("pairs", 4, "words", 0.1, 0.1),
    ("pairs", 6, "words", 0.1, 0.2),
    ("ring", 6, "words", 0.1, 0.1),
    ("ring", 4, "words", 0.1, 0.48),
    ("ring", 4, "measurements", 0.5, 0.1),
    ("none", 4, "words", 0.2, 0.1),
    ("none", 4, "words", 0.2, 0.48),
    ("weak", 4, "measurements", 0.5, 0.48),
    ("weak", 4, "words", 0.1, 0.48),
    ("weak", 4, "measurements", 0.5, 0.15),
    ("strong", 4, "measurements", 0.5, 0.48),
    ("strong", 4, "words", 0.1, 0.1),
)
MODELS = ("ndcn", "mlp", "gcn")


def joined(how: str, classes: int) -> np.ndarray:
    """How likely an edge between two classes is, up to a factor."""
    if how == "none":
        return np.ones((classes, classes))
    if how in ("weak", "strong"):
        return np.ones((classes, classes)) + (2 if how == "weak" else 8) * np.eye(classes)
    other = np.arange(classes) ^ 1 if how == "pairs" else (np.arange(classes) + 1) % classes
    near = np.zeros((classes, classes))
    near[np.arange(classes), other] = 1
    return np.maximum(near, near.T) + 0.05 * (near + near.T == 0)


def drawn(how: str, classes: int, features: str, says: float, seed: int) -> tuple[ndcn.Graph, np.ndarray, np.ndarray]:
    """A graph, its features and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, NODES)
    chance = joined(how, classes)[y][:, y]
    upper = np.triu(rng.random((NODES, NODES)) < DEGREE * chance / chance.mean() / NODES, 1)
    if features == "words":
        x = rng.random((NODES, 300)) < 0.05 + says * (rng.random((classes, 300)) < 0.15)[y]
    else:
        x = rng.standard_normal((NODES, 16)) + says * rng.standard_normal((classes, 16))[y] / 2
    return ndcn.Graph(sparse.csr_array((upper | upper.T).astype(float)), directed=False), x.astype(float), y


def measured(kind: tuple[str, int, str, float, float], seed: int, model: str) -> dict[str, Any]:
    """Fit one model to one graph."""
    graph, features, classes = drawn(*kind[:4], seed)
    part = torch.from_numpy(np.random.default_rng(1000 + seed).permutation(NODES))
    first, second = int(kind[4] * NODES), int((1 + kind[4]) / 2 * NODES)
    train, validation, test = (
        torch.isin(torch.arange(NODES), some) for some in (part[:first], part[first:second], part[second:])
    )
    estimator: Any = ndcn.NodeClassifier(seed=seed, progress=False)
    if model != "ndcn":
        estimator = ndcn.NodeBaseline(model, seed=seed, epochs=200, hidden=64, progress=False)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        estimator.fit(graph, features, classes, train, validation)
    chosen = estimator.choice_
    return {
        "kind": list(kind),
        "seed": seed,
        "model": model,
        "test": estimator.score(test),
        "taken": None if chosen is None else chosen.taken or chosen.field,
        "assortativity": None if chosen is None else chosen.assortativity,
        "seconds": time.process_time() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--store", type=Path, default=Path("block_graphs.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    print(
        "| classes are joined | classes | features | trained on | assortativity | NDCN, default | MLP | GCN | taken |"
    )
    print("|---" * 9 + "|")
    seeds = range(given.first, given.first + given.seeds)
    for kind in KINDS:
        for seed in seeds:
            for model in MODELS:
                if any((row["kind"], row["seed"], row["model"]) == (list(kind), seed, model) for row in done):
                    continue
                done.append(measured(kind, seed, model))
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
        mine = [row for row in done if row["kind"] == list(kind) and row["seed"] in seeds]
        scores = {model: [100 * row["test"] for row in mine if row["model"] == model] for model in MODELS}
        taken = [row["taken"] for row in mine if row["model"] == "ndcn"]
        along = mean(row["assortativity"] for row in mine if row["model"] == "ndcn")
        cells = [f"{mean(some):.1f} ± {stdev(some) if len(some) > 1 else 0:.1f}" for some in scores.values()]
        names = ", ".join(f"{name} {taken.count(name)}" for name in sorted(set(taken)))
        how, classes, features, _, share = kind
        print(
            f"| {how} | {classes} | {features} | {share:.0%} | {along:.2f} | {' | '.join(cells)} | {names} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
