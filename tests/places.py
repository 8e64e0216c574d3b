"""Where the project is, and the real data beside it; tests of real data are skipped where there are none."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
