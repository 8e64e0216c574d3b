"""Two couplings at once: dx_i/dt = f(x_i) + sum_j A_ij [g_1(x_i, x_j) + g_2(x_i, x_j)]."""

from __future__ import annotations

import itertools

import numpy as np

from ..laws import Equation, Term
from .candidates import HIGH_PRICE, LOW_PRICE, RankedSupport, best_of_families, is_polynomial, ranked_support
from .search import WEIGHTINGS, Search, combinations, weak_form_intervals
from .weak_form import Support, WeakForm, weak_form

KEPT = 6  # sets of each weighting and price
STARTS = 2  # of each family of couplings, the values inside with which it explains most alone


class PairSearch(Search):
    """The search for a closed form with two couplings in the rate of each feature."""

    def guesses(self) -> list[Equation]:
        """All polynomial self terms with two couplings, those first that leave least open in the weak form."""
        chosen = weak_form_intervals(self.data)
        known: dict[tuple[int, str, bool, tuple[float, ...]], np.ndarray] = {}
        forms = [weak_form(self.data, chosen, self.terms, power, known, self.base) for power in WEIGHTINGS]
        return [self._equation(one) for one in combinations([_sets(forms, a) for a in range(self.features)])]


def _sets(forms: list[WeakForm], feature: int) -> list[list[tuple[Term, float]]]:
    out: dict[tuple, list[tuple[Term, float]]] = {}
    ranked = [_pairs(form, feature) for form in forms]
    for price in (HIGH_PRICE, LOW_PRICE):
        columns = [best_of_families(form, feature, some, price, KEPT) for form, some in zip(forms, ranked, strict=True)]
        for row in itertools.zip_longest(*columns):
            for form, support in zip(forms, row, strict=True):
                if support is not None:
                    terms = [form.terms[feature][m] for m in support.members]
                    key = (id(form), *sorted(term.family for term in terms))
                    out.setdefault(key, list(zip(terms, support.coefficients.tolist(), strict=True)))
    return list(out.values())


def _pairs(form: WeakForm, feature: int) -> list[RankedSupport]:
    """Sets of two couplings of different families, each with the values that explain most together with the other."""
    terms = form.terms[feature]
    own = tuple(k for k, term in enumerate(terms) if not term.coupling and is_polynomial(term))
    single = form.solved_all(feature, [(*own, k) for k, term in enumerate(terms) if term.coupling])
    starts: dict[tuple, list[int]] = {}
    for support in sorted(single, key=lambda one: one.rest):
        k = support.members[-1]
        starts.setdefault(terms[k].family, [])
        if len(starts[terms[k].family]) < STARTS or not _crowded(terms[k]):
            starts[terms[k].family].append(k)
    pairs = [
        (*own, k, m)
        for one, other in itertools.combinations(starts.values(), 2)
        for k, m in itertools.product(one, other)
    ]
    solved: list[Support] = form.solved_all(feature, pairs)
    return [ranked_support(form, feature, support) for support in solved]


def _crowded(term: Term) -> bool:
    """Whether its family has a grid of two parameters, of which the first few say enough."""
    return len(term.values) > 1
