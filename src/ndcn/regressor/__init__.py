"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from . import evaluation as evaluation
from .auto_forecast import auto_of as auto_of
from .auto_forecast import longest_run as longest_run
from .course import changed_course as changed_course
from .estimator import DynamicsRegressor
from .evaluation import Parts as Parts
from .evaluation import Scores as Scores
from .evaluation import check_forecast_data as check_forecast_data
from .evaluation import in_time_of as in_time_of
from .evaluation import parts_of as parts_of
from .evaluation import scores as scores
from .evaluation import trained_times as trained_times
from .learned_law import LearnedLaw as LearnedLaw
from .loading import load
from .named_models import width_of as width_of
from .piecewise import predict_piecewise as predict_piecewise
from .what_if import Change as Change
from .what_if import parse as parse

__all__ = ["DynamicsRegressor", "load"]
