"""Many random cases, with a log of a line a case, so that a run that was killed goes on and parts of it run apart.

python tests/fuzz_run.py tables --first 0 --count 10000 --log tables.jsonl
python tests/fuzz_run.py files --first 0 --count 2000 --log files.jsonl
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from fuzz_files import make
from fuzz_worker import Worker


def passed(what: str, log: Path | None) -> set[int]:
    """The seeds that passed when they were last run."""
    last: dict[int, str | None] = {}
    for line in log.read_text().splitlines() if log is not None and log.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # cut short by a kill
            continue
        if entry["what"] == what:
            last[entry["seed"]] = entry["said"]
    return {seed for seed, said in last.items() if said is None}


def many(what: str, seeds: Iterable[int], log: Path | None = None) -> dict[int, str]:
    """What failed, by seed. Seeds that passed by the log are not run again; those that failed are."""
    done = passed(what, log)
    left = [seed for seed in seeds if seed not in done]
    failed: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        if left:
            make(Path(folder))
        worker = Worker(Path(folder))
        try:
            for seed in left:
                begun = time.monotonic()
                said = worker.case(what, seed)
                if said is not None:
                    failed[seed] = said
                if log is not None:
                    entry = {"what": what, "seed": seed, "seconds": round(time.monotonic() - begun, 3), "said": said}
                    with log.open("a") as file:
                        file.write(json.dumps(entry) + "\n")
        finally:
            worker.end()
    return failed


def main() -> None:
    """Run the cases that are asked for and tell how many failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tables", "files"])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=200, help="how many seeds")
    parser.add_argument(
        "--log", type=Path, default=None, help="a line of JSON a case; seeds that passed are not repeated"
    )
    given = parser.parse_args()
    failed = many(given.what, range(given.first, given.first + given.count), given.log)
    for seed, said in failed.items():
        print(f"{given.what} {seed}: {said}\n")
    print(f"{len(failed)} of {given.count} failed")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
