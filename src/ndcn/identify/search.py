"""Finding the terms: candidates by the weak form, judged by shooting, then pruned and extended until nothing is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from .equation import Equation, Model, Term, values_of
from .gauss_newton import Batch, Fit, batch_of, fit
from .observations import Observations
from .weak import Support, WeakForm, supports, weak_form

ENOUGH = 5.0  # residuals of so many times the noise are explained
ROUNDING = 2.0  # a term without which residuals are still below this is not seen in the data
FLOOR = 2e-6  # weighted misfits below this are rounding; no term is kept to lower them further


@dataclass(frozen=True)
class Found:
    """The best equation so far, fitted to some intervals."""

    fit: Fit
    equation: Equation

    def explains(self) -> bool:
        """Whether every shot ends where the data are, to the level of their noise."""
        return self.fit.lost == 0 and self.fit.excess < ENOUGH

    def text(self) -> str:
        """The equation."""
        return self.text_of(self.equation)

    @staticmethod
    def text_of(model: Model) -> str:
        """An equation, on one line."""
        return _text(model) if isinstance(model, Equation) else repr(type(model))

    def score(self) -> float:
        """BIC of the shots: what is left open, and the number of parameters."""
        rest = math.log(self.fit.misfit**2 + FLOOR**2)
        return self.fit.count * rest + len(self.equation.parameters) * math.log(self.fit.count)


def spread_of(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals: half of them the fastest, the others evenly spread."""
    speed = _speed(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    fast = speed.argsort(descending=True)[: count // 2]
    even = torch.linspace(0, len(speed) - 1, count - count // 2).round().long()
    return torch.cat([fast, even]).unique()


def lively(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals in which much happens, without the very fastest, over which first guesses shoot too far."""
    speed = _speed(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    skip = min(1 + len(speed) // 40, len(speed) - count)
    fast = speed.argsort(descending=True)[skip : skip + count - 2]
    even = torch.linspace(len(speed) // 2, len(speed) - 1, 2).round().long()
    return torch.cat([fast, even]).unique()


def _speed(one: Observations) -> torch.Tensor:
    moved = torch.asinh(one.level / one.unit).diff(dim=0).abs()
    return (moved / moved.mean(dim=(0, 1)).clamp(min=1e-300)).mean(dim=(1, 2))


def candidates(forms: Sequence[WeakForm], feature: int) -> list[list[tuple[Term, float]]]:
    """Term sets for the rate of one feature that the weak form finds worth shooting, best first.

    Those of one coupling with all polynomial terms come first, as most laws have one coupling; then any others.
    """
    simple: dict[tuple, tuple[float, list[tuple[Term, float]]]] = {}
    others: dict[tuple, tuple[float, list[tuple[Term, float]]]] = {}

    def keep(out: dict, form: WeakForm, support: Support) -> None:
        terms = [form.terms[feature][m] for m in support.members]
        key = (id(form), *sorted(t.family for t in terms))
        score = math.log(support.rest) + 0.2 * sum(1 + len(t.values) for t in terms)
        if key not in out or score < out[key][0]:
            out[key] = (score, list(zip(terms, support.coefficients.tolist(), strict=True)))

    for form in forms:
        terms = form.terms[feature]
        plain = [k for k, t in enumerate(terms) if not t.coupling and _is_polynomial(t)]
        for k, term in enumerate(terms):
            if term.coupling:
                keep(simple, form, _solved(form, feature, (*plain, k)))
        keep(simple, form, _solved(form, feature, tuple(plain)))
        for support in supports(form, feature, most=5):
            keep(others, form, support)

    def ranked(out: dict, most: int) -> list[list[tuple[Term, float]]]:
        each = []
        for form in forms:
            own = [value for key, value in out.items() if key[0] == id(form)]
            each.append([terms for _, terms in sorted(own, key=lambda pair: pair[0])[:most]])
        return [terms for several in zip(*each, strict=True) for terms in several]

    return ranked(simple, 6) + ranked(others, 3)


def _is_polynomial(term: Term) -> bool:
    text = term.formula.text
    return not any(c in text for c in "(/") and not term.values


def _solved(form: WeakForm, feature: int, members: tuple[int, ...]) -> Support:
    index = list(members)
    gram, moment = form.gram[feature][np.ix_(index, index)], form.moment[feature][index]
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    c = np.linalg.lstsq(gram / np.outer(size, size) + 1e-12 * np.eye(len(index)), moment / size, rcond=None)[0] / size
    rest = 1 - float(2 * c @ moment - c @ gram @ c) / max(form.power[feature], 1e-300)
    return Support(members, c, max(rest, 1e-15))


class Search:
    """The search for a closed form, on given observations and with a given library."""

    def __init__(
        self, data: Sequence[Observations], terms: Sequence[Term], say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.data, self.terms, self.say = list(data), list(terms), say
        self.d = data[0].states.shape[2]
        self.scale = torch.stack([one.level.abs().amax(dim=(0, 1)) for one in data]).amax(0).clamp(min=1e-300)

    def batches(self, count: int, chosen: Callable[[Observations, int], torch.Tensor]) -> list[Batch]:
        """Shots over ``count`` intervals of all trajectories together."""
        each = max(3, count // len(self.data))
        return [batch_of(one, chosen(one, each)) for one in self.data]

    def fitted(
        self,
        equation: Equation,
        batches: Sequence[Batch],
        iterations: int,
        precision: float = 2e-8,
        most_steps: int = 64,
        enough: float = 1e-3,
    ) -> Found | None:
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
        return Found(done, done.model)

    def shortlist(self, good: Callable[[Found], bool] | None = None) -> list[Found]:
        """Candidates fitted to a few lively intervals, best first; no more are tried once one is good.

        Without ``good`` they are first guesses only, which noise would not let become better.
        """
        most = 15 if good else 6
        chosen = [spread_of(one, max(4, 40 // len(self.data))) for one in self.data]
        known: dict[tuple[int, str, bool, tuple[float, ...]], np.ndarray] = {}
        forms = [weak_form(self.data, chosen, self.terms, power, known) for power in (0.5, 1.0)]
        few = self.batches(8, lively)
        out: list[Found] = []
        for combination in self._combinations([candidates(forms, a) for a in range(self.d)]):
            found = self.fitted(_equation(combination, self.d), few, most, 1e-5, 16, enough=0.03)
            if found is not None and found.fit.misfit < 0.1 and good:
                found = self.fitted(found.equation, few, 12, 1e-6, 32)
            if found is None:
                continue
            self.say(f"{found.fit.misfit:.2e} {_text(found.equation)}")
            out.append(found)
            if good and found.fit.misfit < 1e-3 and good(found):
                break
        return sorted(out, key=Found.score)

    def run(self) -> Found | None:
        """The best closed form for observations without noise."""
        few, more = self.batches(8, lively), self.batches(24, spread_of)
        explained: list[Found] = []

        def good(found: Found) -> bool:
            refined = self.fitted(self.pruned(found, few).equation, more, 8, most_steps=128)
            if refined is None or not refined.explains():
                return False
            refined = self.pruned(refined, more)
            for equation in simpler(refined.equation, self.data, self.terms):
                plainer = self.fitted(equation, more, 8, most_steps=128)
                if plainer is not None and plainer.explains():
                    refined = plainer
            explained.append(refined)
            return True

        first = self.shortlist(good)
        if explained:
            return explained[0]
        best: Found | None = None
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

    def pruned(self, found: Found, batches: Sequence[Batch]) -> Found:
        """Without the terms that the shots do not need: those whose loss BIC would welcome, the least needed first."""
        while len(found.equation.terms) > 1:
            lost = _significance(found).square()
            spared = torch.tensor([1.0 + len(t.values) for t in found.equation.terms], dtype=torch.float64)
            worse = found.fit.count * torch.log1p(lost / found.fit.count) - spared * math.log(found.fit.count)
            for k in torch.argsort(worse).tolist()[:3]:
                predicted = found.fit.excess * math.sqrt(1 + float(lost[k]) / found.fit.count)
                if worse[k] > 20 * math.log(found.fit.count) and predicted > 30:
                    continue
                trial = self.fitted(without_term(found.equation, k), batches, 4, most_steps=128)
                if trial is None or trial.fit.lost > found.fit.lost:
                    continue
                if trial.score() < found.score() or trial.fit.excess < ROUNDING:
                    found = trial
                    break
            else:
                return found
        return found


def _significance(found: Found) -> torch.Tensor:
    """|c| / standard error of each coefficient."""
    count = len(found.equation.terms)
    normal = found.fit.normal
    size = normal.diagonal().clamp(min=1e-300).sqrt()
    scaled = normal / torch.outer(size, size)
    inverse = torch.linalg.pinv(scaled, rcond=1e-12, hermitian=True)
    errors = found.fit.misfit * inverse.diagonal().clamp(min=0).sqrt() / size
    return found.equation.coefficients.abs() / errors[:count].clamp(min=1e-300)


def simpler(equation: Equation, data: Sequence[Observations], terms: Sequence[Term]) -> list[Equation]:
    """Equations in which one term with parameters inside is replaced by a plainer one of nearly the same values."""
    one = data[0]
    states = one.level[:: max(1, len(one.level) // 8)]
    out = []
    for k, term in enumerate(equation.terms):
        if not term.values:
            continue
        values = values_of(term, states, one.network)
        ranked: list[tuple[float, Equation]] = []
        for other in terms:
            alike = other.output == term.output and other.coupling == term.coupling
            if (
                not alike
                or len(other.values) >= len(term.values)
                or any(other.family == t.family for t in equation.terms)
            ):
                continue
            rival = values_of(other, states, one.network)
            c = float((values * rival).sum() / rival.square().sum().clamp(min=1e-300))
            left = float((values - c * rival).square().sum() / values.square().sum().clamp(min=1e-300))
            if left < 0.01:
                coefficients = equation.coefficients.clone()
                coefficients[k] *= c
                swapped = tuple(other if m == k else t for m, t in enumerate(equation.terms))
                ranked.append((left, replace(equation, terms=swapped, coefficients=coefficients)))
        out += [e for _, e in sorted(ranked, key=lambda pair: pair[0])[:2]]
    return out


def without_term(equation: Equation, k: int) -> Equation:
    """The equation without its term k."""
    keep = [m for m in range(len(equation.terms)) if m != k]
    return replace(equation, terms=tuple(equation.terms[m] for m in keep), coefficients=equation.coefficients[keep])


def _equation(terms: Sequence[tuple[Term, float]], d: int) -> Equation:
    return Equation(tuple(t for t, _ in terms), torch.tensor([c for _, c in terms], dtype=torch.float64), d)


def _text(equation: Equation) -> str:
    return " ".join(
        f"{c:+.4g}[{t}]{tuple(round(v, 5) for v in t.values) or ''}"
        for c, t in zip(equation.coefficients.tolist(), equation.terms, strict=True)
    )
