"""Curves through the observations of each node: persistence, linear, spline. Nothing is trained."""

from __future__ import annotations

import copy
import time
from dataclasses import replace

from ...data import Trajectory
from ...neural import Curve, Linear, Persistence, Spline
from ...training import READY_MODULE, History, Units
from ..initial import InitialCondition
from ..kind import OF_COMPUTING, OF_NAMED, OF_TRAINING, OPTIONAL, Can, Kind, Stored, TrainingData
from ..settings import Settings
from .trained_module import TrainedModel, restore_modules


class CurveModel(TrainedModel):
    """Curves through the data of each node, which continue from them."""

    @property
    def stays(self) -> str:
        """Why it cannot start elsewhere."""
        return str(self.modules[0].stays)


class NamedCurve(Kind):
    """A curve by its name."""

    can = Can(any_start=False, any_graph=False, history=True)
    uses = OF_COMPUTING

    def __init__(self, name: str, curve: type[Curve]) -> None:
        self.name, self.curve = name, curve

    def fit(self, data: TrainingData, settings: Settings) -> CurveModel:
        """Draw the curves once, or raise ValueError if that cannot be done."""
        curve = self._curve(settings)
        seconds = _drawn(curve, data.trajectories)
        initial = replace(InitialCondition.of(data.trajectories[0]), seen=data.trajectories[0])
        units = Units.identity(initial.x0.shape[1])
        return CurveModel(settings, [curve], [History(seconds=seconds)], units, [initial])

    def restore(self, stored: Stored, settings: Settings) -> CurveModel:
        """The curves through the snapshots of a file."""
        kept = restore_modules(lambda *_: self._curve(settings), stored.about, stored.tensors, stored.initial, settings)
        return CurveModel(settings, kept.modules, kept.histories, kept.units, stored.initial)

    def _curve(self, settings: Settings) -> Curve:
        return self.curve()


class ReadyCurve(NamedCurve):
    """A curve that was passed as a module."""

    name = "curve"
    uses = OPTIONAL - OF_NAMED - OF_TRAINING - {"knots", "solver"}
    recipes = {"default": READY_MODULE, "paper": READY_MODULE}  # noqa: RUF012  # never changed

    def __init__(self) -> None:
        """Its curve is what is passed."""

    def accepts(self, model: object) -> bool:
        """Curves."""
        return isinstance(model, Curve)

    def subject(self, model: object) -> str:
        """The module in messages about its arguments."""
        return f"a ready module such as this {type(model).__name__}"

    def advice(self, model: object) -> str:
        """What to do instead."""
        return ", and make the module as you want it"

    def _curve(self, settings: Settings) -> Curve:
        curve: Curve = copy.deepcopy(settings.model)
        return curve


def _drawn(curve: Curve, trajectories: list[Trajectory]) -> float:
    """How many seconds it takes to draw the curve; or a ValueError."""
    began, model = time.monotonic(), type(curve).__name__.lower()
    if len(trajectories) > 1:
        given = f"{len(trajectories)} trajectories were given"
        raise ValueError(f"{model} is one curve for each node, and {given}: fit each by itself")
    data = trajectories[0]
    if data.mask is not None and not (seen := data.mask.any(dim=0)).all():
        node, feature = (~seen).nonzero()[0].tolist()
        raise ValueError(
            f"{model} has no curve for node {data.graph.nodes[node]!r}, whose {data.features[feature]} was never observed "
            f"({int((~seen).sum())} in all are such): leave these nodes out, or learn them from their neighbours with "
            'model="ndcn"'
        )
    curve.go_on(data, data.times[-1:])
    return time.monotonic() - began


PERSISTENCE, LINEAR, SPLINE = (NamedCurve(curve.__name__.lower(), curve) for curve in (Persistence, Linear, Spline))
READY_CURVE = ReadyCurve()
