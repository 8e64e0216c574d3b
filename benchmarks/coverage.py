"""How often the truth lies within the bands: `python benchmarks/coverage.py [heat gene sis] [--seeds 20]`.

Data with 5 % multiplicative noise (or with none: --noise 0), 40 snapshots to learn from, 10 held back between and 10 after
them. Counted are held-back true states within mean +- 1.96 std of ``predict(..., return_std=True)``, coefficients and
parameters within 1.96 standard errors of ``equations()``, and points of f and g on a grid within 1.96 std of
``functions()``. 95 % would be right. Where band and error are both 0 nothing is counted. Coefficients are counted where
the true terms were found; how often, is in the column "form".
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

import ndcn
from ndcn import laws

WIDTH = 1.96
POINTS = 20  # of the grid on which f and g are compared
LAWS = {
    "heat": (laws.Heat(0.8), laws.Heat(None)),
    "gene": (laws.Gene(b=0.9, h=2.0), laws.Gene(b=None, h=None)),
    "sis": (laws.SIS(beta=0.4, delta=0.7), laws.SIS(beta=None, delta=None)),
}
TERMS = {  # true coefficients and parameters for each way to write the law
    "heat": [{"x_j - x_i": 0.8}],
    "gene": [{"x": -0.9, "x_j^h/(1 + x_j^h)": 1.0, "h": 2.0}, {"x": -0.9, "x_j^2/(K^2 + x_j^2)": 1.0, "K": 1.0}],
    "sis": [{"x": -0.7, "(1 - x_i)*x_j": 0.4}],
}
MODELS = ("interaction", "known", "free_form")
MEASURES = ("interpolation", "extrapolation", "coefficients", "f", "g")


def graph_of(seed: int) -> ndcn.Graph:
    """A grid of 49 nodes, a random network of 64 or a scale-free one of 100, in turn."""
    if seed % 3 == 0:
        return ndcn.networks.grid(49)
    return ndcn.networks.random(64, seed=seed) if seed % 3 == 1 else ndcn.networks.power_law(100, seed=seed)


def within(error: np.ndarray, spread: np.ndarray, size: float) -> tuple[int, int]:
    """How many errors are within the band, of how many; those of which nothing is left open do not count."""
    told = (np.abs(error) > 1e-6 * size) | (spread > 1e-9 * size)
    return int((np.abs(error) <= WIDTH * spread)[told].sum()), int(told.sum())


def run(law_name: str, model: str, seed: int, noise: float) -> dict:
    """One fit: (hits, count) of each measure."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    law, unknown = LAWS[law_name]
    graph = graph_of(seed)
    x0 = law.initial_state(graph, seed=seed) if law_name == "sis" else laws.initial_state(graph)
    truth = ndcn.simulate(law, graph, x0, ndcn.sampling.irregular_times(5.0, count=60, seed=seed))
    parts = ndcn.split(truth, seed=seed)
    generator = torch.Generator().manual_seed(1000 + 100 * list(LAWS).index(law_name) + seed)
    factor = 1 + noise * torch.randn(parts.train.states.shape, generator=generator)
    seen = ndcn.Trajectory(times=parts.train.times, states=parts.train.states * factor, graph=graph)
    out: dict = {"law": law_name, "model": model, "seed": seed, "noise": noise}
    began = time.process_time()
    reg = ndcn.DynamicsRegressor(model=unknown if model == "known" else model, seed=seed).fit(seen)
    out["seconds"] = time.process_time() - began
    for name in ("interpolation", "extrapolation"):
        part = getattr(parts, name)
        mean, spread = reg.predict(part.times, return_std=True)
        error = (mean.states - part.states).double().numpy()
        out[name] = within(error, spread.states.double().numpy(), float(part.states.abs().max()))
    out["form"] = reg.evidence_.form
    found = [] if out["form"] == "free" else numbers(reg, law, model, TERMS[law_name])
    out["right"] = bool(found)
    out["coefficients"] = within(*(np.array(column) for column in zip(*found, strict=True)), 1e-3) if found else (0, 0)
    functions = reg.functions(POINTS)
    at = torch.from_numpy(functions.x[0]).unsqueeze(-1)
    true_f = law.node(at).detach().numpy()
    true_g = law.edge(at.repeat_interleave(POINTS, 0), at.repeat(POINTS, 1)).detach().numpy()
    size = max(np.abs(true_f).max(), np.abs(true_g).max())
    out["f"] = within((functions.f[0] - true_f), functions.f_std[0], size)
    out["g"] = within((functions.g[0].reshape(-1, 1) - true_g), functions.g_std[0].reshape(-1, 1), size)
    return out


def numbers(
    reg: ndcn.DynamicsRegressor, law: laws.Law, model: str, ways: list[dict[str, float]]
) -> list[tuple[float, float]]:
    """Errors and standard errors of coefficients and parameters; none if other terms were found."""
    rows = reg.equations()
    if model == "known":
        return [(row.value - float(getattr(law, row.name)), row.standard_error) for row in rows.coefficients]
    inner = {p.name: p for p in rows.parameters}
    every = {**{c.term: c for c in rows.coefficients}, **inner}
    for way in ways:
        if set(way) == set(every):
            return [(every[name].value - value, every[name].standard_error) for name, value in way.items()]
    return []


def show(results: list[dict]) -> None:
    print("| law | model | fits | form | " + " | ".join(MEASURES) + " | seconds |\n" + "|---" * 10 + "|")
    for law, model in sorted({(r["law"], r["model"]) for r in results}):
        own = [r for r in results if (r["law"], r["model"]) == (law, model)]
        cells = []
        for name in MEASURES:
            hits, count = (sum(r[name][k] for r in own) for k in (0, 1))
            cells.append(f"{100 * hits / count:.1f} % of {count}" if count else "-")
        form = "-" if model == "free_form" else f"{sum(r['right'] for r in own)} of {len(own)}"
        seconds = np.median([r["seconds"] for r in own])
        print(f"| {law} | {model} | {len(own)} | {form} | " + " | ".join(cells) + f" | {seconds:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("laws", nargs="*", help=f"which of {', '.join(LAWS)}; all by default")
    parser.add_argument("--models", default=",".join(MODELS), help="separated by commas: %(default)s")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, help="a file of JSON lines in which fits are kept and not made again")
    given = parser.parse_args()
    for what, names, known in (("law", given.laws, LAWS), ("model", given.models.split(","), MODELS)):
        if wrong := [name for name in names if name not in known]:
            parser.error(f"no {what} {wrong[0]!r}: choose from {', '.join(known)}")
    kept = given.store.read_text().splitlines() if given.store and given.store.exists() else []
    done = [json.loads(line) for line in kept]
    keys = {(r["law"], r["model"], r["seed"], r["noise"]) for r in done}
    every = [
        (a, m, s, given.noise) for s in range(given.seeds) for a in given.laws or LAWS for m in given.models.split(",")
    ]
    with ProcessPoolExecutor(given.jobs) as pool:
        for future in as_completed([pool.submit(run, *cell) for cell in every if cell not in keys]):
            done.append(future.result())
            if given.store:
                with given.store.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
    show([r for r in done if (r["law"], r["model"], r["seed"], r["noise"]) in set(every)])


if __name__ == "__main__":
    main()
