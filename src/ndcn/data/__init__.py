"""Data: trajectories, datasets, what their times mean, when snapshots are taken, and errors."""

from __future__ import annotations

from . import metrics, sampling
from .calendar import Calendar, time_text as time_text
from .checks import all_finite as all_finite, checked_state as checked_state, checked_times as checked_times
from .clock_inputs import clock_inputs as clock_inputs
from .dataset import Dataset, one_run as one_run
from .dates import BadDates as BadDates, looks_like_dates as looks_like_dates, read_dates as read_dates
from .inputs import BETWEEN as BETWEEN, Driver as Driver, Inputs
from .metrics import per_time as per_time
from .moments import number_of as number_of, numbers_of as numbers_of
from .outliers import without_outliers as without_outliers
from .panel import MIN_SNAPSHOTS as MIN_SNAPSHOTS, Panel as Panel, panel_of as panel_of
from .sampling import Split, SplitRule as SplitRule, split
from .series_kind import (
    KINDS as KINDS,
    SeriesKind as SeriesKind,
    capped as capped,
    even_weights as even_weights,
    kind_of as kind_of,
)
from .time_grid import TimeGrid as TimeGrid, common_grid as common_grid
from .trajectory import Statistics, Trajectory
from .trajectory_folder import plain_labels as plain_labels

__all__ = ["Calendar", "Dataset", "Inputs", "Split", "Statistics", "Trajectory", "metrics", "sampling", "split"]
