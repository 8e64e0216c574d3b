"""Numbers of nodes that enter a formula squared alone: their sign is no part of the law, and all are told as positive."""

from __future__ import annotations

import re

import torch

from .node_fit import NodeFit, fit_nodes_along


def with_positive_squares(fitted: NodeFit) -> NodeFit:
    """The same fit with |K_i| where K stands only as K^2 in its term: nodes that a step took through 0 came out below it."""
    model = fitted.model
    place, squared = len(model.equation.terms), []
    for term in model.equation.terms:
        for name in term.formula.parameters:
            if place in model.varying and only_squared(name, term.formula.text):
                squared.append(place)
            place += 1
    parameters, deviations = model.parameters.clone(), fitted.deviations.clone()
    for place in squared:
        column = model.varying.index(place)
        values = (parameters[place] + deviations[:, column]).abs()
        parameters[place] = values.mean()
        deviations[:, column] = values - values.mean()
    if torch.equal(deviations, fitted.deviations) or not squared:
        return fitted
    spread = deviations.std(dim=0).numpy()
    again = fit_nodes_along(model.with_parameters(parameters), deviations, fitted.problems, spread, iterations=3)
    return fitted if again is None or again.score > fitted.score else again


def only_squared(name: str, text: str) -> bool:
    """Whether a parameter stands in a formula as its square alone.

    Example:
        >>> only_squared("K", "x_j^2/(K^2 + x_j^2)"), only_squared("K", "x_j/(K + x_j)")
        (True, False)
    """
    every = re.findall(rf"\b{name}\b(\^2(?![\d.]))?", text)
    return bool(every) and all(every)
