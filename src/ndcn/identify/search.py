"""Finding the terms: candidates by the weak form, judged by shooting, then pruned and extended until nothing is left."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast

import numpy as np
import torch

from ..laws import Equation, Model, Term
from .observations import Observations, largest
from .posterior import pseudo_inverse
from .shooting import ends
from .shooting_fit import ShotFit, Shots, fit, shots_of, undamped_gauss_newton
from .variants import reduced, richer, simpler, without_terms
from .weak_form import Support, WeakForm, supports, weak_form

EXPLAINED_EXCESS = 5.0  # residuals of so many times the noise are explained
UNSEEN_EXCESS = 2.0  # a term without which residuals are still below this is not seen in the data
PROMISING_MISFIT = 1e-3  # a candidate whose weighted misfit on a few intervals is below this is tried on more
PARAMETER_PRICE = 0.2  # of a parameter, in logarithms of what the weak form leaves open
HOPEFUL_MISFIT = 0.25  # one below this may only have stopped too early
MISFIT_OF_ROUNDING = 2e-6  # weighted misfits below this are rounding; no term is kept to lower them further


@dataclass(frozen=True)
class FittedEquation:
    """The best equation so far, fitted to some intervals."""

    fit: ShotFit
    equation: Equation

    def explains(self) -> bool:
        """Whether every shot ends where the data are, to the level of their noise."""
        return self.fit.lost == 0 and self.fit.excess < EXPLAINED_EXCESS

    def text(self) -> str:
        """The equation."""
        return self.text_of(self.equation)

    @staticmethod
    def text_of(model: Model) -> str:
        """An equation, on one line."""
        return _text(model) if isinstance(model, Equation) else repr(type(model))

    def score(self) -> float:
        """BIC of the shots: what is left open, and the number of parameters."""
        rest = math.log(self.fit.misfit**2 + MISFIT_OF_ROUNDING**2)
        return self.fit.count * rest + len(self.equation.parameters) * math.log(self.fit.count)


def spread_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals: half of them the fastest, the others evenly spread."""
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    fast = speed.argsort(descending=True)[: count // 2]
    even = torch.linspace(0, len(speed) - 1, count - count // 2).round().long()
    return torch.cat([fast, even]).unique()


def fastest_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals in which much happens, without the very fastest, over which first guesses shoot too far."""
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    skip = min(1 + len(speed) // 40, len(speed) - count)
    fast = speed.argsort(descending=True)[skip : skip + count - 2]
    even = torch.linspace(len(speed) // 2, len(speed) - 1, 2).round().long()
    return torch.cat([fast, even]).unique()


def interval_speeds(one: Observations) -> torch.Tensor:
    """How much happens in each interval."""
    moved = torch.asinh(one.level / one.unit).diff(dim=0).abs()
    return (moved / moved.mean(dim=(0, 1)).clamp(min=1e-300)).mean(dim=(1, 2))


def candidates(forms: Sequence[WeakForm], feature: int) -> list[list[tuple[Term, float]]]:
    """Term sets for the rate of one feature that the weak form finds worth shooting, best first.

    Those of one coupling with all polynomial terms come first, as most laws have one coupling; then those of one coupling
    with one self term of another kind and polynomial terms of two degrees (with all of them the fit would be lost in
    valleys); then any others. What the weak form leaves open says little where the path through the data is poor: sets
    come by it with a high price on each parameter, and then with a low one.
    """
    simple: list[list[tuple[float, int, Support]]] = []
    others: list[list[tuple[float, int, Support]]] = []
    curved: list[list[tuple[float, int, Support]]] = []

    def judged(form: WeakForm, support: Support) -> tuple[float, int, Support]:
        terms = [form.terms[feature][m] for m in support.members]
        return math.log(support.rest), sum(map(_complexity, terms)), support

    for form in forms:
        terms = form.terms[feature]
        plain = tuple(k for k, t in enumerate(terms) if not t.coupling and _is_polynomial(t))
        single = [(*plain, k) for k, term in enumerate(terms) if term.coupling]
        alone = [form.solved(feature, members) for members in single]
        simple.append([judged(form, support) for support in (*alone, form.solved(feature, plain))])
        others.append([judged(form, support) for support in supports(form, feature, most=5)])
        couplings: dict[tuple, int] = {}
        for support in sorted(alone, key=lambda s: s.rest):
            couplings.setdefault(terms[support.members[-1]].family, support.members[-1])
        low = [tuple(k for k in plain if _degree(terms[k]) in degrees) for degrees in ((0, 1), (1, 2))]
        bent = [k for k, term in enumerate(terms) if not term.coupling and k not in plain]
        least: dict[tuple, tuple[float, int, Support]] = {}  # for each kind of self term the best of its sets
        for members in ((*few, k, m) for few in low for k in bent for m in couplings.values()):
            one = judged(form, form.solved(feature, members))
            key = terms[members[-2]].family
            least[key] = min(least.get(key, one), one, key=lambda j: j[0] + PARAMETER_PRICE * j[1])
        curved.append(list(least.values()))

    def best(form: WeakForm, judged: Sequence[tuple[float, int, Support]], price: float, most: int) -> list[Support]:
        found: dict[tuple, Support] = {}
        for _, _, support in sorted(judged, key=lambda j: j[0] + price * j[1]):
            found.setdefault(_families(form, feature, support), support)
        return list(found.values())[:most]

    out: dict[tuple, list[tuple[Term, float]]] = {}
    for every, price, most in (
        (simple, PARAMETER_PRICE, 6),
        (simple, 0.01, 4),
        (curved, PARAMETER_PRICE, 5),
        (others, PARAMETER_PRICE, 3),
    ):
        columns = [best(form, one, price, most) for form, one in zip(forms, every, strict=True)]
        for row in zip_longest(*columns):
            for form, support in zip(forms, row, strict=True):
                if support is not None:
                    terms = [form.terms[feature][m] for m in support.members]
                    key = (id(form), *_families(form, feature, support))
                    out.setdefault(key, list(zip(terms, support.coefficients.tolist(), strict=True)))
    return list(out.values())


def _families(form: WeakForm, feature: int, support: Support) -> tuple:
    return tuple(sorted(form.terms[feature][m].family for m in support.members))


def _complexity(term: Term) -> int:
    """Its parameters, and 2 for functions and quotients: where the data cannot tell, a plain product comes first."""
    return 1 + len(term.values) + (0 if _is_polynomial(term) else 2)


def _is_polynomial(term: Term) -> bool:
    return not term.values and not re.search(r"/|[a-z]\(", term.formula.text)


def _degree(term: Term) -> int:
    """Of a product of features, as x^2 or u*v."""
    powers = [factor.partition("^")[2] or "1" for factor in term.formula.text.split("*")]
    return 0 if term.formula.text == "1" else sum(map(int, powers))


class Search:
    """The search for a closed form, on given observations and with a given library, beside a base if one is known."""

    def __init__(
        self,
        data: Sequence[Observations],
        terms: Sequence[Term],
        say: Callable[[str], None] = lambda text: None,
        base: Model | None = None,
    ) -> None:
        self.data, self.terms, self.say, self.base = list(data), list(terms), say, base
        self.d = data[0].states.shape[2]
        self.scale = largest(data)

    def _equation(self, terms: Sequence[tuple[Term, float]]) -> Equation:
        coefficients = torch.tensor([c for _, c in terms], dtype=torch.float64)
        return Equation(tuple(t for t, _ in terms), coefficients, self.d, self.base)

    def bare(self) -> Equation | None:
        """The base without any term beside it."""
        return None if self.base is None else self._equation([])

    def intervals(self, count: int, chosen: Callable[[Observations, int], torch.Tensor]) -> list[torch.Tensor]:
        """``count`` intervals of all trajectories together."""
        each = max(3, count // len(self.data))
        return [chosen(one, each) for one in self.data]

    def batches(self, which: Sequence[torch.Tensor]) -> list[Shots]:
        """Shots over these intervals of each trajectory."""
        return [shots_of(one, chosen) for one, chosen in zip(self.data, which, strict=True)]

    def fitted(
        self,
        equation: Equation,
        batches: Sequence[Shots],
        iterations: int,
        precision: float = 2e-8,
        most_steps: int = 64,
        enough: float = 1e-3,
    ) -> FittedEquation | None:
        """The equation with its best parameters on these shots."""
        done = fit(
            equation,
            batches,
            iterations=iterations,
            tolerance=precision * self.scale,
            most_steps=most_steps,
            enough=enough,
        )
        if done is None or not math.isfinite(done.misfit):
            return None
        assert isinstance(done.model, Equation)
        return FittedEquation(done, done.model)

    def guesses(self) -> list[Equation]:
        """Equations that the weak form finds worth trying, best first."""
        each = max(4, 40 // len(self.data))
        chosen = [torch.arange(len(one.spans)) if one.gaps else spread_intervals(one, each) for one in self.data]
        known: dict[tuple[int, str, bool, tuple[float, ...]], np.ndarray] = {}
        forms = [weak_form(self.data, chosen, self.terms, power, known, self.base) for power in (0.5, 1.0)]
        return [self._equation(one) for one in self._combinations([candidates(forms, a) for a in range(self.d)])]

    def shortlist(
        self, good: Callable[[FittedEquation], list[torch.Tensor] | None] | None = None
    ) -> list[FittedEquation]:
        """Guesses fitted to a few lively intervals, best first; no more are tried once one is good.

        Args:
            good: None says yes; else, for each trajectory, intervals that speak against the candidate, to which those
                after it are fitted too. Without ``good`` candidates are first guesses only, which noise would not let
                become better.
        """
        most = 15 if good else 12
        which = self.intervals(8 if good else 16, fastest_intervals)
        few = self.batches(which)
        out: list[tuple[Equation, FittedEquation]] = []
        stale = 0
        for guess in self.guesses():
            found = self._tried(guess, few, most, refine=good is not None)
            if found is None:
                continue
            self.say(f"{found.fit.misfit:.2e} {_text(found.equation)}")
            out.append((guess, found))
            if good and found.fit.misfit < PROMISING_MISFIT:
                against = good(found)
                if against is None:
                    return [found]
                wider = [torch.cat([a, b]).unique() for a, b in zip(which, against, strict=True)]
                if any(len(a) > len(b) for a, b in zip(wider, which, strict=True)):
                    which, few, stale = wider, self.batches(wider), len(out)
        again = [self._tried(guess, few, most, refine=True) for guess, _ in out[:stale]]
        every = again + [found for _, found in out[stale:]]
        if not good:  # a family of two parameters is hard to find in noise, but not from one that it contains
            best = sorted((found for found in every if found is not None), key=FittedEquation.score)[:3]
            wider_families = {e.families: e for found in best for e in richer(found.equation, self.data, self.terms)}
            every += [self.fitted(e, few, most, 1e-5, 16) for e in wider_families.values()]
        return sorted((found for found in every if found is not None), key=FittedEquation.score)

    def _tried(self, guess: Equation, few: Sequence[Shots], most: int, *, refine: bool) -> FittedEquation | None:
        """The guess fitted to a few intervals: full steps and steps downhill in turn, while that leads anywhere."""
        if not refine:
            return self.fitted(guess, few, most, 1e-5, 16)
        best: FittedEquation | None = None
        for _ in range(3):
            bold = cast(Equation, undamped_gauss_newton(guess, few, 8, 1e-5 * self.scale, 16))
            found = self.fitted(bold, few, most, 1e-5, 16, enough=0.03)
            if found is None or (best is not None and found.fit.misfit > 0.9 * best.fit.misfit):
                break
            best, guess = found, found.equation
            if not PROMISING_MISFIT < found.fit.misfit < HOPEFUL_MISFIT:
                break
        if best is not None and best.fit.misfit < 0.1:
            best = self.fitted(best.equation, few, 12, 1e-6, 32)
        return best

    def run(self) -> FittedEquation | None:
        """The best closed form for observations without noise."""
        few, which = self.batches(self.intervals(8, fastest_intervals)), self.intervals(24, spread_intervals)
        more, all_intervals = self.batches(which), [torch.arange(len(one.spans)) for one in self.data]
        if (bare := self.bare()) is not None:
            alone = self.fitted(bare, more, 0, most_steps=128)
            if alone is not None and alone.fit.lost == 0 and alone.fit.excess < UNSEEN_EXCESS:
                return alone
        explained: list[FittedEquation] = []

        def good(found: FittedEquation) -> list[torch.Tensor] | None:
            found = self.pruned(found, few)
            missed = found
            for start in (*self._plainer(found, few), found):
                refined = self.fitted(start.equation, more, 8, most_steps=128)
                if refined is not None and refined.explains():
                    refined = self.pruned(refined, more)
                    plainer = (
                        self.fitted(one.equation, more, 8, most_steps=128) for one in self._plainer(refined, few)
                    )
                    best = next((one for one in plainer if one is not None and one.explains()), refined)
                    whole = self.fitted(best.equation, self.batches(all_intervals), 4, most_steps=128)
                    if whole is not None and whole.explains():
                        explained.append(whole)
                        return None
                    return self._against(best, all_intervals)
                missed = refined or missed
            return self._against(missed, which)

        first = self.shortlist(good)
        if explained:
            return explained[0]
        best: FittedEquation | None = None
        for found in first[:3]:
            refined = self.fitted(found.equation, more, 15, 1e-6, most_steps=128)
            if refined is None:
                continue
            refined = self.pruned(refined, more)
            self.say(f"then {refined.fit.misfit:.2e} {_text(refined.equation)}")
            if best is None or refined.score() < best.score():
                best = refined
            if best.explains():
                break
        return best

    def _plainer(self, found: FittedEquation, few: Sequence[Shots]) -> list[FittedEquation]:
        """Plainer equations that explain a few intervals as well, best first."""
        starts = [self.fitted(e, few, 0, 1e-5, 32) for e in simpler(found.equation, self.data, self.terms)]
        near = [one.equation for one in starts if one is not None and one.fit.misfit < HOPEFUL_MISFIT]
        fits = [self.fitted(e, few, 8, most_steps=128) for e in near]
        as_good = [one for one in fits if one is not None and one.fit.lost == 0 and one.fit.excess < UNSEEN_EXCESS]
        return sorted(as_good, key=FittedEquation.score)

    def _against(self, found: FittedEquation, which: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The intervals, at most four of each trajectory, over which a candidate misses most."""
        out = []
        for one, chosen in zip(self.data, which, strict=True):
            batch = shots_of(one, chosen)
            miss = batch.residual(ends(found.equation, batch.network, batch.start, batch.spans, 32)).square()
            worst = miss.mean(dim=(1, 2)).nan_to_num(float("inf")).argsort(descending=True)[:4]
            out.append(chosen[worst])
        return out

    def _combinations(self, sets: Sequence[list[list[tuple[Term, float]]]]) -> list[list[tuple[Term, float]]]:
        """One set for each feature; of several features the best ones of all, then each one's alternatives."""
        if len(sets) == 1:
            return sets[0]
        base = [s[0] for s in sets]
        out = [[t for s in base for t in s]]
        for a, options in enumerate(sets):
            for option in options[1:]:
                out.append([t for b, s in enumerate(base) for t in (option if b == a else s)])
        return out

    def pruned(self, found: FittedEquation, batches: Sequence[Shots]) -> FittedEquation:
        """Without the terms that the shots do not need: those whose loss BIC would welcome, the least needed first."""
        own = [k for k, term in enumerate(found.equation.terms) if not term.coupling]
        if 1 < len(own) < len(found.equation.terms):  # states that vary little: one of them stands in for another
            trial = self._dropped(found, own, _covariance(found), batches)
            if trial is not None and trial.fit.lost <= found.fit.lost and trial.fit.excess < UNSEEN_EXCESS:
                found = trial
        while len(found.equation.terms) > 1:
            covariance = _covariance(found)
            count = len(found.equation.terms)
            lost = found.equation.coefficients.square() / covariance.diagonal()[:count].clamp(min=1e-300)
            spared = torch.tensor([1.0 + len(t.values) for t in found.equation.terms], dtype=torch.float64)
            worse = found.fit.count * torch.log1p(lost / found.fit.count) - spared * math.log(found.fit.count)
            for k in torch.argsort(worse).tolist()[:3]:
                predicted = found.fit.excess * math.sqrt(1 + float(lost[k]) / found.fit.count)
                if worse[k] > 20 * math.log(found.fit.count) and predicted > 30:
                    continue
                trial = self._dropped(found, [k], covariance, batches)
                if trial is None or trial.fit.lost > found.fit.lost:
                    continue
                if trial.score() < found.score() or trial.fit.excess < UNSEEN_EXCESS:
                    found = trial
                    break
            else:
                return found
        return found

    def _dropped(
        self, found: FittedEquation, drop: Sequence[int], covariance: torch.Tensor, batches: Sequence[Shots]
    ) -> FittedEquation | None:
        """Without some terms; the others start where they are likeliest then, or where they were, if that is nearer."""
        starts = (reduced(found.equation, drop, covariance), without_terms(found.equation, drop))
        here = [self.fitted(start, batches, 0, 1e-5, most_steps=32) for start in starts]
        known = [one for one in here if one is not None]
        if not known:
            return None
        start = min(known, key=lambda one: (one.fit.lost, one.fit.misfit))
        return self.fitted(start.equation, batches, 4, most_steps=128) if start.fit.misfit < HOPEFUL_MISFIT else None


def _covariance(found: FittedEquation) -> torch.Tensor:
    return found.fit.misfit**2 * pseudo_inverse(found.fit.normal)


def _text(equation: Equation) -> str:
    return " ".join(
        f"{c:+.4g}[{t}]{tuple(round(v, 5) for v in t.values) or ''}"
        for c, t in zip(equation.coefficients.tolist(), equation.terms, strict=True)
    )
