"""Trained models in one file: safetensors for numbers, JSON for settings, nothing that runs code when read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .._support.checks import dtype_name, dtype_named
from .._support.container import read_model, write_model
from ..data import Calendar, Inputs, SplitRule, Trajectory, plain_labels
from ..graph import Graph, GraphSequence, PartGraph, csr_of_parts
from ..solve import Solver
from ..training import Objective
from .gathered import gathered
from .initial import InitialCondition
from .kind import Stored
from .kind_lookup import kind_for, model_in_file
from .plausible import SeenRange
from .stored_checks import check_common

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

CONTENT = "DynamicsRegressor"  # what the file says that it holds


def save(estimator: DynamicsRegressor, path: Path) -> None:
    """See ``DynamicsRegressor.save``."""
    graph = estimator.fitted_.initial[0].graph
    initial = [whole for one in estimator.fitted_.initial if (whole := gathered(one)) is not None]
    if not isinstance(graph, PartGraph):
        _write(estimator, initial, path)
        return
    with graph.world.agreed():  # the others wait until the first process has written
        if graph.world.first:
            _write(estimator, initial, path)


def _write(estimator: DynamicsRegressor, initial: list[InitialCondition], path: Path) -> None:
    fitted, units = estimator.fitted_, estimator.units_
    about, tensors = fitted.state()
    tensors = {"scale": units.scale, **tensors}
    for k, one in enumerate(initial):
        tensors |= {f"start.{k}.{name}": value for name, value in _initial_tensors(one).items()}
    calendar, split = estimator.calendar_, estimator.split_
    common = {
        "settings": _plain_settings(estimator),
        "model_kind": kind_for(estimator.model).name,
        "units": {"origin": units.origin, "rate": units.rate},
        "histories": [{"stopped": h.stopped, "seconds": h.seconds} for h in fitted.histories],
        "starts": [
            {"t0": s.t0, "directed": s.graph.directed, "nodes": plain_labels(s.graph), "features": s.features}
            | ({} if s.elsewhere is None else {"elsewhere": s.elsewhere})
            | ({} if not s.graph.attributes else {"attributes": list(s.graph.attributes)})
            | ({} if s.inputs is None else {"inputs": s.inputs.description()})
            for s in initial
        ],
        "calendar": None if calendar is None else calendar.to_json(),
        "graphs": _graph_places(estimator),
        "split": None if split is None else split._asdict(),
        "reading": dict(estimator.reading_),
        "seen": None if estimator.seen_ is None else [asdict(one) for one in estimator.seen_],
    }
    write_model(path, CONTENT, {**common, **about}, tensors)


def load(path: Path, model: nn.Module | None, make: Callable[..., DynamicsRegressor]) -> DynamicsRegressor:
    """See ``ndcn.load``; ``make`` is the estimator's class, which is defined after this."""
    about, tensors = read_model(path, CONTENT)
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
        check_common(about, tensors)
        about["units"] = {name: float(value) for name, value in about["units"].items()}
        kind, asked = model_in_file(about, model)
        given = _settings({**settings, "model": asked}, ready)
        estimator = make(**given)
        initial = [_initial(one, tensors, f"start.{k}.") for k, one in enumerate(about["starts"])]
        estimator.calendar_ = None if about.get("calendar") is None else Calendar(**about["calendar"])
        estimator.split_ = None if about.get("split") is None else SplitRule(**about["split"])
        estimator.reading_ = dict(about.get("reading") or {})
        estimator.seen_ = _seen(about.get("seen"), len(initial[0].features))
        places = about.get("graphs") or []
        graphs = [initial[place["start"]].graph for place in places]
        estimator.graphs_ = GraphSequence([place["time"] for place in places], graphs) if graphs else None
        estimator.fitted_ = kind.restore(Stored(about, tensors, initial), estimator._settings())
        estimator.fitted_.calendar = estimator.calendar_
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it has no entry {error}") from error
    except (IndexError, TypeError, AttributeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{path} does not fit: {error}") from error
    return estimator


def _seen(plain: Any, features: int) -> tuple[SeenRange, ...] | None:
    """What training showed of each feature; None of files that do not tell."""
    if plain is None:
        return None
    if len(plain) != features:
        raise ValueError(f"it tells what was seen of {len(plain)} features and has {features}")
    return tuple(SeenRange(float(one["low"]), float(one["high"]), bool(one["falls"])) for one in plain)


def _graph_places(estimator: DynamicsRegressor) -> list[dict[str, float | int]]:
    """When each graph that was learned on begins to hold, and which initial condition is on it."""
    graphs = estimator.graphs_
    if graphs is None:
        return []
    own = {one.graph: k for k, one in enumerate(estimator.train_)}
    both = zip(graphs.times.tolist(), graphs.graphs, strict=True)
    return [{"time": t, "start": own[graph]} for t, graph in both if graph in own]


def _plain_settings(estimator: DynamicsRegressor) -> dict[str, Any]:
    settings = estimator.get_params(deep=False)
    settings["model"] = kind_for(estimator.model).plain(estimator.model)
    settings["solver"] = None if settings["solver"] is None else asdict(settings["solver"])
    objective = settings["objective"]
    if isinstance(objective, Objective):  # a terminal loss of one's own is not needed to predict, and is not kept
        terminal = objective.terminal if isinstance(objective.terminal, str) else None
        running = objective.running or ("l1" if terminal is None else None)
        kept = {"terminal_weight": objective.terminal_weight, "time_weights": objective.time_weights}
        settings["objective"] = {"running": running, "terminal": terminal, **kept}
    settings["knots"] = None if settings["knots"] is None else [float(t) for t in settings["knots"]]
    settings["device"], settings["dtype"] = str(settings["device"]), dtype_name(dtype_named(settings["dtype"]))
    settings["checkpoint"], settings["progress"] = None, None
    return settings


def _settings(plain: dict[str, Any], ready: bool) -> dict[str, Any]:
    """Arguments of the estimator again."""
    settings = dict(plain)
    settings["solver"] = None if plain["solver"] is None else Solver(**plain["solver"])
    settings["hidden"] = None if ready else plain["hidden"]  # 0.1 wrote 20 there, which a ready module does not use
    if isinstance(plain["objective"], dict):
        settings["objective"] = Objective(**plain["objective"])
    return settings


def _initial_tensors(one: InitialCondition) -> dict[str, torch.Tensor]:
    a = one.graph.to_scipy()
    tensors = {
        "indptr": torch.from_numpy(a.indptr.astype(np.int64)),
        "indices": torch.from_numpy(a.indices.astype(np.int64)),
        "weights": torch.from_numpy(a.data),
        "x0": one.x0.detach().cpu(),
        "times": one.times,
    }
    if one.observed is not None:
        tensors["observed"] = one.observed.detach().cpu()
    if one.graph.positions is not None:
        tensors["positions"] = torch.from_numpy(one.graph.positions.copy())
    if one.graph.attributes:
        columns = [torch.from_numpy(values.copy()) for values in one.graph.attributes.values()]
        tensors["attributes"] = torch.stack(columns, dim=1)
    if one.inputs is not None:
        tensors |= {f"input.{name}": value for name, value in one.inputs.tensors().items()}
    if one.seen is not None:  # what was not observed is NaN
        tensors["states"] = one.seen.states.detach().cpu()
    return tensors


def _attributes(names: list[str], columns: torch.Tensor | None) -> dict[str, np.ndarray]:
    if not names:
        return {}
    if columns is None or columns.dim() != 2 or columns.shape[1] != len(names):
        raise ValueError(f"it names {len(names)} attributes of nodes, and does not have a column for each")
    return dict(zip(names, columns.double().numpy().T, strict=True))


def _initial(about: dict[str, Any], tensors: dict[str, torch.Tensor], prefix: str) -> InitialCondition:
    x0 = tensors[f"{prefix}x0"]
    parts = (tensors[f"{prefix}{name}"].numpy() for name in ("weights", "indices", "indptr"))
    where = tensors.get(f"{prefix}positions")
    graph = Graph(
        csr_of_parts(*parts, shape=(len(x0), len(x0))),
        nodes=about["nodes"],
        directed=about["directed"],
        positions=None if where is None else where.numpy(),
        attributes=_attributes(about.get("attributes") or [], tensors.get(f"{prefix}attributes")),
    )
    times, features, seen = tensors[f"{prefix}times"], tuple(about["features"]), None
    if (states := tensors.get(f"{prefix}states")) is not None:
        seen = Trajectory(times=times, states=states, graph=graph, mask=~states.isnan(), features=features)
    observed = tensors.get(f"{prefix}observed")
    if observed is not None and observed.shape != x0.shape:
        raise ValueError("the observed first state has another shape than the initial state")
    elsewhere = None if about.get("elsewhere") is None else str(about["elsewhere"])
    inputs = None
    if about.get("inputs") is not None:
        own = f"{prefix}input."
        inputs = Inputs.restored(about["inputs"], {k[len(own) :]: v for k, v in tensors.items() if k.startswith(own)})
        inputs.check_nodes(graph.num_nodes)
    return InitialCondition(graph, x0, about["t0"], times, features, seen, observed, elsewhere, inputs)
