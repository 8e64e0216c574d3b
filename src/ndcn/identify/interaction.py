"""Interaction: which law is to be found, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._support.checks import check_number
from ..laws import Law


@dataclass(frozen=True)
class Interaction:
    """dx_i/dt = known(x)_i + f(x_i) + sum_j A_ij g(x_i, x_j), with f and g to be found: a model for ``DynamicsRegressor``.

    Args:
        form: "closed" looks for formulas from a library, "free" for smooth functions; "auto" takes the closed form if it
            explains the data to the level of their noise, else the free one.
        terms: formulas of your own to add to the library, in x_i and x_j (or the features' names); other names in them
            are parameters to be found.
        without: formulas of the library to leave out.
        known: a law with all its numbers that is part of the whole; f and g are what it leaves open. None by default.
        nodes: whether f and g are the same at every node. "auto" looks for one law of all nodes first, and for numbers that vary
            among nodes where that law does not explain the data; "same" looks for one law only; "differ" takes it for granted that
            nodes may differ (docs/interaction.md, Nodes that differ).
        seconds: after so many the search ends, with the best law so far and a warning; it may take somewhat longer, as
            what was begun is completed. None by default: it ends by itself, for most laws in seconds, for some in many minutes.
        network: what ``ndcn.reconstruct`` returned, for data whose network is not known: the law is found on its ``graph()``, and
            intervals and standard errors carry the doubt about links, by networks drawn from their probabilities.

    Raises:
        ValueError: an unknown form, another word for nodes, a known law with unknown parameters, or a time limit that is no positive number.
        TypeError: formulas that are no list of texts, a known law that is no law, or a network that ``reconstruct`` did not return.

    Example:
        >>> import ndcn
        >>> model = ndcn.Interaction(terms=["x_j^4/(K^4 + x_j^4)"])
        >>> reg = ndcn.DynamicsRegressor(model=model)
        >>> ndcn.Interaction(known=ndcn.laws.Heat(0.5))
        Interaction(form='auto', terms=(), without=(), known=Heat(k=0.5), seconds=None, nodes='auto')
        >>> reg = ndcn.DynamicsRegressor(model=ndcn.Interaction(seconds=60))
    """

    form: str = "auto"
    terms: Sequence[str] = ()
    without: Sequence[str] = ()
    known: Law | None = None
    seconds: float | None = None
    nodes: str = "auto"
    network: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_number("seconds", self.seconds, "a number of seconds > 0", lambda x: x > 0)
        if self.form not in ("auto", "closed", "free"):
            raise ValueError(f'form must be "auto", "closed" or "free", got {self.form!r}')
        if self.nodes not in ("auto", "same", "differ"):
            raise ValueError(f'nodes must be "auto", "same" or "differ", got {self.nodes!r}')
        for name in ("terms", "without"):
            value = getattr(self, name)
            listed = isinstance(value, Sequence) and not isinstance(value, str)
            if not (listed and all(isinstance(text, str) for text in value)):
                raise TypeError(f'{name} must be a list of formulas such as ["x_i*x_j"], got {value!r}')
            object.__setattr__(self, name, tuple(value))
        if self.network is not None and not (hasattr(self.network, "sample") and hasattr(self.network, "graph")):
            raise TypeError(
                f"network must be what ndcn.reconstruct returned, got {type(self.network).__name__}; a network that is known for sure "
                "belongs to the data"
            )
        if self.known is None:
            return
        if not isinstance(self.known, Law):
            raise TypeError(f"known must be a law such as laws.Heat(), got {self.known!r}")
        if names := ", ".join(self.known.unknown):
            name = type(self.known).__name__
            raise ValueError(
                f"{name}: {names} unknown in a law that is to be corrected: what the correction finds and what {names} would "
                "explain cannot be told apart. Estimate what is unknown first, law = "
                f"DynamicsRegressor(model=law).fit(data).law_, or set it, law.with_values({names.split(', ')[0]}=...)"
            )
