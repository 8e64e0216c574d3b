"""benchmarks/distributed.py prints its table."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from places import ROOT


@pytest.mark.slow
def test_bytes_and_equality_are_within_their_bars() -> None:
    words = ["benchmarks/distributed.py", "equal", "bytes", "--nodes", "2000"]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=own, capture_output=True, text=True, timeout=900, check=True
    )
    worst = float(re.search(r"float64 \| 1e-10 \| (\S+) \|", done.stdout)[1])
    share = float(re.search(r"plan \| 0.95 to 1.05 \| ([\d.]+) ", done.stdout)[1])
    assert worst < 1e-10
    assert 0.95 < share < 1.05
