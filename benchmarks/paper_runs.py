"""The runs behind the paper's tables, kept in the repository, so that hours of training are continued and never repeated.

    python benchmarks/paper_runs.py load results.sqlite     # the runs kept here go into a store
    ndcn reproduce all --runs 20 --store results.sqlite     # trains what is missing, for as long as you let it
    python benchmarks/paper_runs.py save results.sqlite     # and what is new comes back
    ndcn reproduce all --runs 20 --stored --store results.sqlite

``benchmarks/results/paper_runs.jsonl.gz`` has a line for each run: settings, scores, parameters, seconds, versions. Errors over time and
predicted states, which figures need, are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from ndcn.experiments import Result, Store
from ndcn.experiments.spec import Run

KEPT = Path(__file__).parent / "results" / "paper_runs.jsonl.gz"
FIELDS = ("scores", "parameters", "seconds", "versions")


def kept() -> dict[str, dict[str, Any]]:
    """The runs in the repository, by key."""
    if not KEPT.exists():
        return {}
    rows = [json.loads(line) for line in gzip.decompress(KEPT.read_bytes()).decode().splitlines()]
    return {Run(row["settings"]).key: row for row in rows}


def load(path: Path) -> int:
    """Put runs that a store lacks into it; how many."""
    with Store(path) as store:
        done = store.done()
        new = [row for key, row in kept().items() if key not in done]
        for row in new:
            store.add(Run(row["settings"]), Result(per_time={}, **{name: row[name] for name in FIELDS}))
    return len(new)


def save(path: Path) -> int:
    """Keep the runs of a store beside those kept before; how many are new."""
    rows = kept()
    before = len(rows)
    with Store(path, create=False, read_only=True) as store:
        for run, _ in store.seconds():
            (result,) = store.results([run])
            rows[run.key] = {"settings": run.settings, **{name: getattr(result, name) for name in FIELDS}}
    text = "".join(json.dumps(rows[key], sort_keys=True) + "\n" for key in sorted(rows))
    KEPT.write_bytes(gzip.compress(text.encode(), mtime=0))
    return len(rows) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["load", "save"])
    parser.add_argument("store", type=Path)
    given = parser.parse_args()
    count = (load if given.what == "load" else save)(given.store)
    print(f"{count} runs were new, {len(kept())} are kept in {KEPT.name}")


if __name__ == "__main__":
    main()
