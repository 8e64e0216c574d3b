"""Random tables and damaged files through inspect, fit, predict, report and load: no traceback, crash, hang or large memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fuzz_files import make
from fuzz_run import many, passed
from fuzz_worker import one

TABLES = int(os.environ.get("NDCN_FUZZ_TABLES", "10000"))
FILES = int(os.environ.get("NDCN_FUZZ_FILES", "2000"))
FIRST = int(os.environ.get("NDCN_FUZZ_FIRST", "0"))
LOG = Path(os.environ["NDCN_FUZZ_LOG"]).resolve() if "NDCN_FUZZ_LOG" in os.environ else None


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    make(folder, ["ndcn", "spline"])
    return folder


@pytest.mark.parametrize(("what", "seeds"), [("tables", range(20)), ("files", range(20))])
def test_some(what: str, seeds: range, good: Path) -> None:
    for seed in seeds:
        one(what, seed, good)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "count"), [("tables", TABLES), ("files", FILES)])
def test_many(what: str, count: int) -> None:
    """NDCN_FUZZ_TABLES and NDCN_FUZZ_FILES set how many, NDCN_FUZZ_FIRST the first seed, NDCN_FUZZ_LOG a file of which a later run goes on.

    A failure names its seed, `one(what, seed, good)` repeats it.
    """
    failed = many(what, range(FIRST, FIRST + count), LOG)
    shown = "\n".join(f"{what} {seed}: {said}" for seed, said in list(failed.items())[:20])
    assert not failed, f"{len(failed)} of {count} failed:\n{shown}"


def test_a_run_that_was_killed_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [
        {"what": "files", "seed": 0, "seconds": 0.1, "said": None},
        {"what": "files", "seed": 1, "seconds": 0.1, "said": "it failed"},
        {"what": "files", "seed": 2, "seconds": 0.1, "said": "it failed"},
        {"what": "files", "seed": 2, "seconds": 0.1, "said": None},
        {"what": "tables", "seed": 3, "seconds": 0.1, "said": None},
    ]
    log.write_text("\n".join(json.dumps(line) for line in lines) + '\n{"what": "fil')
    assert passed("files", log) == {0, 2}
    assert passed("tables", log) == {3}
    assert many("tables", [3], log) == {}
