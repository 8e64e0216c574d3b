"""The content of the page of a node classifier, as one object that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._support.registries import CLASS_SECTIONS
from ..classify import SPLITS, explanations
from .encode import pack_exact, pack_integers
from .gather import drawn
from .section import ClassContext

if TYPE_CHECKING:
    from ..classify import Explanations, NodeClassifier

MOST_LIKELY = 5  # classes of a node on its card
CONTRIBUTORS = 6  # nodes that are named as where its class came from
# With so many nodes at most the page explains each: g(Phi) has n rows of n numbers, computed a block of rows at a time.
MOST_EXPLAINED = 3000
DECIMALS = 4  # of probabilities


def gather_classes(classifier: NodeClassifier, mask: Any = None, model_name: str = "model.ndcn") -> dict[str, Any]:
    """Classes and their probabilities at each node, where they came from, and the part of each section.

    Args:
        classifier: fitted.
        mask: the nodes that it is judged by; by default those held out.
        model_name: name of the model in the commands that the page gives.
    """
    judged, notes = _judged(classifier, mask)
    p = classifier.predict_proba()
    graph, about_links = drawn(classifier.graph_)
    likeliest = p.sort(dim=1, descending=True, stable=True)
    shown = min(MOST_LIKELY, p.shape[1])
    right = p.argmax(dim=1)[judged] == classifier.codes_[judged]
    why, not_why = _why(classifier)
    model, found = classifier.model_, classifier.calibration(judged) if judged.any() else None
    content: dict[str, Any] = {
        "title": f"Classes of {graph['n']:,} node{'s' * (graph['n'] != 1)}",
        "graph": graph,
        "times": [],  # the page of dynamics has some
        "features": [],
        "kinds": "",
        "states": {},
        "classes": {
            "names": [str(name) for name in classifier.classes_.tolist()],
            "label": pack_integers(classifier.codes_.numpy() + 1),  # 0 is unknown
            "split": pack_integers(classifier.split_.numpy()),
            "splits": list(SPLITS),
            "judged": pack_integers(judged.numpy().astype(np.int64)),
            "likeliest": pack_integers(likeliest.indices[:, :shown].numpy().reshape(-1)),
            "probabilities": pack_exact(np.round(likeliest.values[:, :shown].double().numpy(), DECIMALS).reshape(-1)),
            "shown": shown,
        },
        "why": why,
        "explained": model.linear,  # by `ndcn explain`
        "model_name": model_name,
        "facts": {
            "accuracy": right.double().mean().item() if len(right) else None,
            "judged": len(right),
            "ece": None if found is None else found.ece,
            "temperature": classifier.probability_temperature_,
            "T": model.T if model.diffuses else None,
            "trained": int((classifier.split_ == SPLITS.index("train")).sum()),
        },
        "notes": [*_graph_helps(classifier), *notes, *about_links, *not_why],
    }
    context = ClassContext(classifier, judged, p, model_name)
    for name in CLASS_SECTIONS:
        if name in content:
            raise ValueError(f"a section cannot be called {name!r}: the page has a part of that name")
        content[name] = CLASS_SECTIONS[name].part(context)
    return content


def _graph_helps(classifier: NodeClassifier) -> list[str]:
    """What was found about the graph, where it was asked: whether it helps, and which field was taken."""
    return [] if classifier.choice_ is None else [str(classifier.choice_)]


def _judged(classifier: NodeClassifier, mask: Any) -> tuple[torch.Tensor, list[str]]:
    if mask is not None:
        classifier.calibration(mask)  # says what is wrong with the mask
        return torch.as_tensor(mask).cpu(), []
    try:
        return classifier.held_out(), []
    except ValueError as error:
        reason = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return torch.zeros(classifier.graph_.num_nodes, dtype=torch.bool), [reason]


def _why(classifier: NodeClassifier) -> tuple[dict[str, Any] | None, list[str]]:
    """The nodes that count most for each, packed; or why there are none."""
    n = classifier.graph_.num_nodes
    if not classifier.model_.linear:
        return None, ["The field is not linear: where a class came from is no sum over nodes, and is not shown."]
    if n > MOST_EXPLAINED:
        return None, []
    found: Explanations = explanations(classifier, min(CONTRIBUTORS, n))
    packed = {
        "nodes": pack_integers(found.nodes.reshape(-1)),
        "contributions": pack_exact(np.round(found.contributions, DECIMALS).reshape(-1)),
        "log_odds": pack_exact(np.round(found.log_odds, DECIMALS)),
        "bias": pack_exact(np.round(found.bias, DECIMALS)),
    }
    return {**packed, "shown": found.nodes.shape[1]}, []
