"""How much faster laws are found and simulated than in an older commit, and than by scipy.

    python benchmarks/law_speed.py fits --base COMMIT [rows ...] [--laws "heat;gene"] [--networks grid,random]
    python benchmarks/law_speed.py simulate [--nodes 400 100000]
    python benchmarks/law_speed.py large [--nodes 1000 10000 100000]

``fits`` makes every fit of rows of benchmarks/interaction.py once in a git worktree of the older commit and once here, one right after the other
in processes of one thread, and prints ratios of CPU time with both formulas and errors. ``simulate`` times ``ndcn.simulate`` beside scipy's
solve_ivp with a vectorised right-hand side and beside the same steps in C written by hand for one law. ``large`` finds the gene law on random
networks of degree 10, clean, 120 snapshots, each in a process of its own, and prints CPU time and the largest memory of that process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.integrate import solve_ivp

import ndcn
from ndcn.solve import DOPRI5

HERE = Path(__file__).resolve().parent.parent
ONE = "import sys, json; sys.path.insert(0, 'benchmarks'); import interaction; print(json.dumps(interaction.run(json.loads(sys.argv[1]))))"
ROWS = ("clean", "noise", "half", "free", "noise_free")
LAWS = ("heat", "gene", "mutualistic", "mutualistic (e, h exchanged)")  # a comma in a name: --laws are separated by ;
NETWORKS = ("grid", "random", "power_law", "small_world", "community")


# Fits -----------------------------------------------------------------------------------------------------------------


def worktree(commit: str, folder: Path) -> Path:
    """The older commit, with its kernels built as here."""
    subprocess.run(
        ["git", "worktree", "add", "--detach", str(folder), commit], cwd=HERE, check=True, capture_output=True
    )
    subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=folder, check=True, capture_output=True)
    return folder


def fitted(folder: Path, cell: dict) -> dict:
    """One fit with the code of a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
    made = subprocess.run(
        [sys.executable, "-c", ONE, json.dumps(cell)],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(made.stdout.splitlines()[-1])


def fits(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        older = Path(given.worktree) if given.worktree else worktree(given.base, Path(scratch) / "older")
        for row in given.rows:
            ratios = []
            for law in given.laws.split(";"):
                for network in given.networks.split(",") if row != "noise_free" else ["power_law"]:
                    cell = {"row": row, "law": law, "network": network, "seed": 0}
                    before, now = fitted(older, cell), fitted(HERE, cell)
                    ratios.append(before["seconds"] / now["seconds"])
                    print(
                        f"{row} / {law} / {network}: {before['seconds']:.1f} s, {now['seconds']:.1f} s, {ratios[-1]:.1f} times"
                    )
                    for one in (before, now):
                        errors = f"{one['interpolation']:.2g} / {one['extrapolation']:.2g} %"
                        print(f"    {errors}  {one['form']}  {one['equation'][:120]}", flush=True)
            print(
                f"{row}: {len(ratios)} fits, median {np.median(ratios):.1f} times, least {min(ratios):.1f}", flush=True
            )
        if not given.worktree:
            subprocess.run(["git", "worktree", "remove", "--force", str(older)], cwd=HERE, check=True)


# Simulation -----------------------------------------------------------------------------------------------------------

BY_HAND = r"""
#include <math.h>
#include <stdint.h>
static void rate(int law, int64_t n, const int32_t *ptr, const int32_t *idx, const double *x, double *s, double *out)
{
    for (int64_t i = 0; law == 1 && i < n; i++) s[i] = x[i] * x[i] / (x[i] * x[i] + 1);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        if (law == 0) for (int32_t e = ptr[i]; e < ptr[i + 1]; e++) sum += x[idx[e]] - x[i];
        if (law == 1) for (int32_t e = ptr[i]; e < ptr[i + 1]; e++) sum += s[idx[e]];
        if (law == 2) for (int32_t e = ptr[i]; e < ptr[i + 1]; e++) sum += x[i] * x[idx[e]] / (5 + 0.9 * x[i] + 0.1 * x[idx[e]]);
        out[i] = sum + (law == 1 ? -x[i] : law == 2 ? 0.1 + x[i] * (1 - x[i] / 5) * (x[i] - 1) : 0);
    }
}
void steps(int law, int64_t n, const int32_t *ptr, const int32_t *idx, const double *a, int64_t count, double h, double *x,
           double *k, double *at, double *s)
{
    rate(law, n, ptr, idx, x, s, k);
    for (int64_t step = 0; step < count; step++) { /* the last stage is where the step ends, and the first of the next one */
        for (int j = 1; j < 7; j++) {
            for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int l = 0; l < j; l++) sum += a[j * 7 + l] * k[l * n + i];
                at[i] = x[i] + h * sum;
            }
            rate(law, n, ptr, idx, at, s, k + j * n);
        }
        for (int64_t i = 0; i < n; i++) {
            x[i] = at[i];
            k[i] = k[6 * n + i];
        }
    }
}
"""


def by_hand() -> Callable[..., None]:
    """As many steps of DOPRI5 as ndcn takes, for one law each, in C with nothing around it: no error, no states between."""
    folder = Path(tempfile.mkdtemp())
    (folder / "hand.c").write_text(BY_HAND)
    subprocess.run(
        ["cc", "-O3", "-march=native", "-shared", "-fPIC", "hand.c", "-o", "hand.so"], cwd=folder, check=True
    )
    steps = ctypes.CDLL(str(folder / "hand.so")).steps
    where, whole = ctypes.c_void_p, ctypes.c_int64
    steps.argtypes = [ctypes.c_int, whole, where, where, where, whole, ctypes.c_double, *[where] * 4]
    return steps


def right_hand_sides(A: sparse.csr_array) -> dict[str, Callable]:
    n, degrees = A.shape[0], np.asarray(A.sum(1)).ravel()
    i, j = np.repeat(np.arange(n), np.diff(A.indptr)), A.indices
    sums = sparse.csr_array((A.data, np.arange(len(j)), A.indptr), shape=(n, len(j)))
    return {
        "heat": lambda t, x: A @ x - degrees * x,
        "gene": lambda t, x: -x + A @ (x * x / (x * x + 1)),
        "mutualistic": lambda t, x: (
            0.1 + x * (1 - x / 5) * (x - 1) + x * (sums @ (x[j] / ((5 + 0.9 * x)[i] + 0.1 * x[j])))
        ),
    }


def seconds(call: Callable[[], object], rounds: int) -> float:
    """By the clock: both use as many threads as they like, which CPU time would count twice."""
    every = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        every.append(time.perf_counter() - began)
    return min(every)


def compared(
    number: int, name: str, law: ndcn.laws.Law, graph: ndcn.Graph, rounds: int, steps: Callable[..., None]
) -> str:
    """A row of the table."""
    A, n = graph.to_scipy(), graph.num_nodes
    T = 5.0 if n < 10_000 else 0.5
    x0, times = ndcn.laws.initial_state(graph).double(), np.linspace(0, T, 120)
    solver = ndcn.Solver("dopri5", rtol=1e-8, atol=1e-8)
    statistics = ndcn.simulate(law, graph, x0, times, solver=solver).statistics
    taken = statistics.accepted_steps + statistics.rejected_steps
    f, y0 = right_hand_sides(A)[name], x0.numpy().ravel()
    a = np.zeros((7, 7))
    for k, row in enumerate(DOPRI5.a):
        a[k + 1, : len(row)] = row
    fixed = (A.indptr.astype(np.int32), A.indices.astype(np.int32), a)
    memory = (np.zeros((7, n)), np.zeros(n), np.zeros(n))

    def hand() -> None:
        state = np.array(y0)
        arrays = [v.ctypes.data for v in (*fixed, state, *memory)]
        steps(number, n, *arrays[:3], taken, T / taken, *arrays[3:])

    mine = seconds(lambda: ndcn.simulate(law, graph, x0, times, solver=solver), rounds)
    scipys = seconds(lambda: solve_ivp(f, (0, T), y0, t_eval=times, rtol=1e-8, atol=1e-8), rounds)
    least = seconds(hand, rounds)
    ratios = f"{scipys / mine:.1f} | {mine / least:.1f}"
    return f"| {name} | {n:,} | {1e3 * mine:.1f} | {1e3 * scipys:.1f} | {1e3 * least:.1f} | {ratios} |"


def simulate(given: argparse.Namespace) -> None:
    steps = by_hand()
    every = {"heat": ndcn.laws.Heat(), "gene": ndcn.laws.Gene(), "mutualistic": ndcn.laws.Mutualistic()}
    print("| law | nodes | ndcn, ms | scipy, ms | by hand, ms | faster than scipy | slower than by hand |")
    print("|---|---|---|---|---|---|---|")
    for n in given.nodes:
        graph = ndcn.networks.power_law(
            n, seed=0, order="modularity" if n < 10_000 else None
        )  # the order would take hours
        for number, (name, law) in enumerate(every.items()):
            print(compared(number, name, law, graph, given.rounds, steps), flush=True)


# Large networks -------------------------------------------------------------------------------------------------------

LARGE = """
import resource, sys, time, warnings
import numpy as np, torch
from scipy import sparse
import ndcn
torch.set_num_threads(1)
warnings.simplefilter("error")
n = int(sys.argv[1])
i, j = np.repeat(np.arange(n), 5), np.random.default_rng(0).integers(0, n, 5 * n)
a = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
graph = ndcn.Graph(sparse.csr_array(((a + a.T) > 0).astype(float)), directed=False)
x0 = 2 * torch.rand(n, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
data = ndcn.simulate(ndcn.laws.Gene(), graph, x0, ndcn.sampling.irregular_times(5.0, count=120, seed=0))
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
before, began = memory(), time.process_time()
reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
print(f"| {n:,} | {time.process_time() - began:.1f} | {memory():.2f} | {before:.2f} | {reg.equations()} |")
"""


def large(given: argparse.Namespace) -> None:
    print("| nodes | CPU s | largest memory, GiB | before the fit, GiB | law |")
    print("|---|---|---|---|---|")
    for n in given.nodes:
        subprocess.run([sys.executable, "-c", LARGE, str(n)], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(required=True)
    some = what.add_parser("fits")
    some.add_argument("rows", nargs="*", default=list(ROWS))
    some.add_argument("--base", default="HEAD~1", help="the older commit")
    some.add_argument("--worktree", default="", help="a folder that has it already")
    some.add_argument("--laws", default=";".join(LAWS))
    some.add_argument("--networks", default=",".join(NETWORKS))
    some.set_defaults(run=fits)
    other = what.add_parser("simulate")
    other.add_argument("--nodes", type=int, nargs="*", default=[400, 100_000])
    other.add_argument("--rounds", type=int, default=5)
    other.set_defaults(run=simulate)
    many = what.add_parser("large")
    many.add_argument("--nodes", type=int, nargs="*", default=[1000, 10_000, 100_000])
    many.set_defaults(run=large)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
