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

from typing import TYPE_CHECKING, Any

from ._support.lazy import attached
from ._support.version import __version__ as __version__

if TYPE_CHECKING:
    from . import datasets, distributed, forecast, io as tables, laws, plot
    from .classify import NodeBaseline, NodeClassifier
    from .data import Dataset, Inputs, Split, Statistics, Trajectory, metrics, sampling, split
    from .graph import Graph, GraphSequence, networks, operators
    from .identify import Interaction
    from .io import read
    from .laws import simulate
    from .neural import GraphODE
    from .reconstruction import Reconstruction, reconstruct
    from .regressor import DynamicsRegressor, backtest, load
    from .solve import Field, IntegrationError, Solution, Solver, integrate
    from .training import CrossEntropy, Objective, TrainingError

    fields: Any
    models: Any

# Everything is loaded when first used: torch, scikit-learn and matplotlib take seconds, `ndcn --help` must not.
_NAMES = {
    "classify": ("NodeBaseline", "NodeClassifier"),
    "data": ("Dataset", "Inputs", "Split", "Statistics", "Trajectory", "split"),
    "graph": ("Graph", "GraphSequence"),
    "identify": ("Interaction",),
    "io": ("read",),
    "laws": ("simulate",),
    "neural": ("GraphODE",),
    "reconstruction": ("Reconstruction", "reconstruct"),
    "regressor": ("DynamicsRegressor", "backtest", "load"),
    "solve": ("Field", "IntegrationError", "Solution", "Solver", "integrate"),
    "training": ("CrossEntropy", "Objective", "TrainingError"),
}
_MODULES = {
    "datasets": "datasets",
    "distributed": "distributed",
    "forecast": "forecast",
    "laws": "laws",
    "metrics": "data.metrics",
    "networks": "graph.networks",
    "operators": "graph.operators",
    "plot": "plot",
    "sampling": "data.sampling",
    "tables": "io",
}
_NAMESPACES: dict[str, dict[str, tuple[str, ...]]] = {
    "fields": {
        "laws": ("ClosedForm", "Corrected", "FreeForm", "NodeClosedForm"),
        "neural": ("DiffusionField", "GraphField", "NodeField"),
    },
    "models": {
        "classify": ("DiffusionClassifier",),
        "laws": ("LawODE",),
        "neural": (
            *("GraphODE", "Linear", "Persistence", "ResidualGNN", "Spline", "TemporalGNN"),
            *("ndcn", "no_control", "no_encode", "no_graph"),
        ),
    },
}

__getattr__, __all__ = attached(
    __name__,
    {
        **{name: f"ndcn.{package}:{name}" for package, names in _NAMES.items() for name in names},
        **{name: f"ndcn.{place}" for name, place in _MODULES.items()},
    },
    {
        namespace: {name: f"ndcn.{package}" for package, names in parts.items() for name in names}
        for namespace, parts in _NAMESPACES.items()
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
