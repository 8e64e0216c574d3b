"""How well explicit time and an unknown common driver are found: `python benchmarks/time_terms.py [--kinds ...] [--laws ...] [--noise 0 1 5] [--seeds 10 11]`.

Heat, gene regulation, SIS, Kuramoto and mutualistic dynamics, 100 nodes of a Barabasi-Albert network, 80 irregular snapshots on [0, 5]: with a season,
a trend or a step that is added to every rate or multiplies the state, with an unknown smooth driver that acts on each node with a loading of its own,
or with nothing ("none", where any claim is false). Mutualistic states begin above 2: a season drives lower ones below 0, where the law explodes. Every
fit is a line of JSON, and is not made again. Settings were chosen on seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import torch

import ndcn

STRENGTH = 0.6  # of what depends on time, beside coefficients of about 1
BASES = {
    "heat": ndcn.laws.Heat(0.3),
    "gene": ndcn.laws.Gene(),
    "sis": ndcn.laws.SIS(beta=0.3, delta=1.0),
    "kuramoto": ndcn.laws.Kuramoto(omega=0.5, k=0.3),
    "mutualistic": ndcn.laws.Mutualistic(),
}
KINDS = ("season", "trend", "step", "driver", "none")
WAYS = ("added", "times x")
END = 5.0


class _Timed(ndcn.laws.Law):
    """A law with STRENGTH u, or STRENGTH u x, in every rate."""

    def __init__(self, base: ndcn.laws.Law, way: str) -> None:
        super().__init__()
        self.base, self.way = base, way

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return self.base.node(x) + STRENGTH * u * (x if self.way == "times x" else 1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return self.base.edge(x_i, x_j)


def of_time(kind: str, rng: np.random.Generator) -> tuple[ndcn.Inputs, float]:
    """u(t), and its period, its step time or 0."""
    if kind == "step":
        at = float(rng.uniform(0.25, 0.75) * END)
        return ndcn.Inputs([0.0, at], {"u": [0.0, 1.0]}, until=END), at
    t = np.linspace(0, END, 2001)
    if kind == "trend":
        return ndcn.Inputs(t, {"u": t / END}, between="linear"), 0.0
    if kind == "season":
        period = float(rng.uniform(0.2, 0.8) * END)
        return ndcn.Inputs(t, {"u": np.sin(2 * np.pi * t / period + rng.uniform(0, 6.3))}, between="linear"), period
    waves = [
        np.sin(2 * np.pi * f * t + p) for f, p in zip(rng.uniform(0.2, 1.0, 3), rng.uniform(0, 6.3, 3), strict=True)
    ]
    curve = 0.5 + np.sum(waves, axis=0) / 1.5
    loadings = rng.uniform(0.5, 1.5, 100)
    return ndcn.Inputs(t, {"u": curve[:, None] * loadings}, between="linear"), 0.0


def data_of(law: str, kind: str, way: str, noise: float, seed: int) -> tuple[ndcn.Trajectory, ndcn.Inputs, float]:
    rng = np.random.default_rng([seed, 21])
    graph = ndcn.networks.power_law(100, seed=seed)
    u, number = of_time(kind, rng)
    low, high = {"sis": (0.05, 0.9), "kuramoto": (0.0, 6.0), "mutualistic": (2.0, 5.0)}.get(law, (0.1, 3.0))
    x0 = torch.from_numpy(rng.uniform(low, high, (100, 1)))
    times = ndcn.sampling.irregular_times(END, count=80, seed=seed)
    field = BASES[law] if kind == "none" else _Timed(BASES[law], way)
    data = ndcn.simulate(field, graph, x0, times, inputs=None if kind == "none" else u)
    states = data.states * (1 + noise / 100 * torch.from_numpy(rng.standard_normal(data.states.shape)))
    return ndcn.Trajectory(times=times, states=states, graph=graph), u, number


def measured(law: str, kind: str, way: str, noise: float, seed: int) -> dict[str, object]:
    """One fit: what was claimed, and how far its number is off."""
    data, u, number = data_of(law, kind, way, noise, seed)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reg = ndcn.DynamicsRegressor(model="interaction", progress=False).fit(data)
    row: dict[str, object] = {"law": law, "kind": kind, "way": way, "noise": noise, "seed": seed}
    row |= {"seconds": round(time.process_time() - began, 1), "warned": len(said)}
    row["equation"] = str(reg.equations()) if reg.evidence_.form == "closed" else None
    row["reason"] = reg.evidence_.reason
    found = getattr(reg.law_, "kinds", ())
    claimed = "driver" if getattr(reg, "driver_", None) is not None else "+".join(found) or "none"
    row |= {"claimed": claimed, "right": claimed == kind}
    if claimed == kind and kind in ("season", "step"):
        value = reg.law_.period if kind == "season" else reg.law_.step_time
        row["off"] = abs(value - number) / (number if kind == "season" else END)
    if claimed == kind == "driver":
        driver = reg.driver_
        at = torch.as_tensor(driver.curve["time"].to_numpy())
        truth = u.at(at)["u"].numpy()
        row["r"] = float(np.corrcoef(driver.curve["value"], truth.mean(1))[0, 1])
        row["r of loadings"] = float(np.corrcoef(driver.loadings, truth[len(truth) // 2])[0, 1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12, 13, 14])
    parser.add_argument("--laws", nargs="+", default=list(BASES))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 1.0, 5.0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "time_terms.jsonl")
    args = parser.parse_args()
    torch.set_num_threads(1)
    done = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    keys = ("law", "kind", "way", "noise", "seed")
    known = {tuple(r[key] for key in keys) for r in done}
    cells = [
        (law, kind, way, noise, seed)
        for seed in args.seeds
        for noise in args.noise
        for kind in args.kinds
        for way in (args.ways if kind in ("season", "trend", "step") else ["added"])
        for law in args.laws
    ]
    for cell in cells:
        if cell not in known:
            row = measured(*cell)
            print(json.dumps(row), flush=True)
            done.append(row)
            with args.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
    table([r for r in done if tuple(r[key] for key in keys) in set(cells)])


def table(rows: list[dict]) -> None:
    """Kinds told right, numbers off, correlation with the driver, and time, by kind and noise."""
    print(
        "| kind | noise | fits | kind right | number off or r, median, worst | claimed instead | warned | CPU s, median |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for noise in sorted({r["noise"] for r in rows}):
            some = [r for r in rows if (r["kind"], r["noise"]) == (kind, noise)]
            if not some:
                continue
            off = sorted(100 * r["off"] for r in some if "off" in r)
            r_of = sorted((r["r"] for r in some if "r" in r), reverse=True)
            number = (
                f"{np.median(off):.2g}, {off[-1]:.2g} %"
                if off
                else f"r {np.median(r_of):.3f}, {r_of[-1]:.3f}"
                if r_of
                else ""
            )
            wrong = [r["claimed"] for r in some if not r["right"]]
            instead = ", ".join(f"{wrong.count(one)} {one}" for one in sorted(set(wrong)))
            seconds = np.median([r["seconds"] for r in some])
            warned = sum(r["warned"] > 0 for r in some)
            print(
                f"| {kind} | {noise:g} % | {len(some)} | {sum(r['right'] for r in some)} | {number} | {instead} | {warned} | {seconds:.0f} |"
            )


if __name__ == "__main__":
    main()
