"""Who acts on whom, found in simulated data: links, family, calibration and time, beside peers in the same run.

    python benchmarks/reconstruction.py                       # all cases; goes on where it stopped
    python benchmarks/reconstruction.py --cases r30 --seeds 2 # some of them
    python benchmarks/reconstruction.py --peers               # peers on the same data too
    python benchmarks/reconstruction.py --report              # the table of what is in the store
    python benchmarks/reconstruction.py --dream4 FOLDER       # DREAM4 beside a forest like dynGENIE3's

Directed random networks of 100 nodes and mean degree 5 unless said; R30 is 30 runs of 20 snapshots from random states, noise a share of
the standard deviation of all states. FDR is the true one of the set chosen at nominal 10 %; ECE is of pairs with p > .05. Constants were chosen on
seeds 0 to 4 and 100; seeds from 10 on are for reports.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import torch
from scipy import sparse

import ndcn
from ndcn.reconstruction import average_precision
from ndcn.reconstruction.law import law_of

# Law, time span of a run, range of initial states, and formulas that are the coupling. Spans are about three relaxation times.
LAWS: dict[
    str, tuple[Callable[[np.random.Generator, int], ndcn.laws.Law], float, tuple[float, float], tuple[str, ...]]
] = {
    "heat": (lambda rng, n: ndcn.laws.Heat(), 0.6, (0, 1), ("x_j - x_i",)),
    "gene": (lambda rng, n: ndcn.laws.Gene(), 3.0, (0, 3), ("x_j^2/(K^2 + x_j^2)", "x_j^h/(1 + x_j^h)")),
    "kuramoto": (
        lambda rng, n: ndcn.laws.Kuramoto(omega=rng.normal(0, 1, n)),
        1.5,
        (-np.pi, np.pi),
        ("sin(x_j - x_i)",),
    ),
    "sis": (lambda rng, n: ndcn.laws.SIS(), 1.0, (0, 1), ("(1 - x_i)*x_j",)),
    "lotka_volterra": (lambda rng, n: ndcn.laws.LotkaVolterra(), 1.0, (0.1, 2), ("x_i*x_j",)),
    "mutualistic": (lambda rng, n: ndcn.laws.Mutualistic(), 0.6, (0, 6), ("x_i*x_j/(1 + b*x_i + c*x_j)",)),
    "michaelis_menten": (
        lambda rng, n: ndcn.laws.MichaelisMenten(),
        3.0,
        (0, 3),
        ("x_j/(K + x_j)", "x_j^h/(1 + x_j^h)"),
    ),
    "wilson_cowan": (lambda rng, n: ndcn.laws.WilsonCowan(), 3.0, (0, 5), ("1/(1 + exp(-a*(x_j - m)))",)),
}


class Driven(ndcn.laws.Law):
    """Nodes that follow one input, each with its own strength, and not each other."""

    def __init__(self, strength: np.ndarray) -> None:
        super().__init__()
        self.strength = torch.tensor(strength).unsqueeze(1)

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return 1 - x + self.strength * u

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return 0 * x_j


LAWS["driven"] = (lambda rng, n: Driven(rng.normal(1, 0.5, n)), 3.0, (0, 2), ())
SIX = ("heat", "gene", "kuramoto", "sis", "lotka_volterra", "mutualistic")
EIGHT = (*SIX, "michaelis_menten", "wilson_cowan")
CASES: dict[str, dict] = {
    **{f"r30 {noise:g}": {"runs": 30, "noise": noise, "laws": SIX} for noise in (0.0, 0.01, 0.05)},
    "r30 0.05 weighted": {"runs": 30, "noise": 0.05, "laws": SIX, "weighted": True},
    "r30 0.05 hubs": {"runs": 30, "noise": 0.05, "laws": SIX, "kind": "hubs"},
    "r10 0.01": {"runs": 10, "noise": 0.01, "laws": SIX},
    "r10 0.05": {"runs": 10, "noise": 0.05, "laws": SIX},
    "one 0.01": {"runs": 1, "noise": 0.01, "laws": EIGHT, "snapshots": 200},
    "incoherent 0.01": {"runs": 1, "noise": 0.01, "laws": ("kuramoto",), "snapshots": 200, "span": 20.0, "omega": 10.0},
    "none": {"runs": 30, "noise": 0.01, "laws": ("gene",), "degree": 0.0},
    "driver": {"runs": 30, "noise": 0.01, "laws": ("driven",), "degree": 0.0},
    **{f"wrong graph {noise:g}": {"runs": 10, "noise": noise, "laws": SIX, "wrong": 0.1} for noise in (0.01, 0.05)},
    "large": {"runs": 30, "noise": 0.01, "laws": ("gene",), "nodes": 1000},
}


def network(n: int, seed: int, kind: str = "random", degree: float = 5.0, weighted: bool = False) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    if kind == "hubs":
        A = nx.to_numpy_array(nx.barabasi_albert_graph(n, max(1, round(degree / 2)), seed=seed))
    else:
        A = (rng.random((n, n)) < degree / (n - 1)).astype(float)
    np.fill_diagonal(A, 0.0)
    return A * rng.uniform(0.5, 1.5, A.shape) if weighted else A


class Exact(NamedTuple):
    """States of all runs without noise, (T, n, 1) each, their times, the true network, the law, and the noise to come."""

    states: list[np.ndarray]
    times: np.ndarray
    network: np.ndarray
    law: ndcn.laws.Law
    noise: float
    generator: np.random.Generator


def exact(law: str, case: dict, seed: int) -> Exact:
    """The system of a case, simulated."""
    n = case.get("nodes", 100)
    A = network(n, seed, case.get("kind", "random"), case.get("degree", 5.0), case.get("weighted", False))
    rng = np.random.default_rng([seed, 2])
    make, span, (low, high), _ = LAWS[law]
    field = make(rng, n)
    if "omega" in case:
        field = ndcn.laws.Kuramoto(omega=rng.normal(0, case["omega"], n))
    times = np.linspace(0, case.get("span", span), case.get("snapshots", 20))
    graph = ndcn.Graph.from_dense(A, directed=True)
    clean = []
    for _ in range(case["runs"]):
        x0 = torch.tensor(rng.uniform(low, high, (n, 1)))
        knots = np.linspace(0, times[-1], 10)
        unseen = ndcn.Inputs(knots, {"u": rng.normal(size=10)}, between="linear") if law == "driven" else None
        clean.append(ndcn.simulate(field, graph, x0, times, inputs=unseen).states.numpy())
    every = np.concatenate([states.ravel() for states in clean])
    if law == "kuramoto":  # phases that wind have no standard deviation of their own
        every = np.angle(np.exp(1j * every))
    return Exact(clean, times, A, field, case["noise"] * float(np.std(every)), rng)


def simulated(law: str, case: dict, seed: int) -> tuple[list[ndcn.Trajectory], np.ndarray, ndcn.laws.Law]:
    """Runs with noise on a graph without edges, the true network, and the law."""
    true = exact(law, case, seed)
    empty = ndcn.Graph(sparse.csr_array(true.network.shape))
    noisy = [states + true.noise * true.generator.normal(size=states.shape) for states in true.states]
    data = [ndcn.Trajectory(times=true.times, states=states, graph=empty) for states in noisy]
    return data, true.network, true.law


def spoiled(A: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The network with so many of its links missing and as many wrong ones."""
    rng = np.random.default_rng([seed, 3])
    links, gaps = np.argwhere(A != 0), np.argwhere((A == 0) & ~np.eye(len(A), dtype=bool))
    count = round(share * len(links))
    B = A.copy()
    B[tuple(links[rng.permutation(len(links))[:count]].T)] = 0.0
    B[tuple(gaps[rng.permutation(len(gaps))[:count]].T)] = 1.0
    return B


def measured(law: str, name: str, seed: int, peers: bool) -> dict:
    case = CASES[name]
    data, A, _ = simulated(law, case, seed)
    prior = spoiled(A, case["wrong"], seed) if "wrong" in case else None
    given = None if prior is None else ndcn.Graph.from_dense(prior, directed=True)
    began = time.process_time()
    found = ndcn.reconstruct(data, given, progress=False)
    row = {"case": name, "law": law, "seed": seed, "seconds": time.process_time() - began, "verdict": found.verdict}
    off = ~np.eye(len(A), dtype=bool)
    true, p, chosen = (A != 0)[off], found.probabilities.toarray()[off], found.links(fdr=0.1)[off]
    row |= {
        "auroc": auroc(true, p),
        "aupr": average_precision(true, p),
        "fdr": float((chosen & ~true).sum() / max(1, chosen.sum())),
        "recall": float((chosen & true).sum() / max(1, true.sum())),
        "ece": calibration_error(true[p > 0.05], p[p > 0.05]),
        "above half": float((p > 0.5).mean()),
        "family": found.families[0][0],
        "right": found.families[0][0] in LAWS[law][3],
        "claimed": found.judgement.law,
        "foretold": found.aupr,
        "rho": found.found.increments.rho,
    }
    if prior is not None:
        row |= corrected(found, A, prior)
    if name in FORECAST and law != "kuramoto" and found.law is not None:  # of Kuramoto each node has an own frequency
        row["forecast"] = forecast(found, A, law, name, seed)
    if peers:
        row["peers"] = {peer: average_precision(true, score(data)[off]) for peer, score in PEERS.items()}
    return row


def forecast(found: ndcn.Reconstruction, A: np.ndarray, law: str, name: str, seed: int) -> float:
    """Root mean squared error from new initial states with the network and law that were found, over that with the true network and its law."""
    rng = np.random.default_rng([seed, 4])
    make, span, (low, high), _ = LAWS[law]
    true, times = ndcn.Graph.from_dense(A, directed=True), np.linspace(0, span, 20)
    fitted = law_of(found.found, A != 0, A)[0]
    errors = np.zeros(2)
    for _ in range(5):
        x0 = torch.tensor(rng.uniform(low, high, (len(A), 1)))
        states = ndcn.simulate(make(rng, len(A)), true, x0, times).states
        for k, (field, graph) in enumerate(((found.law, found.graph()), (fitted, true))):
            errors[k] += float((ndcn.simulate(field, graph, x0, times).states - states).square().mean())
    return float(np.sqrt(errors[0] / errors[1]))


def corrected(found: ndcn.Reconstruction, A: np.ndarray, prior: np.ndarray) -> dict:
    """How many of the missing and spurious links were found, and what share of those named is wrong."""
    p = found.probabilities.toarray()
    off = ~np.eye(len(A), dtype=bool)
    place = {node: k for k, node in enumerate(found.nodes)}
    gone, added = (A != 0) & (prior == 0), (A == 0) & (prior != 0)
    missing, spurious = (p > 0.5) & (prior == 0) & off, (p < 0.5) & (prior != 0)
    wrong = (missing & ~gone).sum() + (spurious & ~added).sum()
    row = {
        "missing found": float((missing & gone).sum() / max(1, gone.sum())),
        "spurious found": float((spurious & added).sum() / max(1, added.sum())),
        "named wrongly": float(wrong / max(1, missing.sum() + spurious.sum())),
    }
    for what, table, true in (("missing", found.missing(fdr=0.1), gone), ("spurious", found.spurious(fdr=0.1), added)):
        right = sum(bool(true[place[t], place[s]]) for s, t in zip(table["source"], table["target"], strict=True))
        row |= {f"{what} at fdr": right / max(1, true.sum()), f"{what} fdr": 1 - right / max(1, len(table))}
    return row


def auroc(true: np.ndarray, p: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(true, p)) if true.any() and not true.all() else float("nan")


def calibration_error(true: np.ndarray, p: np.ndarray) -> float:
    if not len(p):
        return 0.0
    place = np.minimum((p * 10).astype(int), 9)
    return float(
        sum(abs(p[place == k].mean() - true[place == k].mean()) * (place == k).mean() for k in np.unique(place))
    )


# Peers ---------------------------------------------------------------------------------------------------------------


def _rates(data: list[ndcn.Trajectory]) -> tuple[np.ndarray, np.ndarray]:
    """States in the middle of intervals and slopes there, of all runs."""
    xs = [run.states.numpy()[..., 0] for run in data]
    ts = [run.times.numpy() for run in data]
    slopes = [np.diff(x, axis=0) / np.diff(t)[:, None] for x, t in zip(xs, ts, strict=True)]
    return np.concatenate([(x[1:] + x[:-1]) / 2 for x in xs]), np.concatenate(slopes)


def correlation(data: list[ndcn.Trajectory]) -> np.ndarray:
    return np.abs(np.nan_to_num(np.corrcoef(np.concatenate([run.states.numpy()[..., 0] for run in data]).T)))


def partial_correlation(data: list[ndcn.Trajectory]) -> np.ndarray:
    from sklearn.covariance import LedoitWolf

    x = np.concatenate([run.states.numpy()[..., 0] for run in data])
    P = np.linalg.pinv(LedoitWolf().fit((x - x.mean(0)) / (x.std(0) + 1e-12)).covariance_)
    return np.abs(P / np.sqrt(np.outer(np.diag(P), np.diag(P))))


def lasso(data: list[ndcn.Trajectory]) -> np.ndarray:
    """A vector autoregression of slopes on all states, by lasso."""
    from sklearn.linear_model import LassoCV

    x, slopes = _rates(data)
    x = (x - x.mean(0)) / (x.std(0) + 1e-12)
    return np.abs(np.stack([LassoCV(n_alphas=20, cv=3, max_iter=2000).fit(x, y).coef_ for y in slopes.T]))


def arni(data: list[ndcn.Trajectory]) -> np.ndarray:
    """Greedy sets of basis functions of one neighbour each, as in ARNI: the earlier a node comes in, the higher its score."""
    x, slopes = _rates(data)
    n = x.shape[1]
    out = np.zeros((n, n))
    for i in range(n):
        y = slopes[:, i] - slopes[:, i].mean()
        own = np.stack([x[:, i] ** k for k in range(4)], 1)
        blocks = [np.stack([x[:, j], x[:, j] ** 2, x[:, i] * x[:, j], np.sin(x[:, j] - x[:, i])], 1) for j in range(n)]
        M, left = own, [j for j in range(n) if j != i]
        for rank in range(12):
            q, _ = np.linalg.qr(M)
            rest = y - q @ (q.T @ y)
            gain = []
            for j in left:
                B = blocks[j] - q @ (q.T @ blocks[j])
                u, s, _ = np.linalg.svd(B, full_matrices=False)
                gain.append(np.sum((u[:, s > 1e-8 * s[0]].T @ rest) ** 2))
            best = left.pop(int(np.argmax(gain)))
            out[i, best] = 1.0 / (rank + 1)
            M = np.concatenate([M, blocks[best]], axis=1)
    return out


def forest(data: list[ndcn.Trajectory]) -> np.ndarray:
    """Importances of a random forest for each node's slope plus decay, with the decay rates of dynGENIE3: from the extremes of each run."""
    from sklearn.ensemble import RandomForestRegressor

    xs, ts = [run.states.numpy()[..., 0] for run in data], [run.times.numpy() for run in data]
    least = min(x.min() for x in xs)
    decays = []
    for x, t in zip(xs, ts, strict=True):
        low, high = (np.log(np.maximum(v - least, 1e-6)) for v in (x.min(0), x.max(0)))
        decays.append((high - low) / np.maximum(np.abs(t[x.argmax(0)] - t[x.argmin(0)]), t[1] - t[0]))
    decay = np.max(decays, axis=0)
    left = np.concatenate([x[:-1] for x in xs])
    slopes = np.concatenate([np.diff(x, axis=0) / np.diff(t)[:, None] for x, t in zip(xs, ts, strict=True)])
    out = np.zeros((left.shape[1], left.shape[1]))
    for i in range(left.shape[1]):
        trees = RandomForestRegressor(200, max_features="sqrt", random_state=0)
        out[i] = trees.fit(left, slopes[:, i] + decay[i] * left[:, i]).feature_importances_
    return out


FORECAST = ("r30 0.01",)
PEERS = {
    "correlation": correlation,
    "partial correlation": partial_correlation,
    "lasso": lasso,
    "ARNI": arni,
    "forest": forest,
}


# DREAM4 --------------------------------------------------------------------------------------------------------------


def dream4(folder: Path) -> None:
    """AUPR of the law's probabilities, of a dynGENIE3-like forest, and of what ``reconstruct`` answers, on networks 1 to 3 of sizes 10 and 100.

    Files are insilico_size10_1_timeseries.tsv (a column for each gene, 21 snapshots a run, with or without a column Time) and
    insilico_size10_1_goldstandard.tsv.
    """
    import pandas as pd

    print("| network | law | forest | answer | ranked by | verdict | CPU s |\n|---|---|---|---|---|---|---|")
    for size, number in itertools.product((10, 100), (1, 2, 3)):
        table = pd.read_csv(folder / f"insilico_size{size}_{number}_timeseries.tsv", sep="\t")
        gold = pd.read_csv(folder / f"insilico_size{size}_{number}_goldstandard.tsv", sep="\t", header=None)
        states = table.drop(columns="Time", errors="ignore")
        empty = ndcn.Graph(sparse.csr_array((size, size)), nodes=list(states.columns))
        data = [
            ndcn.Trajectory(times=0.5 * np.arange(21), states=run[..., None], graph=empty)
            for run in states.to_numpy().reshape(-1, 21, size)
        ]
        place = {gene: k for k, gene in enumerate(states.columns)}
        truth = np.zeros((size, size), dtype=bool)
        for source, target, there in gold.itertuples(index=False):
            truth[place[target], place[source]] = bool(there)
        began = time.process_time()
        found = ndcn.reconstruct(data, progress=False)
        seconds = time.process_time() - began
        off = ~np.eye(size, dtype=bool)
        law = found.found.dense(found.found.learned.probabilities)
        scores = [average_precision(truth[off], s[off]) for s in (law, forest(data), found.probabilities.toarray())]
        by = "law" if found.opinion is None else found.opinion.best
        means = " | ".join(f"{score:.3f}" for score in scores)
        print(f"| {size}, {number} | {means} | {by} | {found.verdict} | {seconds:.0f} |", flush=True)


def load(store: Path) -> list[dict]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def report(rows: list[dict]) -> None:
    print("| case | law | runs | AUROC | AUPR | FDR | recall | ECE | family right | decided / in part / not | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        for law in LAWS:
            mine = [row for row in rows if row["case"] == case and row["law"] == law]
            if not mine:
                continue
            means = [f"{np.mean([row[key] for row in mine]):.3f}" for key in ("auroc", "aupr", "fdr", "recall", "ece")]
            right = f"{sum(row['right'] for row in mine)}/{len(mine)}"
            said = " / ".join(
                str(sum(row["verdict"] == v for row in mine)) for v in ("decided", "decided in part", "not decidable")
            )
            seconds = f"{np.mean([row['seconds'] for row in mine]):.0f}"
            print(f"| {case} | {law} | {len(mine)} | {' | '.join(means)} | {right} | {said} | {seconds} |")


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=root / "benchmarks" / "results" / "reconstruction.jsonl")
    parser.add_argument("--cases", default="", help="only cases whose names begin so")
    parser.add_argument("--laws", nargs="*", help="only these laws")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=10, help="the first seed")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--report", action="store_true", help="only print what is in the store")
    parser.add_argument("--dream4", type=Path, help="folder with the files of DREAM4")
    args = parser.parse_args()
    if args.dream4 is not None:
        return dream4(args.dream4)
    if not args.report:
        args.store.parent.mkdir(parents=True, exist_ok=True)
        done = {(row["case"], row["law"], row["seed"]) for row in load(args.store)}
        for seed in range(args.first, args.first + args.seeds):
            for name, case in CASES.items():
                for law in case["laws"]:
                    if (
                        not name.startswith(args.cases)
                        or (args.laws and law not in args.laws)
                        or (name, law, seed) in done
                    ):
                        continue
                    row = measured(law, name, seed, args.peers)
                    with args.store.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    report(load(args.store))
    return None


if __name__ == "__main__":
    main()
