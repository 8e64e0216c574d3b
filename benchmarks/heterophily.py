"""Graphs whose neighbours differ: the default classifier beside MLP and GCN, mean of the published splits.

    python benchmarks/heterophily.py FOLDER [texas wisconsin film] [--splits 10] [--store FILE]

FOLDER holds files of Geom-GCN (``ndcn.datasets.geom_gcn``). All models train on the same training nodes; validation nodes choose the
epoch, and for the default also the field. Seed k goes with split k. A class without any training node counts as wrong. The
store, JSON lines, keeps each fit: the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

import ndcn

MODELS = ("ndcn", "mlp", "gcn")
EPOCHS = 200  # of MLP and GCN, as published


def measured(folder: Path, name: str, split: int, model: str) -> dict[str, Any]:
    """Fit one model to one split."""
    data = ndcn.datasets.geom_gcn(name, folder, split=split)
    estimator: Any = ndcn.NodeClassifier(seed=split, progress=False)
    if model != "ndcn":
        estimator = ndcn.NodeBaseline(model, seed=split, epochs=EPOCHS, hidden=64, progress=False)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a class without training nodes
        estimator.fit(data.graph, data.features, data.labels, data.train_mask, data.val_mask)
    return {
        "graph": name,
        "split": split,
        "model": model,
        "validation": estimator.score(data.val_mask),
        "test": estimator.score(data.test_mask),
        "field": None if estimator.choice_ is None else estimator.choice_.field,
        "compared": {} if estimator.choice_ is None else dict(estimator.choice_.accuracy),
        "seconds": time.process_time() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("graphs", nargs="*", default=["texas", "wisconsin", "film"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--store", type=Path, default=Path("heterophily.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    for name in given.graphs:
        for split in range(given.splits):
            for model in MODELS:
                if any((row["graph"], row["split"], row["model"]) == (name, split, model) for row in done):
                    continue
                done.append(measured(given.folder, name, split, model))
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
        for model in MODELS:
            rows = [
                row for row in done if row["graph"] == name and row["model"] == model and row["split"] < given.splits
            ]
            scores = [100 * row["test"] for row in rows]
            spread = stdev(scores) if len(scores) > 1 else 0.0
            fields = {
                field: sum(row["field"] == field for row in rows) for field in {row["field"] for row in rows} - {None}
            }
            said = f", fields {fields}" if fields else ""
            seconds = mean(row["seconds"] for row in rows)
            print(f"{name} {model}: {mean(scores):.1f} ± {spread:.1f} % of {len(scores)} splits, {seconds:.1f} s{said}")


if __name__ == "__main__":
    main()
