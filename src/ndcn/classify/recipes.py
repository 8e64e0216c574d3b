"""Recipes of a ``NodeClassifier``: presets, and what differs by field, labels and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import nn

from .._support.checks import LARGEST_SEED, check_number, check_whole, named
from ..solve import Solver
from .class_weights import check_class_weight
from .diffusion import LinearDiffusion, NoDiffusion, SignedDiffusion
from .network import ACTIVATIONS, PUBLISHED

LONGEST = 1000  # time to diffuse for: by then everything that diffusion can do has been done
FIELDS = ("auto", "diffusion", "signed", "features", "relu")
LINEAR = {"diffusion": LinearDiffusion, "signed": SignedDiffusion, "features": NoDiffusion}  # solved by a series in Phi
NORMALIZE = (True, False, "euclidean", "columns")


@dataclass(frozen=True)
class ClassifierRecipe:
    """Choices of a ``NodeClassifier`` that None leaves to the preset; described there.

    The values here were chosen on the validation nodes of Cora, Citeseer and Pubmed: docs/classification.md. ``decay_all`` says
    whether weight decay holds for all weights, or for those of the encoder only.
    """

    T: float = 8.0
    alpha: float = 0.5
    hidden: int = 64
    field: str | nn.Module = "auto"
    source: float = 0.2
    activation: str = "relu"
    solver: Solver | str | None = None
    dropout: float = 0.5
    hidden_dropout: float = 0.5
    row_dropout: float = 0.7
    passes: int = 4
    consistency: float = 2.0
    temperature: float = 0.3
    normalize: bool | str = "euclidean"
    alignment: float | None = 1.0
    average: float | None = 0.9
    members: int = 1
    similar: int = 5
    unit_weights: bool = True  # whether edges count in units of their mean weight
    epochs: int = 120
    learning_rate: float = 0.01
    weight_decay: float = 2e-3
    decay_all: bool = False


RECIPES = {
    "default": ClassifierRecipe(),
    # What the published code does, with its inaccurate solver; T and alpha are those of Cora.
    "paper": ClassifierRecipe(
        T=1.2,
        alpha=0.0,
        hidden=256,
        field="relu",
        source=0.0,
        activation="tanh",
        solver=PUBLISHED,
        dropout=0.0,
        hidden_dropout=0.0,
        row_dropout=0.0,
        passes=1,
        consistency=0.0,
        temperature=1.0,
        normalize=True,
        alignment=None,
        average=None,
        similar=0,
        unit_weights=False,
        epochs=100,
        learning_rate=0.01,
        weight_decay=0.024,
        decay_all=True,
    ),
}

# What differs for fields that are compared where the graph may not help: most nodes have labels there, and rows that are dropped would
# be missed by no neighbour. The others were chosen by benchmarks/choose_heterophily.py: see docs/classification.md.
WHERE_LABELS_ABOUND: dict[str, Any] = {
    "row_dropout": 0.0,
    "passes": 1,
    "consistency": 0.0,
    "normalize": "columns",
    "weight_decay": 5e-3,
    "members": 4,
    "similar": 0,
}
MANY = 1000  # training nodes: Film has 3,648, Texas and Wisconsin 87 and 120, to which these settings do no good
WITH_MANY_LABELS: dict[str, Any] = {"weight_decay": 5e-4, "hidden_dropout": 0.8, "source": 1.0}
# Where F has few columns (``has_few_columns``), dropping most rows and entries leaves too little to learn from in 120 epochs. Six graphs of
# 150 and 300 nodes with five measurements, 40 % labelled: 74.4 % of the others right with these, 55.8 % without (a GCN: 77.3 %); on three
# graphs that these were not chosen on, 63.1, 49.0 and 69.3 %. Few columns also say less of a node than its neighbours do, so that nothing holds
# on to X(0): 65 to 92 % with T = 8, alpha = 0.5 and a source, 75 to 99 % so on the block graphs of docs/classification.md.
WITH_FEW_COLUMNS: dict[str, Any] = {
    "T": 4.0,
    "alpha": 0.0,
    "source": 0.0,
    "row_dropout": 0.3,
    "consistency": 0.0,
    "learning_rate": 0.03,
}
# Of fields that are compared (choice.COMPARED), what differs from their own settings.
COMPARING: dict[str, dict[str, Any]] = {
    "consistent": {"passes": 4, "consistency": 2.0, "members": 1, "row_dropout": 0.5},
    "diffusion": {"T": 2.0, "alpha": 0.0, "source": 0.0},
}
NO_OTHER_EDGES = {"similar": 0}  # for fields that are not ours, or not linear
OF_FIELD: dict[str, dict[str, Any]] = {
    "signed": {"T": 2.0, "alpha": 0.0, "source": 0.0, **WHERE_LABELS_ABOUND},
    "features": WHERE_LABELS_ABOUND,
    "relu": NO_OTHER_EDGES,
}


def overridden(recipe: Any, given: Mapping[str, Any]) -> Any:
    """The recipe with those choices that were given in place of its own, or an error that says which is out of its range."""
    check_number("T", given.get("T"), f"a number > 0 and at most {LONGEST}", lambda v: 0 < v <= LONGEST)
    for name in ("learning_rate", "temperature"):
        check_number(name, given.get(name), "a number > 0", lambda v: v > 0)
    for name in ("source", "consistency", "weight_decay", "alignment"):
        check_number(name, given.get(name), "a number >= 0", lambda v: v >= 0)
    check_number("alpha", given.get("alpha"), "between 0 and 1", lambda v: 0 <= v <= 1)
    for name in ("dropout", "hidden_dropout", "row_dropout", "average"):
        check_number(name, given.get(name), "a probability in [0, 1)", lambda v: 0 <= v < 1)
    for name in ("hidden", "epochs", "passes", "members", "patience"):
        check_whole(name, given.get(name), 1, optional=True)
    check_whole("similar", given.get("similar"), 0, optional=True)
    check_whole("seed", given["seed"], 0, LARGEST_SEED)
    check_class_weight(given["class_weight"])
    return replace(recipe, **{f.name: given[f.name] for f in fields(recipe) if given.get(f.name) is not None})


def recipe_of(
    given: Mapping[str, Any],
    field: str | None = None,
    labels: int = 0,
    few_columns: bool = False,
    comparing: bool = False,
) -> ClassifierRecipe:
    """The recipe that the arguments of a ``NodeClassifier`` ask for, or an error that says what is wrong with them.

    ``field`` is the one to take for "auto"; ``labels`` says how many training nodes there are, ``few_columns`` whether F is narrow,
    ``comparing`` whether the field is one of those that are compared.
    """
    preset: ClassifierRecipe = named(RECIPES, "preset", given["preset"])
    candidate, field = field, "signed" if field == "consistent" else field
    wanted = field or (preset.field if given["field"] is None else given["field"])
    if wanted == "auto" and given["solver"] is not None:  # the only field of the three that a solver integrates
        wanted = "diffusion"
    own = OF_FIELD.get(wanted, {}) if isinstance(wanted, str) else NO_OTHER_EDGES
    if wanted in ("signed", "features") and labels >= MANY:
        own = own | WITH_MANY_LABELS
    if wanted == "diffusion" and few_columns and preset is RECIPES["default"]:
        own = own | WITH_FEW_COLUMNS
    if comparing:
        own = own | COMPARING.get(candidate or "", {})
    if candidate == "consistent" and few_columns:
        own = own | {"row_dropout": 0.0}  # 64 and 58 % of two such graphs with 0.5, 66 and 65 with 0
    recipe: ClassifierRecipe = overridden(replace(preset, **own), {**given, "field": wanted})
    if not any(recipe.normalize is known for known in NORMALIZE[:2]) and recipe.normalize not in NORMALIZE[2:]:
        raise ValueError(f'normalize must be True, False, "euclidean" or "columns", got {recipe.normalize!r}')
    named(ACTIVATIONS, "activation", recipe.activation)
    if isinstance(recipe.field, str) and recipe.field not in FIELDS:
        raise ValueError(f"unknown field {recipe.field!r}; known are {', '.join(FIELDS)}, or pass an nn.Module")
    if not isinstance(recipe.field, (str, nn.Module)):
        raise TypeError(f"field must be a name or an nn.Module, got {type(recipe.field).__name__}")
    if recipe.solver is not None and not isinstance(recipe.solver, Solver) and recipe.solver != PUBLISHED:
        raise TypeError(f'solver must be an ndcn.Solver, say Solver("dopri5"), or "published", got {recipe.solver!r}')
    linear = recipe.field in ("auto", *LINEAR)
    if not linear and given["source"] not in (None, 0):
        raise ValueError('source belongs to field="diffusion"; drop it, or put it into the field')
    if linear and recipe.field != "diffusion" and given["solver"] is not None:
        raise ValueError(f'field="{recipe.field}" is solved by its series: drop the solver, or use field="diffusion"')
    if recipe.members > 1 and not (linear and given["solver"] is None):
        raise ValueError("several members are trained side by side where the solution is a series: drop members")
    if linear and recipe.source and given["solver"] is not None:
        raise ValueError("diffusion with a source is solved by its series: drop the solver, or use source=0")
    if given["learn_T"] and not (linear and given["solver"] is None):
        raise ValueError('learn_T needs field="diffusion" without a solver: others are not differentiated by T')
    if given["learn_alpha"] and not isinstance(recipe.field, str):
        raise ValueError("learn_alpha belongs to the fields diffusion and relu; your module has its own parameters")
    if linear and recipe.solver == PUBLISHED and given["solver"] is None:  # preset="paper", field="diffusion"
        recipe = replace(recipe, solver=None)
    if not linear and recipe.solver is None:
        recipe = replace(recipe, solver=Solver("dopri5"))
    return recipe
