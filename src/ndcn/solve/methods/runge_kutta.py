"""Explicit Runge-Kutta by fixed or adaptive steps, differentiable, with states at any time between the steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ...data import Statistics
from ...graph import Graph
from ..solver import IntegrationError, Solver
from .tableau import ADAPTIVE, FIXED, Tableau

State = torch.Tensor

SAME = 1e-9  # a requested time this close to the end of a step, in steps, is at its end


class CountedField:
    """A field that counts its calls and takes time as a number."""

    def __init__(self, field: nn.Module, graph: Graph) -> None:
        self.field, self.graph, self.calls = field, graph, 0

    def __call__(self, t: float, x: State) -> State:
        """dx/dt."""
        self.calls += 1
        return self.graph.evaluate(self.field, x.new_tensor(t), x)


def solve(
    field: nn.Module, graph: Graph, x0: State, query: Sequence[float], solver: Solver, t0: float
) -> tuple[State, Statistics]:
    """States at the sorted times ``query``, shape (T, ...), and statistics."""
    f = CountedField(field, graph)
    tableau = {**FIXED, **ADAPTIVE}[solver.method]
    save_memory = solver.gradient == "checkpoint" and torch.is_grad_enabled()
    rejected = 0
    if solver.method not in ADAPTIVE:
        grid = _cut(fixed_grid(query, solver, t0), _last_time(field))
    elif not save_memory:
        return _adaptive(f, tableau, x0, query, solver, t0)[:2]
    else:
        with torch.no_grad():
            _, statistics, grid = _adaptive(f, tableau, x0, query, solver, t0)
            rejected = statistics.rejected_steps
    if save_memory:
        states = _checkpointed(f, tableau, x0, query, grid, solver.segment)
    else:
        states = _along(f, tableau, x0, query, grid)[1]
    return states, Statistics(f.calls, len(grid) - 1, rejected)


def _last_time(field: nn.Module) -> float:
    """The time at which steps of a field are cut, as its inputs jump there."""
    return float(getattr(field, "last_time", math.inf))


def _cut(grid: list[float], last: float) -> list[float]:
    """Steps that end at ``last`` in place of those beyond it."""
    return grid if grid[-1] <= last else [*(t for t in grid if t < last), last]


def step(f: CountedField, tableau: Tableau, t: float, h: float, x: State, k1: State) -> tuple[State, list[State]]:
    """One step from x at t to t + h; returns the new state and the stages."""
    stages = [k1]
    inner = x
    for c, row in zip(tableau.c, tableau.a, strict=True):
        inner = _combine(x, stages, row, h)
        stages.append(f(t + c * h, inner))
    return (inner if tableau.last_is_next else _combine(x, stages, tableau.b, h)), stages


def _combine(x: State, stages: Sequence[State], weights: Sequence[float], h: float) -> State:
    for weight, k in zip(weights, stages, strict=False):
        if weight:
            x = torch.add(x, k, alpha=h * weight)
    return x


def fixed_grid(query: Sequence[float], solver: Solver, t0: float) -> list[float]:
    """The ends of all steps, from t0 to the last requested time or beyond it."""
    if solver.step_size == "observations":
        grid = [t0, *(t for t in query if t > t0)]
        steps = len(grid) - 1
    else:
        assert solver.step_size is not None  # Solver refuses fixed steps without a size
        h = float(solver.step_size)
        steps = max(0, math.ceil((query[-1] - t0) / h - SAME))
        grid = [t0 + k * h for k in range(steps + 1)] if steps <= solver.max_steps else []
    if steps > solver.max_steps:
        need = f"{solver.method} would need {steps} steps to reach t = {query[-1]:g}"
        message = f"{need}, more than max_steps = {solver.max_steps}; take a larger step_size or more max_steps"
        raise IntegrationError(message, time=t0, reason="max_steps")
    return grid


def _along(
    f: CountedField, tableau: Tableau, x: State, query: Sequence[float], grid: Sequence[float]
) -> tuple[State, State]:
    """Go along given steps; returns the last state and the states at ``query`` (all within the grid)."""
    states: list[State] = []
    start, at = x, 0
    while at < len(query) and query[at] <= grid[0]:
        states.append(x)
        at += 1
    k1: State | None = None
    for t, end in itertools.pairwise(grid):
        k1 = f(t, x) if k1 is None else k1
        new, stages = step(f, tableau, t, end - t, x, k1)
        following = stages[-1] if tableau.last_is_next else None
        first = at
        while at < len(query) and query[at] < end - SAME * (end - t):
            at += 1
        if at > first:
            inside = [(q - t) / (end - t) for q in query[first:at]]
            if tableau.dense is None and following is None:
                following = f(end, new)
            states.extend(_between(tableau, inside, end - t, x, new, stages, following))
        while at < len(query) and query[at] <= end + SAME * (end - t):
            states.append(new)
            at += 1
        x, k1 = new, following
    ends = (x,) if k1 is None else (x, k1)  # the slope there too: states inside the last step were made with it
    if not f.graph.everywhere(all(bool(v.isfinite().all()) for v in ends)):
        raise _find_explosion(f, tableau, start, grid)
    return x, torch.stack(states) if states else x.new_empty((0, *x.shape))


def _between(
    tableau: Tableau,
    fractions: Sequence[float],
    h: float,
    x: State,
    new: State,
    stages: Sequence[State],
    following: State | None,
) -> list[State]:
    """States inside a step, by the method's continuous extension or by cubic Hermite interpolation."""
    if tableau.dense is not None:
        return [_combine(x, stages, tableau.weights_at(s), h) for s in fractions]
    assert following is not None
    out = []
    for s in fractions:
        blend = torch.lerp(x, new, s * s * (3 - 2 * s))
        blend = torch.add(blend, stages[0], alpha=h * s * (1 - s) ** 2)
        out.append(torch.add(blend, following, alpha=-h * s * s * (1 - s)))
    return out


def _checkpointed(
    f: CountedField, tableau: Tableau, x: State, query: Sequence[float], grid: Sequence[float], segment: int | None
) -> State:
    """The same as ``_along``, keeping only the state at every sqrt(steps)-th step for the way back."""
    steps = len(grid) - 1
    stride = segment or max(1, math.isqrt(max(steps, 1)))
    parts: list[State] = []
    done = 0
    for start in range(0, max(steps, 1), stride):
        piece = grid[start : start + stride + 1]
        first = done
        last = start + stride >= steps
        while done < len(query) and (last or query[done] <= piece[-1] + SAME * (piece[-1] - piece[-2])):
            done += 1
        wanted = query[first:done]

        def run(
            x: State, *_parameters: State, piece: Sequence[float] = piece, wanted: Sequence[float] = wanted
        ) -> tuple[State, State]:
            return _along(f, tableau, x, wanted, piece)

        x, part = checkpoint(run, x, *f.field.parameters(), use_reentrant=False)
        parts.append(part)
    return torch.cat(parts)


def _adaptive(
    f: CountedField, tableau: Tableau, x: State, query: Sequence[float], solver: Solver, t0: float
) -> tuple[State, Statistics, list[float]]:
    """Choose steps by the embedded error estimate; returns states, statistics and the steps taken."""
    assert tableau.error is not None
    states: list[State] = [x for q in query if q <= t0]
    at = len(states)
    grid = [t0]
    rejected = 0
    if at == len(query):
        return torch.stack(states), Statistics(0, 0, 0), grid
    exponent = 1.0 / tableau.order
    check_tolerance(t0, x, solver, f.graph)
    k1 = f(t0, x)
    t, h = t0, first_step(f, t0, x, k1, solver, tableau.order, f.graph)
    last = _last_time(f.field)
    while at < len(query):
        h = min(h, last - t)
        if len(grid) - 1 + rejected >= solver.max_steps:
            raise too_many_steps(solver, t, query[-1])
        new, stages = step(f, tableau, t, h, x, k1)
        with torch.no_grad():
            size = _error_size(stages, tableau.error, h, x, new, solver, f.graph)
        if not size <= 1:  # also NaN
            rejected += 1
            h *= max(0.2, 0.9 * size**-exponent) if math.isfinite(size) else 0.1
            if h <= max(1e-14 * abs(t), 1e-30 * (query[-1] - t0)):  # what t can resolve; near t = 0, what is asked for
                raise no_smaller_step(t, finite=math.isfinite(size))
            continue
        end = last if h == last - t else t + h
        following = stages[-1]  # every adaptive method here has the slope at the end as its last stage
        first = at
        while at < len(query) and query[at] <= end:
            at += 1
        if at > first:
            states.extend(_between(tableau, [(q - t) / h for q in query[first:at]], h, x, new, stages, following))
        t, x, k1 = end, new, following
        check_tolerance(t, x, solver, f.graph)
        grid.append(t)
        h *= min(10.0, 0.9 * size**-exponent) if size > 0 else 10.0
    return torch.stack(states), Statistics(f.calls, len(grid) - 1, rejected), grid


def too_many_steps(solver: Solver, t: float, last: float) -> IntegrationError:
    """The error of adaptive steps that were all used before the last time."""
    used = f"{solver.method} used its {solver.max_steps} steps and came to t = {t:g} of {last:g}"
    advice = 'raise max_steps, loosen rtol and atol, or use Solver("bdf") if the problem is stiff'
    return IntegrationError(f"{used}; {advice}", time=t, reason="max_steps")


def no_smaller_step(t: float, *, finite: bool) -> IntegrationError:
    """The error of adaptive steps that became too small; ``finite`` is whether the last estimate of their error was."""
    before = f"the integration stopped at t = {t:g}: "
    if not finite:
        why = "the state or its rate of change becomes infinite or NaN there; the field explodes"
        return IntegrationError(before + why, time=t, reason="exploded")
    why = (
        "the solution explodes or jumps there, or the tolerance cannot be met however small the step; "
        'check the field, loosen rtol and atol, use float64, or Solver("bdf") if the problem is stiff'
    )
    return IntegrationError(before + why, time=t, reason="tolerance")


@torch.no_grad()
def check_tolerance(t: float, x: State, solver: Solver, graph: Graph) -> None:
    """Refuse tolerances below the rounding of the state itself, measured as the error of a step is."""
    rounding = torch.finfo(x.dtype).eps / 2
    if solver.rtol >= rounding:
        return
    size = x.abs()
    if graph.mean_square_root(rounding * size / (solver.atol + solver.rtol * size)) > 1:
        what = f"rtol = {solver.rtol:g} and atol = {solver.atol:g} cannot be met at t = {t:g}"
        why = f"{str(x.dtype).removeprefix('torch.')} rounds a state of size {graph.highest(size.max()).item():.2g} by more"
        wider = "" if x.dtype == torch.float64 else " or use float64 (x0.double())"
        message = f"{what}: {why}; loosen rtol and atol (rtol >= {4 * rounding:.1g}){wider}"
        raise IntegrationError(message, time=t, reason="tolerance")


def _error_size(
    stages: Sequence[State], weights: Sequence[float], h: float, x: State, new: State, solver: Solver, graph: Graph
) -> float:
    error = _combine(torch.zeros_like(x), stages, weights, h)
    allowed = solver.atol + solver.rtol * torch.maximum(x.abs(), new.abs())
    return graph.mean_square_root(error / allowed)


@torch.no_grad()
def first_step(
    f: Callable[[float, State], State], t: float, x: State, k1: State, solver: Solver, order: int, graph: Graph
) -> float:
    """A first step by Hairer, Norsett and Wanner (Solving ODEs I, II.4)."""
    allowed = solver.atol + solver.rtol * x.abs()
    size, slope = (graph.mean_square_root(v / allowed) for v in (x, k1))
    guess = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    if not math.isfinite(guess) or guess == 0:
        message = f"the rate of change is NaN or infinite at the start, t = {t:g}; check the field"
        raise IntegrationError(message, time=t, reason="start")
    bend = graph.mean_square_root((f(t + guess, x + guess * k1) - k1) / allowed) / guess
    if not math.isfinite(bend):
        return guess
    if max(slope, bend) <= 1e-15:
        return max(1e-6, guess * 1e-3)
    return min(100 * guess, (0.01 / max(slope, bend)) ** (1 / (order + 1)))


@torch.no_grad()
def _find_explosion(f: CountedField, tableau: Tableau, x: State, grid: Sequence[float]) -> IntegrationError:
    """Go along the steps again to find where the state stopped being finite."""
    for t, end in itertools.pairwise(grid):
        x, _ = step(f, tableau, t, end - t, x, f(t, x))
        if not f.graph.everywhere(bool(x.isfinite().all())):
            break
    return explosion(t)


def explosion(t: float) -> IntegrationError:
    """The error of fixed steps whose state is not finite after t."""
    advice = "take a smaller step_size, an adaptive method such as dopri5, or check the field"
    return IntegrationError(f"the state became infinite or NaN after t = {t:g}; {advice}", time=t)
