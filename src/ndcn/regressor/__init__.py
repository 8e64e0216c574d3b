"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from . import evaluation
from .auto_forecast import auto_of, longest_run
from .course import changed_course
from .estimator import DynamicsRegressor
from .evaluation import Parts, Scores, check_forecast_data, in_time_of, parts_of, scores, trained_times
from .learned_law import LearnedLaw
from .loading import load
from .named_models import width_of
from .piecewise import predict_piecewise
from .what_if import Change, parse

__all__ = [
    "Change",
    "DynamicsRegressor",
    "LearnedLaw",
    "Parts",
    "Scores",
    "auto_of",
    "changed_course",
    "check_forecast_data",
    "evaluation",
    "in_time_of",
    "load",
    "longest_run",
    "parse",
    "parts_of",
    "predict_piecewise",
    "scores",
    "trained_times",
    "width_of",
]
