"""Corrected: a known law and what was learned beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..graph import Graph
from .closed_form import ClosedForm, Equation
from .descriptions import described, law_from
from .free_form import FreeForm, FreeModel
from .law import Law


class Corrected(Law):
    """dx_i/dt = known(x)_i + correction(x)_i.

    Args:
        known: the law that was known.
        correction: what was learned beside it.

    Example:
        >>> import ndcn, torch
        >>> decay = ClosedForm.from_description({"features": ["x"], "terms": [{"formula": "x", "coupling": False,
        ...     "output": "x", "values": [], "coefficient": -0.5}]})
        >>> law = Corrected(ndcn.laws.Heat(), decay)
        >>> law(torch.tensor(0.0), torch.tensor([[1.0], [0.0]]), ndcn.Graph.from_edges([(0, 1)]))
        tensor([[-1.5000],
                [ 1.0000]])
    """

    known: Law
    correction: ClosedForm | FreeForm

    def __init__(self, known: Law, correction: ClosedForm | FreeForm) -> None:
        super().__init__()
        self.known = known
        self.correction = correction
        self.features = correction.features

    def with_parameters(self, parameters: torch.Tensor) -> Corrected:
        """The same known law with other parameters of the correction, (P,)."""
        return Corrected(self.known, self.correction.with_parameters(parameters))

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i) of both."""
        return self.known.node(x) + self.correction.node(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j) of both."""
        return self.known.edge(x_i, x_j) + self.correction.edge(x_i, x_j)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """Both, each in the way it computes."""
        rate: torch.Tensor = self.known(t, x, graph) + self.correction(t, x, graph)
        return rate

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """That of the known law."""
        return self.known.initial_state(graph, seed=seed, dtype=dtype)

    def description(self) -> dict[str, Any]:
        """Both in plain lists, texts and numbers, for JSON.

        Raises:
            ValueError: the known law has no name by which it could be made again.
        """
        return {"known": described(self.known), "correction": self.correction.description()}

    @classmethod
    def from_description(cls, about: Mapping[str, Any]) -> Corrected:
        """The law that ``description`` describes.

        Raises:
            ValueError: it describes none.
        """
        form = about["correction"]
        free = isinstance(form, Mapping) and "knots" in form
        return cls(law_from(about["known"]), (FreeForm if free else ClosedForm).from_description(form))


def law_of(model: Equation | FreeModel, features: tuple[str, ...], known: Law | None = None) -> Law:
    """A fitted model as a law; with a known law, as its correction."""
    found: ClosedForm | FreeForm
    if isinstance(model, Equation):
        found = ClosedForm(model, features)
    else:
        found = FreeForm(model.basis, model.coefficients, features)
    return found if known is None else Corrected(known, found)
