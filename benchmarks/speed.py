"""How fast ndcn trains and simulates, and how it scales, beside other libraries on the same problems.

    python benchmarks/speed.py [--rounds 15] [--only iteration,ensemble,...] [--cpu] [--out benchmarks/results/speed]

Everything that is compared runs in one process, interleaved, one thread, and the minimum over the rounds counts. With --cpu,
iterations and epochs are measured in CPU time of the process: on a busy machine long calls are interrupted more often than
short ones, which would flatter the faster. Gradients are checked to agree before they are timed. Libraries that are not
installed are left out and named. The table is printed and written as JSON and Markdown; the scaling plot goes beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ndcn
from ndcn.solve.kernels import euler_compiled
from problems import Citation, Iteration, best_of

Row = dict[str, Any]
CLOCK = {"iterations": time.perf_counter}
SIDE = 512  # of a matrix product that reaches the peak in the time of an iteration; longer ones are interrupted more


def product() -> Callable[[], object]:
    """A matrix product, whose speed is the peak of one core."""
    a, b = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    return lambda: a @ b


def peak(seconds: float) -> float:
    """FLOP per second of one core, by the time of ``product``."""
    return 2 * SIDE**3 / seconds


def iteration(rounds: int) -> list[Row]:
    """Milliseconds of one training iteration: n = 400, hidden 20, 80 observation times."""
    rows = []
    for network in ("grid", "random"):
        problem = Iteration.of_paper(network)
        candidates = {
            "torchdiffeq, dense": problem.torchdiffeq(dense=True),
            "torchdiffeq, CSR": problem.torchdiffeq(dense=False),
            "plain torch loop, CSR": problem.torch_loop(),
            "ndcn, plain loop": problem.with_solver(kernel="off"),
            "ndcn, torch kernel": problem.with_solver(kernel="torch"),
            "ndcn, torch kernel, sqrt checkpointing": problem.with_solver(kernel="torch", gradient="checkpoint"),
        }
        if euler_compiled.library() is not None:
            candidates["ndcn, compiled kernel"] = problem.with_solver()
            candidates["ndcn, compiled kernel, sqrt checkpointing"] = problem.with_solver(gradient="checkpoint")
            candidates["ndcn, compiled kernel alone"] = problem.kernel_alone()
        for name, make in (("diffrax, dense", problem.diffrax), ("torchode, dense, regular steps", problem.torchode)):
            try:
                candidates[name] = make()
            except ImportError:
                print(f"not installed, left out: {name}", file=sys.stderr)
        exact = candidates["torchdiffeq, dense"]()
        regular = replace(problem, times=torch.linspace(0, float(problem.times[-1]), len(problem.times)).double())
        for name, run in candidates.items():
            wanted = regular.with_solver(kernel="off")() if "regular" in name else exact
            for a, b in zip(run(), wanted, strict="alone" not in name):
                torch.testing.assert_close(
                    a, b, rtol=0, atol=1e-4 * b.abs().max().item(), msg=lambda m, n=name: f"{n}: {m}"
                )
        seconds = best_of(candidates | {"product": product()}, rounds, 5, CLOCK["iterations"])
        top = peak(seconds.pop("product"))
        for name, value in seconds.items():
            rows.append(
                {
                    "what": f"training iteration, {network}",
                    "who": name,
                    "ms": 1e3 * value,
                    "times faster than torchdiffeq, dense": seconds["torchdiffeq, dense"] / value,
                    "share of GEMM peak": problem.flops("alone" not in name) / top / value
                    if name.startswith("ndcn")
                    else None,
                }
            )
    return rows


def epochs(rounds: int) -> list[Row]:
    """A whole epoch of the demo (default recipe, optimiser included) against an epoch of torchdiffeq."""
    graph = ndcn.networks.grid(400)
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    train = ndcn.split(data, seed=0).train
    theirs = Iteration.of_paper("grid").torchdiffeq(dense=True)
    count = 50

    def fit() -> None:
        ndcn.DynamicsRegressor(epochs=count, seed=0).fit(train)

    seconds = best_of(
        {"ndcn": fit, "torchdiffeq, dense": lambda: [theirs() for _ in range(count)]},
        max(2, rounds // 4),
        clock=CLOCK["iterations"],
    )
    return [
        {
            "what": "epoch of `ndcn demo`",
            "who": name,
            "ms": 1e3 * value / count,
            "times faster than torchdiffeq, dense": seconds["torchdiffeq, dense"] / value,
        }
        for name, value in seconds.items()
    ]


def ensemble(rounds: int) -> list[Row]:
    """Seconds for each of 20 seeds, trained at once on all cores, against one fit."""
    graph = ndcn.networks.grid(400)
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    train = ndcn.split(data, seed=0).train
    many, length = 20, 1000
    candidates = {
        "one fit": lambda: ndcn.DynamicsRegressor(epochs=length, seed=0).fit(train),
        "ensemble of 20": lambda: ndcn.DynamicsRegressor(epochs=length, ensemble=many, seed=0).fit(train),
    }
    seconds = best_of(candidates, 2)
    each = seconds["ensemble of 20"] / many
    return [
        {"what": f"fit, {length} epochs", "who": "one fit", "ms": 1e3 * seconds["one fit"]},
        {
            "what": f"fit, {length} epochs",
            "who": "ensemble of 20, per seed",
            "ms": 1e3 * each,
            "times cheaper": seconds["one fit"] / each,
        },
    ]


def dopri5(rounds: int) -> list[Row]:
    """A training step of node classification at the size of Cora."""
    rows = []
    for a, b in zip(*(run() for run in Citation.like_cora().candidates(1e-6).values()), strict=True):
        assert (a - b).norm() < 0.05 * b.norm(), "the gradients do not agree"  # kinks of ReLU limit it
    for tolerance in (0.1, 1e-3):
        candidates = Citation.like_cora().candidates(tolerance)
        seconds = best_of(candidates, max(2, rounds // 5))
        for name, value in seconds.items():
            rows.append(
                {
                    "what": f"DOPRI5 step, Cora-sized, rtol = atol = {tolerance:g}",
                    "who": name,
                    "ms": 1e3 * value,
                    "times faster than torchdiffeq": seconds["torchdiffeq"] / value,
                }
            )
    return rows


def simulation(rounds: int) -> list[Row]:
    """Simulating the three laws on the 400-node power-law graph to t = 5 with tolerances 1e-8."""
    from scipy.integrate import solve_ivp
    from torchdiffeq import odeint

    graph = ndcn.networks.power_law(400)
    x0 = ndcn.laws.initial_state(graph).double()
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    a = graph.to_scipy()
    rows = []
    formulas: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "heat": lambda x: a @ x - a.sum(axis=1) * x,
        "mutualistic": lambda x: (
            0.1
            + x * (1 - x / 5) * (x - 1)
            + np.bincount(
                entries.row,
                entries.data * x[entries.row] * x[entries.col] / (5 + 0.9 * x[entries.row] + 0.1 * x[entries.col]),
                400,
            )
        ),
        "gene": lambda x: -x + a @ (x**2 / (x**2 + 1)),
    }
    entries = a.tocoo()
    for name, law in ((name, ndcn.laws.NAMED[name]()) for name in formulas):
        with torch.no_grad():
            candidates: dict[str, Callable[[], Any]] = {
                "ndcn": lambda law=law: ndcn.simulate(law, graph, x0, times).states,
                "torchdiffeq": lambda law=law: odeint(
                    lambda t, x: law(t, x, graph), x0, times, rtol=1e-8, atol=1e-8, method="dopri5"
                ),
                "scipy solve_ivp": lambda name=name: torch.from_numpy(
                    solve_ivp(
                        lambda t, x: formulas[name](x),
                        (0, 5),
                        x0.numpy()[:, 0],
                        t_eval=times.numpy(),
                        rtol=1e-8,
                        atol=1e-8,
                    ).y.T
                ),
            }
            exact = candidates["ndcn"]()
            for run in candidates.values():
                torch.testing.assert_close(run().reshape(exact.shape), exact, rtol=1e-4, atol=1e-4)
            seconds = best_of(candidates, max(2, rounds // 3))
        rows += [{"what": f"simulation, {name}", "who": who, "ms": 1e3 * value} for who, value in seconds.items()]
    return rows


def imports(rounds: int) -> list[Row]:
    """Importing ndcn against importing torch alone, in fresh processes."""

    def loading(module: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    candidates = {
        "import torch": loading("torch"),
        "import ndcn": loading("ndcn"),
        "import ndcn, and what simulating needs": loading("ndcn; ndcn.simulate, ndcn.networks, ndcn.GraphODE"),
        "import ndcn, and what fitting needs": loading("ndcn; ndcn.DynamicsRegressor"),
    }
    seconds = best_of(candidates, max(3, rounds // 3))
    alone = seconds["import torch"]
    return [
        {"what": "import", "who": name, "ms": 1e3 * value, "times torch alone": value / alone}
        for name, value in seconds.items()
    ]


_ONE_SIZE = """
import json, sys, time
import numpy as np, torch
torch.set_num_threads(int(sys.argv[2]))
sys.path.insert(0, {here!r})
import ndcn
from problems import Iteration
n = int(sys.argv[1])
draw = np.random.default_rng(0)
keys = np.unique(draw.integers(0, n, 5 * n) * n + draw.integers(0, n, 5 * n))
graph = ndcn.Graph.from_edges(np.stack(np.divmod(keys, n), axis=1), num_nodes=n)
del keys
problem = Iteration.on(graph)
run = problem.with_solver(gradient="checkpoint")
best = float("inf")
for _ in range(max(2, min(10, 200_000 // n))):
    start = time.perf_counter()
    run()
    best = min(best, time.perf_counter() - start)
with open("/proc/self/status") as file:  # rusage would count the process that started this one
    peak = next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps({{"seconds": best, "peak": peak, "edges": graph.num_edges}}))
"""


def scaling(rounds: int) -> list[Row]:
    """One training iteration against the number of nodes, each size in its own process.

    Ten directed edges for each node, hidden 20, 80 times; sqrt checkpointing at every size, so that the work is the same.
    """
    rows = []
    code = _ONE_SIZE.format(here=str(Path(__file__).parent))
    for threads in sorted({1, os.cpu_count() or 1}):
        for n in (1_000, 10_000, 100_000, 1_000_000):
            words = [sys.executable, "-c", code, str(n), str(threads)]
            found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            each = 1e6 * found["seconds"] / n
            before = {row["n"]: row["us per node"] for row in rows if row["threads"] == threads}
            rows.append(
                {
                    "what": f"training iteration, n = {n:,}, {found['edges']:,} edges",
                    "who": f"ndcn, {threads} thread{'s' * (threads > 1)}",
                    "n": n,
                    "threads": threads,
                    "ms": 1e3 * found["seconds"],
                    "us per node": each,
                    "times that of 10,000 nodes": each / before[10_000] if 10_000 in before else None,
                    "peak memory, GiB": found["peak"] / 2**30,
                }
            )
    return rows


PARTS = {
    "iteration": iteration,
    "epochs": epochs,
    "dopri5": dopri5,
    "simulation": simulation,
    "ensemble": ensemble,
    "imports": imports,
    "scaling": scaling,
}


def markdown(rows: list[Row]) -> str:
    lines = ["| what | who | ms | |", "|---|---|---|---|"]
    for row in rows:
        rest = ", ".join(
            f"{key}: {value:.3g}"
            for key, value in row.items()
            if key not in ("what", "who", "ms", "n", "threads") and value is not None
        )
        lines.append(f"| {row['what']} | {row['who']} | {row['ms']:.3g} | {rest} |")
    return "\n".join(lines)


def plot_scaling(rows: list[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    sizes = [row for row in rows if "n" in row]
    if not sizes:
        return
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    for threads in sorted({row["threads"] for row in sizes}):
        some = [row for row in sizes if row["threads"] == threads]
        label = f"{threads} thread{'s' * (threads > 1)}"
        left.loglog([row["n"] for row in some], [row["ms"] / 1e3 for row in some], "o-", label=label)
        right.loglog([row["n"] for row in some], [row["peak memory, GiB"] for row in some], "o-", label=label)
    right.set_yscale("linear")
    left.set(xlabel="nodes (ten directed edges each)", ylabel="seconds per training iteration")
    right.set(xlabel="nodes (ten directed edges each)", ylabel="peak memory of the process, GiB")
    left.legend(frameon=False)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default=",".join(PARTS), help="which parts, separated by commas")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "speed")
    parser.add_argument("--cpu", action="store_true", help="iterations and epochs in CPU time, for a busy machine")
    options = parser.parse_args()
    if options.cpu:
        CLOCK["iterations"] = time.process_time
    torch.set_num_threads(1)
    file = options.out.with_suffix(".json")
    known = json.loads(file.read_text())["parts"] if file.exists() else {}
    for name in options.only.split(","):
        if name not in PARTS:
            parser.error(f"unknown part {name!r}; known are {', '.join(PARTS)}")
        known[name] = PARTS[name](options.rounds)
        print(markdown(known[name]) + "\n", flush=True)
    rows = [row for name in PARTS for row in known.get(name, [])]
    about = {
        "machine": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "gemm_gflops": peak(best_of({"product": product()}, 50)["product"]) / 1e9,
    }
    options.out.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"about": about, "parts": known}, indent=1) + "\n")
    options.out.with_suffix(".md").write_text(markdown(rows) + "\n")
    plot_scaling(rows, options.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
