"""LearnedNodeLaw: a law that was found, some of whose numbers vary among nodes, ready to be asked, read and stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch

from ...identify import Estimates, FoundLaw, Functions, functions_of, groups_of
from ...laws import ClosedForm, Equations, Law, NodeClosedForm, NodeEquations, NodeFreeForm, NodeLaw
from ..query import Query
from .found_network import NetworkSamples
from .learned_law import LearnedLaw

if TYPE_CHECKING:
    import pandas as pd

ERROR = " error"  # follows the name of a column of values in the name of that of their standard errors


class LearnedNodeLaw(LearnedLaw):
    """A formula some of whose numbers have a value at each node, with what is known of their errors."""

    @property
    def _law(self) -> NodeClosedForm | NodeFreeForm:
        return cast(NodeClosedForm | NodeFreeForm, self.law)

    def posterior_samples(self) -> list[Law]:
        """The law with numbers drawn from their posterior; in each, nodes that were never seen have other values."""
        return [self._law.with_parameters(values, seed) for seed, values in enumerate(self.found.posterior_samples)]

    def _side_by_side(self) -> Law:
        """All posterior samples as one law."""
        return self._law.several(cast(list[Any], self.posterior_samples()))

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """A formula is known for all states."""

    def equations(self) -> Equations | Estimates:
        """The equation: numbers in common with standard errors, of others the mean and the spread among nodes."""
        law = cast(NodeClosedForm, self.law)
        return NodeEquations(law.equation, self._names, self.found.covariance, varying=law.varying, law=law)

    def functions(self, points: int) -> Functions:
        """f and g of a node with the means, on a grid over the states seen."""
        mean = cast(NodeClosedForm, self.law).mean
        count = len(mean.equation.parameters)
        samples: list[ClosedForm] = [mean.with_parameters(values[:count]) for values in self.found.posterior_samples]
        return functions_of(mean.node, mean.edge, samples, self.found.states, points, self._names)

    def node_values(self) -> pd.DataFrame:
        """Values of nodes with standard errors and, where nodes fall into groups, their group."""
        table = self._law.table()
        count = len(self.found.covariance)
        errors = self.found.errors[count:].reshape(len(self._law.labels), -1).T.numpy()
        groups = groups_of(table.to_numpy(), errors)
        for k, label in enumerate(self._law.labels):
            table[label + ERROR] = errors[:, k]
        if groups is not None:
            table["group"] = groups.members
            table["group probability"] = groups.probabilities
        return table

    def with_node_values(self, table: Any) -> LearnedNodeLaw:
        """The same with other values of nodes, which have no errors."""
        law = self._law.with_node_values(table)
        found, count = self.found, len(self.found.covariance)
        values = law.node_values.T.reshape(-1)
        samples = torch.cat(
            [found.posterior_samples[:, :count], values.expand(len(found.posterior_samples), -1)], dim=1
        )
        errors = torch.cat([found.errors[:count], torch.zeros_like(values)])
        return type(self)(replace(found, law=law, posterior_samples=samples, errors=errors), self.networks)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Errors of values of nodes beside what every law has."""
        return {**super().tensors(), "law.errors": self.found.errors}

    def description(self) -> dict[str, object]:
        """What of it is not a tensor, for JSON."""
        return self._law.description()


class LearnedNodeFreeLaw(LearnedNodeLaw):
    """Splines of one shape, with offsets and scales of nodes."""

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """Splines know nothing of states that were not seen."""
        LearnedLaw._warn(self, states, query)

    def equations(self) -> Equations | Estimates:
        """There is none: ValueError."""
        return LearnedLaw.equations(self)

    def functions(self, points: int) -> Functions:
        """f and g of a node with the means, on a grid over the states seen."""
        mean = cast(NodeFreeForm, self.law).mean
        count = mean.coefficients.numel()
        samples = [mean.with_parameters(values[:count]) for values in self.found.posterior_samples]
        return functions_of(mean.node, mean.edge, samples, self.found.states, points, self._names)


def learned_law(found: FoundLaw, networks: NetworkSamples | None = None) -> LearnedLaw:
    """What was found, by its kind."""
    if isinstance(found.law, NodeFreeForm):
        return LearnedNodeFreeLaw(found, networks)
    kind = LearnedNodeLaw if isinstance(found.law, NodeLaw) else LearnedLaw
    return kind(found, networks)
