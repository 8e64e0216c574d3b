"""What laws are found in real data: `python benchmarks/real_data.py FOLDER [--sets measles flu wind] [--seconds 60] [--store FILE] [--report]`.

FOLDER has measles_uk, flu_germany and wind_uk (docs/datasets.md); sets that are not there are skipped. At each origin ``interaction``, with a limit of
``--seconds``, and ``auto`` see a window of the past and nothing else; the law starts from the last snapshot. Errors are mean |error| over
nodes, after 1, 3, 7 and 14 steps, in units of persistence. Measles: cases per 1000 people and biweek in 40 cities, births per 1000 as an input of
each city, whose later values are given, the mean population as attribute, and a gravity network, A_ij = population_j / distance_ij^2 of the five
strongest, scaled to a mean of 1. Flu: cases a week in 140 districts. Wind: log(1 + knots) by hour at 102 stations. Every fit is a line of JSON and is
not made again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import sparse

import ndcn

STEPS = np.array([1, 3, 7, 14])
ORIGINS = {"measles": (200, 260, 320), "flu": (164, 216, 240), "wind": (240, 360, 440)}
WINDOW = {"measles": 130, "flu": 156, "wind": 168}  # five years, three years, a week
PLACES = {"measles": "measles_uk", "flu": "flu_germany", "wind": "wind_uk"}
LINKS = 5


def measles(folder: Path) -> ndcn.Trajectory:
    """Cases, births and population of 40 cities on a gravity network."""
    rows = pd.read_csv(folder / "states.csv")
    cases, births, people = (
        rows.pivot(index="year", columns="city", values=name).sort_index() for name in ("cases", "births", "pop")
    )
    cities = pd.read_csv(folder / "cities.csv").set_index("city").loc[cases.columns]
    at = cities[["lon", "lat"]].to_numpy() * [np.cos(np.radians(cities["lat"].mean())), 1.0]
    apart = np.linalg.norm(at[:, None] - at[None], axis=-1) + np.diag(np.full(len(at), np.inf))
    pull = cities["meanPop"].to_numpy() / apart**2
    pull = np.where(pull >= np.sort(pull, axis=1)[:, -LINKS, None], pull, 0.0)
    graph = ndcn.Graph(sparse.csr_array(pull / pull[pull > 0].mean()), nodes=list(cities.index), positions=at)
    graph = graph.with_attributes({"population": cities["meanPop"].to_numpy() / 1e6})
    times = np.arange(len(cases)) * 1.0
    driver = ndcn.Inputs(times, {"births": (1000 * births / people).to_numpy()}, between="linear")
    return ndcn.Trajectory(times=times, states=(1000 * cases / people).to_numpy(), graph=graph, inputs=driver)


def read(name: str, folder: Path) -> ndcn.Trajectory:
    if name == "measles":
        return measles(folder / PLACES[name])
    data = ndcn.read(folder / PLACES[name] / "edges.csv", folder / PLACES[name] / "states.csv", directed=False).runs[0]
    return data.replaced(times=torch.arange(len(data), dtype=torch.float64), calendar=None)


def law(
    past: ndcn.Trajectory, whole: ndcn.Trajectory, times: torch.Tensor, seconds: float
) -> tuple[np.ndarray | None, dict]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reg = ndcn.DynamicsRegressor(ndcn.Interaction(seconds=seconds), progress=False).fit(past)
        given = {"inputs": whole.inputs} if reg.fitted_.takes else {}
        try:
            start = {"graph": past.graph, "x0": past.states[-1], "t0": float(past.times[-1])}
            path = reg.predict(times, **start, **given).states[..., 0].double().numpy()
        except ndcn.IntegrationError:
            path = None
    about = {"form": reg.evidence_.form, "explained": bool(reg.evidence_.explained), "reason": reg.evidence_.reason}
    about["equation"] = str(reg.equations()) if reg.evidence_.form == "closed" else None
    about["warned"] = [str(one.message) for one in said][:3]
    return path, about


def auto(past: ndcn.Trajectory, times: torch.Tensor) -> tuple[np.ndarray, dict]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = past.replaced(inputs=None)
        chosen = ndcn.forecast.Auto(horizon=int(STEPS.max()), law=False)
        reg = ndcn.DynamicsRegressor(chosen, progress=False).fit(plain)
        return reg.predict(times).states[..., 0].double().numpy(), {"sentence": reg.forecast_.sentence}


def run(name: str, origin: int, model: str, whole: ndcn.Trajectory, seconds: float) -> dict:
    past = whole[origin - WINDOW[name] + 1 : origin + 1]
    times = whole.times[origin + STEPS]
    began = time.process_time()
    out = {"set": name, "origin": origin, "model": model}
    try:
        path, about = law(past, whole, times, seconds) if model == "interaction" else auto(past, times)
    except Exception as error:  # one failure must not end the others; the file keeps it
        return {**out, "failed": f"{type(error).__name__}: {error}", "seconds": time.process_time() - began}
    truth, last = whole.states[origin + STEPS, :, 0].double().numpy(), past.states[-1, :, 0].double().numpy()
    if path is None:
        return {**out, **about, "failed": "the law explodes", "seconds": time.process_time() - began}
    errors = np.nanmean(np.abs(path - truth), axis=1)
    still = np.nanmean(np.abs(last - truth), axis=1)
    return {**out, **about, "seconds": time.process_time() - began, "errors": errors.tolist(), "still": still.tolist()}


def report(done: list[dict]) -> None:
    print(
        "| set | model | fits | error over persistence after 1 / 3 / 7 / 14 steps | said to explain the data | CPU s |"
    )
    print("|---" * 6 + "|")
    for name, model in sorted({(r["set"], r["model"]) for r in done}):
        own = [r for r in done if (r["set"], r["model"]) == (name, model)]
        kept = [r for r in own if "errors" in r]
        ratio = "-"
        if kept:
            both = [np.array([r[key] for r in kept]).sum(0) for key in ("errors", "still")]
            ratio = " / ".join(f"{x:.2f}" for x in both[0] / both[1])
        told = f"{sum(r.get('explained', False) for r in own)} of {len(own)}" if model == "interaction" else "-"
        lost = f" ({len(own) - len(kept)} explode)" if len(own) > len(kept) else ""
        print(
            f"| {name} | {model} | {len(own)}{lost} | {ratio} | {told} | {np.median([r['seconds'] for r in own]):.0f} |"
        )
    for r in done:
        if r["model"] == "interaction":
            print(
                f"\n{r['set']} {r['origin']}: {r.get('equation') or r.get('form') or r.get('failed')}\n  {r.get('reason')}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(ORIGINS), choices=list(ORIGINS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--store", type=Path, default=Path("real_data.jsonl"))
    parser.add_argument("--report", action="store_true", help="print what was measured")
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    keys = {(r["set"], r["origin"], r["model"]) for r in done}
    for name in () if given.report else given.sets:
        if not (given.folder / PLACES[name]).is_dir():
            print(f"{name}: there is no {given.folder / PLACES[name]}; skipped")
            continue
        whole = read(name, given.folder)
        for origin in ORIGINS[name]:
            for model in ("interaction", "auto"):
                if (name, origin, model) in keys:
                    continue
                done.append(run(name, origin, model, whole, given.seconds))
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
                print(json.dumps(done[-1])[:400], flush=True)
    report(done)


if __name__ == "__main__":
    main()
