"""The models that go by a name: how each is built, which choices do not concern it, and how it is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from .. import neural
from .._support.checks import named
from ..data import checked_times, common_grid
from ..forecast import Auto
from ..graph import Operator, operators
from ..identify import Interaction
from ..neural import Activation
from ..solve import Field, Solver
from ..training import RECIPES, RESIDUAL_GNN, TEMPORAL_GNN, Recipe, Units
from .fitting import Start

ACTIVATIONS: dict[str, Activation] = {"relu": torch.relu, "tanh": torch.tanh, "softplus": nn.functional.softplus}
RAW = Recipe(epochs=1, learning_rate=1.0, schedule="constant", weight_decay=0.0, rescale=False)  # nothing is trained
HIDDEN = 20  # of NDCN and its kin, and what a ready module is taken to have

OF_FIELDS = ("knots", "solver")
OF_TRAINING = (
    "objective",
    "epochs",
    "learning_rate",
    "weight_decay",
    "schedule",
    "clip_norm",
    "validation",
    "patience",
)


@dataclass(frozen=True)
class Parts:
    """All that a named model may be built from."""

    features: int
    nodes: int
    hidden: int
    operator: Operator
    activation: Activation
    knots: list[float] | None
    solver: Solver
    step: float
    layers: int


@dataclass(frozen=True)
class NamedModel:
    """One of them.

    Attributes:
        build: makes it of its parts.
        hidden: the width of its hidden state, if none is asked for.
        ignores: arguments of ``DynamicsRegressor`` that have no effect on it, and are refused with it.
        recipes: its presets.
        equal_steps: whether it goes from one snapshot to the next and needs them equally spaced.
        law: of a law that is identified rather than trained, its form (see ``Interaction``).
    """

    build: Callable[[Parts], nn.Module]
    hidden: int = HIDDEN
    ignores: tuple[str, ...] = ()
    recipes: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)
    equal_steps: bool = False
    law: str | None = None


def _ndcn(p: Parts) -> nn.Module:
    return neural.ndcn(
        p.features,
        hidden=p.hidden,
        operator=p.operator,
        activation=p.activation,
        knots=p.knots,
        solver=p.solver,
    )


def _no_encode(p: Parts) -> nn.Module:
    return neural.no_encode(p.features, operator=p.operator, activation=p.activation, knots=p.knots, solver=p.solver)


def _no_graph(p: Parts) -> nn.Module:
    return neural.no_graph(p.features, hidden=p.hidden, activation=p.activation, solver=p.solver)


def _no_control(p: Parts) -> nn.Module:
    return neural.no_control(p.features, hidden=p.hidden, operator=p.operator, activation=p.activation, solver=p.solver)


def _residual_gnn(p: Parts) -> nn.Module:
    return neural.ResidualGNN(
        p.features, hidden=p.hidden, operator=p.operator, activation=p.activation, step=p.step, layers=p.layers
    )


def _temporal_gnn(cell: str) -> NamedModel:
    return NamedModel(
        lambda p: neural.TemporalGNN(p.nodes, p.features, cell=cell, hidden=p.hidden, step=p.step),
        hidden=10,
        ignores=("operator", "activation", *OF_FIELDS),
        recipes=TEMPORAL_GNN,
        equal_steps=True,
    )


def _curve(kind: type[neural.Persistence | neural.Linear | neural.Spline]) -> NamedModel:
    ignores = ("preset", "hidden", "operator", "activation", *OF_FIELDS, *OF_TRAINING, "ensemble", "jobs")
    return NamedModel(lambda p: kind(), hidden=1, ignores=ignores, recipes={"default": RAW})


def _law(form: str) -> NamedModel:
    ignores = ("preset", "hidden", "operator", "activation", *OF_FIELDS, *OF_TRAINING, "ensemble", "jobs")
    return NamedModel(
        _found_by_fit, hidden=1, ignores=(*ignores, "device", "dtype"), recipes={"default": RAW}, law=form
    )


def _found_by_fit(p: Parts) -> nn.Module:
    """Only a damaged file asks for a law to be built."""
    raise ValueError("a law is found by fit, and there is none")


def _chosen_by_fit(p: Parts) -> nn.Module:
    """Only a damaged file asks for a forecast to be built."""
    raise ValueError("a forecast is chosen by fit, and there is none")


NAMED: dict[str, NamedModel] = {
    "ndcn": NamedModel(_ndcn),
    "no_encode": NamedModel(_no_encode),
    "no_graph": NamedModel(_no_graph),
    "no_control": NamedModel(_no_control),
    "residual_gnn": NamedModel(_residual_gnn, ignores=OF_FIELDS, recipes=RESIDUAL_GNN, equal_steps=True),
    "rnn_gnn": _temporal_gnn("rnn"),
    "gru_gnn": _temporal_gnn("gru"),
    "lstm_gnn": _temporal_gnn("lstm"),
    "persistence": _curve(neural.Persistence),
    "linear": _curve(neural.Linear),
    "spline": _curve(neural.Spline),
    "interaction": _law("auto"),
    "closed_form": _law("closed"),
    "free_form": _law("free"),
    "auto": replace(_law("auto"), build=_chosen_by_fit, law=None),
}


def width_of(model: str | nn.Module | Interaction | Auto, hidden: int | None) -> int:
    """Features of the hidden state of a model: those asked for, or its own."""
    if hidden is not None:
        return hidden
    if isinstance(model, (Interaction, Auto)):
        return 1
    return NAMED[model].hidden if isinstance(model, str) else HIDDEN


def interaction_of(model: object) -> Interaction | None:
    """The law to be identified that a model stands for, if it does."""
    if isinstance(model, str) and model in NAMED and NAMED[model].law is not None:
        return Interaction(NAMED[model].law or "auto")
    return model if isinstance(model, Interaction) else None


def build(
    given: Mapping[str, Any], recipe: Recipe, units: Units, starts: Sequence[Start], bytes_each: int
) -> nn.Module:
    """The module that the arguments of a ``DynamicsRegressor`` ask for, with its first weights.

    A ready module is copied, and a field becomes a ``GraphODE`` without encoder and decoder.
    """
    model, solver = given["model"], given["solver"]
    if isinstance(model, nn.Module):
        ready = copy.deepcopy(model)
        return neural.GraphODE(nn.Identity(), ready, nn.Identity(), solver) if isinstance(ready, Field) else ready
    if isinstance(model, (Interaction, Auto)):
        model = "auto" if isinstance(model, Auto) else "interaction"
    operator = named(operators.NAMED, "operator", given["operator"])
    activation = named(ACTIVATIONS, "activation", given["activation"])
    kind, nodes, hidden = NAMED[model], max(s.graph.num_nodes for s in starts), width_of(model, given["hidden"])
    knots = given["knots"]
    if knots is not None and model not in ("ndcn", "no_encode"):
        raise ValueError(f"{model} has no weights W(t) that could change with time: drop knots")
    parts = Parts(
        features=starts[0].x0.shape[1],
        nodes=nodes,
        hidden=hidden,
        operator=operator,
        activation=activation,
        knots=None if knots is None else units.time(checked_times(knots, ordered=True)).tolist(),
        solver=solver or recipe.solver(nodes * hidden * bytes_each),
        step=common_grid([s.times for s in starts], model).step * units.rate if kind.equal_steps else 1.0,
        layers=max(len(s.times) for s in starts),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(given["seed"])
        return kind.build(parts)
