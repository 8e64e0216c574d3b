"""How well laws with known inputs are found: `python benchmarks/inputs.py [--seeds 5] [--laws ...] [--noise 0 1 5] [--out FILE]`.

Twelve laws: heat, gene regulation, SIS and Kuramoto, each driven by an input that is added, multiplies the state, or acts on the
coupling; the input is smooth or switches on and off, and a second one beside it does nothing. 100 nodes, 80 irregular snapshots. Every fit
is a line of JSON, and is not made again. The rows "none" have two inputs that do nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import ndcn

STRENGTH = 0.6  # of the input, beside coefficients of about 1
WAYS = ("added", "times x", "on the coupling")


class _Driven(ndcn.laws.Law):
    """A law with STRENGTH u, STRENGTH u x, or its coupling times 1 + STRENGTH u."""

    def __init__(self, base: ndcn.laws.Law, way: str) -> None:
        super().__init__()
        self.base, self.way = base, way

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        rate = self.base.node(x)
        if self.way == "added":
            return rate + STRENGTH * u
        return rate + STRENGTH * u * x if self.way == "times x" else rate

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return self.base.edge(x_i, x_j) * (1 + STRENGTH * u if self.way == "on the coupling" else 1)


BASES = {
    "heat": ndcn.laws.Heat(0.3),
    "gene": ndcn.laws.Gene(),
    "sis": ndcn.laws.SIS(beta=0.3, delta=1.0),
    "kuramoto": ndcn.laws.Kuramoto(omega=0.5, k=0.3),
}
COUPLINGS = {
    "heat": ("x_j - x_i", "x_j"),
    "gene": ("x_j^2/(K^2 + x_j^2)", "x_j^h/(1 + x_j^h)"),
    "sis": ("(1 - x_i)*x_j", "x_i*x_j", "x_j"),
    "kuramoto": ("sin(x_j - x_i)",),
}
LAWS = [f"{base} {way}" for base in BASES for way in WAYS] + [f"{base} none" for base in BASES]


def input_of(kind: str, name: str, rng: np.random.Generator) -> ndcn.Inputs:
    """A sum of three sines, or ten switching times, on [0, 5]."""
    if kind == "on/off":
        times = np.sort(rng.uniform(0.1, 4.9, 9))
        return ndcn.Inputs([0.0, *times], {name: [float(k % 2) for k in range(10)]}, until=5.0)
    t = np.linspace(0, 5, 251)
    waves = [
        np.sin(2 * np.pi * f * t + p) for f, p in zip(rng.uniform(0.2, 1.0, 3), rng.uniform(0, 6.3, 3), strict=True)
    ]
    return ndcn.Inputs(t, {name: 0.5 + np.sum(waves, axis=0) / 3}, between="linear")


def data_of(law: str, kind: str, noise: float, seed: int) -> ndcn.Trajectory:
    base, _, way = law.partition(" ")
    rng = np.random.default_rng([seed, 17])
    graph = ndcn.networks.power_law(100, seed=seed)
    inputs = input_of(kind, "rain", rng) | input_of(kind, "idle", rng)
    field = BASES[base] if way == "none" else _Driven(BASES[base], way)
    low, high = {"sis": (0.05, 0.9), "kuramoto": (0.0, 6.0)}.get(base, (0.1, 3.0))
    x0 = torch.from_numpy(rng.uniform(low, high, (100, 1)))
    times = ndcn.sampling.irregular_times(5.0, count=80, seed=seed)
    driven = None if way == "none" else ndcn.Inputs.of([replace(inputs["rain"], name="u")])
    data = ndcn.simulate(field, graph, x0, times, inputs=driven)
    states = data.states * (1 + noise / 100 * torch.from_numpy(rng.standard_normal(data.states.shape)))
    return ndcn.Trajectory(times=times, states=states, graph=graph, inputs=inputs)


def measured(law: str, kind: str, noise: float, seed: int) -> dict[str, object]:
    """One fit: whether the right entry was found, and how far its coefficient is off."""
    base, _, way = law.partition(" ")
    data = data_of(law, kind, noise, seed)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reg = ndcn.DynamicsRegressor(model="interaction", progress=False).fit(data)
    row: dict[str, object] = {"law": law, "input": kind, "noise": noise, "seed": seed}
    row |= {"seconds": round(time.process_time() - began, 2), "warned": len(said)}
    closed = reg.evidence_.form == "closed"
    row["equation"] = str(reg.equations()) if closed else None
    rows = reg.equations().coefficients if closed else []
    claimed = [one for one in rows if re.search(r"\b(rain|idle)", one.term)]
    row["idle"] = any("idle" in one.term for one in claimed)
    tied = [
        one
        for one in claimed
        if way == "on the coupling" and one.term in {f"(1 + s*rain)*({g})" for g in COUPLINGS[base]}
    ]
    if len(tied) == len(claimed) == 1:  # c (1 + s u) g: s is the strength
        law = reg.law_.equation
        inside = next(t for t in law.terms if t.formula.text == tied[0].term)
        off = abs(dict(zip(inside.formula.parameters, inside.values, strict=True))["s"] / STRENGTH - 1)
        return row | {"right": True, "off": off}
    wanted = {"added": ("rain",), "times x": ("rain*x",)}.get(way) or tuple(_times(g) for g in COUPLINGS[base])
    if way == "none":
        return row | {"right": not claimed}
    right = [one for one in claimed if one.term in wanted and one.coupling == (way == "on the coupling")]
    row["right"] = len(right) == 1 and len(claimed) == 1
    scale = {"heat": 0.3, "gene": 1.0, "sis": 0.3, "kuramoto": 0.3}[base] if way == "on the coupling" else 1.0
    if right:
        row["off"] = abs(right[0].value / (STRENGTH * scale) - 1)
    return row


def _times(text: str) -> str:
    return f"rain*{text}" if not any(sign in text for sign in "+-/") else f"rain*({text})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--laws", nargs="+", default=LAWS)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 1.0, 5.0])
    parser.add_argument("--inputs", nargs="+", default=["smooth", "on/off"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "inputs.jsonl")
    args = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    known = {(r["law"], r["input"], r["noise"], r["seed"]) for r in done}
    cells = [(a, b, c, d) for d in args.seeds for c in args.noise for b in args.inputs for a in args.laws]
    for cell in cells:
        if cell not in known:
            row = measured(*cell)
            print(json.dumps(row), flush=True)
            done.append(row)
            with args.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
    table([r for r in done if (r["law"], r["input"], r["noise"], r["seed"]) in set(cells)])


def table(rows: list[dict]) -> None:
    """Shares of right entries, errors of coefficients, and time, by noise and input."""
    print("| noise | input | fits | right entry | coefficient off, median, worst | idle claimed | CPU s, median |")
    print("|---|---|---|---|---|---|---|")
    for noise in sorted({r["noise"] for r in rows}):
        for kind in ("smooth", "on/off"):
            some = [r for r in rows if (r["noise"], r["input"]) == (noise, kind)]
            driven = [r for r in some if not r["law"].endswith("none")]
            if not driven:
                continue
            off = sorted(100 * r["off"] for r in driven if "off" in r)
            right = sum(r["right"] for r in driven)
            idle = sum(r["idle"] for r in some) + sum(not r["right"] for r in some if r["law"].endswith("none"))
            seconds = np.median([r["seconds"] for r in some])
            print(
                f"| {noise:g} % | {kind} | {len(driven)} | {right} | {np.median(off):.2g}, {off[-1]:.2g} % | {idle} of {len(some)} | {seconds:.1f} |"
            )


if __name__ == "__main__":
    main()
