"""Finding the terms of a closed form: candidates by the weak form, fitted by shooting, refuted by counterexamples, pruned."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch

from ..laws import Equation, Model, Term
from .candidates import candidates
from .clock import in_time, noted, shown, time_is_over
from .equation_fit import HOPEFUL_MISFIT, LAST_TRY, REFINING, SCREENING, UNSEEN_EXCESS, EquationFitter, FittedEquation
from .node_sample import SAMPLED_ABOVE, some_nodes
from .observations import Observations, fastest_intervals, largest, spread_intervals
from .pruning import plainer, pruned
from .shooting import ends
from .shooting_fit import Shots, shots_of, undamped_gauss_newton
from .variants import richer
from .weak_form import weak_form

logger = logging.getLogger(__name__)

Families = tuple[tuple[str, bool, int], ...]

# Intervals of all trajectories together, and of each trajectory at least.
WEAK_FORM_INTERVALS = 40  # the weak form is cheap, and each interval has as many rows as the graph has nodes
SCREENING_INTERVALS = 8  # every candidate is shot over these (docs/interaction.md, How it works, 4)
# Noise averages out over more of them (docs/interaction.md, What did not work, last item).
NOISY_SCREENING_INTERVALS = 16
VERIFYING_INTERVALS = 24  # only candidates that explain the few are shot over these
FEWEST_INTERVALS = 3
LARGE = 4000  # nodes; of networks with more, fewer intervals say as much
HUGE = 300_000  # nodes; of networks with more, one interval to screen or verify formulas has more rows than 24 of ``LARGE``
SAMPLED_INTERVALS = 10  # of a sample of nodes, ``some_nodes``, that the weak form explains
JUDGED_ROWS = 12_000_000  # of a trajectory, all nodes over the fastest and evenly spread intervals: all intervals of 100,000 nodes, 12 of a million
JUDGED_AT_ONCE = 2_000_000  # rows
COUNTEREXAMPLES = 4  # of each trajectory: they are shot over by every candidate that comes later

# Powers of the increment that rows of the weak form are divided by: between absolute and relative errors.
WEIGHTINGS = (0.5, 1.0)
PROMISING_MISFIT = 1e-3  # a candidate below it is verified; integrated to 1e-5 only, even the true law may miss by that
NEAR_MISFIT = 0.1  # a candidate below it is worth integrating better

# Iterations of Gauss-Newton. Fits end by themselves where steps lower the misfit no more; these are bounds on time.
UNDAMPED_ITERATIONS = 8
SCREENING_ITERATIONS = 15
NOISY_FIRST_ITERATIONS = 4
SCREENED_FURTHER = 12  # formulas: of a kind, no more than 8 are followed along trajectories once one is near
NOISY_SCREENING_ITERATIONS = 12
REFINING_ITERATIONS = 12
VERIFYING_ITERATIONS = 8
LAST_ITERATIONS = 4  # from 24 intervals to all: little is left to move
APPROACHES = 3  # rounds of undamped and damped steps
NOISY_SCREENING_ENOUGH = 0.01  # a formula that is nearer by 1 % is not told apart by so few intervals
BELOW_NOISE = 0.05  # of the typical noise: errors of integration that no formula is preferred for
SCREENING_ENOUGH = 0.03  # damped steps stop early, at 3 %: the next undamped ones lead further
STILL_FALLING = 0.9  # another round must lower the misfit to this share
BEST_FEW = 3  # candidates with which to go on where none explains the data
COUNTEREXAMPLE_STEPS = 32  # of the integration that tells where a candidate misses most


def weak_form_intervals(data: Sequence[Observations]) -> list[torch.Tensor]:
    """Intervals of each trajectory whose increments the weak form explains; with gaps all, as stretches reach over many."""
    each = max(4, _enough(WEAK_FORM_INTERVALS, data) // len(data))
    if data[0].sampled:
        each = SAMPLED_INTERVALS
    return [torch.arange(len(one.spans)) if one.gaps else spread_intervals(one, each) for one in data]


def _enough(count: int, data: Sequence[Observations]) -> int:
    """Intervals of a large network, each of which has as many rows as there are nodes, instead of so many of a small one."""
    return min(count, count * LARGE // data[0].nodes)


class Search:
    """The search for a closed form, on given observations and with a given library, beside a base if one is known."""

    def __init__(self, data: Sequence[Observations], terms: Sequence[Term], base: Model | None = None) -> None:
        self.data = list(data)
        self.terms = list(terms)
        self.base = base
        self.features = data[0].states.shape[2]
        self.fitter = EquationFitter(largest(data))
        self.leads: list[Equation] = []  # formulas to follow along trajectories before any other

    # Candidates ---------------------------------------------------------------------------------------------------

    def bare(self) -> Equation | None:
        """The base without any term beside it."""
        return None if self.base is None else self._equation([])

    def guesses(self) -> list[Equation]:
        """Equations that the weak form finds worth trying, best first."""
        large = self.data[0].nodes > SAMPLED_ABOVE
        data = [some_nodes(one) if large and not one.gaps and self.base is None else one for one in self.data]
        chosen = weak_form_intervals(data)
        known: dict[tuple[int, str, bool, tuple[float, ...]], np.ndarray] = {}
        forms = [weak_form(data, chosen, self.terms, power, known, self.base) for power in WEIGHTINGS]
        sets = [candidates(forms, feature) for feature in range(self.features)]
        return [self._equation(one) for one in combinations(sets)]

    def _equation(self, terms: Sequence[tuple[Term, float]]) -> Equation:
        coefficients = torch.tensor([c for _, c in terms], dtype=torch.float64)
        return Equation(tuple(t for t, _ in terms), coefficients, self.features, self.base)

    def _intervals(self, count: int, choose: Callable[[Observations, int], torch.Tensor]) -> list[torch.Tensor]:
        fewest = 1 if self.data[0].nodes > HUGE else FEWEST_INTERVALS
        each = max(fewest, _enough(count, self.data) // len(self.data))
        return [choose(one, each) for one in self.data]

    def _shots(self, intervals: Sequence[torch.Tensor]) -> list[Shots]:
        """Shots over these intervals of each trajectory."""
        return [shots_of(one, chosen) for one, chosen in zip(self.data, intervals, strict=True)]

    # With noise ---------------------------------------------------------------------------------------------------

    def shortlist(self) -> list[FittedEquation]:
        """For noisy observations: guesses fitted to the fastest intervals, best first.

        They are fitted from their first values only, which noise would not let become better, by a few iterations, and the best by more of
        them. A family of two parameters is hard to find in noise, but not from one that it contains.
        """
        shots = self._shots(self._intervals(NOISY_SCREENING_INTERVALS, fastest_intervals))
        noise = torch.cat([(one.noise / self.fitter.scale).flatten() for one in shots]).median()
        accuracy = replace(SCREENING, precision=max(SCREENING.precision, BELOW_NOISE * float(noise)))

        def screened(equations: Iterable[Equation], iterations: int) -> list[FittedEquation]:
            fits = (
                self.fitter.fitted(one, shots, iterations, accuracy, NOISY_SCREENING_ENOUGH)
                for one in in_time(equations)
            )
            return sorted((found for found in fits if found is not None), key=FittedEquation.score)

        first: dict[Families, FittedEquation] = {}
        for one in screened(shown(self.guesses(), "screening formulas"), NOISY_FIRST_ITERATIONS):
            first.setdefault(one.equation.families, one)
        listed = list(first.values())
        if time_is_over():
            return listed
        best = screened((one.equation for one in listed[:SCREENED_FURTHER]), NOISY_SCREENING_ITERATIONS)
        wider = {e.families: e for one in best[:BEST_FEW] for e in richer(one.equation, self.data, self.terms)}
        every = best + listed[SCREENED_FURTHER:] + screened(wider.values(), NOISY_SCREENING_ITERATIONS)
        return sorted(every, key=FittedEquation.score)

    # Without noise ------------------------------------------------------------------------------------------------

    def run(self) -> FittedEquation | None:
        """The best closed form for observations without noise: the first that explains all of them, if one does."""
        verifying = self._intervals(VERIFYING_INTERVALS, spread_intervals)
        more = self._shots(verifying)
        if (bare := self.bare()) is not None:
            alone = self.fitter.fitted(bare, more, 0)
            if alone is not None and alone.explains(UNSEEN_EXCESS):
                return alone
        screening = self._intervals(SCREENING_INTERVALS, fastest_intervals)
        first = self._shots(screening)
        few = first
        tried: list[tuple[Equation, FittedEquation]] = []
        outdated = 0  # of those tried: fitted before the last counterexample
        for guess in shown(self.guesses(), "trying formulas"):
            found = self._approached(guess, few)
            if found is None:
                continue
            logger.debug("%.2e %s", found.fit.misfit, found.equation)
            noted(found.fit.excess)
            tried.append((guess, found))
            if found.fit.misfit >= PROMISING_MISFIT:
                continue
            verdict = self._verified(found, first, more, verifying)
            if isinstance(verdict, FittedEquation):
                return verdict
            wider = [torch.cat([a, b]).unique() for a, b in zip(screening, verdict, strict=True)]
            if any(len(a) > len(b) for a, b in zip(wider, screening, strict=True)):
                screening = wider
                few = self._shots(screening)
                outdated = len(tried)
        if time_is_over():
            return min((found for _, found in tried), key=FittedEquation.score, default=None)
        again = (self._approached(guess, few) for guess, _ in tried[:outdated])
        every = [one for one in again if one is not None] + [found for _, found in tried[outdated:]]
        return self._best_of(sorted(every, key=FittedEquation.score)[:BEST_FEW], more)

    def nearest(self, count: int) -> float:
        """The least misfit of the first formulas on a few intervals: a quick look at what a whole search could find."""
        few = self._shots(self._intervals(SCREENING_INTERVALS, fastest_intervals))
        fits = (self._approached(guess, few) for guess in self.guesses()[:count])
        return min((found.fit.misfit for found in fits if found is not None), default=math.inf)

    def _approached(self, guess: Equation, few: Sequence[Shots]) -> FittedEquation | None:
        """The guess fitted to a few intervals: undamped and damped Gauss-Newton in turn, while that leads anywhere."""
        tolerance = SCREENING.precision * self.fitter.scale
        best: FittedEquation | None = None
        for _ in in_time(range(APPROACHES)):
            bold = undamped_gauss_newton(guess, few, UNDAMPED_ITERATIONS, tolerance, SCREENING.most_steps)
            assert isinstance(bold, Equation)
            found = self.fitter.fitted(bold, few, SCREENING_ITERATIONS, SCREENING, enough=SCREENING_ENOUGH)
            if found is None or (best is not None and found.fit.misfit > STILL_FALLING * best.fit.misfit):
                break
            best = found
            guess = found.equation
            if not PROMISING_MISFIT < found.fit.misfit < HOPEFUL_MISFIT:
                break
        if best is not None and best.fit.misfit < NEAR_MISFIT and not time_is_over():
            best = self.fitter.fitted(best.equation, few, REFINING_ITERATIONS, REFINING)
        return best

    def _verified(
        self, found: FittedEquation, few: Sequence[Shots], more: Sequence[Shots], verifying: Sequence[torch.Tensor]
    ) -> FittedEquation | list[torch.Tensor]:
        """The candidate, as plain as can be, fitted to all intervals; or, if it misses some, those, by trajectory."""
        found = pruned(self.fitter, found, few)
        missed = found
        for start in (*self._plainer(found, few), found):
            refined = self.fitter.fitted(start.equation, more, VERIFYING_ITERATIONS)
            if refined is not None and refined.explains():
                return self._verified_on_all(refined, few, more)
            missed = refined or missed
        return self._counterexamples(missed, verifying)

    def _verified_on_all(
        self, refined: FittedEquation, few: Sequence[Shots], more: Sequence[Shots]
    ) -> FittedEquation | list[torch.Tensor]:
        refined = pruned(self.fitter, refined, more)
        fits = (self.fitter.fitted(one.equation, more, VERIFYING_ITERATIONS) for one in self._plainer(refined, few))
        best = next((one for one in fits if one is not None and one.explains()), refined)
        everything = [torch.arange(len(one.spans)) for one in self.data]
        large = self.data[0].nodes > LARGE
        whole = (
            self._judged(best) if large else self.fitter.fitted(best.equation, self._shots(everything), LAST_ITERATIONS)
        )
        return whole if whole is not None and whole.explains() else self._counterexamples(best, everything)

    def _judged(self, found: FittedEquation) -> FittedEquation:
        """A fit as it is, with what it misses at all nodes, over all intervals or many, seen some of them at a time."""
        lost = count = 0
        missed = squares = 0.0
        for one in self.data:
            chosen = spread_intervals(one, max(1, JUDGED_ROWS // one.rows))
            for some in chosen.split(max(1, JUDGED_AT_ONCE // one.rows)):
                here = self.fitter.fitted(found.equation, [shots_of(one, some)], 0)
                if here is None:  # it cannot be integrated over most of them
                    lost += len(some)
                    continue
                lost += here.fit.lost
                count += here.fit.count
                missed += here.fit.misfit**2 * here.fit.count
                squares += here.fit.excess**2 * here.fit.count
        misfit, excess = ((total / count) ** 0.5 if count else math.inf for total in (missed, squares))
        return replace(found, fit=replace(found.fit, misfit=misfit, excess=excess, lost=lost))

    def _plainer(self, found: FittedEquation, few: Sequence[Shots]) -> list[FittedEquation]:
        return plainer(self.fitter, found, few, self.data, self.terms)

    def _counterexamples(self, found: FittedEquation, intervals: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Those of the intervals of each trajectory over which a candidate misses most."""
        out = []
        for one, chosen in zip(self.data, intervals, strict=True):
            shots = shots_of(one, chosen)
            reached = ends(found.equation, shots.network, shots.start, shots.spans, COUNTEREXAMPLE_STEPS)
            miss = one.network.world.total(shots.residual(reached).square().sum(dim=(1, 2))).nan_to_num(float("inf"))
            out.append(chosen[miss.argsort(descending=True)[:COUNTEREXAMPLES]])
        return out

    def _best_of(self, few: Sequence[FittedEquation], more: Sequence[Shots]) -> FittedEquation | None:
        """None explains all of the data: the best of these on more intervals, with what it misses over all."""
        best: FittedEquation | None = None
        for found in in_time(few):
            refined = self.fitter.fitted(found.equation, more, SCREENING_ITERATIONS, LAST_TRY)
            if refined is None:
                continue
            refined = pruned(self.fitter, refined, more)
            logger.debug("then %.2e %s", refined.fit.misfit, refined.equation)
            best = refined if best is None else min(best, refined, key=FittedEquation.score)
            if best.explains():
                break
        return None if best is None else self._judged(best)


def combinations(sets: Sequence[list[list[tuple[Term, float]]]]) -> list[list[tuple[Term, float]]]:
    """One set for each feature; of several features the best ones of all, then each one's alternatives."""
    if len(sets) == 1:
        return sets[0]
    base = [s[0] for s in sets]
    swaps = ([*base[:a], option, *base[a + 1 :]] for a, options in enumerate(sets) for option in options[1:])
    return [[term for one in combination for term in one] for combination in (base, *swaps)]
