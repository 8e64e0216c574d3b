"""Which inputs act, and how: the weak form with terms u, u x_i and u times the coupling, taken in one at a time."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from ..data import Inputs
from ..laws import Equation, Formula, Term, term_values
from .candidates import LOW_PRICE, complexity, is_polynomial
from .input_quadrature import input_weights
from .observations import Observations, integrals
from .search import WEIGHTINGS
from .variants import nearest, projected
from .weak_form import OVERFLOW, WeakForm, stretches

MOST_INPUT_TERMS = 3  # of a law; one input that acts in two ways and a second one
COUPLINGS_KEPT = (
    4  # of each number of input terms: the true one was first or second in the trials of docs/interaction.md, Inputs
)
# An input term must explain this share of what the weak form leaves open to be tried at all; whether it stays is decided by BIC on shots
# or whole trajectories.
WORTH_TRYING = 1e-4
ALIKE = 0.05  # share of its squares by which a coupling with parameters may differ from one without that is tried in its place
SOME_STATES = 10
NEARLY_ALIKE = 2  # couplings of each kind that are fitted in the place of another
LARGEST_SHARE = 100.0  # of u g in a coupling: with more it acts without u hardly at all, and there is nothing to tie


@dataclass(frozen=True)
class InputTerm:
    """u times 1, a feature, or the coupling, whichever that is; in the rate of one feature."""

    kind: str  # "1", "coupling", or the name of a feature in formulas
    input: int
    output: int


@dataclass(frozen=True)
class DrivenGuess:
    """An equation worth fitting, and what is in it of inputs."""

    equation: Equation
    taken: tuple[InputTerm, ...]
    log_rest: float


@dataclass
class InputSearch:
    """Weak forms of increments with autonomous terms and each of them times each input.

    Args:
        data: trajectories with their paths.
        inputs: of each.
        terms: the library, in the features alone.
        names: of features and then inputs in formulas.
    """

    data: Sequence[Observations]
    inputs: Sequence[Inputs]
    terms: Sequence[Term]
    names: tuple[str, ...]
    _forms: list[WeakForm] = field(default_factory=list)
    _known: dict[tuple[int, int], list[np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.d = self.data[0].states.shape[2]
        self.p = len(self.inputs[0].drivers)
        own = [[t for t in self.terms if t.output == a] for a in range(self.d)]
        self.plain = own
        self._forms = [self._form(power) for power in WEIGHTINGS]

    def guesses(self) -> list[list[DrivenGuess]]:
        """Equations with 0, 1, 2, ... input terms, of each number the best few, by what the weak form leaves open."""
        taken: list[InputTerm] = []
        stages = [self.ranked(taken)]
        every = self.input_terms()
        while len(taken) < MOST_INPUT_TERMS:
            left = [one for one in every if one not in taken]
            tried = [(self.ranked([*taken, one])[:1], one) for one in left]
            best, new = min(
                ((found[0].log_rest, one) for found, one in tried if found),
                default=(math.inf, None),
                key=lambda x: x[0],
            )
            if new is None or stages[-1][0].log_rest - best < WORTH_TRYING:
                break
            taken.append(new)
            stages.append(self.ranked(taken))
        return stages

    def input_terms(self) -> list[InputTerm]:
        """All that could act."""
        return [
            InputTerm(kind, k, a)
            for a in range(self.d)
            for k in range(self.p)
            for kind in ("1", *self.names[: self.d], "coupling")
        ]

    def extended(self, equation: Equation, new: InputTerm) -> Equation:
        """An equation with one more input term, its coefficient 0; with "coupling" one for each coupling in that rate."""
        name = self.names[self.d + new.input]
        if new.kind == "coupling":
            own = [t for t in equation.terms if t.coupling and t.output == new.output and not self.driven(t)]
            added = [replace(t, formula=Formula(times_text(name, t.formula.text), self.names)) for t in own[:1]]
        else:
            added = [Term(Formula(times_text(name, new.kind), self.names), False, new.output)]
        added = [t for t in added if t.family not in equation.families]
        zeros = torch.zeros(len(added), dtype=torch.float64)
        return replace(
            equation, terms=(*equation.terms, *added), coefficients=torch.cat([equation.coefficients, zeros])
        )

    def tied(self, equation: Equation) -> Equation:
        """With c (1 + s u) g in the place of a g with parameters inside and u g, whose parameters are the same."""
        terms, numbers = list(equation.terms), equation.coefficients.tolist()
        for name in self.names[self.d :]:
            for k, term in enumerate(terms):
                text = times_text(name, term.formula.text)
                pair = [
                    m for m, t in enumerate(terms) if t.formula.text == text and t.output == term.output and t.coupling
                ]
                if not (term.coupling and term.values and pair and not self.driven(term)):
                    continue
                share = numbers[pair[0]] / numbers[k] if numbers[k] else math.inf
                if abs(share) > LARGEST_SHARE:
                    continue
                free = next(s for s in ("s", "q", "r", "p") if s not in (*term.formula.parameters, *self.names))
                formula = Formula(f"(1 + {free}*{name})*({term.formula.text})", self.names)
                values = dict(zip(term.formula.parameters, term.values, strict=True)) | {free: share}
                terms[k] = replace(term, formula=formula, values=tuple(values[one] for one in formula.parameters))
                del terms[pair[0]], numbers[pair[0]]
                return replace(equation, terms=tuple(terms), coefficients=torch.tensor(numbers, dtype=torch.float64))
        return equation

    def nearly(self, term: Term) -> list[Term]:
        """Couplings that are much the same as one with parameters at the states seen: those without any, then of other families with some."""
        if not term.coupling or not term.values or self.driven(term):
            return []
        one, names = self.data[0], self.names[: self.d]
        states = one.level[:: max(1, len(one.level) // SOME_STATES)]
        own = term_values(replace(term, formula=Formula(term.formula.text, names)), states, one.network)
        families: dict[tuple, list[Term]] = {}
        for other in self.plain[term.output]:
            if other.coupling and other.formula.text != term.formula.text:
                families.setdefault(other.family, []).append(other)
        found: dict[bool, list[tuple[float, Term]]] = {False: [], True: []}
        for options in families.values():
            best = nearest(options, own, states, one.network) if options[0].values else options[0]
            left = projected(own, term_values(best, states, one.network))[1]
            if left < ALIKE:
                rival = replace(best, formula=Formula(best.formula.text, self.names))
                found[bool(best.values)].append((left, rival))
        ranked = [sorted(some, key=lambda pair: pair[0])[:NEARLY_ALIKE] for some in found.values()]
        return [other for some in ranked for _, other in some]

    def driven(self, term: Term) -> bool:
        """Whether an input is in a term."""
        words = set(re.findall(r"[A-Za-z_]\w*", term.formula.text))
        return any(name in words for name in self.names[self.d :])

    def ranked(self, taken: Sequence[InputTerm]) -> list[DrivenGuess]:
        """Equations with these input terms, couplings ranked again, best first; one for each family of couplings."""
        each = [self._ranked_of(a, [one for one in taken if one.output == a]) for a in range(self.d)]
        best = [options[0] for options in each]
        combinations = [best] + [
            [*best[:a], option, *best[a + 1 :]] for a, options in enumerate(each) for option in options[1:]
        ]
        out = []
        for parts in combinations:
            terms = [pair for part in parts for pair in part[1]]
            coefficients = torch.tensor([c for _, c in terms], dtype=torch.float64)
            equation = Equation(tuple(t for t, _ in terms), coefficients, self.d + self.p)
            out.append(DrivenGuess(equation, tuple(taken), sum(part[0] for part in parts)))
        return out[: COUPLINGS_KEPT * self.d]

    def _ranked_of(self, a: int, taken: Sequence[InputTerm]) -> list[tuple[float, list[tuple[Term, float]]]]:
        """Sets of terms for the rate of one feature, with what they leave open."""
        terms, count = self.plain[a], len(self.plain[a])
        base = [k for k, term in enumerate(terms) if not term.coupling and is_polynomial(term)]
        one = terms.index(next(term for term in terms if term.formula.text == "1" and not term.coupling))
        places = {"1": one} | {
            name: k
            for k, term in enumerate(terms)
            for name in self.names[: self.d]
            if not term.coupling and term.formula.text == name
        }
        found: dict[tuple, tuple[float, list[tuple[Term, float]]]] = {}
        for form in self._forms:
            sets, owners = [], []
            for coupling in [None, *(k for k, term in enumerate(terms) if term.coupling)]:
                if coupling is None and any(t.kind == "coupling" for t in taken):
                    continue
                of = places if coupling is None else places | {"coupling": coupling}
                driven = [count * (1 + t.input) + of[t.kind] for t in taken]
                sets.append([*base, *([] if coupling is None else [coupling]), *driven])
                owners.append(coupling)
            for coupling, support in zip(owners, form.solved_all(a, sets), strict=True):
                family = () if coupling is None else terms[coupling].family
                price = 0 if coupling is None else complexity(terms[coupling])
                score = math.log(support.rest) + LOW_PRICE * price
                pairs = [
                    (form.terms[a][m], float(c)) for m, c in zip(support.members, support.coefficients, strict=True)
                ]
                if family not in found or score < found[family][0]:
                    found[family] = score, pairs
        return sorted(found.values(), key=lambda x: x[0])[:COUPLINGS_KEPT]

    def _form(self, power: float) -> WeakForm:
        """Columns are the integrals of all autonomous terms, then those of each input times them."""
        systems, rows_of_first = [], 0
        listed = tuple(self._all_terms(a) for a in range(self.d))
        for a in range(self.d):
            parts, targets = [], []
            for m in range(len(self.data)):
                one = self.data[m]
                rows = stretches(one, torch.arange(len(one.spans)), a, power)
                parts.append(np.stack([rows.over(v) * rows.weight for v in self._integrals(m, a)], 1))
                targets.append(rows.step * rows.weight)
            W, y = np.concatenate(parts), np.concatenate(targets)
            W[~(np.abs(W) < OVERFLOW)] = 0.0
            systems.append((W.T @ W, W.T @ y, float(y @ y)))
            rows_of_first = rows_of_first or len(y)
        gram, moment, squares = zip(*systems, strict=True)
        return WeakForm(gram, moment, squares, rows_of_first, listed)

    def _all_terms(self, a: int) -> list[Term]:
        own = [Term(Formula(t.formula.text, self.names), t.coupling, a, t.values) for t in self.plain[a]]
        for k in range(self.p):
            name = self.names[self.d + k]
            own += [
                Term(Formula(times_text(name, t.formula.text), self.names), t.coupling, a, t.values)
                for t in self.plain[a]
            ]
        return own

    def _integrals(self, m: int, a: int) -> list[np.ndarray]:
        """Of all terms of one feature over all intervals of a trajectory, (T - 1, n) each."""
        known = self._known
        if (m, a) not in known:
            one = self.data[m]
            inner = one.inner[torch.arange(len(one.spans))]
            flat, shape = inner.reshape(-1, *inner.shape[2:]), inner.shape[:3]
            cache: dict[str, torch.Tensor] = {}
            values = [term_values(term, flat, one.network, cache).reshape(shape) for term in self.plain[a]]
            weights = [input_weights(self.inputs[m], one.times)[name] for name in self.inputs[m].names]
            known[m, a] = [integrals(v, one.spans).numpy() for v in values]
            known[m, a] += [(v * w).sum(1).numpy() for w, v in itertools.product(weights, values)]
        return known[m, a]


def times_text(name: str, text: str) -> str:
    """u times a term, as text."""
    if text == "1":
        return name
    return f"{name}*{text}" if not any(sign in text.replace("^-", "") for sign in "+-/") else f"{name}*({text})"
