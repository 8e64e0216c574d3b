"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from . import evaluation as evaluation
from .common_driver import CommonDriver
from .driving import inputs_of_run as inputs_of_run
from .estimator import DynamicsRegressor
from .evaluation import Evaluation
from .grouped import Grouped as Grouped, grouped as grouped
from .initial import InitialCondition
from .kind import Ahead as Ahead, Can, Fitted, Kind, Stored, TrainingData
from .kind_lookup import kind_for as kind_for
from .kinds.forecast import longest_run as longest_run
from .kinds.trained import HIDDEN as HIDDEN
from .loading import load
from .query import Prediction, Query
from .rolling_backtest import Backtest, backtest
from .scored_snapshots import (
    Parts as Parts,
    Scores as Scores,
    check_forecast_data as check_forecast_data,
    in_time_of as in_time_of,
    on_nodes_of as on_nodes_of,
    parts_of as parts_of,
    scores as scores,
    trained_times as trained_times,
)
from .tables import (
    Answered as Answered,
    answered as answered,
    changes_graph as changes_graph,
    checked_levels as checked_levels,
)
from .what_if import Change as Change, parse as parse

__all__ = [
    "Backtest",
    "Can",
    "CommonDriver",
    "DynamicsRegressor",
    "Evaluation",
    "Fitted",
    "InitialCondition",
    "Kind",
    "Prediction",
    "Query",
    "Stored",
    "TrainingData",
    "backtest",
    "load",
]
