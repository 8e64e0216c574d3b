"""Laws of systems whose nodes differ: `python benchmarks/real_systems.py [rows ...] [--nodes 100] [--seeds 5] [--noise 0 0.01 0.05]`.

Rows: "alike" are controls in which nodes have the same law, "differ" laws with one or two coefficients of nodes, "inner" Hill's K
of nodes, "factored" the mutualistic law with a capacity of each node, "groups" two to four groups, "attribute" a coefficient that
follows one of two attributes, and predictions on another network of 300 nodes with other attributes. "sums" are laws with a function
of a sum over neighbours, "pairs" with two couplings, "averages" with sums divided by degrees (coupling_laws.py). Data: power-law network, 80 of 120
irregular snapshots to learn from, multiplicative noise (Kuramoto: additive, a share of the standard deviation). Every fit is a line of
JSON in a file and is not made again; the table is printed from that file. Seconds are CPU of one core.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ndcn
from coupling_laws import COUPLINGS, coupling_law, first_states, is_right
from ndcn import laws

CONTROLS = ("gene", "kuramoto", "heat", "sis", "mutualistic")
ROWS = {
    "alike": CONTROLS,
    "differ": ("gene", "kuramoto", "heat", "sis", "lotka_volterra"),
    "inner": ("hill",),
    "factored": ("mutualistic",),
    "groups": ("gene",),
    "attribute": ("gene", "sis"),
    **{row: tuple(some) for row, some in COUPLINGS.items()},
}
# Terms of the true law; of several ways to write it, all.
TERMS = {
    "gene": ({"x", "x_j^h/(1 + x_j^h)"}, {"x", "x_j^2/(K^2 + x_j^2)"}),
    "hill": ({"x", "x_j^2/(K^2 + x_j^2)"},),
    "kuramoto": ({"1", "sin(x_j - x_i)"},),
    "heat": ({"x_j - x_i"},),
    "sis": ({"x", "(1 - x_i)*x_j"},),
    "lotka_volterra": ({"x", "x^2", "x_i*x_j"},),
    "mutualistic": (
        {"1", "x", "x^2", "x^3", "x_i*x_j/(1 + b*x_i + c*x_j)"},
        {"1", "x*(1 - x/K)*(x/C - 1)", "x_i*x_j/(1 + b*x_i + c*x_j)"},
    ),
}


class Hill(laws.Law):
    """dx_i/dt = -x_i + sum_j A_ij x_j^2 / (K_i^2 + x_j^2)."""

    def __init__(self, K: torch.Tensor) -> None:
        super().__init__()
        self._set(K=K)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        i, j = graph.edge_index(x.device)
        other = x.index_select(-2, j).square()
        return -x + graph.aggregate(other / (self._value("K", x).index_select(0, i).square() + other))


def truth(row: str, name: str, n: int, seed: int) -> tuple[laws.Law, torch.Tensor | None]:
    """The law, and values of nodes (n, q) where they differ."""
    drawn = torch.rand(n, 2, generator=torch.Generator().manual_seed(500 + seed), dtype=torch.float64)
    r, s = drawn.unbind(1)
    if row == "alike":
        known = {"kuramoto": laws.Kuramoto(omega=0.5, k=0.5), "sis": laws.SIS(beta=0.4, delta=0.7)}
        return known.get(name) or laws.NAMED[name](), None
    if row in COUPLINGS:
        return coupling_law(row, name), None
    if row == "groups":
        kinds = 2 + seed % 3
        values = torch.linspace(0.5, 1.5, kinds, dtype=torch.float64)[(r * kinds).long()]
        return laws.Gene(b=values), values[:, None]
    if name == "hill":
        return Hill(0.5 + 1.5 * r), (0.5 + 1.5 * r)[:, None]
    if name == "mutualistic":
        return laws.Mutualistic(k=4 + 3 * r), (4 + 3 * r)[:, None]
    if name == "gene":
        return laws.Gene(b=0.6 + 0.8 * r), (0.6 + 0.8 * r)[:, None]
    if name == "heat":
        return laws.Heat(0.5 + r), (0.5 + r)[:, None]
    if name == "sis":
        return laws.SIS(beta=0.4, delta=0.3 + 0.9 * r), (0.3 + 0.9 * r)[:, None]
    if name == "kuramoto":
        omega = torch.randn(n, generator=torch.Generator().manual_seed(500 + seed), dtype=torch.float64)
        return laws.Kuramoto(omega=omega, k=0.5), omega[:, None]
    return laws.LotkaVolterra(alpha=0.5 + r, theta=0.5 + s, c=0.2), torch.stack([0.5 + r, 0.5 + s], 1)


def cells(
    rows: list[str], nodes: list[int], seeds: int, first: int, noise: list[float], missing: float
) -> Iterator[dict]:
    for row in rows:
        for name in ROWS[row]:
            for n in nodes:
                for seed in range(first, first + seeds):
                    for share in noise:
                        gaps = {"missing": missing} if missing else {}
                        yield {"row": row, "law": name, "n": n, "seed": seed, "noise": share, **gaps}


def noisy_parts(
    row: str, name: str, law: laws.Law, n: int, seed: int, noise: float
) -> tuple[ndcn.Trajectory, Any, ndcn.Trajectory]:
    """The whole trajectory, its parts without noise, and what is learned from."""
    graph = ndcn.networks.power_law(n, seed=seed)
    if row == "attribute":
        graph = graph.with_attributes(attributes(n, seed))
    plain = name in ("gene", "heat", "hill", "mutualistic")
    x0 = laws.initial_state(graph) if plain else law.initial_state(graph, seed=seed)
    if row in COUPLINGS:
        x0 = first_states(name, n, seed)
    whole = ndcn.simulate(law, graph, x0.double(), ndcn.sampling.irregular_times(5.0, seed=seed))
    parts = ndcn.split(whole, seed=seed)
    train = parts.train
    drawn = torch.randn(train.states.shape, generator=torch.Generator().manual_seed(100 + seed), dtype=torch.float64)
    size = train.states.std() if name == "kuramoto" else train.states
    return whole, parts, ndcn.Trajectory(times=train.times, states=train.states + noise * drawn * size, graph=graph)


def run(cell: dict) -> dict:
    """One fit."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    name, n, seed, noise = cell["law"], cell["n"], cell["seed"], cell["noise"]
    law, values = truth(cell["row"], name, n, seed)
    _, parts, train = noisy_parts(cell["row"], name, law, n, seed, noise)
    states, graph = train.states, train.graph
    drawn = torch.rand(states.shape, generator=torch.Generator().manual_seed(200 + seed))
    mask = drawn >= cell["missing"] if "missing" in cell else None
    seen = ndcn.Trajectory(times=train.times, states=states, graph=graph, mask=mask)
    began = time.process_time()
    reg = ndcn.DynamicsRegressor(model="interaction", seed=seed).fit(seen)
    out = {**cell, "seconds": time.process_time() - began, "form": reg.evidence_.form}
    out["explained"] = bool(reg.evidence_.explained)
    table = reg.node_values_
    out["differ"] = table is not None
    if out["form"] == "closed":
        out["equation"] = str(reg.equations())
        other = cell["row"] in COUPLINGS
        terms = {c.term for c in reg.equations().coefficients}
        out["right"] = is_right(cell["row"], name, reg) if other else terms in TERMS[name]
    held = [
        100 * ndcn.metrics.normalized_l1(reg.predict(p.times), p) for p in (parts.interpolation, parts.extrapolation)
    ]
    out["error"] = max(held)
    if values is not None and table is not None:
        out |= judged(table, values.numpy())
    if cell["row"] == "attribute" and table is not None:
        out |= carried(reg, name, seed)
    return out


def attributes(n: int, seed: int) -> dict[str, np.ndarray]:
    """What a coefficient follows, and what it does not."""
    drawn = torch.rand(n, 2, generator=torch.Generator().manual_seed(500 + seed), dtype=torch.float64).numpy()
    return {"population": drawn[:, 0], "income": drawn[:, 1]}


def carried(reg: ndcn.DynamicsRegressor, name: str, seed: int) -> dict:
    """Which attributes were found, errors of intercept and slope in standard errors, and the error on another network, %."""
    found, errors = reg.law_.relations, reg.fitted_.law.found.covariance
    out = {"follows": [one.attribute for one in found], "spread": reg.law_.spread.tolist()}
    first, slope = (-0.6, -0.8) if name == "gene" else (-0.3, -0.9)
    if out["follows"] == ["population"]:
        place, count = reg.law_.varying[0], len(reg.law_.equation.parameters)
        weights = torch.zeros(len(errors), dtype=torch.float64)
        weights[place], weights[count] = 1.0, -found[0].centre
        off = (
            float(weights @ torch.cat([reg.law_.equation.parameters, torch.tensor([found[0].slope]).double()])) - first
        )
        out["z first"] = off / float((weights @ errors @ weights).sqrt())
        out["z slope"] = (found[0].slope - slope) / float(errors[count, count].sqrt())
    there = ndcn.networks.power_law(300, seed=1000 + seed).with_attributes(attributes(300, 1000 + seed))
    law, _ = truth("attribute", name, 300, 1000 + seed)
    x0 = laws.initial_state(there).double() if name == "gene" else law.initial_state(there, seed=seed).double()
    times = torch.linspace(0, 5, 21, dtype=torch.float64)
    known = ndcn.simulate(law, there, x0, times)
    out["carried"] = 100 * ndcn.metrics.normalized_l1(reg.predict(times, graph=there, x0=x0), known)
    return out


def judged(table, values: np.ndarray) -> dict:
    """r and z of each true value with the column that correlates most, and members of groups."""
    columns = [c for c in table.columns if f"{c} error" in table.columns]
    rs, zs = [], []
    for true in values.T:
        every = {c: float(np.corrcoef(table[c], true)[0, 1]) for c in columns}
        best = max(every, key=lambda c: abs(every[c]))
        rs.append(abs(every[best]))
        off = table[best].to_numpy() - np.sign(every[best]) * true
        zs.append(float(np.sqrt(np.square(off / table[f"{best} error"].to_numpy()).mean())))
    out: dict = {"r": min(rs), "z": zs[int(np.argmin(rs))], "groups": 0}
    if "group" in table.columns:
        found, kinds = table["group"].to_numpy(), np.unique(values[:, 0])
        out["groups"] = int(found.max()) + 1
        order = found if np.corrcoef(found, values[:, 0])[0, 1] > 0 else found.max() - found
        out["members"] = float((order == np.searchsorted(kinds, values[:, 0])).mean())
    return out


def report(results: list[dict]) -> None:
    print(
        "| row | law | nodes | noise | fits | formula right | differences claimed | r, least | z, median | held-out error, worst, % | seconds, median |"
    )
    print("|---" * 11 + "|")

    def row_of(r: dict) -> tuple:
        return r["row"], r["law"], r["n"], r["noise"], r.get("missing", 0.0)

    for key in sorted({row_of(r) for r in results}):
        own = [r for r in results if row_of(r) == key]
        rs = [r["r"] for r in own if "r" in r]
        zs = [r["z"] for r in own if "z" in r]
        cells = [
            *map(str, key[:3]),
            f"{100 * key[3]:g} %" + (f", {100 * key[4]:g} % missing" if key[4] else ""),
            str(len(own)),
            str(sum(r.get("right", False) for r in own)),
            str(sum(r["differ"] for r in own)),
            f"{min(rs):.4f}" if rs else "-",
            f"{np.median(zs):.2f}" if zs else "-",
            f"{max(r['error'] for r in own):.2g}",
            f"{np.median([r['seconds'] for r in own]):.1f}",
        ]
        if key[0] == "groups":
            told = [r for r in own if r.get("groups") == 2 + r["seed"] % 3]
            cells[5] += (
                f"; number of groups right in {len(told)}, members {100 * min((r['members'] for r in told), default=0):.0f} %"
            )
        if key[0] == "attribute":
            told = [r for r in own if r.get("follows") == ["population"]]
            far = max((max(abs(r["z first"]), abs(r["z slope"])) for r in told), default=float("nan"))
            worst = max((r["carried"] for r in own if "carried" in r), default=float("nan"))
            cells[5] += (
                f"; attribute alone right in {len(told)}, at most {far:.1f} standard errors off, elsewhere {worst:.2g} %"
            )
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"which of {', '.join(ROWS)}; all by default")
    parser.add_argument("--nodes", type=int, nargs="+", default=[100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=10, help="first seed; settings were chosen on 0 and 1")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01, 0.05])
    parser.add_argument("--missing", type=float, default=0.0, help="share of entries that are not seen")
    parser.add_argument("--store", type=Path, default=Path("real_systems.jsonl"))
    parser.add_argument("--report", action="store_true", help="print the table of what was measured")
    given = parser.parse_args()
    if wrong := [row for row in given.rows if row not in ROWS]:
        parser.error(f"no row {wrong[0]!r}: choose from {', '.join(ROWS)}")
    done = [json.loads(line) for line in given.store.read_text().splitlines()] if given.store.exists() else []
    keys = {tuple(r[k] for k in ("row", "law", "n", "seed", "noise", "missing") if k in r) for r in done}
    for cell in cells(given.rows or list(ROWS), given.nodes, given.seeds, given.first, given.noise, given.missing):
        if given.report or tuple(cell.values()) in keys:
            continue
        try:
            result = run(cell)
        except Exception as error:  # one bad cell must not end the others; the file keeps it
            result = {
                **cell,
                "failed": f"{type(error).__name__}: {error}",
                "differ": False,
                "error": float("inf"),
                "seconds": 0.0,
            }
        done.append(result)
        with given.store.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result)[:300], flush=True)
    report(done)


if __name__ == "__main__":
    main()
