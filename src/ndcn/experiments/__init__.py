"""The paper's tables and figures: what to run, one run, and the store of results."""

from __future__ import annotations

from . import layout as layout
from . import report as report
from .attempt import attempt as attempt
from .classify import Classification as Classification
from .classify import load_classification as load_classification
from .figures import draw as draw
from .figures import draw_sweep as draw_sweep
from .report import Row as Row
from .report import parameter_rows as parameter_rows
from .result import Outcome as Outcome
from .result import Result as Result
from .spec import TABLES as TABLES
from .spec import Run as Run
from .spec import Table as Table
from .spec import load_table as load_table
from .spec import read_toml as read_toml
from .store import Store as Store
from .sweep import missing as missing
from .sweep import seconds_left as seconds_left
from .sweep import sweep as sweep

__all__ = []
