"""The paper's tables and figures: what to run, one run, and the store of results."""

from __future__ import annotations

from . import layout, report
from .attempt import attempt
from .classify import Classification, load_classification
from .cluster import Ray
from .figures import draw, draw_sweep
from .report import Row, parameter_rows
from .result import Outcome, Result
from .spec import TABLES, Run, Table, load_table, read_toml
from .store import Store
from .sweep import Workers, missing, seconds_left, sweep

__all__ = [
    "TABLES",
    "Classification",
    "Outcome",
    "Ray",
    "Result",
    "Row",
    "Run",
    "Store",
    "Table",
    "Workers",
    "attempt",
    "draw",
    "draw_sweep",
    "layout",
    "load_classification",
    "load_table",
    "missing",
    "parameter_rows",
    "read_toml",
    "report",
    "seconds_left",
    "sweep",
]
