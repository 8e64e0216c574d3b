"""Corrected: a known law and what was learned beside it; known laws as names and numbers, for files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from .._support.registries import LAWS as NAMED
from ..graph import Graph
from .closed_form import ClosedForm, Equation
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

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
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


def described(law: Law) -> dict[str, Any]:
    """The name and parameters of a law that comes with ndcn, in plain texts and numbers; ``law_from`` reads them.

    Raises:
        ValueError: it is a law of one's own, or one of its parameters is unknown.

    Example:
        >>> import ndcn
        >>> described(ndcn.laws.Heat(0.5))
        {'name': 'heat', 'parameters': {'k': 0.5}}
    """
    name = next((name for name, kind in NAMED.items() if type(law) is kind), None)
    own = name is None or any(not law._keeps(function, type(law)) for function in ("node", "edge"))
    if own or law.unknown:
        what = "has unknown parameters" if law.unknown else "is a law of your own"
        raise ValueError(
            f"{type(law).__name__} {what}, which a file without code cannot hold: those with numbers of {', '.join(NAMED)} can be kept. Keep the "
            "correction alone, reg.law_.correction.description(), as JSON, and add your law to it when you read it"
        )
    return {"name": name, "parameters": {key: getattr(law, key).tolist() for key in law.parameter_names}}


def law_from(about: Any) -> Law:
    """The law that ``described`` described.

    Raises:
        ValueError: it describes none.

    Example:
        >>> law_from({"name": "heat", "parameters": {"k": 0.5}})
        Heat(k=0.5)
    """
    if not isinstance(about, Mapping) or set(about) != {"name", "parameters"}:
        raise ValueError(f"a description of a known law has name, parameters; got {str(about)[:80]}")
    name = about["name"]
    values = about["parameters"]
    if not isinstance(name, str) or name not in NAMED:
        raise ValueError(f"unknown law {str(name)[:40]!r}; known are {', '.join(NAMED)}")
    names = NAMED[name]().parameter_names
    if not isinstance(values, Mapping) or set(values) != set(names):
        raise ValueError(f"{name} has the parameters {', '.join(names)}; got {str(values)[:80]}")
    return NAMED[name](**{key: _numbers(f"{name}: {key}", value) for key, value in values.items()})


def _numbers(what: str, value: Any) -> torch.Tensor:
    try:
        numbers = torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        numbers = torch.tensor(math.nan)
    if isinstance(value, (bool, str)) or not numbers.isfinite().all():
        raise ValueError(f"{what} must be a number or a list of numbers, got {str(value)[:40]}")
    return numbers
