"""Forecasts of groups of nodes on the seven real sets: errors of several ways to make them add up, coverage of intervals.

    python benchmarks/groups.py             # all sets; goes on where it stopped
    python benchmarks/groups.py --report    # tables of what is in the store

Groups are regions of Hungary (chickenpox) and Germany (flu), cities of similar latitude (measles), and random eighths of the other
sets. At every origin ``auto`` sees the data up to it. "sums" is what ``Forecast.groups`` says: sums of expected values of nodes.
The other ways: sums of medians; "direct", a forecast of the sums as if they were nodes; "wls" and "mint", which reconcile nodes and
direct forecasts by the variances or the shrunk covariances of their past errors (Wickramasuriya et al. 2019).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import ndcn
from forecast import EARLIER, HORIZONS, LATER, ORIGINS, cut, load, read
from ndcn import forecast

LEVEL = 0.9
MORE = {"england": range(27, 33), "flu": range(62, 110, 8), "wind": range(104, 200, 16), "measles": range(60, 110, 5)}
PARTS = {"chosen on": {**EARLIER, **MORE}, "auto": ORIGINS, "later": LATER}  # rules were chosen on the first part alone
REGIONS = {
    **dict.fromkeys(("BUDAPEST", "PEST"), "Central"),
    **dict.fromkeys(("FEJER", "KOMAROM", "VESZPREM"), "Central Transdanubia"),
    **dict.fromkeys(("GYOR", "VAS", "ZALA"), "Western Transdanubia"),
    **dict.fromkeys(("BARANYA", "SOMOGY", "TOLNA"), "Southern Transdanubia"),
    **dict.fromkeys(("BORSOD", "HEVES", "NOGRAD"), "Northern"),
    **dict.fromkeys(("HAJDU", "JASZ", "SZABOLCS"), "Northern Plain"),
    **dict.fromkeys(("BACS", "BEKES", "CSONGRAD"), "Southern Plain"),
}


def groups_of(name: str, data: ndcn.Trajectory, folder: Path) -> dict:
    """The group of each node."""
    nodes = list(data.graph.nodes)
    if name == "chickenpox":
        places = json.loads((folder / "temporal" / "chickenpox.json").read_text())["node_ids"]
        return {nodes[k]: REGIONS[county] for county, k in places.items()}
    if name == "flu":
        return {node: str(node)[:2] for node in nodes}
    if name == "measles":
        cities = pd.read_csv(folder / "measles_uk" / "cities.csv").sort_values("city")["lat"].to_numpy()
        return {node: str(rank * 5 // len(nodes)) for node, rank in zip(nodes, cities.argsort().argsort(), strict=True)}
    return {node: str(k % 8) for node, k in zip(nodes, np.random.default_rng(0).permutation(len(nodes)), strict=True)}


def judge(data: ndcn.Trajectory, graphs: object, o: int, groups: dict) -> dict:
    """Errors of all ways, and coverage and width of intervals, for groups and the total at each horizon."""
    past, known = data[: o + 1], cut(graphs, o)
    if known is not None:
        past = ndcn.Trajectory(times=past.times, states=past.states, graph=known.last)
    names = list(dict.fromkeys(groups.values()))
    member = np.array(
        [[groups[node] == name for node in data.graph.nodes] for name in names] + [[True] * data.graph.num_nodes]
    )
    S, steps, times = member * 1.0, int(HORIZONS.max()), data.times[o + HORIZONS]
    found = forecast.auto(past, horizon=steps, graphs=known, progress=False)
    sums = found.groups(groups, times, LEVEL)
    truth = data.states[o + HORIZONS, :, 0].double().numpy() @ S.T
    alone = ndcn.Graph.from_edges(np.empty((0, 2), dtype=int), num_nodes=len(S))
    history = past.states[..., 0].double().numpy() @ S.T
    direct = forecast.auto(
        ndcn.Trajectory(times=past.times, states=history, graph=alone), horizon=steps, progress=False
    )
    medians, directly = (part.predict(times).states[..., 0].numpy() for part in (found, direct))
    said = {"sums": sums.values[..., 0].numpy(), "medians": medians @ S.T, "direct": directly}
    for way in (wls, mint):
        said[way.__name__] = np.stack(
            [reconciled(directly[k], medians[k], S, past_errors(direct, found, k), way) for k in range(len(HORIZONS))]
        )
    ends = {"sums": [part[..., 0].numpy() for part in (sums.lower, sums.upper)]}
    ends["added"] = [part.states[..., 0].numpy() @ S.T for part in found.intervals(times, LEVEL)]
    inside = {way: ((truth >= low - 1e-9) & (truth <= high + 1e-9)) * 1 for way, (low, high) in ends.items()}
    widths = {way: high - low for way, (low, high) in ends.items()}
    plain = {"errors": {way: said[way] - truth for way in said}, "inside": inside, "widths": widths}
    return {word: {way: x.tolist() for way, x in parts.items()} for word, parts in plain.items()}


def past_errors(direct: forecast.Forecast, found: forecast.Forecast, k: int) -> np.ndarray:
    """Past errors of sums and nodes at the same origins, the last ones: shape (Q, G + n)."""
    both = [part.past[0].errors[k].astype(float) for part in (direct, found)]
    count = min(len(part) for part in both)
    rows = np.concatenate([part[len(part) - count :] for part in both], axis=1)
    return rows[np.isfinite(rows).all(axis=1)]


def wls(errors: np.ndarray) -> np.ndarray:
    return np.diag((errors**2).mean(axis=0) + 1e-12 * (errors**2).mean())


def mint(errors: np.ndarray) -> np.ndarray:
    """Covariances shrunk to their diagonal as Schaefer and Strimmer (2005) do."""
    scale = np.sqrt(np.diag(wls(errors)))
    z, count = errors / scale, len(errors)
    r = z.T @ z / count
    off = 1.0 - np.eye(len(r))
    doubt = ((z**2).T @ (z**2) / count - r**2) / max(count - 1, 1)
    share = np.clip((doubt * off).sum() / max((r**2 * off).sum(), 1e-12), 0.0, 1.0)
    return ((1 - share) * r * off + np.eye(len(r))) * np.outer(scale, scale)


def reconciled(
    sums: np.ndarray, nodes: np.ndarray, S: np.ndarray, errors: np.ndarray, way: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Sums such that they are those of nodes, with the least change in units of past errors."""
    if len(errors) < 4:
        return S @ nodes
    both, rule, W = np.concatenate([sums, nodes]), np.concatenate([np.eye(len(S)), -S], axis=1), way(errors)
    return (both - W @ rule.T @ np.linalg.pinv(rule @ W @ rule.T) @ (rule @ both))[: len(S)]


def run(args: argparse.Namespace) -> None:
    done = {(r["set"], r["part"], r["origin"]) for r in load(args.store)}
    for name in args.sets:
        data, graphs = read(name, args.data)
        groups = groups_of(name, data, args.data)
        for part, origins in PARTS.items():
            for o in origins.get(name, ()):
                if (name, part, o) not in done:
                    row = {"set": name, "part": part, "origin": o, **judge(data, graphs, o, groups)}
                    with args.store.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(name, part, o, flush=True)


def report(rows: list[dict], part: str) -> None:
    """Errors in units of those of sums of medians, coverage, and width in units of added intervals; groups | total."""
    squared: dict[str, list] = {}
    for name in ORIGINS:
        mine = [r for r in rows if r["set"] == name and r["part"] == part]
        if not mine:
            continue
        print(f"\n## {name}, {part}: {len(mine)} origins, steps ahead {HORIZONS.tolist()}, groups | total")
        errors = {way: np.array([r["errors"][way] for r in mine]) for way in mine[0]["errors"]}
        root = {
            way: np.stack([(e[..., g] ** 2).mean(axis=(0, 2)) ** 0.5 for g in (slice(-1), slice(-1, None))])
            for way, e in errors.items()
        }
        absolute = {
            way: np.stack([np.abs(e[..., g]).mean(axis=(0, 2)) for g in (slice(-1), slice(-1, None))])
            for way, e in errors.items()
        }
        for way in errors:
            ratio = root[way] / root["medians"]
            squared.setdefault(way, []).append(ratio)
            print(f"{way:8s} squared", shown(ratio), " absolute", shown(absolute[way] / absolute["medians"]))
        for way in ("sums", "added"):
            inside, width = (np.array([r[word][way] for r in mine]) for word in ("inside", "widths"))
            wide = width.mean(axis=0, keepdims=True) / np.mean([r["widths"]["added"] for r in mine], axis=0)
            by = [np.stack([x[..., g].mean(axis=(0, 2)) for g in (slice(-1), slice(-1, None))]) for x in (inside, wide)]
            print(f"{way:8s} coverage", shown(by[0]), " width", shown(by[1]))
    for way, ratios in squared.items():
        groups, total = np.exp(np.log(np.maximum(ratios, 1e-6)).mean(axis=(0, 2)))
        print(f"{part}: {way} / sums of medians, root mean squared error: groups {groups:.3f}, total {total:.3f}")


def shown(x: np.ndarray) -> str:
    return " | ".join(" ".join(f"{v:.2f}" for v in row) for row in x)


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=root.parent / "shared" / "data", help="folder with the sets")
    parser.add_argument("--store", type=Path, default=root / "benchmarks" / "results" / "groups.jsonl")
    parser.add_argument("--sets", nargs="+", choices=list(ORIGINS), default=list(ORIGINS))
    parser.add_argument("--report", action="store_true", help="only print the tables")
    args = parser.parse_args()
    if not args.report:
        run(args)
    for part in PARTS:
        report(load(args.store), part)


if __name__ == "__main__":
    main()
