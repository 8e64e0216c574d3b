"""EstimatedLaw: a known law with estimated parameters, ready to be asked, read and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ...identify import Estimates, FoundLaw, Functions, functions_of
from ...laws import Law
from ..query import Query
from .learned_law import LearnedLaw


@dataclass(frozen=True)
class EstimatedLaw(LearnedLaw):
    """A law whose form was known, with what is known of the errors of its parameters.

    ``draws`` are (draws, P + n q): P values that all nodes have in common, then n values for each of q others.

    Attributes:
        names: of both kinds.
        errors: standard errors, (P + n q,).
    """

    names: tuple[tuple[str, ...], tuple[str, ...]]
    errors: torch.Tensor

    @classmethod
    def from_estimation(cls, found: FoundLaw) -> EstimatedLaw:
        """What was estimated, as a law."""
        return cls(
            found.law,
            found.covariance,
            found.posterior_samples,
            found.initial_state_samples,
            found.evidence,
            found.states,
            found.names,
            found.errors,
        )

    def drawn(self) -> list[Law]:
        """Laws that are as likely as this one."""
        common, nodes = self.names
        laws = []
        for draw in self.draws:
            values: dict[str, Any] = dict(zip(common, draw[: len(common)].clone(), strict=True))
            values |= dict(zip(nodes, _rows(draw[len(common) :], len(nodes)), strict=True))
            laws.append(self.law.with_values(**values))
        return laws

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """The form of the law is known for all states."""

    def equations(self) -> Estimates:
        """The parameters with standard errors."""
        return Estimates(self.law, self.names, self.errors)

    def functions(self, points: int) -> Functions:
        """f and g on a grid over the states seen; parameters of nodes at their mean."""
        law, features = _uniform(self.law), self.law.features
        return functions_of(law.node, law.edge, [_uniform(one) for one in self.drawn()], self.states, points, features)

    # Files ------------------------------------------------------------------------------------------------------

    def description(self) -> dict[str, Any]:
        """What of it is not a tensor, for JSON."""
        return {"estimated": type(self.law).__qualname__, "names": [list(part) for part in self.names]}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and their errors."""
        values = {f"law.values.{name}": value.detach().cpu() for name, value in self.law.state_dict().items()}
        return {"law.errors": self.errors, **values}

    @staticmethod
    def stored(
        model: object, form: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
    ) -> tuple[Law, dict[str, Any]]:
        """The law of a file, given one of the same class, and what else this class holds.

        Raises:
            ValueError: it is of another class, or has other parameters.
        """
        if not isinstance(model, Law) or type(model).__qualname__ != form["estimated"]:
            raise ValueError(f"it holds a {form['estimated']}, but model is a {type(model).__name__}")
        prefix = "law.values."
        values = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        law = model.with_values(**{name: value for name, value in values.items() if name in model.parameter_names})
        law.load_state_dict(values)
        common, nodes = (tuple(part) for part in form["names"])
        return law, {"names": (common, nodes), "errors": tensors["law.errors"]}


def _rows(values: torch.Tensor, count: int) -> torch.Tensor:
    return values.reshape(count, -1).clone() if count else values.reshape(0, 0)


def _uniform(law: Law) -> Law:
    """With the mean of what differs between nodes."""
    kept = {name: getattr(law, name) for name in law.parameter_names}
    return law.with_values(**{name: value.mean(0).mean() for name, value in kept.items() if value.dim()})
