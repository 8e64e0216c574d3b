"""One training run of a ``DynamicsRegressor``: data, model, plan, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from .._support.checks import device_named, dtype_named
from ..data import Trajectory
from ..neural import Continuation, Curve
from ..training import History, Objective, Plan, Problem, Recipe, TrajectoryTask, fingerprint, train, units_of
from .fitting import Start, check_curve, check_model, hold_out, problem_of
from .named_models import build, width_of

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor


def fit_one(estimator: DynamicsRegressor, trajectories: list[Trajectory], recipe: Recipe, resume: bool) -> None:
    """Build the model that the arguments ask for, and train it."""
    dtype, device = dtype_named(estimator.dtype), device_named(estimator.device)
    objective = estimator.objective if isinstance(estimator.objective, Objective) else Objective(estimator.objective)
    train_parts, held_out = hold_out(trajectories, estimator.validation, estimator.seed, objective)
    units = units_of(trajectories, recipe)
    starts = [Start.of(trajectory) for trajectory in trajectories]
    model = build(estimator.get_params(deep=False), recipe, units, starts, dtype.itemsize).to(device, dtype).eval()
    if isinstance(model, Continuation):  # it goes on from the first of them
        starts[0] = replace(starts[0], seen=trajectories[0])
    if isinstance(model, Curve):
        seconds = check_curve(model, trajectories)
        estimator.models_, estimator.histories_ = [model], [History(seconds=seconds)]
        estimator.units_, estimator.train_ = units, starts
        return

    def problems(parts: Sequence[Trajectory]) -> list[Problem]:
        both = zip(trajectories, parts, strict=True)
        return [problem_of(model, whole, part, units, objective, dtype, device) for whole, part in both]

    learn = problems(train_parts)
    if not isinstance(model, Continuation):
        check_model(model, learn[0], objective)
    plan = _plan(estimator, model, recipe, trajectories)
    estimator.models_, estimator.histories_ = [model], [History()]
    estimator.units_, estimator.train_ = units, starts
    width = width_of(estimator.model, estimator.hidden)
    held = problems(held_out) if held_out else []
    task = TrajectoryTask(model, learn, held, objective, seed=int(estimator.seed), width=width)
    train(task, plan, estimator.history_, resume=resume)


def _plan(estimator: DynamicsRegressor, model: nn.Module, recipe: Recipe, trajectories: Sequence[Trajectory]) -> Plan:
    given = estimator.get_params(deep=False)
    settings = {k: v for k, v in given.items() if k not in ("checkpoint", "progress", "jobs")}
    settings |= {"device": str(estimator.device), "dtype": dtype_named(estimator.dtype)}
    return Plan(
        epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        schedule=recipe.schedule,
        clip_norm=estimator.clip_norm,
        patience=estimator.patience,
        checkpoint=None if estimator.checkpoint is None else Path(estimator.checkpoint),
        fingerprint=fingerprint(settings, model, [t.fingerprint for t in trajectories]),
        progress=estimator.progress,
    )
