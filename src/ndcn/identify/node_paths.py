"""Trajectories of laws whose nodes differ, and their derivatives by initial states, deviations of nodes and parameters in common.

Where inputs act, they and their slopes are features that are set anew wherever an input jumps or bends: between such times a trajectory is
that of a law without inputs, and derivatives are carried from one stretch to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from ..data import Inputs
from ..laws import NodeEquation
from .input_quadrature import pieces_of
from .observations import Observations
from .tape import Tape, record, roll
from .trajectory_problem import LOST_SHARE, MOST_STEPS, TrajectoryProblem, problem_of, steps_along

SAME_SLOPE = 1e-6  # of the largest value of an input, for each unit of time: slopes that differ by less are one


@dataclass(frozen=True)
class Stretch:
    """Where inputs neither jump nor bend."""

    start: torch.Tensor  # inputs and then their slopes at its beginning, (n or 1, 2 p)
    spans: tuple[float, ...]
    steps: tuple[int, ...]  # of each span
    observed: tuple[bool, ...]  # whether a span ends with a snapshot


@dataclass(frozen=True)
class NodeProblem(TrajectoryProblem):
    """A trajectory with inputs, as the stretches between their knots."""

    stretches: tuple[Stretch, ...] = field(default=(), kw_only=True)
    driven: torch.Tensor = field(kw_only=True)  # inputs at the snapshots, and 0 for their slopes, (T, n or 1, 2 p)


def features_at(problem: TrajectoryProblem, states: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """States at snapshots (T, n, d) with all further features of a law whose nodes differ."""
    T, n = states.shape[:2]
    driven = [problem.driven.expand(T, n, -1)] if isinstance(problem, NodeProblem) else []
    return torch.cat([states, *driven, u.expand(T, *u.shape)], dim=-1)


def driven_problems(
    data: Sequence[Observations],
    inputs: Sequence[Inputs],
    model: NodeEquation,
    u: torch.Tensor,
    tolerance: torch.Tensor,
    straight: float,
) -> list[TrajectoryProblem] | None:
    """Trajectories with inputs, with the steps that the model needs along the data; None if it is too fast."""
    rest = torch.full((2 * model.inputs + u.shape[1],), torch.inf, dtype=torch.float64)
    out: list[TrajectoryProblem] = []
    for one, own in zip(data, inputs, strict=True):
        values = torch.stack(torch.broadcast_tensors(*own.at(one.times).values()), dim=-1).double()
        driven = torch.cat([values, torch.zeros_like(values)], -1)
        plain = problem_of(one, [1] * len(one.spans))
        parts = {name: getattr(plain, name) for name in ("data", "x0", "guess", "error", "bounds")}
        ready = NodeProblem(**parts, steps=plain.steps, driven=driven)
        steps = steps_along(model, one, features_at(ready, one.level, u), torch.cat([tolerance, rest]), MOST_STEPS)
        if (steps == 0).float().mean() > LOST_SHARE:
            return None
        counts = tuple(torch.where(steps == 0, 2 * MOST_STEPS, steps).tolist())
        out.append(replace(ready, steps=counts, stretches=stretches_of(one, own, counts, straight)))
    return out


def stretches_of(one: Observations, inputs: Inputs, steps: Sequence[int], straight: float) -> tuple[Stretch, ...]:
    """The stretches, with at least these steps in each interval between snapshots; see ``pieces_of`` for ``straight``."""
    pieces = pieces_of(inputs, one.times, straight=straight)
    size = max(float(pieces.first.abs().max()), float(pieces.last.abs().max()), 1e-300)
    out: list[Stretch] = []
    end: torch.Tensor | None = None
    slope: torch.Tensor | None = None
    for k, row in enumerate(pieces.lengths.tolist()):
        inside = [m for m, length in enumerate(row) if length > 0]
        for m in inside:
            length, first, last = row[m], pieces.first[k, m], pieces.last[k, m]
            rate = (last - first) / length
            count = max(1, math.ceil(steps[k] * length / sum(row) - 1e-9))
            if end is None or slope is None or _far(first, end, size) or _far(rate, slope, size):
                out.append(Stretch(torch.cat([first, rate], -1), (), (), ()))
                slope = rate
            now = out[-1]
            out[-1] = Stretch(now.start, (*now.spans, length), (*now.steps, count), (*now.observed, m == inside[-1]))
            end = last
    return tuple(out)


def _far(a: torch.Tensor, b: torch.Tensor, size: float) -> bool:
    return float((a - b).abs().max()) > SAME_SLOPE * size


def joined(problem: TrajectoryProblem, x: torch.Tensor, u: torch.Tensor, stretch: Stretch | None) -> torch.Tensor:
    """States (n, d) with inputs, their slopes and deviations as further features."""
    driven = [] if stretch is None else [stretch.start.expand(len(x), -1)]
    return torch.cat([x, *driven, u], dim=1).contiguous()


def followed(model: NodeEquation, problem: TrajectoryProblem, u: torch.Tensor) -> torch.Tensor | None:
    """States along the trajectory, (T, n, d); None if they explode."""
    one, d = problem.data, problem.x0.shape[1]
    if not isinstance(problem, NodeProblem):
        found = roll(model, one.network, joined(problem, problem.x0, u, None), one.spans, problem.steps)
        return None if found is None else found[..., :d]
    x, out = problem.x0, [problem.x0]
    for stretch in problem.stretches:
        spans = torch.tensor(stretch.spans, dtype=torch.float64)
        found = roll(model, one.network, joined(problem, x, u, stretch), spans, stretch.steps)
        if found is None:
            return None
        out += [states for states, seen in zip(found[1:, :, :d], stretch.observed, strict=True) if seen]
        x = found[-1, :, :d]
    return torch.stack(out)


@dataclass(frozen=True)
class NodePath:
    """A trajectory with its derivatives, which are computed as they are asked for."""

    states: torch.Tensor  # (T, n, d)
    model: NodeEquation
    problem: TrajectoryProblem
    u: torch.Tensor
    tape: Tape | None  # None: with inputs

    def derivatives(self) -> Iterator[np.ndarray]:
        """At each snapshot but the first, (n d, n d + n q + P): by initial states, deviations node by node, and parameters."""
        n, d = self.problem.x0.shape
        if self.tape is not None:
            D = self.tape.states.shape[2]
            rows = (np.arange(n)[:, None] * D + np.arange(d)).ravel()
            S = self.tape.sensitivities()
            for k, T in enumerate(self.tape.node_tangent(d), start=1):
                yield np.hstack([T, S[k][rows]])
            return
        assert isinstance(self.problem, NodeProblem)
        q, P = self.u.shape[1], len(self.model.parameters)
        D = d + 2 * self.model.inputs + q
        rows = (np.arange(n)[:, None] * D + np.arange(d)).ravel()
        own = (np.arange(n)[:, None] * D + np.arange(D - q, D)).ravel()
        V = np.zeros((n * D, n * (d + q) + P))
        V[rows, np.arange(n * d)] = 1.0
        V[own, n * d + np.arange(n * q)] = 1.0
        x = self.problem.x0
        for stretch in self.problem.stretches:
            spans = torch.tensor(stretch.spans, dtype=torch.float64)
            start = joined(self.problem, x, self.u, stretch)
            tape = record(self.model, self.problem.data.network, start, spans, stretch.steps)
            if tape is None:  # it did not explode a moment ago
                raise ArithmeticError("a trajectory explodes")
            S = tape.sensitivities()
            last = V
            for k, T in enumerate(tape.tangent(V)):
                if k == 0:
                    continue
                last = np.array(T)
                last[:, n * (d + q) :] += S[k]
                if stretch.observed[k - 1]:
                    yield last[rows]
            V, x = last, tape.states[-1, :, :d]


def recorded(model: NodeEquation, problem: TrajectoryProblem, u: torch.Tensor) -> NodePath | None:
    """The trajectory with its derivatives; None if it explodes."""
    one, d = problem.data, problem.x0.shape[1]
    if isinstance(problem, NodeProblem):
        states = followed(model, problem, u)
        return None if states is None else NodePath(states, model, problem, u, None)
    tape = record(model, one.network, joined(problem, problem.x0, u, None), one.spans, problem.steps)
    return None if tape is None else NodePath(tape.states[..., :d], model, problem, u, tape)


def visited_along(
    model: NodeEquation, problem: TrajectoryProblem, u: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, list[list[float]]] | None:
    """States at snapshots, all features at which rates are taken, four in each step, and the steps to each snapshot."""
    one, d = problem.data, problem.x0.shape[1]
    visited: list[torch.Tensor] = []
    if not isinstance(problem, NodeProblem):
        start = joined(problem, problem.x0, u, None)
        found = roll(model, one.network, start, one.spans, problem.steps, visited)
        lengths = [[span / count] * count for span, count in zip(one.spans.tolist(), problem.steps, strict=True)]
        return None if found is None else (found[..., :d], torch.cat(visited), lengths)
    x, out, lengths, now = problem.x0, [problem.x0], [], []
    for stretch in problem.stretches:
        spans = torch.tensor(stretch.spans, dtype=torch.float64)
        found = roll(model, one.network, joined(problem, x, u, stretch), spans, stretch.steps, visited)
        if found is None:
            return None
        ends = zip(found[1:, :, :d], stretch.spans, stretch.steps, stretch.observed, strict=True)
        for states, span, count, seen in ends:
            now += [span / count] * count
            if seen:
                out.append(states)
                lengths.append(now)
                now = []
        x = found[-1, :, :d]
    return torch.stack(out), torch.cat(visited), lengths
