"""ndcn: learn continuous-time dynamics on complex networks from data.

>>> import ndcn
>>> graph = ndcn.networks.grid(100)
>>> times = ndcn.sampling.irregular_times(5.0, count=60, seed=0)
>>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
>>> parts = ndcn.split(data, seed=0)
>>> reg = ndcn.DynamicsRegressor(model="ndcn", epochs=20, seed=0).fit(parts.train)
>>> reg.predict(parts.extrapolation.times)
Trajectory(10 snapshots of 100 nodes, 1 feature, ...)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, fields, forecast, laws, metrics, models, networks, operators, plot, sampling, tables
    from .classifier import NodeClassifier
    from .estimators import DynamicsRegressor
    from .field import Field
    from .graph import Graph
    from .graph_sequence import GraphSequence
    from .identify.interaction import Interaction
    from .laws import simulate
    from .loading import load
    from .models import GraphODE
    from .node_baselines import NodeBaseline
    from .objective import CrossEntropy, Objective
    from .sampling import Split, split
    from .solve import IntegrationError, Solution, Solver, Statistics, integrate
    from .tables import Dataset, read
    from .training import TrainingError
    from .trajectory import Trajectory

__version__ = "0.2.0"

# Everything is loaded when first used: torch, scikit-learn and matplotlib take seconds, `ndcn --help` must not.
_LATER = {
    "CrossEntropy": "objective",
    "Dataset": "tables",
    "DynamicsRegressor": "estimators",
    "Field": "field",
    "Graph": "graph",
    "GraphODE": "models",
    "GraphSequence": "graph_sequence",
    "IntegrationError": "solve",
    "Interaction": "identify.interaction",
    "NodeBaseline": "node_baselines",
    "NodeClassifier": "classifier",
    "Objective": "objective",
    "Solution": "solve",
    "Solver": "solve",
    "Split": "sampling",
    "Statistics": "solve",
    "TrainingError": "training",
    "Trajectory": "trajectory",
    "datasets": "datasets",
    "fields": "fields",
    "forecast": "forecast",
    "integrate": "solve",
    "laws": "laws",
    "load": "loading",
    "metrics": "metrics",
    "models": "models",
    "networks": "networks",
    "operators": "operators",
    "plot": "plot",
    "read": "tables",
    "sampling": "sampling",
    "simulate": "laws",
    "split": "sampling",
    "tables": "tables",
}

__all__ = [
    "CrossEntropy",
    "Dataset",
    "DynamicsRegressor",
    "Field",
    "Graph",
    "GraphODE",
    "GraphSequence",
    "IntegrationError",
    "Interaction",
    "NodeBaseline",
    "NodeClassifier",
    "Objective",
    "Solution",
    "Solver",
    "Split",
    "Statistics",
    "TrainingError",
    "Trajectory",
    "datasets",
    "fields",
    "forecast",
    "integrate",
    "laws",
    "load",
    "metrics",
    "models",
    "networks",
    "operators",
    "plot",
    "read",
    "sampling",
    "simulate",
    "split",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ndcn' has no attribute {name!r}")
    module = importlib.import_module(f".{_LATER[name]}", __name__)
    value = module if _LATER[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
