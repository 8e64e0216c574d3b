"""How much a cell of the paper's tables depends on the one network that all its runs share.

    python benchmarks/realisations.py [--networks 10] [--seeds 2] [--store realisations.sqlite]

The random networks of the tables are drawn once, by seed 0, and their nodes are put in an order that decides which of them begin hot. The
paper's own draw is not known: the same seed gives another network or order with other versions of NetworkX. Here the cells of regular
snapshots in which the tables are above the paper are trained on networks of other seeds. A line of a cell is one network: the errors on
training and test snapshots of each run, in percent. The same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

from ndcn.experiments import Result, Run, Store, attempt
from ndcn.experiments.spec import load_table

CELLS = (
    ("mutualistic", "power_law", "rnn_gnn"),
    ("mutualistic", "power_law", "gru_gnn"),
    ("heat", "power_law", "ndcn"),
    ("gene", "small_world", "ndcn"),
)


def done(run: Run, store: Store) -> Result:
    """The result of a run, from the store or trained now."""
    if not store.results([run]):
        outcome = attempt(run)
        assert isinstance(outcome, Result), outcome
        store.add(run, outcome)
    return store.results([run])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--store", type=Path, default=Path("realisations.sqlite"))
    given = parser.parse_args()
    whole = load_table("regular")
    with Store(given.store) as store:
        for dynamics, network, name in CELLS:
            paper = whole.paper[dynamics][network][name]["normalized_l1_percent"]
            print(f"{dynamics} on {network}, {name}: the paper {paper[0]} ± {paper[1]}")
            means = []
            for seed in range(given.networks):
                data = {**whole.data, "network_seed": seed}
                table = replace(whole, data=data).narrowed(models=[name], runs=given.seeds)
                runs = table.cell_runs(dynamics, network, table.models[0])
                scores = [done(run, store).scores for run in runs]
                train, test = (
                    [100 * row[part]["normalized_l1"] for row in scores] for part in ("train", "extrapolation")
                )
                means.append(mean(test))
                shown = ["  ".join(f"{error:5.2f}" for error in errors) for errors in (train, test)]
                print(f"  network {seed}: training {shown[0]} | test {shown[1]}", flush=True)
            print(f"  mean and standard deviation over networks: {mean(means):.2f} ± {stdev(means):.2f}\n", flush=True)


if __name__ == "__main__":
    main()
