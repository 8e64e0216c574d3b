"""Doubts that a law has to be told with: more numbers than the data decide, no motion beyond noise, terms that are not defined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from .._support.warn import warn
from .._support.wording import counted
from ..data import Trajectory
from ..laws import Equation, FreeModel, Term, term_values
from .clock import time_is_over
from .data_smoothing import MEDIAN_TO_SIGMA
from .node_fit import NodeFit
from .observations import Observations
from .result import Evidence, FoundLaw
from .trajectory_fit import TrajectoryFit
from .trajectory_problem import TrajectoryProblem
from .trajectory_stages import freedom
from .trajectory_system import HUBER

# Changes of states for each number of a formula at least: with one for each, any formula would go through them.
CHANGES_EACH = 2
# Directions in which normal equations, scaled to a diagonal of 1, are smaller than this share of their largest are lost in the rounding of
# float64, 2e-16: numbers can change along them and the law explains the data as well.
UNDECIDED = 1e-12
# Standard errors by which a law must be better than constants. In white noise of 40 nodes laws were better by 25 of chi^2 at most (eight seeds), by 2 standard
# errors; beside noise of 5 % those of the library are better by thousands.
LUCKY_Z = 4.0
# An error of dx/dt that is told, as for laws whose nodes differ, and from how much it is computed: to a tenth of it.
ROUGH_RATE = 0.05
RATE_SAMPLES, RATE_SNAPSHOTS = 20, 20


def changes_seen(trajectories: Sequence[Trajectory]) -> int:
    """How many changes of a state from one snapshot to the next were seen, of one feature."""
    counts = (t.states[1:, :, 0].numel() if t.mask is None else int(t.mask[1:, :, 0].sum()) for t in trajectories)
    return sum(int(t.graph.total(torch.tensor(count))) for t, count in zip(trajectories, counts, strict=True))


def undecided(normal: torch.Tensor) -> int:
    """How many directions of the parameters the data leave open, by their normal equations (P, P).

    Example:
        >>> undecided(torch.tensor([[1.0, 1.0], [1.0, 1.0]])), undecided(torch.diag(torch.tensor([1.0, 1e-20])))
        (1, 0)
    """
    if not len(normal) or not normal.isfinite().all():
        return len(normal)
    size = normal.double().diagonal().clamp(min=1e-300).sqrt()
    values = torch.linalg.eigvalsh(normal.double() / torch.outer(size, size))
    return int((values < UNDECIDED * values[-1]).sum())


def doubt_of_numbers(
    trajectories: Sequence[Trajectory], model: Equation | FreeModel, normal: torch.Tensor
) -> str | None:
    """Warn of a law with more numbers than the data tell; for the evidence of a formula, the same in words."""
    changes = changes_seen(trajectories)
    if isinstance(model, FreeModel):
        if changes < model.basis.size / 2:  # splines go through few changes whatever the law is
            warn(
                f"{changes} changes of states are too few to see f and g: splines of {model.basis.size} coefficients were drawn through "
                "them, do not trust these far. Take more snapshots, or give a law whose parameters are estimated"
            )
        return None
    doubt = doubt_of_fit(changes * trajectories[0].num_features, normal)
    if doubt is not None:
        warn(f"do not trust this law far: {doubt}. Take more snapshots, or trajectories from other initial states")
    return doubt


def doubt_of_fit(changes: int, normal: torch.Tensor) -> str | None:
    """What speaks against numbers found from so many changes of states, by their normal equations (P, P); None if nothing does."""
    numbers, open_ones = len(normal), undecided(normal)
    if changes < CHANGES_EACH * numbers:
        return f"its {counted(numbers, 'number')} {'was' if numbers == 1 else 'were'} found from {counted(changes, 'change')} of states, which other numbers explain as well"
    if open_ones:
        return f"the data leave {open_ones} of its {numbers} numbers open: with other values it explains them as well"
    return None


def no_motion(fitted: TrajectoryFit | NodeFit) -> bool:
    """Whether one constant for each node explains noisy observations as well as the law does.

    Both have a number for each node, the constant or the initial state; the parameters of the law must lower the log of the residual
    variance by what BIC asks for them. The two are not nested: in noise chi^2 of each varies by the square root of twice its numbers of nodes, by
    which the best of many formulas may profit, so the law must also be better by ``LUCKY_Z`` standard errors of the difference.
    """
    law, constants, count, numbers = 0.0, 0.0, 0, 0
    for problem in fitted.problems:
        states = states_of(fitted, problem)
        if states is None:
            return False
        one = problem.data
        seen = torch.where(one.seen, one.states, torch.nan)
        size = problem.sigma(one.level)
        rest = (seen - states) / size
        far = (
            HUBER * float(rest.abs().nanmedian().nan_to_num(0.0)) / MEDIAN_TO_SIGMA
        )  # outliers count as if they were there
        law += float(rest.clamp(-far, far).square().nansum())
        middle = seen.nanmedian(0).values
        weight = torch.where(one.seen, size**-2, 0.0)
        near = torch.clamp(seen, middle - far * size, middle + far * size).nan_to_num(0.0)
        mean = (weight * near).sum(0) / weight.sum(0).clamp(min=1e-300)
        constants += float(((seen - mean) / size).clamp(-far, far).square().nansum())
        count += int(one.seen.sum())
        numbers += mean.numel()
    if law <= 0 or constants <= 0:
        return False
    own = (
        0 if isinstance(fitted, TrajectoryFit) else fitted.deviations.numel()
    )  # which fit noise by one unit of chi^2 each
    free = freedom(fitted) if isinstance(fitted, TrajectoryFit) else float(len(fitted.model.parameters))
    price = free * math.log(count) + own + LUCKY_Z * math.sqrt(4 * numbers + 2 * own)
    return count * math.log(constants / law) < price


def states_of(fitted: TrajectoryFit | NodeFit, problem: TrajectoryProblem) -> torch.Tensor | None:
    """The states of a fitted law along a trajectory, (T, n, d); None if they explode."""
    return problem.followed(fitted.model) if isinstance(fitted, TrajectoryFit) else fitted.states(problem)


def told_if_rough(
    evidence: Evidence, data: Sequence[Observations], model: Equation | FreeModel, samples: torch.Tensor
) -> Evidence:
    """With a warning where a law that explains the data leaves its rates of change open, by its posterior samples."""
    if not evidence.explained or (off := rough_rates(data, model, samples)) < ROUGH_RATE:
        return evidence
    warn(
        f"the numbers of this law are known so roughly that rates of change have an error of about {100 * off:.2g} %: take more snapshots while "
        "states change, or more exact ones"
    )
    reason = f"{evidence.reason}; the data leave its rates of change open by about {100 * off:.2g} %"
    return replace(evidence, reason=reason)


def rough_rates(data: Sequence[Observations], model: Equation | FreeModel, samples: torch.Tensor) -> float:
    """Mean |error| of dx/dt at the states seen that posterior samples (m, P) of the parameters imply, over mean |dx/dt|."""
    off, size = 0.0, 0.0
    for one in data:
        states = one.level[:: max(1, len(one.level) // RATE_SNAPSHOTS)]
        here = model.rate(states, one.network)
        size += float(here.abs().mean())
        every = [model.with_parameters(p).rate(states, one.network) - here for p in samples[:RATE_SAMPLES]]
        off += sum(float(each.abs().mean()) for each in every) / max(len(every), 1)
    return off / max(size, 1e-300)


def warn_of_terms(own: Sequence[str], terms: Sequence[Term], data: Sequence[Observations]) -> None:
    """Warn of formulas of one's own that are not finite at states seen, whatever the starting values of their parameters."""
    for text in dict.fromkeys(own):
        starts = [term for term in terms if term.formula.text == text and term.output == 0]
        finite = (
            all(
                one.network.world.everywhere(bool(term_values(term, one.level, one.network).isfinite().all()))
                for one in data
            )
            for term in starts
        )
        if starts and not any(finite):
            warn(
                f"the term {text!r} is NaN or infinite at some of the states seen, so it cannot be part of their law: leave it out, or "
                "write it so that it is defined there"
            )


def warn_of_law(how: str, *, alike: bool = True) -> None:
    """Warn that a law does not explain the data; ``how`` says by how much, ``alike`` whether it is the same at every node."""
    if time_is_over():
        return  # a search that was cut short says so, and that says more (``out_of_time``)
    shared = ", the same f and g at every node" if alike else ""
    warn(
        f"the law that was found {how}: it does not explain the data, do not trust it far. More snapshots where the states change "
        f"fastest would help; or links are missing or wrong, which ndcn.reconstruct(data, prior=graph) would name (ndcn find-network); or "
        f"these states do not move by f(x_i) + sum_j A_ij g(x_i, x_j){shared}: if you know the law, give it and estimate its numbers, also "
        'per_node; model="ndcn" assumes less'
    )


def out_of_time(found: FoundLaw, seconds: float | None) -> FoundLaw:
    """A law that was found in time is as good as without a limit; of another, say that there may be a better one."""
    if found.evidence.explained:
        return found
    if seconds is None:
        reason = "Ctrl-C ended the search, and this is the best law so far"
        warn(f"{reason}; it does not explain the data")
    else:
        reason = f"the time limit of {seconds:g} s ended the search, and this is the best law so far"
        more = max(10.0, 10 * seconds)
        warn(
            f"{reason}, which does not explain the data: give it more time, seconds={more:g} (--seconds {more:g}), or none"
        )
    return replace(found, evidence=replace(found.evidence, reason=f"{found.evidence.reason}; {reason}"))


def reason_along(closed: TrajectoryFit | None, free: TrajectoryFit | None, form: str, noisy: bool) -> str:
    """Why a law along trajectories was taken, in words."""
    if form != "auto":
        return f"the {form} form was requested"
    unit = "the noise" if noisy else "the rounding"
    if free is None:
        assert closed is not None
        return f"the closed form leaves residuals of {closed.excess:.2f} times {unit}"
    if closed is None:
        return f"all closed forms diverge; the free form leaves residuals of {free.excess:.2f} times {unit}"
    best = f"the best closed form leaves residuals of {closed.excess:.2f} times {unit}"
    return f"{best}, the free form of {free.excess:.2f}"
