"""How well the interaction model finds laws: `python benchmarks/interaction.py [rows ...] [--seeds 3] [--jobs 1]`.

Every fit is kept in a file as a line of JSON and is not made again; the tables are printed from that file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import torch

import ndcn
from ndcn.experiments.spec import read_toml
from ndcn.identify import pruning, search, shooting_fit, variants

NETWORKS = ("grid", "random", "power_law", "small_world", "community")
PAPER = {
    "heat": ndcn.laws.Heat(),
    "gene": ndcn.laws.Gene(),
    "mutualistic": ndcn.laws.Mutualistic(),
    "mutualistic (e, h exchanged)": ndcn.laws.Mutualistic(e=0.1, h=0.9),
}
FURTHER = {
    "sis": (ndcn.laws.SIS(), 5.0),
    "sir": (ndcn.laws.SIR(), 5.0),
    "kuramoto": (ndcn.laws.Kuramoto(omega=0.5, k=0.3), 5.0),
    "consensus": (ndcn.laws.Consensus(k=0.2, s=0.5), 5.0),
    "lotka_volterra": (ndcn.laws.LotkaVolterra(c=0.1), 5.0),
    "wilson_cowan": (ndcn.laws.WilsonCowan(), 5.0),
    "fitzhugh_nagumo": (ndcn.laws.FitzHughNagumo(), 40.0),
    "michaelis_menten": (ndcn.laws.MichaelisMenten(), 5.0),
}
FAMILY = {  # the true family of each law, and those that contain it or come as near to it as one likes
    "heat": ["x_j - x_i", "x_j", "tanh(a*(x_j - x_i))", "(x_j - x_i)*exp(-a*(x_j - x_i)^2)"],
    "gene": ["x_j^2/(K^2 + x_j^2)", "x_j^h/(1 + x_j^h)"],
    "mutualistic": ["x_i*x_j/(1 + b*x_i + c*x_j)"],
    "mutualistic (e, h exchanged)": ["x_i*x_j/(1 + b*x_i + c*x_j)"],
    "sis": ["(1 - x_i)*x_j", "x_i*x_j", "x_i*x_j/(1 + b*x_i + c*x_j)", "x_i*x_j/(K + x_j)"],
    "sir": ["s_i*i_j"],
    "kuramoto": ["sin(x_j - x_i)"],
    "consensus": ["tanh(a*(x_j - x_i))"],
    "lotka_volterra": ["x_i*x_j", "(1 - x_i)*x_j", "x_i*x_j/(1 + b*x_i + c*x_j)", "x_i*x_j/(K + x_j)"],
    "wilson_cowan": ["1/(1 + exp(-a*(x_j - m)))"],
    "fitzhugh_nagumo": ["v_j - v_i", "v_j", "tanh(a*(v_j - v_i))", "(v_j - v_i)*exp(-a*(v_j - v_i)^2)"],
    "michaelis_menten": ["x_j/(K + x_j)", "x_j^h/(1 + x_j^h)"],
}
BARS = {  # normalised l1 in percent
    "clean": 0.01,
    "free": 0.3,  # 2 for the mutualistic laws
    "regular": 0.05,
    "transfer": 0.1,
    "noise": 1.0,
    "half": 0.5,
    "few": 0.5,
    "further": 0.1,
    "further_free": 2.0,
}
PARTS = (
    "full_steps",
    "logarithms",
    "second_weighting",
    "likely_starts",
)  # of the search, to be taken away one at a time
ROWS = (
    "ndcn",
    "clean",
    "free",
    "regular",
    "transfer",
    "noise",
    "noise_free",
    "half",
    "few",
    "further",
    "further_free",
    "removed",
    *(f"without_{part}" for part in PARTS),
)


def graph_of(network: str, seed: int, n: int = 400) -> ndcn.Graph:
    make = getattr(ndcn.networks, network)
    return make(n) if network == "grid" else make(n, seed=seed)


def cells(rows: list[str], seeds: int) -> Iterator[dict]:
    for row in rows:
        one = row.startswith("without") or row in (
            "ndcn",
            "noise",
            "noise_free",
            "half",
            "few",
            "transfer",
            "removed",
            "regular",
            "further",
            "further_free",
        )
        laws = list(FURTHER) if row.startswith("further") else [*PAPER, *FURTHER] if row == "removed" else list(PAPER)
        if row == "regular":
            laws = [law for law in laws if law != "mutualistic"]  # the paper's three, as its code has them
        for law in laws:
            networks = NETWORKS
            if row.startswith("further"):
                networks = ("power_law", "small_world")
            elif row in ("transfer", "removed", "noise_free"):
                networks = ("power_law",)
            elif row.startswith("without"):
                networks = ("random", "power_law")
            for network in networks:
                for seed in range(1 if one else seeds):
                    yield {"row": row, "law": law, "network": network, "seed": seed}


def run(cell: dict) -> dict:
    """One fit."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    row, seed = cell["row"], cell["seed"]
    if row.startswith("without_"):
        take_away(row.removeprefix("without_"))
    law, T = FURTHER.get(cell["law"]) or (PAPER[cell["law"]], 5.0)
    graph = graph_of(cell["network"], seed)
    if row == "regular":
        times = ndcn.sampling.regular_times(T)
    else:
        times = ndcn.sampling.irregular_times(T, count=60 if row == "few" else 120, seed=seed)
    paper = cell["law"] in PAPER
    x0 = ndcn.laws.initial_state(graph) if paper else law.initial_state(graph, seed=seed)
    data = ndcn.simulate(law, graph, x0, times)
    share = {"interpolation": 0.0, "extrapolation": 0.2} if row == "regular" else {}
    parts = ndcn.split(data, seed=seed, **share)
    train = spoiled(parts.train, row, seed)
    free = row in ("free", "further_free", "noise_free")
    without = FAMILY[cell["law"]] if row == "removed" else []
    model = "ndcn" if row == "ndcn" else ndcn.Interaction(form="free" if free else "auto", without=without)
    began = time.process_time()  # of one thread: seconds of one core
    out = dict(cell)
    try:
        reg = ndcn.DynamicsRegressor(model=model, seed=seed).fit(train)
        out["seconds"] = time.process_time() - began
        out["form"] = "ndcn" if row == "ndcn" else reg.evidence_.form
        if row != "ndcn":
            out["equation"] = str(reg.equations()) if out["form"] == "closed" else reg.evidence_.reason
        for name in ("interpolation", "extrapolation"):
            part = getattr(parts, name)
            if part is not None:
                out[name] = 100 * ndcn.metrics.normalized_l1(reg.predict(part.times), part)
        if row == "transfer":
            for n in (2000, 8192):
                other = graph_of("power_law", 5, n)
                fresh = 10 * torch.rand(n, 1, generator=torch.Generator().manual_seed(1))
                ask = torch.linspace(0, T, 30)
                truth = ndcn.simulate(law, other, fresh, ask)
                out[f"transfer_{n}"] = 100 * ndcn.metrics.normalized_l1(reg.predict(ask, graph=other, x0=fresh), truth)
    except Exception as error:  # one bad cell must not end the others; the table shows it
        out["failed"] = f"{type(error).__name__}: {error}"
    return out


def take_away(part: str) -> None:
    """A part of the search, in this process."""
    if part == "full_steps":  # only steps that lead down
        search.undamped_gauss_newton = lambda model, *rest: model
    elif part == "logarithms":  # ends compared as they are, not as asinh(x / unit)
        shooting_fit.Shots.residual = lambda self, ends: (self.target - ends) / self.unit * self.weight
        shooting_fit.Shots.slope = lambda self, ends: self.weight / self.unit + 0 * ends
    elif part == "second_weighting":  # the weak form with one weighting only
        whole = search.weak_form
        search.weak_form = lambda data, chosen, terms, power, *rest: whole(data, chosen, terms, 0.5, *rest)
    elif part == "likely_starts":  # a dropped term leaves the others where they were
        pruning.reduced = lambda equation, drop, covariance: variants.without_terms(equation, drop)


def spoiled(train: ndcn.Trajectory, row: str, seed: int) -> ndcn.Trajectory:
    generator = torch.Generator().manual_seed(100 + seed)
    if row in ("noise", "noise_free"):
        factor = 1 + 0.05 * torch.randn(train.states.shape, generator=generator)
        return ndcn.Trajectory(times=train.times, states=train.states * factor, graph=train.graph)
    if row == "half":
        mask = torch.rand(train.states.shape, generator=generator) > 0.5
        return ndcn.Trajectory(times=train.times, states=train.states, graph=train.graph, mask=mask)
    return train


ERRORS = ("interpolation", "extrapolation", "transfer_2000", "transfer_8192")


def worst(r: dict) -> float:
    return max((r[k] for k in ERRORS if k in r), default=float("inf"))


def show(results: list[dict]) -> None:
    """Every fit."""
    for row in ROWS:
        own = [r for r in results if r["row"] == row]
        if not own:
            continue
        print(f"\n{row}: {len(own)} fits")
        for r in sorted(own, key=lambda r: (r["law"], r["network"], r["seed"])):
            name = f"  {r['law']} / {r['network']} / {r['seed']}"
            if "failed" in r:
                print(f"{name:55s} FAILED {r['failed'][:100]}")
                continue
            errors = " ".join(f"{r[k]:.4f}" for k in ERRORS if k in r)
            print(f"{name:55s} {errors:34s} {r['seconds']:6.1f} s  {r['form']:6s} {r.get('equation', '')[:110]}")


def summary(results: list[dict]) -> None:
    """One line of a Markdown table for each row of the benchmark."""
    print(
        "\n| row | fits | closed form | median error, % | worst error, % | bar, % | above it | seconds: median, worst |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        own = [r for r in results if r["row"] == row]
        if not own:
            continue
        errors = sorted(worst(r) for r in own)
        seconds = sorted(r["seconds"] for r in own if "seconds" in r)
        bar = BARS.get(row)
        closed = sum(r.get("form") == "closed" for r in own)
        above = "" if bar is None else sum(e > bar for e in errors)
        print(
            f"| {row} | {len(own)} | {closed} | {errors[len(errors) // 2]:.4f} | {errors[-1]:.4f} | {bar or ''} | {above} | "
            f"{seconds[len(seconds) // 2]:.1f}, {seconds[-1]:.0f} |"
        )


def beside_the_paper(results: list[dict]) -> None:
    """Interpolation / extrapolation of each cell: the paper, NDCN, the interaction model."""
    published = {part: read_toml(part)["paper"] for part in ("interpolation", "extrapolation")}
    print("\n| law | network | paper | NDCN here | interaction | free form | with 5 % noise |")
    print("|---|---|---|---|---|---|---|")
    for law in PAPER:
        for network in NETWORKS:
            own = [r for r in results if r["law"] == law and r["network"] == network]
            if own:
                name = law.split()[0] if law != "mutualistic" else ""  # the paper's code has e and h exchanged
                values = [published[part].get(name, {}).get(network) for part in published]
                paper = " / ".join(f"{v['ndcn']['normalized_l1_percent'][0]:.1f}" for v in values if v) or "-"
                columns = [_both([r for r in own if r["row"] == row]) for row in ("ndcn", "clean", "free", "noise")]
                print(f"| {law} | {network} | {paper} | {' | '.join(columns)} |")


def _both(own: list[dict]) -> str:
    """The largest of several seeds."""
    if not own or any("failed" in r for r in own):
        return "failed" if own else "-"
    return " / ".join(f"{max(r[part] for r in own):.2g}" for part in ("interpolation", "extrapolation"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=Path("interaction.jsonl"))
    parser.add_argument("--only", default="", help="laws to run, separated by commas")
    parser.add_argument("--networks", default="", help="networks to run, separated by commas")
    parser.add_argument("--report", action="store_true", help="only print what is in the store")
    given = parser.parse_args()
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    keys = {(r["row"], r["law"], r["network"], r["seed"]) for r in done}
    todo = [c for c in cells(given.rows, given.seeds) if tuple(c.values()) not in keys]
    todo = [c for c in todo if not given.only or c["law"] in given.only.split(",")]
    todo = [c for c in todo if not given.networks or c["network"] in given.networks.split(",")]
    if given.report:
        todo = []
    with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, cell) for cell in todo]):
            result = future.result()
            done.append(result)
            with given.store.open("a") as file:
                file.write(json.dumps(result) + "\n")
            show([result])
    asked = [r for r in done if r["row"] in given.rows]
    show(asked)
    summary(asked)
    beside_the_paper(asked)


if __name__ == "__main__":
    main()
