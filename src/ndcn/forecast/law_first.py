"""The law first: where one explains the data to their noise, also those held out, no forecast by backtest is needed."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..data import Trajectory
from ..identify import (
    TOO_OPEN,
    TOO_ROUGH,
    FoundLaw,
    HeldOut,
    disagreement,
    held_out,
    law_on_trial,
    open_share,
    roughness_of_all,
)
from ..laws import ClosedForm, Equations, LawODE
from ..solve import IntegrationError
from .automatic import auto
from .law_choice import EXPLAINED, LawChoice

FEWEST = 12  # snapshots, as of a forecast
# Whole numbers of at least 0 that are further than this share from smooth curves are counts: chance adds 1 / sqrt(n) to a count of n,
# 0.3 % at 100 000. Their forecasts need intervals of whole numbers, which a law does not give; a common rate of growth for a few weeks
# would pass all other checks.
COUNTED = 3e-3
HELD_OUT = 4  # the last quarter is held out, as a forecast's longest horizon is a quarter
# Errors held out may be so many times the noise, and so many standard deviations of that number more. Of eight
# laws on two networks with noise of 1 and 5 % they are 0.83 to 1.04 times, and up to 1.11 in the last half.
AT_THE_NOISE = 1.1
DEVIATIONS = 2.0
# Mean |error| may be so many times that of noise alone: a law whose own error is 3/4 of the noise has sqrt(1 + 0.75^2) = 1.25.
MEAN_ERROR = 1.25
# Errors of the law may be so many times those of the forecast: where states are at rest, both are noise.
NO_WORSE = 1.05
# States of nodes for each number of the law at least: with one for each, a law that is the same for all nodes could say of each node what
# is true of it alone. Three straight lines of other slopes have been explained by four numbers.
NODES_EACH = 2
# Share of their rates, at drawn states, that two formulas with other terms may be apart. Eight laws of benchmarks/law_first.py with up to 5 %
# of noise are found alike up to 0.5 %; Consensus gives 0.9 % with 1 % of noise, and with 5 % a formula that is wrong, and 4.7 %.
UNDECIDED = 0.02
ROUNDING = 0.5  # times the noise that is allowed for: less is rounding, at rest as well as a forecast's


def law_first(
    run: Trajectory, seconds: float, seed: int = 0, progress: bool | None = None
) -> tuple[FoundLaw | None, LawChoice]:
    """The law of a run where it is to be believed, and why it is or is not.

    1. Quick looks: observations near smooth curves, no counts, and changes that the terms of the library together can explain.
    2. A closed form is found from the first three quarters of the snapshots; it must leave nothing but noise, and no doubt, and have
       at most half as many numbers as there are states of nodes.
    3. Followed through the last quarter, it misses them by no more than their noise, also in the last half of them.
    4. A forecast by backtest from the same snapshots misses them no less.
    5. It is found again from all snapshots, and must leave nothing but noise, and no doubt. If its terms are others now, both formulas
       must say nearly the same, also of states that no trajectory went through.

    Args:
        run: one run on one graph.
        seconds: that each of the two searches may take.
        seed: of posterior samples.
        progress: whether to show progress; None shows it on a terminal.

    Raises:
        KeyboardInterrupt: Ctrl-C, at once.

    Example:
        >>> import ndcn
        >>> graph, times = ndcn.networks.grid(25), ndcn.sampling.regular_times(1.0, 20)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> found, choice = law_first(data, 30.0)
        >>> found.evidence.equation, choice.law
        ('+1[sum_j A_ij x_j - x_i]', True)
    """
    if len(run) < FEWEST:
        return None, LawChoice("too few snapshots")
    held = len(run) // HELD_OUT
    known, later = run[: len(run) - held], run[len(run) - held :]
    if (rough := roughness_of_all([known])) > TOO_ROUGH:
        return None, LawChoice("too rough", rough)
    if rough > COUNTED and _whole(run):
        return None, LawChoice("counts", rough)
    try:
        left = open_share([known])
    except (ValueError, ArithmeticError, torch.linalg.LinAlgError):
        left = 1.0
    if left > TOO_OPEN:
        return None, LawChoice("too open", left)
    first = law_on_trial([known], seconds, seed, progress=progress)
    if first is None:
        return None, LawChoice("not explained", known=len(known), held=held)
    if (numbers := _too_many(first, run)) is not None:
        return None, LawChoice("few nodes", numbers=numbers, nodes=run.graph.num_nodes)
    judged = held_out(first, known, later)
    if judged is None:
        return None, LawChoice("held out", known=len(known), held=held)
    facts: dict[str, Any] = {"known": len(known), "held": held, "error": judged.error, "noise": judged.noise}
    if not _at_the_noise(judged, later):
        return None, LawChoice("held out", **facts)
    mine, other = _beside_forecast(first, known, later, seed)
    facts |= {"error_there": mine, "forecast": other}
    if mine is not None and other is not None and mine > NO_WORSE * other and judged.excess > ROUNDING:
        return None, LawChoice("forecast better", **facts)
    found = law_on_trial([run], seconds, seed, progress=progress)
    if found is None:
        return None, LawChoice("not explained by all", **facts)
    if (numbers := _too_many(found, run)) is not None:
        return None, LawChoice("few nodes", **facts, numbers=numbers, nodes=run.graph.num_nodes)
    if _terms(first) == _terms(found):
        return found, LawChoice(EXPLAINED, **facts)
    apart = max(disagreement(first, found, run.graph), disagreement(found, first, run.graph))
    if apart > UNDECIDED:
        return None, LawChoice("undecided", apart, **facts)
    return found, LawChoice(EXPLAINED, **facts, other=_formula(first))


def _terms(found: FoundLaw) -> set[tuple[str, bool, int]]:
    assert isinstance(found.law, ClosedForm)
    return set(found.law.equation.families)


def _formula(found: FoundLaw) -> str:
    assert isinstance(found.law, ClosedForm)
    return str(Equations(found.law.equation, tuple(found.law.features or ("x",)), found.covariance))


def _too_many(found: FoundLaw, run: Trajectory) -> int | None:
    """How many numbers a law has, if these are too many for the nodes."""
    numbers = len(found.errors)
    return numbers if run.graph.num_nodes * run.num_features < NODES_EACH * numbers else None


def _whole(run: Trajectory) -> bool:
    seen = run.states[run.states.isfinite()]
    return bool((seen >= 0).all()) and bool((seen == seen.round()).all())


def _at_the_noise(judged: HeldOut, later: Trajectory) -> bool:
    """Whether errors are those of noise, given how many there are: their root mean square is known to 1 / sqrt(2 count)."""
    count = int(later.states.isfinite().sum())
    whole, half = (AT_THE_NOISE + DEVIATIONS / max(2 * some, 1) ** 0.5 for some in (count, count / 2))
    near = judged.error <= (MEAN_ERROR - AT_THE_NOISE + whole) * judged.noise
    return near and judged.excess <= whole and judged.late <= half


def _beside_forecast(
    found: FoundLaw, known: Trajectory, later: Trajectory, seed: int
) -> tuple[float | None, float | None]:
    """Errors of the law and of a forecast by backtest, of the later snapshots that it reaches; None where it reaches none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            other = auto(known, horizon=max(1, min(len(later), len(known) // 2)), seed=seed, progress=False)
        except ValueError:  # data that forecasts cannot be made of
            return None, None
        reached = later[(later.times <= other.start + other.horizon * other.step * (1 + 1e-9)).numpy()]
        if not len(reached):
            return None, None
        said = other.predict(reached.times).states.detach().double()
        try:
            start, t0 = found.initial_states[0].double(), known.times[0].item()
            mine, _ = LawODE(found.law).followed(start, reached.times, known.graph, t0)
        except IntegrationError:
            return None, None
    seen = reached.states.detach().cpu().double()
    size = max(float(seen.abs().nanmean()), 1e-300)
    one, two = (float((states - seen).abs().nanmean()) / size for states in (mine.detach().double(), said))
    return one, two
