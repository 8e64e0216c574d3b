"""The paper's tables and figures: what to run, one run, and the store of results."""

from __future__ import annotations

from . import layout as layout
from . import report as report
from .report import Row as Row
from .result import Outcome as Outcome
from .result import Result as Result
from .spec import Run as Run
from .spec import read_toml as read_toml
from .store import Store as Store
from .sweep import attempt as attempt
from .sweep import missing as missing
from .sweep import seconds_left as seconds_left
from .sweep import sweep as sweep
from .targets import Request as Request
from .targets import Target as Target

__all__ = []
