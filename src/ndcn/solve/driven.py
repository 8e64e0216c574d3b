"""DrivenField: a field with its inputs u(t), integrated from one of their jumps to the next."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from ..data import Calendar, Inputs, Statistics
from ..graph import Graph
from .field import Field, inputs_of
from .methods.tableau import FIXED
from .solver import Solver

Solve = Callable[[nn.Module, torch.Tensor, Sequence[float], float], tuple[torch.Tensor, Statistics]]


class DrivenField(Field):
    """dX/dt = field(t, X, G, u(t)) as a field of t, X and G alone.

    Args:
        field: one that takes inputs.
        inputs: what it takes, and perhaps more; functions of time that it brings itself need not be given.

    Raises:
        ValueError: one that it takes is not there, or has values for another number of nodes.

    Example:
        >>> import ndcn, torch
        >>> class Filling(ndcn.laws.Law):
        ...     def node(self, x, pump): return pump - x
        >>> field = DrivenField(Filling(), ndcn.Inputs([0.0, 1.0], {"pump": [2.0, 0.0]}))
        >>> field(torch.tensor(0.5), torch.ones(4, 1), ndcn.networks.grid(4)).flatten()
        tensor([1., 1., 1., 1.])
    """

    def __init__(self, field: nn.Module, inputs: Inputs | None) -> None:
        super().__init__()
        self.field = field
        known = [given_inputs(field, inputs)] if inputs_of(field) else []
        known += [] if (own := clock_of(field)) is None else [own]
        self.given = Inputs.of(one for some in known for one in some.drivers)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The field with the inputs at t."""
        u = {one.name: _shaped(one.at(t.detach().cpu()), x) for one in self.given.drivers}
        rate: torch.Tensor = self.field(t, x, graph, u)
        return rate


class _Piece(Field):
    """A driven field between two jumps of its inputs: held ones have the value there, also at both ends.

    ``last_time`` is where steps are cut: states at the end of a piece are not to be interpolated over a jump.
    """

    def __init__(self, driven: DrivenField, first: float, last: float) -> None:
        super().__init__()
        self.field = driven.field
        self.last_time = last
        middle = torch.tensor((first + last) / 2 if math.isfinite(last) else first, dtype=torch.float64)
        self.held = {one.name: one.at(middle) for one in driven.given.drivers if one.between == "held"}
        self.lines = [one for one in driven.given.drivers if one.between != "held"]

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The field with the inputs at t."""
        now = t.detach().cpu().double()
        u = {name: _shaped(value, x) for name, value in self.held.items()}
        u |= {one.name: _shaped(one.at(now), x) for one in self.lines}
        rate: torch.Tensor = self.field(t, x, graph, u)
        return rate


def _shaped(value: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Of all nodes (1,) or of each (n,), to multiply states (..., n, d): (1, 1) or (n, 1)."""
    return value.to(x.device, x.dtype).unsqueeze(-1)


def clock_of(field: nn.Module) -> Inputs | None:
    """Functions of time that a field brings itself, as those of a law with a season or a step; None if it has none."""
    own = getattr(field, "clock", None)
    return own if isinstance(own, Inputs) else None


def given_inputs(field: nn.Module, inputs: Inputs | None) -> Inputs:
    """Those inputs that a field takes, or an error that says which are missing."""
    wanted, name = inputs_of(field), type(field).__name__
    if inputs is None:
        raise ValueError(
            f"{name} takes the inputs {', '.join(wanted)}, and none are given: pass inputs=ndcn.Inputs(times, "
            f"{{{wanted[0]!r}: values}})"
        )
    if absent := [one for one in wanted if one not in inputs.names]:
        raise ValueError(
            f"{name} takes the inputs {', '.join(wanted)}, and {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not given; "
            f"there are {', '.join(inputs.names)}"
        )
    return inputs.only(wanted)


def with_inputs(
    field: nn.Module, inputs: Inputs | None, graph: Graph, first: float, last: float, calendar: Calendar | None = None
) -> nn.Module:
    """The field itself where it takes no inputs, else with those given, checked to reach from ``first`` to ``last``.

    Raises:
        ValueError: inputs that are missing, are not known so long, or have values for other nodes.
    """
    if isinstance(field, DrivenField):
        return field
    if not inputs_of(field):
        return field if clock_of(field) is None else DrivenField(field, None)
    given = given_inputs(field, inputs)
    given.check_nodes(graph.num_nodes)
    given.check(first, last, calendar, "the times asked for")
    return DrivenField(field, given)


def solve_in_pieces(
    field: DrivenField, x0: torch.Tensor, query: Sequence[float], solver: Solver, t0: float, solve: Solve
) -> tuple[torch.Tensor, Statistics]:
    """States at the sorted times ``query`` by ``solve`` from one jump of the inputs to the next, and statistics of all pieces.

    Adaptive methods also stop where a straight line bends: a long step could pass over it and see nothing. Fixed steps see
    what happens at their own times, however the input gets there.
    """
    stops = field.given.stops(t0, math.inf, kinks=solver.method not in FIXED)
    after = next((t for t in (*stops, field.given.end) if t >= query[-1]), math.inf)
    bounds = [t0, *(t for t in stops if t < query[-1]), after]
    x, parts, done = x0, [], 0
    total = Statistics(0, 0, 0)
    for k, (first, last) in enumerate(itertools.pairwise(bounds)):
        final = k == len(bounds) - 2
        begin = done
        while done < len(query) and (final or query[done] <= last):
            done += 1
        here = list(query[begin:done])
        asked = here if final or (here and here[-1] == last) else [*here, last]
        states, cost = solve(_Piece(field, first, last), x, asked, first)
        parts.append(states[: len(here)])
        x = states[-1]
        total = Statistics(*(a + b for a, b in zip(_counts(total), _counts(cost), strict=True)))
    return torch.cat(parts), total


def _counts(one: Statistics) -> tuple[int, int, int]:
    return one.evaluations, one.accepted_steps, one.rejected_steps
