"""Trained classifiers in one file: safetensors for numbers, JSON for settings, nothing that runs code when read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

from .._support.checks import check_number, dtype_name, dtype_named
from .._support.container import read_model, write_model
from .._support.stored_shapes import check_sizes
from ..data import plain_labels
from ..graph import Graph, csr_of_parts
from ..solve import Solver
from ..training import History
from .choice import choice_of
from .classifier import NodeClassifier
from .node_data import SPLITS
from .recipes import LINEAR, ClassifierRecipe, recipe_of
from .training import build

KIND = "NodeClassifier"
# What a trained network is built and fed by.
RECIPE = ("T", "alpha", "hidden", "source", "activation", "normalize", "members", "similar", "unit_weights")
# What None meant in files of 0.2 and before, which do not say: the default recipe had these values.
EARLIER = {"T": 8.0, "alpha": 0.5, "hidden": 64, "source": 0.2, "normalize": True}


def save(classifier: NodeClassifier, path: Path) -> None:
    """See ``NodeClassifier.save``."""
    graph, history = classifier.graph_, classifier.history_
    tensors = {f"model.{name}": value.detach().cpu() for name, value in classifier.model_.state_dict().items()}
    matrices = {"graph": graph.to_scipy(), "features": classifier.features_}
    if classifier.flow_graph_ is not graph:
        matrices["flow"] = classifier.flow_graph_.to_scipy()
    for name, matrix in matrices.items():
        tensors[f"{name}.indptr"] = torch.from_numpy(matrix.indptr.astype(np.int64))
        tensors[f"{name}.indices"] = torch.from_numpy(matrix.indices.astype(np.int64))
        tensors[f"{name}.values"] = torch.from_numpy(matrix.data)
    tensors["labels"], tensors["split"] = classifier.codes_, classifier.split_
    tensors["loss"] = torch.tensor(history.loss, dtype=torch.float64)
    tensors["validation"] = torch.tensor(history.validation, dtype=torch.float64).reshape(-1, 2)
    about = {
        "settings": _settings(classifier),
        "recipe": _recipe(classifier),
        "choice": None if classifier.choice_ is None else asdict(classifier.choice_),
        "classes": classifier.classes_.tolist(),
        "temperature": classifier.probability_temperature_,
        "shape": [int(size) for size in classifier.features_.shape],
        "directed": graph.directed,
        "nodes": plain_labels(graph),
        "history": {"stopped": history.stopped, "seconds": history.seconds},
    }
    write_model(path, KIND, about, tensors)


def load(path: Path, field: nn.Module | None = None) -> NodeClassifier:
    """See ``NodeClassifier.load``; ``ndcn.load`` calls it for files whose kind is "NodeClassifier"."""
    about, tensors = read_model(path, KIND)
    settings = about.get("settings")
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is damaged: it holds no settings")
    own = settings.get("field") == {"own": True}
    if own and field is None:
        raise ValueError(
            f"{path} was trained with a field of your own; pass one of the same kind: NodeClassifier.load(path, field=...)"
        )
    if not own and field is not None:
        raise ValueError(f"{path} needs no field: it is rebuilt from the file; pass none")
    try:
        if own:
            settings["field"] = field
        if isinstance(settings.get("class_weight"), list):  # of pairs, since classes may be numbers
            settings["class_weight"] = dict(settings["class_weight"])
        if isinstance(settings["solver"], dict):
            settings["solver"] = Solver(**settings["solver"])
        classifier = NodeClassifier(**settings)
        n, d = about["shape"]
        weights = {name[len("model.") :]: value for name, value in tensors.items() if name.startswith("model.")}
        classifier.choice_ = choice_of(about.get("choice"))
        recipe, classes = _kept_recipe(classifier, about), len(about["classes"])
        learned = (classifier.learn_T, classifier.learn_alpha, classifier.seed)
        check_sizes(lambda: build(recipe, d, classes, *learned), weights)
        classifier.recipe_, classifier.model_ = recipe, classifier._build(recipe, d, classes)
        classifier.model_.load_state_dict(weights)
        validation = [(int(epoch), value) for epoch, value in tensors["validation"].tolist()]
        classifier.history_ = History(tensors["loss"].tolist(), validation, **about["history"])
        classifier.classes_ = np.array(about["classes"])
        named = {"nodes": about["nodes"], "directed": about["directed"]}
        classifier.graph_ = classifier.flow_graph_ = Graph(_matrix(tensors, "graph", (n, n)), **named)
        if "flow.values" in tensors:
            classifier.flow_graph_ = Graph(_matrix(tensors, "flow", (n, n)), **named)
        classifier.features_ = _matrix(tensors, "features", (n, d))
        classifier.codes_ = tensors["labels"]
        classifier.split_ = _split(tensors, n)
        check_number("temperature", about.get("temperature"), "a number > 0", lambda v: v > 0)
        classifier.probability_temperature_ = about.get("temperature")  # files of 0.2 have none
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it has no entry {error}") from error
    except (IndexError, TypeError, AttributeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{path} does not fit: {error}") from error
    return classifier


def _split(tensors: dict[str, torch.Tensor], n: int) -> torch.Tensor:
    """What each node was for; nothing in files of 0.2, which do not say."""
    found = tensors.get("split", torch.zeros(n, dtype=torch.int64))
    if (
        found.dtype != torch.int64
        or tuple(found.shape) != (n,)
        or not bool(((found >= 0) & (found < len(SPLITS))).all())
    ):
        raise ValueError(f"split must say what each of {n} nodes was for, from 0 to {len(SPLITS) - 1}")
    return found


def _recipe(classifier: NodeClassifier) -> dict[str, Any]:
    """The values that the network was trained with, whatever the defaults will be when it is read."""
    recipe = classifier.recipe_
    field = recipe.field if isinstance(recipe.field, str) else None
    return {"field": field, **{name: getattr(recipe, name) for name in RECIPE}}


def _kept_recipe(classifier: NodeClassifier, about: dict[str, Any]) -> ClassifierRecipe:
    """The recipe of a file; of an earlier one, that of its time."""
    given = classifier.get_params(deep=False)
    kept = about.get("recipe")
    if kept is None:
        kept = {**EARLIER, "field": "diffusion"} if classifier.preset == "default" else {}
        kept |= {name: given[name] for name in kept if given[name] is not None}
    one = {"members": 1, "similar": 0, "unit_weights": False}  # what files had that do not say
    kept = one | {name: value for name, value in kept.items() if value is not None}
    if kept.get("field", given["field"]) not in LINEAR:
        kept.pop("source", None)  # belongs to the linear fields
    return recipe_of({**given, **kept})


def _settings(classifier: NodeClassifier) -> dict[str, Any]:
    settings = classifier.get_params(deep=False)
    if isinstance(settings["solver"], Solver):
        settings["solver"] = asdict(settings["solver"])
    if isinstance(settings["class_weight"], Mapping):
        given = settings["class_weight"].items()
        settings["class_weight"] = [
            [name.item() if isinstance(name, np.generic) else name, float(weight)] for name, weight in given
        ]
    if isinstance(settings["field"], nn.Module):
        settings["field"] = {"own": True}
    settings["device"], settings["dtype"] = str(settings["device"]), dtype_name(dtype_named(settings["dtype"]))
    settings["progress"] = None
    del settings["checkpoint"]  # where training was kept on the machine that trained
    return settings


def _matrix(tensors: dict[str, torch.Tensor], name: str, shape: tuple[int, int]) -> sparse.csr_array:
    return csr_of_parts(*(tensors[f"{name}.{part}"].numpy() for part in ("values", "indices", "indptr")), shape=shape)
