"""Data: trajectories, datasets, what their times mean, when snapshots are taken, and errors."""

from __future__ import annotations

from . import metrics, sampling
from .calendar import Calendar
from .dataset import Dataset
from .dates import BadDates, looks_like_dates, read_dates
from .metrics import per_time
from .panel import LEAST, Panel, panel_of
from .sampling import Split, split
from .series_kind import Kind, kind_of
from .time_grid import TimeGrid, common_grid
from .trajectory import Statistics, Trajectory
from .trajectory_folder import plain_labels
from .values import checked_state, checked_times

__all__ = [
    "LEAST",
    "BadDates",
    "Calendar",
    "Dataset",
    "Kind",
    "Panel",
    "Split",
    "Statistics",
    "TimeGrid",
    "Trajectory",
    "checked_state",
    "checked_times",
    "common_grid",
    "kind_of",
    "looks_like_dates",
    "metrics",
    "panel_of",
    "per_time",
    "plain_labels",
    "read_dates",
    "sampling",
    "split",
]
