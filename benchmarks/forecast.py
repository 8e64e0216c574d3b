"""Rolling backtest of forecasts on seven real sets on networks: who wins, and does the network help?

    python benchmarks/forecast.py                       # all parts; goes on where it stopped
    python benchmarks/forecast.py --sets england --parts auto network
    python benchmarks/forecast.py --parts autoets       # AutoETS of statsforecast, kept in results/autoets.jsonl: first `make .venv-autoets`
    python benchmarks/forecast.py --report              # tables of what is in the store

At every origin all models see the data up to it and nothing else; ``auto`` is called as a user would call it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import sparse

import ndcn
from ndcn import forecast
from ndcn.data.panel import panel_of
from ndcn.forecast import backtest
from ndcn.forecast.candidates import GUESS, SIMPLE
from ndcn.forecast.learned import Learner
from ndcn.forecast.options import NAMES
from ndcn.graph.sequence import GraphSequence

HORIZONS = np.array([1, 3, 7, 14])
ORIGINS = {
    "england": range(33, 47),
    "h1n1": range(37, 60),
    "covid": range(80, 144, 3),
    "chickenpox": range(262, 507, 6),
    "flu": range(110, 260, 4),  # every 16 weeks met one week of a season: it alone was the mean error
    "wind": range(200, 460, 32),
    "measles": range(110, 330, 20),
}
EARLIER = {"h1n1": range(27, 37), "covid": range(44, 80, 3), "chickenpox": range(100, 256, 6)}
LATER = {"flu": range(264, 400, 4), "wind": range(464, 700, 32), "measles": range(336, 530, 20)}
OTHER = {"earlier": EARLIER, "later": LATER}  # origins that are reported apart
SEASON = {"england": 7, "h1n1": 7, "covid": 7, "wind": 24}  # of AutoETS, which takes no seasons of more than 24 steps
LEARNED_ORIGINS = 12
AUTOETS_ORIGINS = {
    "flu": 38
}  # of each part: most of flu's weeks have no case; of the other sets 6 or a few more, a minute for each
SHUFFLES = 99
AUTOETS = Path(__file__).parent / "results" / "autoets.jsonl"  # in the repository: it depends on the data alone


def read(name: str, folder: Path) -> tuple[ndcn.Trajectory, GraphSequence | None]:
    """The set of that name, and its graphs where they change."""
    if name in ("h1n1", "covid"):
        label = name.upper()
        x = np.loadtxt(folder / "epidemics" / f"{label}_filter_total_cases_raw.txt")
        adjacency = np.loadtxt(folder / "epidemics" / f"{label}_adj.txt")
        x = x.T if len(x) == len(adjacency) else x
        graph = ndcn.Graph.from_dense(adjacency)
        return ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph), None
    if name == "chickenpox":
        raw = json.loads((folder / "temporal" / "chickenpox.json").read_text())
        x = np.array(raw["FX"])
        graph = ndcn.Graph.from_pyg(torch.tensor(raw["edges"]).T, num_nodes=x.shape[1])
        return ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph), None
    if name in ("flu", "wind"):
        place = folder / {"flu": "flu_germany", "wind": "wind_uk"}[name]
        data = ndcn.read(place / "edges.csv", place / "states.csv", directed=False)
        return data.runs[0].replaced(times=torch.arange(len(data.runs[0]), dtype=torch.float64), calendar=None), None
    if name == "measles":
        return measles(folder / "measles_uk"), None
    raw = json.loads((folder / "temporal" / "england_covid.json").read_text())
    x = np.array(raw["y"], dtype=float)
    graphs = []
    for t in range(len(x)):
        source, target = np.array(raw["edge_mapping"]["edge_index"][str(t)]).T
        weight = np.array(raw["edge_mapping"]["edge_weight"][str(t)], dtype=float)
        n = x.shape[1]
        graphs.append(ndcn.Graph.from_scipy(sparse.csr_array((weight, (target, source)), shape=(n, n))))
    times = np.arange(len(x)) * 1.0
    return ndcn.Trajectory(times=times, states=x, graph=graphs[-1]), GraphSequence(times, graphs)


def measles(folder: Path) -> ndcn.Trajectory:
    """Cases in 40 cities, each linked to its five nearest."""
    cases = pd.read_csv(folder / "states.csv").pivot(index="year", columns="city", values="cases").sort_index()
    where = pd.read_csv(folder / "cities.csv").set_index("city").loc[cases.columns]
    at = where[["lon", "lat"]].to_numpy() * [np.cos(np.radians(where["lat"].mean())), 1.0]
    apart = np.linalg.norm(at[:, None] - at[None], axis=-1)
    near = np.argsort(apart, axis=1)[:, 1:6]
    pairs = {tuple(sorted((i, int(j)))) for i in range(len(at)) for j in near[i]}
    graph = ndcn.Graph.from_edges(sorted(pairs), num_nodes=len(at))
    return ndcn.Trajectory(times=np.arange(len(cases)) * 1.0, states=cases.to_numpy(float), graph=graph)


def judge_autoets(data: ndcn.Trajectory, o: int, season: int, python: Path) -> dict:
    begun, past = time.perf_counter(), data.states[: o + 1, :, 0].double().numpy()
    with tempfile.TemporaryDirectory() as folder:
        given, said = Path(folder) / "past.npy", Path(folder) / "said.npy"
        np.save(given, past)
        script = Path(__file__).with_name("autoets.py")
        words = [python, script, given, HORIZONS.max(), season, said]
        subprocess.run([str(word) for word in words], check=True, capture_output=True)
        path = np.load(said)
    errors = np.abs(path[HORIZONS - 1] - data.states[o + HORIZONS, :, 0].double().numpy()).mean(axis=1)
    return {"errors": {"AutoETS": errors.tolist()}, "seconds": time.perf_counter() - begun}


def cut(graphs: GraphSequence | None, o: int) -> GraphSequence | None:
    return None if graphs is None else GraphSequence(graphs.times[: o + 1], graphs.graphs[: o + 1])


def remembered(past: ndcn.Trajectory, graphs: GraphSequence | None) -> tuple[forecast.Forecast, backtest.Backtest]:
    """What auto gives, and the backtest that it made on the way, which takes most of its time."""
    made, run = [], backtest.run
    backtest.run = lambda *args: made.append(run(*args)) or made[-1]
    try:
        return forecast.auto(past, horizon=int(HORIZONS.max()), graphs=graphs, progress=False), made[0]
    finally:
        backtest.run = run


def judge(data: ndcn.Trajectory, graphs: GraphSequence | None, o: int) -> dict:
    """Errors at one origin of every candidate, of auto, and of the two references; coverage of auto's intervals."""
    begun = time.perf_counter()
    past, known = data[: o + 1], cut(graphs, o)
    if known is not None:
        past = ndcn.Trajectory(times=past.times, states=past.states, graph=known.last)
    truth = data.states[o + HORIZONS, :, 0].double().numpy()
    found, tested = remembered(past, known)
    times = data.times[o + HORIZONS]
    said = found.predict(times).states[..., 0].numpy()
    low, high = (part.states[..., 0].numpy() for part in found.intervals(times, 0.9))
    seconds = time.perf_counter() - begun
    now = len(tested.origins) - 1
    errors = np.abs(tested.forecasts[:, now].astype(float) - truth).mean(axis=2)
    models = {name: errors[k].tolist() for k, name in enumerate(tested.names)}
    models["auto"] = np.abs(said - truth).mean(axis=1).tolist()
    for label, families in (("best simple guess online", SIMPLE), ("best guess without constants online", (GUESS,))):
        models[label] = [float(errors[tested.guess(j, now, families), j]) for j in range(len(HORIZONS))]
    inside = ((truth >= low - 1e-9) & (truth <= high + 1e-9)).mean(axis=1)
    return {"errors": models, "coverage": inside.tolist(), "kept": list(found.chosen[0]), "seconds": seconds}


def judge_learned(data: ndcn.Trajectory, graphs: GraphSequence | None, o: int, name: str) -> dict:
    begun = time.perf_counter()
    panel = panel_of(data[: o + 1], 0, cut(graphs, o))
    learner = Learner(name, panel, panel.kind)
    said = learner.forecast(o, HORIZONS)
    errors = np.abs(said - data.states[o + HORIZONS, :, 0].double().numpy()).mean(axis=1)
    shown = [float(e) if np.isfinite(e) else None for e in errors]
    return {"errors": {name: shown}, "failures": learner.failures, "seconds": time.perf_counter() - begun}


def tasks(sets: list[str], parts: list[str]) -> Iterator[tuple[str, str, int]]:
    for name in sets:
        if "network" in parts:
            yield name, "network", -1
        if "auto" in parts:
            yield from ((name, "auto", o) for o in ORIGINS[name])
        for part, origins in OTHER.items():
            if part in parts:
                yield from ((name, part, o) for o in origins.get(name, ()))
        if "autoets" in parts:
            for origins in (ORIGINS, EARLIER, LATER):
                some = list(origins.get(name, ()))
                yield from ((name, "autoets", o) for o in some[:: max(1, len(some) // AUTOETS_ORIGINS.get(name, 6))])
    for model in sorted((m for m in NAMES if m in parts or "learned" in parts), key=lambda m: m == "interaction"):
        for k in np.linspace(0, 1, LEARNED_ORIGINS):  # one origin of every set after the other: any part is balanced
            yield from ((name, model, ORIGINS[name][round(k * (len(ORIGINS[name]) - 1))]) for name in sets)


def run(args: argparse.Namespace) -> None:
    done = {(r["set"], r["part"], r["origin"]) for r in [*load(args.store), *load(AUTOETS)]}
    loaded: dict[str, tuple[ndcn.Trajectory, GraphSequence | None]] = {}
    for name, part, o in tasks(args.sets, args.parts):
        if (name, part, o) in done:
            continue
        if name not in loaded:
            loaded[name] = read(name, args.data)
        data, graphs = loaded[name]
        if part == "network":
            row = forecast.network_test(data, graphs=graphs, shuffles=SHUFFLES, progress=False).to_json()
        elif part in ("auto", *OTHER):
            row = judge(data, graphs, o)
        elif part == "autoets":
            row = judge_autoets(data, o, SEASON.get(name, 1), args.autoets)
        else:
            row = judge_learned(data, graphs, o, part)
        with (AUTOETS if part == "autoets" else args.store).open("a") as file:
            file.write(json.dumps({"set": name, "part": part, "origin": o, **row}) + "\n")
        print(name, part, o, flush=True)


def load(store: Path) -> list[dict]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def mean_errors(rows: list[dict], name: str, part: str) -> dict[str, np.ndarray]:
    """Mean error of each model over the origins, in units of persistence's, shape (H,); NaN where any is missing."""
    mine = [r["errors"] for r in rows if r["set"] == name and r["part"] == part]
    if not mine:
        return {}
    names = [m for m in mine[0] if all(m in e for e in mine)]
    totals = {m: np.array([[np.nan if v is None else v for v in e[m]] for e in mine]).mean(axis=0) for m in names}
    return {m: v / totals["persistence"] for m, v in totals.items()}


def report(rows: list[dict], part: str = "auto") -> None:
    simple, loose = "best simple guess online", "best guess without constants online"
    ratios, loose_ratios, ets_ratios = [], [], []
    for name in ORIGINS:
        errors = mean_errors(rows, name, part)
        if not errors:
            continue
        mine = [r for r in rows if r["set"] == name and r["part"] == part]
        print(f"\n## {name}, {part}: {len(mine)} origins, persistence = 1, steps ahead {HORIZONS.tolist()}")
        candidates = {m: e for m, e in errors.items() if m not in ("auto", simple, loose)}
        for m in ("auto", simple, loose):
            print(f"{m:44s}", " ".join(f"{v:7.3f}" for v in errors[m]))
        for m in sorted(candidates, key=lambda m: candidates[m].mean()):
            print(f"{m:44s}", " ".join(f"{v:7.3f}" for v in candidates[m]))
        print("best in hindsight:", [min(candidates, key=lambda m: candidates[m][j]) for j in range(len(HORIZONS))])
        ratios.append(errors["auto"] / errors[simple])
        loose_ratios.append(errors["auto"] / errors[loose])
        print(
            "auto / best simple guess online:", ratios[-1].round(3), "/ without constants:", loose_ratios[-1].round(3)
        )
        ets = autoets_ratio(rows, name, part)
        if ets is not None:
            ets_ratios.append(ets)
            print("auto / AutoETS:", ets.round(3))
        print("coverage of 90 % intervals:", np.mean([r["coverage"] for r in mine], axis=0).round(3))
        print("seconds for auto:", round(float(np.median([r["seconds"] for r in mine])), 2))
        if part == "auto":
            learned(rows, name)
        for r in rows:
            if r["set"] == name and r["part"] == "network" and part == "auto":
                print("network: gains %", np.round(100 * np.array(r["gains"]), 2), "p", r["p_values"], r["sentence"])
    every = (("best simple guess online", ratios), ("without constants", loose_ratios), ("AutoETS", ets_ratios))
    for label, part_ratios in every:
        if part_ratios:
            print(f"\n{part}: auto / {label}: mean {np.mean(part_ratios):.3f}, largest {np.max(part_ratios):.3f}")


def autoets_ratio(rows: list[dict], name: str, part: str) -> np.ndarray | None:
    """Mean error of auto over that of AutoETS, at the origins of the part that AutoETS was run at."""
    ets = {r["origin"]: r["errors"]["AutoETS"] for r in rows if r["set"] == name and r["part"] == "autoets"}
    both = [
        (r["errors"]["auto"], ets[r["origin"]])
        for r in rows
        if r["set"] == name and r["part"] == part and r["origin"] in ets
    ]
    if not both:
        return None
    mine, theirs = np.mean(both, axis=0)
    return np.asarray(mine / theirs)


def learned(rows: list[dict], name: str) -> None:
    """The trained models at their origins, in units of persistence's error at the same origins, beside auto there."""
    base = {r["origin"]: r["errors"] for r in rows if r["set"] == name and r["part"] == "auto"}
    for model in NAMES:
        mine = {r["origin"]: r for r in rows if r["set"] == name and r["part"] == model and r["origin"] in base}
        if not mine:
            continue
        shown, failed = [], 0
        for j in range(len(HORIZONS)):
            good = [o for o, r in mine.items() if r["errors"][model][j] is not None]
            failed = max(failed, len(mine) - len(good))
            unit = sum(base[o]["persistence"][j] for o in good)
            shown.append(
                (
                    sum(mine[o]["errors"][model][j] for o in good) / unit if good else np.nan,
                    sum(base[o]["auto"][j] for o in good) / unit if good else np.nan,
                )
            )
        seconds = np.median([r["seconds"] for r in mine.values()])
        print(
            f"{model:14s} {len(mine)} origins, {failed} failed, {seconds:.1f} s each:",
            " ".join(f"{a:.3f}" for a, _ in shown),
            "| auto there:",
            " ".join(f"{b:.3f}" for _, b in shown),
        )


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=root.parent / "shared" / "data", help="folder with the sets")
    parser.add_argument("--store", type=Path, default=root / "benchmarks" / "results" / "forecast.jsonl")
    parser.add_argument("--sets", nargs="+", choices=list(ORIGINS), default=list(ORIGINS))
    choices = ["network", "auto", *OTHER, "autoets", "learned", *NAMES]
    parser.add_argument("--parts", nargs="+", choices=choices, default=["network", "auto", *OTHER, "learned"])
    place = root / ".venv-autoets" / "bin" / "python"
    parser.add_argument("--autoets", type=Path, default=place, help="interpreter that has statsforecast")
    parser.add_argument("--report", action="store_true", help="only print what is in the store")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if not args.report:
        if not args.data.is_dir():
            parser.error(f"there is no folder {args.data}; give the folder with the sets as --data")
        args.store.parent.mkdir(parents=True, exist_ok=True)
        run(args)
    rows = [*load(args.store), *load(AUTOETS)]
    report(rows)
    for part in OTHER:
        report(rows, part)


if __name__ == "__main__":
    main()
