"""How often the test of the network says that it matters: where it does not, where it does, and with wrong data.

    python benchmarks/network_test.py                   # all cases; goes on where it stopped
    python benchmarks/network_test.py --sets 20         # the first 20 of each
    python benchmarks/network_test.py --report          # the table of what is in the store

x_i <- 0.8 x_i + c (mean of neighbours - x_i) + common factor + noise, 50 nodes, 80 steps, 19 shuffles. Wrong data are put in
after the simulation: a cell of 99999, a day in other units, a node of noise a thousand times as large, a node that
jumps by 10000 and stays there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse

import ndcn
from ndcn import forecast

NODES, STEPS, SHUFFLES = 50, 80, 19
GRAPHS = {
    "ring": lambda seed: ndcn.Graph.from_edges([(i, (i + 1) % NODES) for i in range(NODES)], num_nodes=NODES),
    "random": lambda seed: ndcn.networks.random(NODES, seed=seed),
    "power law": lambda seed: ndcn.networks.power_law(NODES, seed=seed),
}
CASES = {  # graph, coupling, what is wrong, sets
    "random, 0": ("random", 0.0, "", 200),
    "power law, 0": ("power law", 0.0, "", 200),
    "ring, 0.05": ("ring", 0.05, "", 60),
    "ring, 0.1": ("ring", 0.1, "", 60),
    "ring, 0.2": ("ring", 0.2, "", 60),
    "power law, 0.2": ("power law", 0.2, "", 60),
    **{f"random, 0, wrong {what}": ("random", 0.0, what, 60) for what in ("cell", "day", "node", "shift")},
    **{f"ring, 0.2, wrong {what}": ("ring", 0.2, what, 60) for what in ("cell", "day", "node", "shift")},
}


def simulated(graph: ndcn.Graph, coupling: float, wrong: str, seed: int) -> ndcn.Trajectory:
    """One set; ``wrong`` is "", "cell", "day", "node" or "shift"."""
    rng = np.random.default_rng(seed)
    A = graph.to_scipy()
    mean = sparse.diags_array(1 / np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1e-12)) @ A
    x, rows, factor = np.zeros(NODES), [], 0.0
    for _ in range(STEPS + 20):
        factor = 0.8 * factor + 0.3 * rng.normal()
        x = 0.8 * x + coupling * (mean @ x - x) + factor + rng.normal(size=NODES)
        rows.append(x)
    states = np.array(rows[20:])
    i, t = rng.integers(NODES), rng.integers(STEPS // 4, STEPS - 4)
    if wrong == "cell":
        states[t, i] = 99999
    elif wrong == "day":
        states[t] *= 1000
    elif wrong == "node":
        states[:, i] = 1000 * rng.normal(size=STEPS)
    elif wrong == "shift":
        states[t:, i] += 10000
    return ndcn.Trajectory(times=np.arange(STEPS) * 1.0, states=states, graph=graph)


def load(store: Path) -> list[dict]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def run(store: Path, sets: int) -> None:
    done = {(row["case"], row["seed"]) for row in load(store)}
    for seed in range(sets):  # one set of each case after the other: any part is balanced
        for case, (kind, coupling, wrong, count) in CASES.items():
            if seed >= count or (case, seed) in done:
                continue
            data = simulated(GRAPHS[kind](seed), coupling, wrong, seed)
            found = forecast.network_test(data, horizon=1, shuffles=SHUFFLES, progress=False)
            row = {"case": case, "seed": seed, "verdict": found.verdict, "p": found.p_value, "gain": found.gain}
            with store.open("a") as file:
                file.write(json.dumps(row) + "\n")


def report(rows: list[dict]) -> None:
    print("| simulated | sets | p <= 0.05, % | matters, % | cannot tell, % |\n|---|---|---|---|---|")
    for case in CASES:
        mine = [row for row in rows if row["case"] == case]
        if mine:
            said, small = Counter(row["verdict"] for row in mine), sum(row["p"] <= 0.05 for row in mine)
            shares = [100 * count / len(mine) for count in (small, said["matters"], said["cannot tell"])]
            print(f"| {case} | {len(mine)} | " + " | ".join(f"{share:.3g}" for share in shares) + " |")


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=root / "benchmarks" / "results" / "network_test.jsonl")
    parser.add_argument("--sets", type=int, default=200, help="at most so many of each case")
    parser.add_argument("--report", action="store_true", help="only print what is in the store")
    args = parser.parse_args()
    if not args.report:
        args.store.parent.mkdir(parents=True, exist_ok=True)
        run(args.store, args.sets)
    report(load(args.store))


if __name__ == "__main__":
    main()
