"""Terms of an equation: their values and derivatives at all nodes, summed over neighbours where they are couplings."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .formula import Formula
from .network import Network


@dataclass(frozen=True)
class Term:
    """One candidate: a formula in the rate of one feature, of a node itself or summed over its neighbours."""

    formula: Formula  # in x_i and x_j
    coupling: bool  # whether it is summed over neighbours, with the weights of the edges
    output: int = 0  # the feature in whose rate it is
    values: tuple[float, ...] = ()  # its parameters

    @property
    def family(self) -> tuple[str, bool, int]:
        """Formula, coupling and output; terms of one family differ in ``values`` alone."""
        return self.formula.text, self.coupling, self.output

    def __str__(self) -> str:
        return f"sum_j A_ij {self.formula.text}" if self.coupling else self.formula.text


@dataclass(frozen=True)
class _Values:
    """A formula's values (...), and their derivatives by x_i and x_j, (..., d), and by each parameter, (...)."""

    value: torch.Tensor
    by_i: torch.Tensor | None
    by_j: torch.Tensor | None
    by_parameter: list[torch.Tensor]


def _differentiated(formula: Formula, x_i: torch.Tensor, x_j: torch.Tensor | None, values: Sequence[float]) -> _Values:
    """A formula and all its derivatives at once; where one is not finite, as that of x^h by h at 0, it is 0."""
    own = x_i.detach().requires_grad_(True)
    other = (own if x_j is None else x_j).detach().requires_grad_(True)
    numbers = [torch.full(x_i.shape[:-1], v, dtype=x_i.dtype, requires_grad=True) for v in values]
    with torch.enable_grad():
        out = formula(own, None if x_j is None else other, numbers)
        grads: Sequence[torch.Tensor | None] = [None] * (2 + len(numbers))
        if out.requires_grad:
            grads = torch.autograd.grad(out.sum(), [own, other, *numbers], allow_unused=True)
    by_i, by_j, *rest = (None if g is None else torch.nan_to_num(g, nan=0.0, posinf=0.0, neginf=0.0) for g in grads)
    return _Values(out.detach(), by_i, by_j, [torch.zeros_like(out) if g is None else g for g in rest])


def values_of(
    term: Term, x: torch.Tensor, network: Network, cache: dict[str, torch.Tensor] | None = None
) -> torch.Tensor:
    """The term at every node, summed over neighbours if it is a coupling, shape (K, n).

    Sums over neighbours of one factor are kept in ``cache`` for other terms at the same states.
    """
    if not term.coupling:
        return term.formula(x, None, term.values).detach()
    if term.formula.around is not None:
        outside, inside = term.formula.around
        totals = [values_of(_inner(term, one), x, network, cache).unsqueeze(-1) for one in inside]
        return outside(torch.cat([x, *totals], -1), None, _own_values(term, outside)).detach()
    parts = separated(term.formula)
    if parts is None:
        message = term.formula(x.index_select(1, network.i), x.index_select(1, network.j), term.values)
        return network.gathered(message)
    sums = {} if cache is None else cache
    total = torch.zeros(x.shape[:2], dtype=x.dtype)
    for sign, own, other in parts:
        values = _own_values(term, other)
        key = f"{other.text} {values}"
        if other.text != "1" and key not in sums:
            sums[key] = network.neighbours(other(x, x, values))
        neighbours = network.degrees if other.text == "1" else sums[key]
        total = total + sign * own(x, None, _own_values(term, own)) * neighbours
    return total


def _inner(term: Term, formula: Formula) -> Term:
    """What a term sums inside a function, as a term."""
    return Term(formula, True, term.output, tuple(_own_values(term, formula)))


def _own_values(term: Term, part: Formula) -> list[float]:
    """The parameters of one factor of a term."""
    known = dict(zip(term.formula.parameters, term.values, strict=True))
    return [known[name] for name in part.parameters]


@functools.lru_cache(maxsize=4096)
def separated(formula: Formula) -> list[tuple[float, Formula, Formula]] | None:
    """``Formula.separated``, computed once for each formula: equations of a search share theirs."""
    return formula.separated()


def add_slopes(
    term: Term, c: float, x: torch.Tensor, network: Network, own: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The term's values (K, n) and derivatives by its parameters; those by states, c times, are added to own and edges."""
    if not term.coupling:
        v = _differentiated(term.formula, x, None, term.values)
        if v.by_i is not None:
            own += c * v.by_i
        return v.value, v.by_parameter
    if term.formula.around is not None:
        return _add_slopes_around(term, c, x, network, own, edges)
    parts = separated(term.formula)
    if parts is None:
        v = _differentiated(term.formula, x.index_select(1, network.i), x.index_select(1, network.j), term.values)
        if v.by_i is not None:
            own += c * network.gathered(v.by_i)
        if v.by_j is not None:
            edges += c * v.by_j
        return network.gathered(v.value), [network.gathered(slope) for slope in v.by_parameter]
    total = torch.zeros(x.shape[:2], dtype=x.dtype)
    slopes = {name: torch.zeros_like(total) for name in term.formula.parameters}
    for sign, mine, other in parts:
        a = _differentiated(mine, x, None, _own_values(term, mine))
        b = _differentiated(other, x, x, _own_values(term, other))
        sums = network.degrees.expand(x.shape[:2]) if other.text == "1" else network.neighbours(b.value)
        total = total + sign * a.value * sums
        if a.by_i is not None:
            own += (c * sign) * a.by_i * sums.unsqueeze(-1)
        if b.by_j is not None:
            edges += (c * sign) * b.by_j.index_select(1, network.j) * a.value.index_select(1, network.i).unsqueeze(-1)
        for name, slope in zip(mine.parameters, a.by_parameter, strict=True):
            slopes[name] = slopes[name] + sign * slope * sums
        for name, slope in zip(other.parameters, b.by_parameter, strict=True):
            slopes[name] = slopes[name] + sign * a.value * network.neighbours(slope)
    return total, [slopes[name] for name in term.formula.parameters]


def _add_slopes_around(
    term: Term, c: float, x: torch.Tensor, network: Network, own: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """``add_slopes`` of a function of sums, by the chain rule."""
    assert term.formula.around is not None
    outside, inside = term.formula.around
    d = x.shape[-1]
    terms = [_inner(term, one) for one in inside]
    by_own, by_edges = (x.new_zeros(len(inside), *like.shape) for like in (own, edges))
    totals = [add_slopes(one, 1.0, x, network, by_own[k], by_edges[k]) for k, one in enumerate(terms)]
    states = torch.cat([x, *(value.unsqueeze(-1) for value, _ in totals)], -1)
    v = _differentiated(outside, states, None, _own_values(term, outside))
    assert v.by_i is not None
    slopes = dict(zip(outside.parameters, v.by_parameter, strict=True))
    own += c * v.by_i[..., :d]
    for k, one in enumerate(terms):
        by = v.by_i[..., d + k]
        own += c * by.unsqueeze(-1) * by_own[k]
        edges += c * by.index_select(1, network.i).unsqueeze(-1) * by_edges[k]
        for name, slope in zip(one.formula.parameters, totals[k][1], strict=True):
            slopes[name] = slopes.get(name, 0.0) + by * slope
    return v.value, [slopes[name] for name in term.formula.parameters]
