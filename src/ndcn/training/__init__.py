"""Training: the objective, recipes, one loop, and checkpoints."""

from __future__ import annotations

from .checkpoint import as_text as as_text, fingerprint as fingerprint
from .loop import (
    History,
    InterruptedWarning as InterruptedWarning,
    Plan as Plan,
    TrainingError,
    TrainingInterrupted as TrainingInterrupted,
    train as train,
)
from .objective import CrossEntropy, Objective
from .recipes import (
    RAW as RAW,
    READY_MODULE as READY_MODULE,
    RECIPES as RECIPES,
    RESIDUAL_GNN as RESIDUAL_GNN,
    TEMPORAL_GNN as TEMPORAL_GNN,
    Recipe as Recipe,
)
from .task import (
    NothingAsGood as NothingAsGood,
    Rank as Rank,
    Score as Score,
    SinceBest as SinceBest,
    Stopping as Stopping,
    Task as Task,
)
from .trajectories import Problem as Problem, TrajectoryTask as TrajectoryTask, Units as Units, units_of as units_of

__all__ = ["CrossEntropy", "History", "Objective", "TrainingError"]
