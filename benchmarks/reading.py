"""How long it takes, and how much memory, to read large files: edges and states as CSV, in a fresh process.

python benchmarks/reading.py --edges 10000000 --rows 10000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

READ = """
import json, resource, sys, time
import ndcn.tables
began = time.perf_counter()
data = ndcn.tables.read(*sys.argv[1:3])
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"seconds": round(seconds, 1), "peak_gb": round(peak, 2), "read": repr(data)}))
"""


def make(folder: Path, edges: int, rows: int, nodes: int, named: bool, seed: int = 0) -> tuple[Path, Path]:
    """A random weighted network and its states at equal times, as two CSV files."""
    generator = np.random.default_rng(seed)
    names = pa.array([f"station {k:06d}" if named else str(k) for k in range(nodes)])
    ends = [names.take(pa.array(generator.integers(nodes, size=edges))) for _ in range(2)]
    table = pa.table({"source": ends[0], "target": ends[1], "weight": np.round(generator.random(edges), 6)})
    pacsv.write_csv(table, folder / "edges.csv")
    times = rows // nodes
    days = np.datetime64("2020-01-01") + np.arange(times) if named else np.arange(times) * 0.5
    who = np.tile(np.arange(nodes), times)
    table = pa.table(
        {
            "node": names.take(pa.array(who)),
            "time": np.repeat(days, nodes),
            "value": np.round(generator.random(len(who)), 6),
        }
    )
    pacsv.write_csv(table, folder / "states.csv")
    return folder / "edges.csv", folder / "states.csv"


def measure(edges: int, rows: int, nodes: int, named: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="ndcn-reading-") as folder:
        files = make(Path(folder), edges, rows, nodes, named)
        size = sum(file.stat().st_size for file in files) / 2**20
        out = subprocess.run([sys.executable, "-c", READ, *map(str, files)], capture_output=True, text=True, check=True)
    kind = "names and dates" if named else "whole numbers"
    return {
        "edges": edges,
        "rows": rows,
        "nodes": nodes,
        "kind": kind,
        "megabytes": round(size),
        **json.loads(out.stdout),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    asked = parser.parse_args()
    for named in (False, True):
        print(json.dumps(measure(asked.edges, asked.rows, asked.nodes, named)), flush=True)


if __name__ == "__main__":
    main()
