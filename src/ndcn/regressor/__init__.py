"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from . import evaluation as evaluation
from .estimator import DynamicsRegressor
from .evaluation import Parts as Parts
from .evaluation import Scores as Scores
from .evaluation import check_forecast_data as check_forecast_data
from .evaluation import in_time_of as in_time_of
from .evaluation import parts_of as parts_of
from .evaluation import score_parts as score_parts
from .evaluation import scores as scores
from .evaluation import trained_times as trained_times
from .initial import InitialCondition
from .kind import Ahead as Ahead
from .kind import Can, Fitted, Kind, Stored, TrainingData
from .kinds.forecast import longest_run as longest_run
from .kinds.trained import HIDDEN as HIDDEN
from .loading import load
from .query import Prediction, Query
from .registry import kind_for as kind_for
from .what_if import Change as Change
from .what_if import parse as parse

__all__ = [
    "Can",
    "DynamicsRegressor",
    "Fitted",
    "InitialCondition",
    "Kind",
    "Prediction",
    "Query",
    "Stored",
    "TrainingData",
    "load",
]
