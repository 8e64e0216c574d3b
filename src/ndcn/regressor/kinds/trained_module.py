"""Trained modules: one training run, the answers of what was trained, and its files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..._support.checks import dtype_named
from ..._support.generators import seeded
from ..._support.threads import threads_for
from ...data import Statistics, TimeGrid, Trajectory
from ...neural import Continuation, GraphODE, ResidualGNN, TemporalGNN
from ...solve import inputs_of
from ...training import (
    History,
    Objective,
    Plan,
    Problem,
    TrainingError,
    TrainingInterrupted,
    TrajectoryTask,
    Units,
    fingerprint,
    train,
    units_of,
)
from ..fitting import check_model, hold_out, problem_of
from ..initial import InitialCondition
from ..kind import Fitted, State
from ..query import Prediction, Query
from ..settings import Settings

Build = Callable[[Settings, Units, list[InitialCondition]], nn.Module]
STEPPED = (TemporalGNN, ResidualGNN)  # modules that know only times on a grid of equal steps


class TrainedModel(Fitted):
    """Modules that answer in their own units: X(t) = scale module(X(t0) / scale), one for each member of an ensemble."""

    def __init__(
        self,
        settings: Settings,
        modules: Sequence[nn.Module],
        histories: list[History],
        units: Units,
        initial: list[InitialCondition],
    ) -> None:
        first, can = modules[0], replace(settings.kind.can, spread=len(modules) > 1)
        step = first.step / units.rate if isinstance(first, STEPPED) else None
        # A ready module may be one that knows equal steps only, or that continues from a history.
        can = replace(can, any_time=can.any_time and step is None, history=isinstance(first, Continuation))
        super().__init__(can, initial, histories, modules=modules, units=units, step=step)
        # A ready module computes in the data's units and may decode to other features.
        self.rescaled = not settings.kind.accepts(settings.model)
        self.width = settings.width
        self.takes = inputs_of(first.field) if isinstance(first, GraphODE) else ()
        self.dtype, self.device = settings.dtype, settings.device

    def predict(self, query: Query, *, spread: bool) -> Prediction:
        """Mean and standard deviation over the members."""
        with threads_for(query.one_graph.num_nodes * self.width):
            runs = [self._run(module, query) for module in self.modules]
        scale = self.units.scale if self.rescaled else None
        every = [(states if scale is None else states * scale).to(query.x0.dtype) for states, _ in runs]
        features, statistics = self.initial[0].features, runs[0][1]
        if len(every) == 1:
            return Prediction(query.answer(every[0], features, statistics))
        together = torch.stack(every)
        mean, std = (query.answer(states, features, statistics) for states in (together.mean(0), together.std(0)))
        return Prediction(mean, std)

    @torch.no_grad()
    def _run(self, module: nn.Module, query: Query) -> tuple[torch.Tensor, Statistics | None]:
        """The states that one module predicts, shape (T, n, d), in its own units and on the CPU."""
        initial = self.initial[0]
        also = initial.steps(getattr(module, "solver", None), query.t0, query.times.max().item())
        times = torch.cat([also, query.times])
        begin = self.units.time(torch.tensor(query.t0, dtype=torch.float64)).item()
        if isinstance(module, STEPPED):  # the times must be on its grid
            clock = begin + module.step * TimeGrid(query.t0, module.step / self.units.rate, query.calendar).index(times)
        else:
            clock = self.units.time(times).clamp(min=begin)
        x0 = (query.x0.double() / self.units.scale).to(self.device, self.dtype)
        statistics: Statistics | None = None
        if isinstance(module, Continuation) and query.from_history and initial.seen is not None:
            states = module.go_on(self.units.trajectory(initial.seen), clock)
        elif isinstance(module, GraphODE):
            driven = None if query.inputs is None else query.inputs.moved(self.units.origin, self.units.rate)
            solution = module.solve(x0, clock, query.one_graph, begin, driven)
            states, statistics = solution.states, solution.statistics
        else:
            states = module(x0, clock, query.one_graph, begin)
        return states[len(also) :].double().cpu(), statistics

    def state(self) -> State:
        """Weights and losses of each member."""
        tensors: dict[str, torch.Tensor] = {}
        for k, (module, history) in enumerate(zip(self.modules, self.histories, strict=True)):
            tensors[f"loss.{k}"] = torch.tensor(history.loss, dtype=torch.float64)
            tensors[f"validation.{k}"] = torch.tensor(history.validation, dtype=torch.float64).reshape(-1, 2)
            tensors |= {f"model.{k}.{name}": value.detach().cpu() for name, value in module.state_dict().items()}
        return {"model_class": type(self.modules[0]).__qualname__}, tensors


def fit_module(build: Build, trajectories: list[Trajectory], settings: Settings, *, draws: bool = True) -> TrainedModel:
    """Build a module and train it; ``draws`` says whether its layers may draw random numbers.

    Raises:
        TrainingError: the loss became NaN or infinite; ``fitted`` of the error has the last good weights, if any were learned.
        TrainingInterrupted: Ctrl-C was pressed twice; ``fitted`` has the best weights, if any were learned.
    """
    asked = settings["objective"]
    objective = asked if isinstance(asked, Objective) else Objective(asked)
    learn_from, held_out = hold_out(trajectories, settings["validation"], settings["seed"], objective)
    units = units_of(trajectories, settings.recipe) if settings.start is None else settings.start[0]
    initial = [InitialCondition.of(trajectory) for trajectory in trajectories]
    begun = build(settings, units, initial) if settings.start is None else copy.deepcopy(settings.start[1][0])
    module = begun.to(settings.device, settings.dtype).eval()
    if isinstance(module, Continuation):  # it goes on from the first of them
        initial[0] = replace(initial[0], seen=trajectories[0])

    def problems(parts: Sequence[Trajectory]) -> list[Problem]:
        dtype, device = settings.dtype, settings.device
        both = zip(trajectories, parts, strict=True)
        return [problem_of(module, whole, part, units, objective, dtype, device) for whole, part in both]

    learn = problems(learn_from)
    if not isinstance(module, Continuation):
        with seeded(settings.seed, settings.device):  # a module may draw here already
            check_model(module, learn[0], objective)
    fitted = TrainedModel(settings, [module], [History()], units, initial)
    validation = problems(held_out) if held_out else []
    draws = draws or callable(objective.terminal)
    task = TrajectoryTask(module, learn, validation, objective, seed=settings.seed, width=settings.width, draws=draws)
    try:
        train(task, _plan(settings, module, trajectories), fitted.histories[0], resume=settings.resume)
    except (TrainingError, TrainingInterrupted) as error:
        error.fitted = fitted if error.steps else None
        raise
    return fitted


def _plan(settings: Settings, module: nn.Module, trajectories: Sequence[Trajectory]) -> Plan:
    known = {k: v for k, v in settings.arguments.items() if k not in ("checkpoint", "progress", "jobs")}
    known |= {"device": str(settings["device"]), "dtype": dtype_named(settings["dtype"])}
    recipe, checkpoint = settings.recipe, settings["checkpoint"]
    return Plan(
        epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        schedule=recipe.schedule,
        clip_norm=settings["clip_norm"],
        patience=settings["patience"],
        checkpoint=None if checkpoint is None else Path(checkpoint),
        fingerprint=trajectories[0].graph.joined(fingerprint(known, module, [t.fingerprint for t in trajectories])),
        progress=settings["progress"],
    )


def restore_modules(
    build: Build,
    about: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    initial: list[InitialCondition],
    settings: Settings,
) -> TrainedModel:
    """The modules of a file: built again, with the weights that were stored."""
    units = Units(tensors["scale"], **about["units"])
    modules, histories = [], []
    for k, kept in enumerate(about["histories"]):
        prefix = f"model.{k}."
        weights = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        module = build(settings, units, initial).to(torch.device(settings["device"]), settings.dtype).eval()
        module.load_state_dict(weights)
        validation = [(int(epoch), value) for epoch, value in tensors[f"validation.{k}"].tolist()]
        modules.append(module)
        histories.append(History(tensors[f"loss.{k}"].tolist(), validation, **kept))
    if not modules:
        raise ValueError("it holds no model")
    return TrainedModel(settings, modules, histories, units, initial)
