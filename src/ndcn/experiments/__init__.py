"""The paper's tables and figures: what to run, one run, and the store of results."""

from __future__ import annotations

from . import layout as layout, report as report
from .report import Row as Row
from .result import Outcome as Outcome, Result as Result
from .spec import Run as Run, read_toml as read_toml
from .store import Store as Store
from .sweep import attempt as attempt, missing as missing, seconds_left as seconds_left, sweep as sweep
from .targets import Request as Request, Target as Target

__all__ = []
