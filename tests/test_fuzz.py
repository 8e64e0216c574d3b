"""Random tables and damaged files through inspect, fit, predict, report and load: no traceback, crash, hang or large memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz_files import make
from fuzz_worker import Worker, one

TABLES = int(os.environ.get("NDCN_FUZZ_TABLES", "10000"))
FILES = int(os.environ.get("NDCN_FUZZ_FILES", "2000"))


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
def test_many(what: str, count: int, tmp_path: Path) -> None:
    """NDCN_FUZZ_TABLES and NDCN_FUZZ_FILES set how many; a failure names its seed, `one(what, seed, good)` repeats it."""
    make(tmp_path)
    worker = Worker(tmp_path)
    try:
        failed = {seed: said for seed in range(count) if (said := worker.case(what, seed)) is not None}
    finally:
        worker.end()
    shown = "\n".join(f"{what} {seed}: {said}" for seed, said in list(failed.items())[:20])
    assert not failed, f"{len(failed)} of {count} failed:\n{shown}"
