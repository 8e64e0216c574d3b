"""Estimates: the parameters of a known law with standard errors, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from ..laws import Law, latex_name, latex_number, with_error


class Estimate(NamedTuple):
    """One parameter."""

    name: str
    node: int | None  # the index of the node whose value it is; None for one that all nodes have in common
    value: float
    standard_error: float


class Estimates:
    """Law: p = value(error), ..., for ``str()``, ``latex()``, or as rows of a table.

    Standard errors are in parentheses, in units of the last digit: 1.024(3) is 1.024 +- 0.003. Of a parameter with a value
    for each node the range is shown, with the typical error at its ends.

    Args:
        law: with numbers.
        names: of the parameters with one value that were estimated, and of those with one for each node.
        errors: standard errors of all values: the first, then n for each of the others.

    Example:
        >>> import ndcn, torch
        >>> print(Estimates(ndcn.laws.Gene(b=1.02, h=2), (("b", "h"), ()), torch.tensor([0.003, 0.04])))
        Gene: b = 1.020(3), h = 2.00(4)
        >>> law = ndcn.laws.Kuramoto(omega=[0.5, -0.25])
        >>> print(Estimates(law, ((), ("omega",)), torch.tensor([0.01, 0.01])))
        Kuramoto: omega_i = -0.250(10) .. 0.500(10) at 2 nodes
    """

    def __init__(self, law: Law, names: tuple[tuple[str, ...], tuple[str, ...]], errors: torch.Tensor) -> None:
        self.law = law
        self.names = names
        self._errors = errors

    def _values(self) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
        """Name, values and errors of each parameter."""
        first = 0
        for name in (*self.names[0], *self.names[1]):
            values: torch.Tensor = getattr(self.law, name)
            yield name, values, self._errors[first : first + values.numel()].reshape(values.shape)
            first += values.numel()

    @property
    def coefficients(self) -> list[Estimate]:
        """A row for each value; ``pandas.DataFrame(equations.coefficients)`` is a table of them."""
        rows = []
        for name, values, errors in self._values():
            if values.dim() == 0:
                rows.append(Estimate(name, None, values.item(), errors.item()))
                continue
            both = zip(values.tolist(), errors.tolist(), strict=True)
            rows += [Estimate(name, k, value, error) for k, (value, error) in enumerate(both)]
        return rows

    def latex(self) -> str:
        r"""The parameters in LaTeX.

        Example:
            >>> import ndcn, torch
            >>> print(Estimates(ndcn.laws.SIS(beta=0.5), (("beta",), ()), torch.tensor([0.003])).latex())
            \beta = 0.500(3)
        """
        parts = []
        for name, shown, nodes in self._shown():
            if nodes:
                parts.append(rf"{latex_name(f'{name}_i')} \in [{', '.join(map(latex_number, shown))}]")
            else:
                parts.append(f"{latex_name(name)} = {latex_number(shown[0])}")
        return r", \quad ".join(parts)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __str__(self) -> str:
        parts = [
            f"{name}_i = {' .. '.join(shown)} at {nodes} nodes" if nodes else f"{name} = {shown[0]}"
            for name, shown, nodes in self._shown()
        ]
        return f"{type(self.law).__name__}: {', '.join(parts)}"

    __repr__ = __str__

    def _shown(self) -> Iterator[tuple[str, list[str], int]]:
        """Name, the number or the least and the largest of them, and at how many nodes."""
        for name, values, errors in self._values():
            if values.dim() == 0:
                yield name, [with_error(values.item(), errors.item())], 0
            else:
                ends = values.min().item(), values.max().item()
                yield name, [with_error(end, errors.median().item()) for end in ends], len(values)
