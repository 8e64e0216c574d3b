"""Trained models in one file: safetensors for numbers, JSON for settings, nothing that runs code when read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

from .._support.checks import dtype_name, dtype_named
from .._support.container import read_model, write_model
from .._support.registry import found_at
from ..data import Calendar, Trajectory, plain_labels
from ..forecast import Auto, Forecast
from ..graph import Graph, GraphSequence
from ..identify import Evidence, Interaction
from ..laws import ClosedForm, Corrected, FreeForm, LawODE, described, law_from
from ..solve import Solver
from ..training import History, Objective, Recipe, Units
from .auto_forecast import auto_of, keep
from .estimated_law import EstimatedLaw
from .fitting import Start
from .learned_law import LearnedLaw
from .named_models import build

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

KIND = "DynamicsRegressor"


def save(estimator: DynamicsRegressor, path: Path) -> None:
    """See ``DynamicsRegressor.save``."""
    units = estimator.units_
    learned: LearnedLaw | None = getattr(estimator, "learned_", None)
    tensors: dict[str, torch.Tensor] = {"scale": units.scale}
    for k, (model, history) in enumerate(zip(estimator.models_, estimator.histories_, strict=True)):
        tensors[f"loss.{k}"] = torch.tensor(history.loss, dtype=torch.float64)
        tensors[f"validation.{k}"] = torch.tensor(history.validation, dtype=torch.float64).reshape(-1, 2)
        for name, value in {} if learned is not None else model.state_dict().items():
            tensors[f"model.{k}.{name}"] = value.detach().cpu()
    starts = []
    for k, start in enumerate(estimator.train_):
        a = start.graph.to_scipy()
        tensors[f"start.{k}.indptr"] = torch.from_numpy(a.indptr.astype(np.int64))
        tensors[f"start.{k}.indices"] = torch.from_numpy(a.indices.astype(np.int64))
        tensors[f"start.{k}.weights"] = torch.from_numpy(a.data)
        tensors[f"start.{k}.x0"] = start.x0.detach().cpu()
        tensors[f"start.{k}.times"] = start.times
        if start.seen is not None:  # what was not observed is NaN
            tensors[f"start.{k}.states"] = start.seen.states.detach().cpu()
        starts.append(
            {
                "t0": start.t0,
                "directed": start.graph.directed,
                "nodes": plain_labels(start.graph),
                "features": start.features,
            }
        )
    if learned is not None:
        tensors |= {"law.covariance": learned.covariance, "law.draws": learned.draws, "law.states": learned.states}
        tensors |= learned.tensors() if isinstance(learned, EstimatedLaw) else {}
        for k, draws in enumerate(learned.start_draws or []):
            tensors[f"law.start_draws.{k}"] = draws
    forecast, numbers = estimator.forecast_.to_state() if hasattr(estimator, "forecast_") else (None, {})
    tensors |= {f"forecast.{name}": value for name, value in numbers.items()}
    about = {
        "forecast": forecast,
        "law": None if learned is None else {"form": _form(learned), "evidence": asdict(learned.evidence)},
        "settings": _settings(estimator),
        "model_class": type(estimator.model_).__qualname__,
        "units": {"origin": units.origin, "rate": units.rate},
        "histories": [{"stopped": h.stopped, "seconds": h.seconds} for h in estimator.histories_],
        "starts": starts,
        "calendar": None if (calendar := getattr(estimator, "calendar_", None)) is None else calendar.to_json(),
        "graphs": _graph_places(estimator),
    }
    write_model(path, KIND, about, tensors)


def load(path: Path, model: nn.Module | None) -> DynamicsRegressor:
    """See ``ndcn.load``."""
    about, tensors = read_model(path, KIND)
    settings = about.get("settings")
    if not isinstance(settings, dict) or "model" not in settings:
        raise ValueError(f"{path} is damaged: it holds no settings")
    ready = settings["model"] is None
    if ready and model is None:
        raise ValueError(
            f"{path} was trained with a module of your own ({about.get('model_class')}); pass one of the same kind to "
            "take the weights: ndcn.load(path, model=...)"
        )
    if not ready and model is not None:
        raise ValueError(f"{path} holds a {settings['model']!r} model, which is rebuilt from the file: drop model=")
    try:
        settings = {**settings, "model": model if ready else settings["model"]}
        if isinstance(settings["model"], dict):
            made = settings["model"]
            settings["model"] = Auto(**made) if "horizon" in made else _interaction(made)
        settings["solver"] = None if settings["solver"] is None else Solver(**settings["solver"])
        settings["hidden"] = None if ready else settings["hidden"]  # once it was 20 there, of no effect
        if isinstance(settings["objective"], dict):
            settings["objective"] = Objective(**settings["objective"])
        estimator: DynamicsRegressor = found_at("ndcn.regressor:DynamicsRegressor")(**settings)
        units = Units(tensors["scale"], **about["units"])
        recipe: Recipe = estimator._recipe()
        starts = [_start(about["starts"][k], tensors, f"start.{k}.") for k in range(len(about["starts"]))]
        estimator.calendar_ = None if about.get("calendar") is None else Calendar(**about["calendar"])
        places = about.get("graphs") or []
        graphs = [starts[place["start"]].graph for place in places]
        estimator.graphs_ = GraphSequence([place["time"] for place in places], graphs) if graphs else None
        dtype = dtype_named(estimator.dtype)
        models, histories = [], []
        if about.get("forecast") is not None and auto_of(estimator.model) is not None:
            numbers = {name.removeprefix("forecast."): value for name, value in tensors.items()}
            found = Forecast.from_state(about["forecast"], numbers, starts[0].graph)
            estimator.units_ = units
            keep(estimator, found, starts, about["histories"][0]["seconds"])
            return estimator
        if about.get("law") is not None:
            estimator.learned_ = _law(about["law"], tensors, len(starts), model)
            estimator.models_ = [LawODE(estimator.learned_.law)]
            estimator.histories_ = [History([], [], **history) for history in about["histories"]]
            estimator.units_, estimator.train_ = units, starts
            return estimator
        for k, history in enumerate(about["histories"]):
            prefix = f"model.{k}."
            weights = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
            built = build(estimator.get_params(deep=False), recipe, units, starts, dtype.itemsize)
            built = built.to(torch.device(estimator.device), dtype).eval()
            built.load_state_dict(weights)
            validation = [(int(epoch), value) for epoch, value in tensors[f"validation.{k}"].tolist()]
            models.append(built)
            histories.append(History(tensors[f"loss.{k}"].tolist(), validation, **history))
        if not models:
            raise ValueError("it holds no model")
        estimator.models_, estimator.histories_ = models, histories
        estimator.units_, estimator.train_ = units, starts
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it has no entry {error}") from error
    except (IndexError, TypeError, AttributeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{path} does not fit: {error}") from error
    return estimator


def _graph_places(estimator: DynamicsRegressor) -> list[dict[str, float | int]]:
    """Of a graph that changes: when each graph that was learned on begins to hold, and the start that has it."""
    graphs: GraphSequence | None = getattr(estimator, "graphs_", None)
    if graphs is None:
        return []
    own = {start.graph: k for k, start in enumerate(estimator.train_)}
    both = zip(graphs.times.tolist(), graphs.graphs, strict=True)
    return [{"time": t, "start": own[graph]} for t, graph in both if graph in own]


def _settings(estimator: DynamicsRegressor) -> dict[str, Any]:
    settings = estimator.get_params(deep=False)
    if isinstance(settings["model"], Interaction):
        what = settings["model"]
        known = {} if what.known is None else {"known": described(what.known)}
        settings["model"] = {"form": what.form, "terms": what.terms, "without": what.without, **known}
    elif isinstance(settings["model"], Auto):
        settings["model"] = asdict(settings["model"])
    elif not isinstance(settings["model"], str):
        settings["model"] = None
    settings["solver"] = None if settings["solver"] is None else asdict(settings["solver"])
    objective = settings["objective"]
    if isinstance(objective, Objective):  # a terminal loss of one's own is not needed to predict, and is not kept
        terminal = objective.terminal if isinstance(objective.terminal, str) else None
        settings["objective"] = {
            "running": objective.running or ("l1" if terminal is None else None),
            "terminal": terminal,
            "terminal_weight": objective.terminal_weight,
            "time_weights": objective.time_weights,
        }
    settings["knots"] = None if settings["knots"] is None else [float(t) for t in settings["knots"]]
    settings["device"], settings["dtype"] = str(settings["device"]), dtype_name(dtype_named(settings["dtype"]))
    settings["checkpoint"], settings["progress"] = None, None
    return settings


def _interaction(about: dict[str, Any]) -> Interaction:
    return Interaction(**{**about, "known": law_from(about["known"])} if "known" in about else about)


def _form(learned: LearnedLaw) -> dict[str, Any]:
    if isinstance(learned, EstimatedLaw):
        return learned.description()
    assert isinstance(learned.law, (ClosedForm, Corrected, FreeForm))
    return learned.law.description()


def _law(about: dict[str, Any], tensors: dict[str, torch.Tensor], count: int, model: nn.Module | None) -> LearnedLaw:
    form = about["form"]
    draws = [tensors[f"law.start_draws.{k}"] for k in range(count) if f"law.start_draws.{k}" in tensors]
    evidence = Evidence(**{**about["evidence"], "noise": tuple(about["evidence"]["noise"])})
    if "estimated" in form:
        return EstimatedLaw.from_file(model, form, tensors, draws or None, evidence)
    kind: type[ClosedForm | Corrected | FreeForm]
    kind = Corrected if "correction" in form else FreeForm if "knots" in form else ClosedForm
    covariance, likely = tensors["law.covariance"], tensors["law.draws"]
    return LearnedLaw(kind.from_description(form), covariance, likely, draws or None, evidence, tensors["law.states"])


def _start(about: dict[str, Any], tensors: dict[str, torch.Tensor], prefix: str) -> Start:
    x0 = tensors[f"{prefix}x0"]
    parts = tuple(tensors[f"{prefix}{name}"].numpy() for name in ("weights", "indices", "indptr"))
    adjacency = sparse.csr_array(parts, shape=(len(x0), len(x0)))
    graph = Graph(adjacency, nodes=about["nodes"], directed=about["directed"])
    times, features, seen = tensors[f"{prefix}times"], tuple(about["features"]), None
    if (states := tensors.get(f"{prefix}states")) is not None:
        seen = Trajectory(times=times, states=states, graph=graph, mask=~states.isnan(), features=features)
    return Start(graph, x0, about["t0"], times, features, seen)
