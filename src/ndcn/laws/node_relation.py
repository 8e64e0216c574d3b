"""Relation: how a number of nodes follows an attribute of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.checks import is_real
from .._support.wording import some
from ..graph import Graph

_KEYS = ("number", "attribute", "log", "slope", "centre", "values")


@dataclass(frozen=True)
class Relation:
    """b_i = mean + slope (f(a_i) - centre) + rest_i, with f(a) = a or log(a).

    Args:
        number: which of the numbers that vary, 0 to q - 1.
        attribute: name of a.
        slope, centre: as above.
        values: a of the nodes that the law was found on, NaN where it is not known, (n,).
        log: whether f is the logarithm.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(4).with_attributes({"population": [1.0, 2.0, 3.0, 4.0]})
        >>> Relation(0, "population", 0.8, 2.0, (1.0, 3.0)).shift(graph)
        array([-0.8,  0. ,  0.8,  1.6])
    """

    number: int
    attribute: str
    slope: float
    centre: float
    values: tuple[float, ...]
    log: bool = False

    def shift(self, graph: Graph | None = None) -> np.ndarray:
        """slope (f(a_i) - centre) on a graph, or of the nodes that the law was found on; NaN where a is not known."""
        known = graph is None or self.attribute in graph.attributes or self.attribute == "degree"
        a = np.array(self.values) if graph is None else graph.attribute(self.attribute) if known else None
        if a is None:
            return np.full(graph.num_nodes if graph is not None else 0, np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            f = np.log(a) if self.log else a
        return self.slope * np.where(np.isfinite(f), f - self.centre, np.nan)

    def refuse(self, graph: Graph, without: np.ndarray, label: str) -> None:
        """Say that some nodes of a graph have no value."""
        if self.attribute not in graph.attributes and self.attribute != "degree":
            graph.attribute(self.attribute)
        what = "is not known, or has no logarithm," if self.log else "is not known"
        raise ValueError(
            f"{label} follows {self.attribute!r}, which {what} of {some([graph.nodes[k] for k in without])}: give it by "
            "graph.with_attributes({...}), or values of their own by reg.with_node_values(table)"
        )

    def with_slope(self, slope: float) -> Relation:
        """The same with another slope."""
        return replace(self, slope=float(slope))

    def description(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = [None if a != a else a for a in self.values]
        return {**{key: getattr(self, key) for key in _KEYS}, "values": plain}

    @staticmethod
    def from_description(plain: Any, nodes: int, numbers: int) -> Relation:
        """Again; nothing in it is run.

        Raises:
            ValueError: it is no such description.
        """
        if not isinstance(plain, Mapping) or set(plain) != set(_KEYS):
            raise ValueError(f"a relation of values of nodes has {', '.join(_KEYS)}")
        known = plain["values"]
        fits = isinstance(known, list) and len(known) == nodes and all(a is None or is_real(a) for a in known)
        fits = fits and plain["number"] in range(numbers) and isinstance(plain["attribute"], str)
        if not fits or not all(is_real(plain[key]) for key in ("slope", "centre")) or plain["log"] not in (True, False):
            raise ValueError("a relation of values of nodes does not belong to them")
        values = tuple(float("nan") if a is None else float(a) for a in known)
        numbers_of = float(plain["slope"]), float(plain["centre"])
        return Relation(int(plain["number"]), plain["attribute"], *numbers_of, values, bool(plain["log"]))


def intercept(relations: Sequence[Relation], number: int, mean: float) -> float:
    """The value at f(a) = 0, of the mean over nodes."""
    return mean - sum(one.slope * one.centre for one in relations if one.number == number)
