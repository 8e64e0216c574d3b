"""Accuracy on Cora and Citeseer over independent runs, one line of JSON for each; goes on where it was stopped.

python benchmarks/classification.py --root ../shared/data/planetoid --runs 20 results.jsonl
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import torch

import ndcn

PUBLISHED = {"cora": (1.2, 0.0), "citeseer": (1.0, 0.8)}  # T, alpha


def run(name: str, preset: str, seed: int, root: Path | None) -> dict[str, object]:
    """One fit from fresh weights. The published recipe has no validation nodes and reports its last epoch."""
    data = ndcn.datasets.planetoid(name, root)
    chosen = dict(zip(("T", "alpha"), PUBLISHED[name], strict=True)) if preset == "paper" else {}
    classifier = ndcn.NodeClassifier(**chosen, preset=preset, seed=seed, progress=False)
    validation = None if preset == "paper" else data.val_mask
    classifier.fit(data.graph, data.features, data.labels, data.train_mask, validation)
    return {
        "data": name,
        "preset": preset,
        "seed": seed,
        "validation": classifier.score(data.val_mask),
        "test": classifier.score(data.test_mask),
        "epochs": len(classifier.history_.loss),
        "seconds": classifier.history_.seconds,
    }


def summary(rows: list[dict]) -> str:
    """A table: mean and standard deviation of the accuracy on the test nodes, in percent."""
    lines = ["| data | preset | runs | test | validation | seconds |", "|---|---|---|---|---|---|"]
    for name, preset in sorted({(row["data"], row["preset"]) for row in rows}):
        these = [row for row in rows if (row["data"], row["preset"]) == (name, preset)]
        test = [100 * row["test"] for row in these]
        spread = statistics.stdev(test) if len(test) > 1 else float("nan")
        seconds, validation = (statistics.mean(row[key] for row in these) for key in ("seconds", "validation"))
        lines.append(
            f"| {name} | {preset} | {len(these)} | {statistics.mean(test):.2f} ± {spread:.2f} | "
            f"{100 * validation:.2f} | {seconds:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--data", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--presets", nargs="+", default=["default", "paper"])
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(row["data"], row["preset"], row["seed"]) for row in rows}
    for seed in range(given.runs):
        for preset in given.presets:
            for name in given.data:
                if (name, preset, seed) not in done:
                    rows.append(run(name, preset, seed, given.root))
                    with given.results.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    print(summary(rows))


if __name__ == "__main__":
    main()
