"""One network over several processes: the table of docs/distributed.md.

python benchmarks/distributed.py [rows ...] [--nodes 20000] [--large 200000] [--kills 2]

Rows are equal, memory, bytes, speed, one_part, large, law, law_parts, kills; all by default. Quick sizes are the default; the bars are stated for
--nodes 1000000 --large 10000000 --kills 10. Processes have one thread each. Seconds are given twice: by the clock, which other
programs disturb, and CPU seconds of the busiest process, which include the copies that the exchange makes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROWS = ("equal", "memory", "bytes", "speed", "one_part", "large", "law", "law_parts", "kills")
STEPS = 20
DEGREE = 10


def random_graph(n: int, seed: int = 0) -> Any:
    """Uniform pairs, mean degree 10."""
    import numpy as np
    from scipy import sparse

    from ndcn import Graph

    draw = np.random.default_rng(seed)
    kind = np.int32 if n < 2**31 else np.int64
    i, j = (draw.integers(n, size=n * DEGREE // 2, dtype=kind) for _ in range(2))
    ones = np.ones(2 * len(i), dtype=np.float64)
    a = sparse.coo_array((ones, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)).tocsr()
    a.data[:] = 1.0
    return Graph(a)


def grid_like(n: int) -> Any:
    """A grid with 8 neighbours, and two more in the same row: degree 10, small cut."""
    import numpy as np
    from scipy import sparse

    import ndcn

    near = ndcn.networks.grid(n).to_scipy()
    side = int(np.ceil(np.sqrt(n)))
    cell = np.arange(n - 2)
    cell = cell[cell % side < side - 2]
    far = sparse.coo_array((np.ones(len(cell)), (cell, cell + 2)), shape=(n, n))
    return ndcn.Graph(near + far + far.T)


def prepare(graph: Any, parts: int, folder: Path, *, method: str = "streaming", dtype: str = "float32") -> Any:
    """A trajectory of random states in so many parts; the partition."""
    import torch

    import ndcn
    from ndcn import distributed

    generator = torch.Generator().manual_seed(0)
    states = torch.rand(3, graph.num_nodes, 1, generator=generator, dtype=getattr(torch, dtype))
    data = ndcn.Trajectory(times=[0.0, 0.5, 1.0], states=states, graph=graph)
    return distributed.write_parts(data, folder, parts, method=method)


def held(name: str = "VmHWM") -> int:
    """Bytes of memory of this process, at the highest or (VmRSS) now; getrusage would count those of the process that started it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))


def warm_up(ndcn: Any) -> None:
    """What interpreter and libraries take before there are any data: a tiny fit loads them all."""
    graph = ndcn.networks.grid(16)
    times = [0.0, 0.5, 1.0]
    tiny = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    ndcn.DynamicsRegressor(epochs=1, progress=False).fit(tiny)


def worker(options: argparse.Namespace) -> None:
    """One process: train some iterations; rank 0 prints what was measured in all."""
    import torch

    torch.set_num_threads(1)
    import ndcn
    from ndcn import distributed

    distributed.start_processes()
    world = distributed.World.current()

    warm_up(ndcn)
    begun = held()
    data = distributed.read_part(options.folder)
    if options.whole:
        whole = distributed.whole_trajectory(data)
        assert whole is not None
        data = whole
    solver = ndcn.Solver("euler", step_size=5.0 / STEPS, gradient=options.gradient, kernel=options.kernel)
    settings: dict[str, Any] = {"solver": solver, "seed": 0, "dtype": options.dtype, "progress": False}
    if not options.cold:
        ndcn.DynamicsRegressor(epochs=1, **settings).fit(data)
    links = data.graph.world
    sent, cpu, clock = links.sent, time.process_time(), time.perf_counter()
    reg = ndcn.DynamicsRegressor(epochs=options.epochs, **settings).fit(data)
    measured = [
        (time.perf_counter() - clock) / options.epochs,
        (time.process_time() - cpu) / options.epochs,
        (links.sent - sent) / options.epochs,
        held() - begun,
        begun,
    ]
    rows = world.gather(torch.tensor(measured, dtype=torch.float64))
    weights = [p.detach().double().reshape(-1) for p in reg.model_.parameters()]
    if world.first:
        names = ("clock", "cpu", "sent", "memory", "interpreter")
        found: dict[str, Any] = {name: rows[:, k].tolist() for k, name in enumerate(names)}
        print(
            "FOUND " + json.dumps({**found, "loss": reg.history_.loss, "weights": torch.cat(weights).tolist()}),
            flush=True,
        )


def run(folder: Path, parts: int, **options: Any) -> dict[str, Any]:
    """What ``parts`` processes measure."""
    words = [str(HERE), "worker", "--folder", str(folder)]
    for name, value in options.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(parts), "--standalone"]
    done = subprocess.run(
        (start if parts > 1 else [sys.executable]) + words,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    if not lines:
        raise SystemExit(f"{parts} processes failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(lines[0][6:])
    return found


def tell(row: str, bar: str, found: str) -> None:
    print(f"| {row} | {bar} | {found} |", flush=True)


def equal(options: argparse.Namespace, folder: Path) -> None:
    import numpy as np

    worst = 0.0
    for name, graph in (("random", random_graph(2000)), ("grid", grid_like(2000))):
        results = []
        for parts in (1, 2, 4, 8):
            prepare(graph, parts, folder / f"{name}{parts}", dtype="float64")
            results.append(run(folder / f"{name}{parts}", parts, epochs=3, dtype="float64"))
        for other in results[1:]:
            for key in ("loss", "weights"):
                one, two = np.array(results[0][key]), np.array(other[key])
                worst = max(worst, float(np.abs(one - two).max() / np.abs(one).max()))
    tell("losses and weights after 3 iterations, 1 against 2, 4, 8 parts, float64", "1e-10", f"{worst:.1g}")


def memory(options: argparse.Namespace, folder: Path) -> None:
    for name, make in (("random", random_graph), ("grid-like", grid_like)):
        graph, shares = make(options.nodes), []
        for parts in (1, 4):
            partition = prepare(graph, parts, folder / f"m{parts}", method=options.method)
            shares.append(max(run(folder / f"m{parts}", parts, epochs=1, gradient="checkpoint", cold=True)["memory"]))
        tell(
            f"peak memory per process, {options.nodes} nodes, {name}, 4 parts against 1", "0.32",
            f"{shares[1] / shares[0]:.2f} ({shares[1] / 2**30:.2f} of {shares[0] / 2**30:.2f} GiB; halo of "
            f"{max(len(halo) for halo in partition.halos) * 4 / options.nodes:.2f} nodes for each of its own, by {partition.method})",
        )  # fmt: skip


def bytes_moved(options: argparse.Namespace, folder: Path) -> None:
    partition = prepare(random_graph(options.nodes), 2, folder / "bytes")
    found = run(folder / "bytes", 2, epochs=2, gradient="backprop")
    planned = 2 * STEPS * partition.bytes_per_evaluation(20, 4)  # forwards and back
    share = sum(found["sent"]) / planned
    tell("bytes per iteration against the plan", "0.95 to 1.05", f"{share:.3f} ({planned / 1e6:.1f} MB planned)")


def speed(options: argparse.Namespace, folder: Path) -> None:
    import statistics

    for name, make, bar in (("random", random_graph, 1.5), ("grid-like", grid_like, 1.8)):
        graph = make(options.nodes)
        for parts in (1, 2):
            prepare(graph, parts, folder / f"{name}{parts}", method=options.method)
        rows = []  # one process and two in turn, as the machine's speed changes
        for _ in range(options.repeats):
            one, two = (
                run(folder / f"{name}{parts}", parts, epochs=options.epochs, gradient="checkpoint") for parts in (1, 2)
            )
            rows.append([max(found[what]) for what in ("clock", "cpu") for found in (one, two)])
        said = []
        for first, what in ((0, "by the clock"), (2, "by CPU seconds")):
            ratios = [row[first] / row[first + 1] for row in rows]
            middle = [statistics.median(row[first + k] for row in rows) for k in (0, 1)]
            said.append(
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) {what} ({middle[0]:.2f} to {middle[1]:.2f} s)"
            )
        tell(
            f"2 processes against 1, {options.nodes} nodes, {name}, {options.repeats} times, median", f"{bar} times faster",
            ", ".join(said),
        )  # fmt: skip


def one_part(options: argparse.Namespace, folder: Path) -> None:
    prepare(random_graph(options.nodes), 1, folder / "one")
    common: dict[str, Any] = {"epochs": options.epochs, "gradient": "checkpoint"}
    part = run(folder / "one", 1, **common)
    plain = run(folder / "one", 1, whole=True, kernel="torch", **common)
    compiled = run(folder / "one", 1, whole=True, kernel="auto", **common)
    share, against = part["cpu"][0] / plain["cpu"][0], part["cpu"][0] / compiled["cpu"][0]
    tell(
        f"1 part against the torch path, {options.nodes} nodes, CPU seconds", "at most 1.1",
        f"{share:.2f} ({part['cpu'][0]:.2f} s; {against:.1f} times the compiled kernel of one process)",
    )  # fmt: skip


def large(options: argparse.Namespace, folder: Path) -> None:
    graph = random_graph(options.large)
    began = time.perf_counter()
    partition = prepare(graph, 2, folder / "large", method="blocks")
    entries, cutting = graph.adjacency.nnz, time.perf_counter() - began
    del graph, partition
    found = run(folder / "large", 2, epochs=1, gradient="checkpoint", cold=True)
    total = sum(found["memory"]) + sum(found["interpreter"])
    tell(
        f"{options.large} nodes, {entries} directed edges, 2 processes, {STEPS} steps, operator and one iteration", "within 24 GiB",
        f"{max(found['clock']):.1f} s by the clock, {max(found['cpu']):.1f} CPU s, {total / 2**30:.1f} GiB together; cut and "
        f"written in {cutting:.0f} s",
    )  # fmt: skip


def law(options: argparse.Namespace, folder: Path) -> None:
    """In a process of its own: the gene law from 40 snapshots."""
    words = [sys.executable, str(HERE), "law-worker", "--nodes", str(options.nodes)]
    done = subprocess.run(
        words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"the search for the law failed:\n{done.stderr[-4000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    tell(
        f"gene law, {options.nodes} nodes, 40 snapshots, 1 process", "right, 120 s, 6 GiB beyond the data",
        f"{found['law']}: {found['cpu']:.0f} CPU s, {found['clock']:.0f} s by the clock, {found['memory']:.2f} GiB beyond the data",
    )  # fmt: skip


def gene_data(n: int) -> Any:
    """40 snapshots of the gene law on a random network."""
    import torch

    import ndcn

    x0 = 2 * torch.rand(n, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    times = ndcn.sampling.irregular_times(5.0, count=40, seed=0)
    return ndcn.simulate(ndcn.laws.Gene(), random_graph(n), x0, times)


def law_parts(options: argparse.Namespace, folder: Path) -> None:
    """The same in two processes that share the network."""
    from ndcn import distributed

    distributed.write_parts(gene_data(options.nodes), folder / "law", 2, method=options.method)
    words = [str(HERE), "law-worker", "--folder", str(folder / "law")]
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    done = subprocess.run(
        start + words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"the search for the law in parts failed:\n{done.stderr[-4000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    worst = {name: max(row[name] for row in rows) for name in ("cpu", "clock", "memory")}
    tell(
        f"gene law, {options.nodes} nodes, 40 snapshots, 2 processes", "right",
        f"{' / '.join(sorted({row['law'] for row in rows}))}: {worst['cpu']:.0f} CPU s, {worst['clock']:.0f} s by the clock, "
        f"{worst['memory']:.2f} GiB beyond the data, the most of any process",
    )  # fmt: skip


def law_worker(options: argparse.Namespace) -> None:
    """One process: find the law of all data, or of a part."""
    import torch

    torch.set_num_threads(1)
    import ndcn
    import ndcn.regressor
    from ndcn import distributed

    distributed.start_processes()
    data = distributed.read_part(options.folder) if options.folder else gene_data(options.nodes)
    before = held("VmRSS")
    cpu, clock = time.process_time(), time.perf_counter()
    reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
    measured = {
        "cpu": time.process_time() - cpu,
        "clock": time.perf_counter() - clock,
        "memory": (held() - before) / 2**30,
    }
    print(json.dumps({**measured, "law": str(reg.equations()), "explained": reg.evidence_.explained}))


def kills(options: argparse.Namespace, folder: Path) -> None:
    """A worker of two is killed at random moments; tests/distributed/test_faults.py is the same."""
    import random
    import signal

    import torch

    import ndcn
    from ndcn import distributed

    graph = ndcn.networks.grid(100)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 2, 8))
    distributed.write_parts(data, folder / "kills", 2)
    draw, same, killed = random.Random(0), 0, 0
    pids = [folder / f"pid-{rank}" for rank in range(2)]

    def fit(out: str, kill_after: float | None) -> tuple[Any, float, bool]:
        """The model, the seconds that its processes lived, and whether one was killed."""
        program = (
            "import os, sys, pathlib; import ndcn.training.loop as loop; loop.SAVE_EVERY = 0.0\n"
            "new = pathlib.Path(f\"new-{os.environ['RANK']}\"); new.write_text(str(os.getpid()))\n"
            "os.replace(new, f\"pid-{os.environ['RANK']}\")\n"
            f"sys.argv = ['ndcn', 'fit', 'kills', '--epochs', '60', '--hidden', '4', '--out', '{out}']\n"
            "from ndcn.cli import main; main()\n"
        )
        (folder / "fit.py").write_text(program)
        for pid in pids:
            pid.unlink(missing_ok=True)
        words = ["--nproc-per-node", "2", "--max-restarts", "3", "--standalone", "--monitor-interval", "0.1", "fit.py"]
        started = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *words],
            cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not all(pid.exists() for pid in pids):
            time.sleep(0.02)
        began, hit = time.monotonic(), False
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pids[draw.randrange(2)].read_text()), signal.SIGKILL)
                hit = True
        started.wait(timeout=900)
        return ndcn.load(folder / out) if started.returncode == 0 else None, time.monotonic() - began, hit

    truth, lasts, _ = fit("whole.ndcn", None)
    while killed < options.kills:
        found, _, hit = fit("hurt.ndcn", draw.uniform(0, lasts))
        (folder / "hurt.ndcn").unlink(missing_ok=True)
        if not hit:  # it had ended
            continue
        killed += 1
        pairs = zip(truth.model_.parameters(), found.model_.parameters(), strict=True) if found else []
        same += (
            found is not None
            and found.history_.loss == truth.history_.loss
            and all(torch.equal(a, b) for a, b in pairs)
        )
    tell("kill -9 of one worker at random moments", "all bit-identical", f"{same} of {killed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--large", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="of the row speed, of which it gives the median")
    parser.add_argument("--method", default="streaming")
    for name, default in (("folder", ""), ("gradient", "backprop"), ("kernel", "auto"), ("dtype", "float32")):
        parser.add_argument(f"--{name}", default=default, help=argparse.SUPPRESS)
    for name in ("whole", "cold"):
        parser.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rows in (["worker"], ["law-worker"]):
        (worker if options.rows == ["worker"] else law_worker)(options)
        return
    known = {**{name: globals()[name] for name in ROWS if name != "bytes"}, "bytes": bytes_moved}
    print("| what | bar | found |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in options.rows:
            known[row](options, Path(folder))


if __name__ == "__main__":
    main()
