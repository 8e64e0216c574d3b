"""Training: the objective, recipes, one loop, and checkpoints."""

from __future__ import annotations

from .checkpoint import as_text as as_text
from .checkpoint import fingerprint as fingerprint
from .loop import History, TrainingError
from .loop import Plan as Plan
from .loop import TrainingInterrupted as TrainingInterrupted
from .loop import train as train
from .objective import CrossEntropy, Objective
from .recipes import RAW as RAW
from .recipes import READY_MODULE as READY_MODULE
from .recipes import RECIPES as RECIPES
from .recipes import RESIDUAL_GNN as RESIDUAL_GNN
from .recipes import TEMPORAL_GNN as TEMPORAL_GNN
from .recipes import Recipe as Recipe
from .task import NothingAsGood as NothingAsGood
from .task import Score as Score
from .task import SinceBest as SinceBest
from .task import Stopping as Stopping
from .task import Task as Task
from .trajectories import Problem as Problem
from .trajectories import TrajectoryTask as TrajectoryTask
from .trajectories import Units as Units
from .trajectories import units_of as units_of

__all__ = ["CrossEntropy", "History", "Objective", "TrainingError"]
