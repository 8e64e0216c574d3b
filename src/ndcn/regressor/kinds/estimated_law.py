"""EstimatedLaw: a known law with estimated parameters, ready to be asked, read and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...identify import Estimates, Functions, functions_of
from ...laws import Law
from ..query import Query
from .learned_law import LearnedLaw

VALUES = "law.values."  # names of the law's own tensors in files


class EstimatedLaw(LearnedLaw):
    """A law whose form was known, with what is known of the errors of its parameters."""

    def posterior_samples(self) -> list[Law]:
        """The law with parameters drawn from their posterior: values in common, then n values for each of the others."""
        common, nodes = self.found.names
        laws = []
        for sample in self.found.posterior_samples:
            values: dict[str, Any] = dict(zip(common, sample[: len(common)].clone(), strict=True))
            if nodes:
                values |= dict(zip(nodes, sample[len(common) :].reshape(len(nodes), -1).clone(), strict=True))
            laws.append(self.law.with_values(**values))
        return laws

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """The form of the law is known for all states."""

    def equations(self) -> Estimates:
        """The parameters with standard errors."""
        return Estimates(self.law, self.found.names, self.found.errors)

    def functions(self, points: int) -> Functions:
        """f and g on a grid over the states seen; parameters of nodes at their mean."""
        law = _uniform(self.law)
        samples = [_uniform(one) for one in self.posterior_samples()]
        return functions_of(law.node, law.edge, samples, self.found.states, points, law.features)

    # Files ------------------------------------------------------------------------------------------------------

    def description(self) -> dict[str, Any]:
        """What of it is not a tensor, for JSON."""
        return {"estimated": type(self.law).__qualname__, "names": [list(part) for part in self.found.names]}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and their errors beside what every law has."""
        values = {f"{VALUES}{name}": value.detach().cpu() for name, value in self.law.state_dict().items()}
        return {**super().tensors(), "law.errors": self.found.errors, **values}


def stored_values(model: object, form: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Law:
    """The law of a file, given one of the same class.

    Raises:
        ValueError: it is of another class, or has other parameters.
    """
    if not isinstance(model, Law) or type(model).__qualname__ != form["estimated"]:
        raise ValueError(f"it holds a {form['estimated']}, but model is a {type(model).__name__}")
    values = {name.removeprefix(VALUES): value for name, value in tensors.items() if name.startswith(VALUES)}
    law = model.with_values(**{name: value for name, value in values.items() if name in model.parameter_names})
    law.load_state_dict(values)
    return law


def _uniform(law: Law) -> Law:
    """With the mean of what differs between nodes."""
    kept = {name: getattr(law, name) for name in law.parameter_names}
    return law.with_values(**{name: value.mean(0).mean() for name, value in kept.items() if value.dim()})
