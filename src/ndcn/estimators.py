"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import nn

from . import operators
from .field import Field, check_field
from .graph import Graph
from .kernels import euler_compiled
from .models import GraphODE
from .models.paper import NAMED as MODELS
from .objective import CrossEntropy, Objective
from .recipes import READY_MODULE, RECIPES, Recipe
from .solve import Solver, Statistics
from .threads import threads_for
from .training import History, Plan, Problem, train
from .trajectory import Trajectory, checked_state, checked_times

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "softplus": nn.functional.softplus}


@dataclass(frozen=True)
class Units:
    """Between the data's units and the model's own: x = scale x_model, t = origin + t_model / rate."""

    scale: torch.Tensor
    origin: float
    rate: float

    def time(self, t: torch.Tensor) -> torch.Tensor:
        """Data time to model time."""
        return (t - self.origin) * self.rate


class DynamicsRegressor(BaseEstimator):
    """Learn dX/dt = f(X, G, t) from snapshots of X at arbitrary times, then predict X at any time.

    Args:
        model: "ndcn" (the paper's, 901 parameters at d = 1), its ablations "no_encode", "no_graph", "no_control", a
            ready ``GraphODE`` or other nn.Module called as model(x0, times, graph, t0), or a Field with parameters to
            learn. A ready module is copied, keeps its own solver, and sees the data in their own units.
        preset: "default", or "paper" for the published recipe, whose answer depends on which times are asked for.
        hidden: width of the hidden state of named models.
        operator: Phi of named models: "normalized_laplacian", "signed_laplacian", "laplacian", "normalized_adjacency",
            "adjacency" or "kipf".
        activation: of named models' field: "relu", "tanh" or "softplus".
        knots: times, in the data's units, between which the field's weights are interpolated; constant by default.
        solver: for named models, in the model's own time (see ``recipes``); by default Euler with 50 steps over the
            training window, kept with the model, and cubic Hermite interpolation between the steps.
        objective: "l1", "l2", "huber", or an ``Objective`` with a terminal loss or time weights.
        epochs, learning_rate, weight_decay, schedule: of training; None takes the preset's. Schedules are "cosine" and
            "constant".
        clip_norm: limit of the gradient's norm; none by default.
        validation: share of the training times held out to stop on, in [0, 1); none by default.
        patience: with validation, epochs to wait for a better validation loss; never stops early by default.
        checkpoint: a file in which the run is kept about every 20 seconds, for ``fit(..., resume=True)``.
        seed: of the initial weights and of the validation times.
        device, dtype: where and in which precision to compute: "cpu", "cuda", ...; "float32" or "float64".
        progress: whether to show a progress bar; None shows it on a terminal.

    Attributes:
        model_: the trained module. history_: training loss and more. units_: scaling between data and model.
        solver_: the model's solver, in its own time.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> times = ndcn.sampling.irregular_times(1.0, count=30, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> reg = ndcn.DynamicsRegressor(model="ndcn", epochs=30, seed=0).fit(data)
        >>> reg.predict([0.5, 2.0]).states.shape
        torch.Size([2, 25, 1])
    """

    def __init__(
        self,
        model: str | nn.Module = "ndcn",
        *,
        preset: str = "default",
        hidden: int = 20,
        operator: str = "signed_laplacian",
        activation: str = "relu",
        knots: Sequence[float] | None = None,
        solver: Solver | None = None,
        objective: str | Objective = "l1",
        epochs: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        schedule: str | None = None,
        clip_norm: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        checkpoint: str | Path | None = None,
        seed: int = 0,
        device: str = "cpu",
        dtype: str = "float32",
        progress: bool | None = None,
    ) -> None:
        self.model = model
        self.preset = preset
        self.hidden = hidden
        self.operator = operator
        self.activation = activation
        self.knots = knots
        self.solver = solver
        self.objective = objective
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.validation = validation
        self.patience = patience
        self.checkpoint = checkpoint
        self.seed = seed
        self.device = device
        self.dtype = dtype
        self.progress = progress

    # Learning ---------------------------------------------------------------------------------------------------

    def fit(
        self, data: Trajectory | Sequence[Trajectory], y: None = None, *, resume: bool = False
    ) -> DynamicsRegressor:
        """Learn from one trajectory, or from several at once (other initial states, other graphs).

        Args:
            data: at least two snapshots each, with the same features.
            y: not used; scikit-learn passes it.
            resume: go on from ``checkpoint`` if that file exists; the result is bit for bit that of an
                uninterrupted run.

        Raises:
            ValueError: unknown names, or data that cannot be learned from.
            TrainingError: the loss became NaN or infinite; ``model_`` keeps the last good weights.
        """
        recipe = self._recipe()
        trajectories = _checked_data(data)
        dtype, device = dtype_named(self.dtype), device_named(self.device)
        train_parts, held_out = self._hold_out(trajectories)
        first = trajectories[0]
        units = _units(trajectories, recipe)
        model = self._build(first.num_features, recipe, units).to(device, dtype).eval()
        objective = self.objective if isinstance(self.objective, Objective) else Objective(self.objective)

        def problems(targets: Sequence[Trajectory]) -> list[Problem]:
            return [
                Problem(
                    graph=part.graph,
                    x0=self._start(whole, units).to(device, dtype),
                    t0=units.time(whole.times[0]).item(),
                    times=units.time(part.times),
                    target=objective.target(part, units.scale, dtype, device),
                )
                for whole, part in zip(trajectories, targets, strict=True)
            ]

        learn = problems(train_parts)
        _check_model(model, learn[0])
        plan = self._plan(model, recipe, trajectories)
        self.model_, self.units_, self.history_ = model, units, History()
        self.train_ = [Start(t.graph, t.first_state(), t.times[0].item(), t.times, t.features) for t in trajectories]
        train(model, learn, problems(held_out) if held_out else [], objective, plan, self.history_, resume=resume)
        return self

    def _recipe(self) -> Recipe:
        if isinstance(self.model, str):
            if self.model not in MODELS:
                raise ValueError(
                    f"unknown model {self.model!r}; known are {', '.join(MODELS)}, or pass a ready nn.Module"
                )
        elif not isinstance(self.model, nn.Module):
            raise TypeError(f"model must be a name or an nn.Module, got {type(self.model).__name__}")
        if self.preset not in RECIPES:
            raise ValueError(f"unknown preset {self.preset!r}; known are {', '.join(RECIPES)}")
        base = RECIPES[self.preset] if isinstance(self.model, str) else READY_MODULE
        given = {
            name: getattr(self, name)
            for name in ("epochs", "learning_rate", "weight_decay", "schedule")
            if getattr(self, name) is not None
        }
        recipe = replace(base, **given)
        if recipe.epochs < 1 or not recipe.learning_rate > 0 or not recipe.weight_decay >= 0:
            raise ValueError("epochs must be >= 1, learning_rate > 0 and weight_decay >= 0")
        if recipe.schedule not in ("cosine", "constant"):
            raise ValueError(f'schedule must be "cosine" or "constant", got {recipe.schedule!r}')
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation is a share of the training times in [0, 1), got {self.validation}")
        if self.patience is not None and (self.patience < 1 or self.validation == 0):
            raise ValueError("patience is a number of epochs >= 1 and needs a validation share, e.g. validation=0.1")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be positive, got {self.clip_norm}")
        return recipe

    def _build(self, features: int, recipe: Recipe, units: Units) -> nn.Module:
        if isinstance(self.model, nn.Module):
            ready = copy.deepcopy(self.model)
            return GraphODE(nn.Identity(), ready, nn.Identity(), self.solver) if isinstance(ready, Field) else ready
        choices: dict[str, Any] = {
            "solver": self.solver or recipe.solver(),
            "activation": _named(ACTIVATIONS, "activation", self.activation),
        }
        if self.model != "no_graph":
            choices["operator"] = _named(operators.NAMED, "operator", self.operator)
        if self.model != "no_encode":
            choices["hidden"] = self.hidden
        if self.knots is not None:
            if self.model not in ("ndcn", "no_encode"):
                raise ValueError(f"{self.model} has no weights W(t) that could change with time: drop knots")
            choices["knots"] = units.time(checked_times(self.knots, ordered=True)).tolist()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return MODELS[self.model](features, **choices)

    def _hold_out(self, trajectories: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
        if self.validation == 0:
            return list(trajectories), []
        generator = np.random.default_rng(self.seed)
        learn, held = [], []
        for trajectory in trajectories:
            count = max(1, round(self.validation * len(trajectory)))
            if len(trajectory) - count < 2:
                raise ValueError(f"{len(trajectory)} snapshots are too few to hold out {count} and learn from the rest")
            drawn = np.sort(1 + generator.choice(len(trajectory) - 1, size=count, replace=False))
            learn.append(trajectory[np.setdiff1d(np.arange(len(trajectory)), drawn)])
            held.append(trajectory[drawn])
        return learn, held

    def _start(self, trajectory: Trajectory, units: Units) -> torch.Tensor:
        return trajectory.first_state().double() / units.scale

    def _plan(self, model: nn.Module, recipe: Recipe, trajectories: Sequence[Trajectory]) -> Plan:
        """How to train, with a fingerprint of all that decides the result: settings, first weights and data."""
        settings = {k: _text(v) for k, v in self.get_params(deep=False).items() if k not in ("checkpoint", "progress")}
        weights = {name: _text(value) for name, value in model.state_dict().items()}
        kernel = "torch" if euler_compiled.library() is None else "compiled"  # their last bits differ
        text = json.dumps([settings, weights, kernel, [t.fingerprint for t in trajectories]], sort_keys=True)
        return Plan(
            epochs=recipe.epochs,
            learning_rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            schedule=recipe.schedule,
            seed=self.seed,
            clip_norm=self.clip_norm,
            patience=self.patience,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            fingerprint=hashlib.sha256(text.encode()).hexdigest(),
            progress=self.progress,
        )

    # Using what was learned -------------------------------------------------------------------------------------

    def predict(self, times: Any, *, graph: Graph | None = None, x0: Any = None) -> Trajectory:
        """The state at any times from the first training time on, in any order.

        Args:
            times: shape (T,), in the data's units.
            graph: another graph on which the same law is to run; then ``x0`` is needed.
            x0: the state at the first training time, shape (n, d); that of the training data by default.

        Raises:
            NotFittedError: before fit.
            ValueError: a time before the first training time, or shapes that do not fit.
            IntegrationError: the solution explodes.
        """
        start = self._fitted()
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}")
        if graph is not None and x0 is None and graph != start.graph:
            raise ValueError("another graph needs its initial state: predict(times, graph=..., x0=...)")
        graph = graph or start.graph
        x = start.x0 if x0 is None else checked_state(x0, graph)
        if x.shape[1] != start.x0.shape[1]:
            raise ValueError(f"x0 has {x.shape[1]} features, the model was trained on {start.x0.shape[1]}")
        asked = checked_times(times, ordered=False)
        if asked.min() < start.t0 - 1e-6 * max(1.0, abs(start.t0)):  # the same time in float32 may be a little less
            raise ValueError(
                f"cannot predict t = {asked.min().item():g}: the first training time is {start.t0:g}, and the model only "
                "goes forward from there"
            )
        with threads_for(graph.num_nodes * self.hidden):
            states, statistics = self._run(asked, graph, x, start.t0)
        return Trajectory(
            times=asked,
            states=states,
            graph=graph,
            features=start.features,
            ordered=bool((asked.diff() > 0).all()),
            statistics=statistics,
        )

    @torch.no_grad()
    def _run(
        self, times: torch.Tensor, graph: Graph, x: torch.Tensor, t0: float
    ) -> tuple[torch.Tensor, Statistics | None]:
        units, dtype, device = self.units_, dtype_named(self.dtype), device_named(self.device)
        model, scaled = self.model_, (x.double() / units.scale).to(device, dtype)
        start = units.time(torch.tensor(t0, dtype=torch.float64)).item()
        clock = units.time(times).clamp(min=start)
        if isinstance(model, GraphODE):
            solution = model.solve(scaled, clock, graph, start)
            states, statistics = solution.states, solution.statistics
        else:
            states, statistics = model(scaled, clock, graph, start), None
        return (states.double().cpu() * units.scale).to(x.dtype), statistics

    def score(self, data: Trajectory, y: None = None, *, x0: Any = None) -> float:
        """R^2 of the prediction at the times of ``data``: 1 - sum (x - x^)^2 / sum (x - mean)^2; 1 is perfect."""
        prediction = self.predict(data.times, graph=data.graph, x0=x0)
        truth = data.states.double()
        residual = (prediction.states.double() - truth).square().nansum()
        spread = (truth - truth.nanmean(dim=(0, 1), keepdim=True)).square().nansum()
        return float(1 - residual / spread)

    @property
    def solver_(self) -> Solver | None:
        """The solver of the trained model, in its own time."""
        self._fitted()
        return getattr(self.model_, "solver", None)

    def _fitted(self) -> Start:
        if not hasattr(self, "model_"):
            raise NotFittedError("this DynamicsRegressor has learned nothing yet: call fit first")
        start: Start = self.train_[0]
        return start

    # Files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained model into one file: safetensors with settings in JSON, no pickle; see ``ndcn.load``."""
        from . import model_files

        self._fitted()
        model_files.save(self, Path(path))


@dataclass(frozen=True)
class Start:
    """Where a training trajectory began, and when it was observed: what predictions start from."""

    graph: Graph
    x0: torch.Tensor
    t0: float
    times: torch.Tensor
    features: tuple[str, ...]


def load(path: str | Path, *, model: nn.Module | None = None) -> DynamicsRegressor:
    """Read a model that ``DynamicsRegressor.save`` wrote.

    Args:
        path: the file.
        model: for a model that was made from a ready module: a module of the same kind, which gets the weights.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, not ours, of another version, or needs ``model``.

    Example:
        >>> import ndcn, tempfile, torch
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(epochs=2).fit(data)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reg.save(f"{folder}/heat.ndcn")
        ...     again = ndcn.load(f"{folder}/heat.ndcn")
        >>> torch.equal(again.predict([0.7]).states, reg.predict([0.7]).states)
        True
    """
    from . import model_files

    return model_files.load(Path(path), model)


def _checked_data(data: Trajectory | Sequence[Trajectory]) -> list[Trajectory]:
    trajectories = [data] if isinstance(data, Trajectory) else list(data)
    if not trajectories or not all(isinstance(t, Trajectory) for t in trajectories):
        raise TypeError(
            "fit needs an ndcn.Trajectory, or a list of them; Trajectory(times=..., states=..., graph=...) makes one"
        )
    for trajectory in trajectories:
        if trajectory.mask is not None and not trajectory.mask.any():
            raise ValueError("the mask marks every entry as missing: there is nothing to learn from")
        if len(trajectory) < 2:
            raise ValueError("one snapshot does not show any dynamics: at least two are needed to learn from")
        if not (trajectory.times.diff() > 0).all():
            raise ValueError("the times of the training data must be in increasing order, each once")
    if len({t.num_features for t in trajectories}) > 1:
        raise ValueError(
            f"the trajectories have different numbers of features: {[t.num_features for t in trajectories]}"
        )
    return trajectories


def _units(trajectories: Sequence[Trajectory], recipe: Recipe) -> Units:
    d = trajectories[0].num_features
    if not recipe.rescale:
        return Units(torch.ones(d, dtype=torch.float64), 0.0, 1.0)
    values = torch.cat([t.states.detach().cpu().double().reshape(-1, d) for t in trajectories])
    scale = values.abs().nanmean(dim=0)
    origin = min(t.times[0].item() for t in trajectories)
    last = max(t.times[-1].item() for t in trajectories)
    return Units(torch.where(scale > 0, scale, 1.0), origin, recipe.span / (last - origin))


def _check_model(model: nn.Module, problem: Problem) -> None:
    """Call the model once and explain what is wrong with its answer, if anything is."""
    x0, expected = problem.x0, tuple(problem.target.states.shape)
    try:
        with torch.no_grad():
            if isinstance(model, GraphODE):
                check_field(model.field, problem.graph, model.encoder(x0), problem.t0)
                part, shape, expected = "decoder", tuple(model.decoder(model.encoder(x0)).shape), expected[1:]
            else:
                part, shape = "model", tuple(model(x0, problem.times, problem.graph, problem.t0).shape)
    except RuntimeError as error:  # torch's, of matrices that do not fit
        raise ValueError(f"the model does not fit states of shape {tuple(x0.shape)}: {error}") from error
    if shape != expected:
        raise ValueError(f"the {part} returns shape {shape} where the data have {expected}")


def _text(value: Any) -> str:
    """A value as text that is the same in another process; tensors and large objects by their hash."""
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous()
        return f"{data.dtype} {tuple(data.shape)} {hashlib.sha256(data.numpy().tobytes()).hexdigest()}"
    if isinstance(value, Objective):
        return f"{value.running} {_text(value.terminal)} {value.terminal_weight} {value.time_weights}"
    if isinstance(value, CrossEntropy):
        return f"CrossEntropy {_text(value.labels)} {_text(value.mask)}"
    if isinstance(value, nn.Module) or (callable(value) and not hasattr(value, "__qualname__")):
        return type(value).__qualname__  # a module's weights are counted among the first weights
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def _named(known: dict[str, Any], kind: str, name: str) -> Any:
    if name not in known:
        raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(known)}")
    return known[name]


def device_named(name: str) -> torch.device:
    """A device on which this torch can compute, by name."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).add_(1).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"cannot compute on device {name!r}: {reason}; try cpu") from None
    return device


def dtype_named(name: str) -> torch.dtype:
    """float32 or float64, by name."""
    if name not in ("float32", "float64"):
        raise ValueError(f'dtype must be "float32" or "float64", got {name!r}')
    kind: torch.dtype = getattr(torch, name)
    return kind
