"""Training: the objective, recipes, one loop, and checkpoints."""

from __future__ import annotations

from .loop import History, Plan, Problem, TrainingError, train
from .objective import CrossEntropy, Objective
from .recipes import READY_MODULE, RECIPES, RESIDUAL_GNN, TEMPORAL_GNN, Recipe
from .units import Units, units_of

__all__ = [
    "READY_MODULE",
    "RECIPES",
    "RESIDUAL_GNN",
    "TEMPORAL_GNN",
    "CrossEntropy",
    "History",
    "Objective",
    "Plan",
    "Problem",
    "Recipe",
    "TrainingError",
    "Units",
    "train",
    "units_of",
]
