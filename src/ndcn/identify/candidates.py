"""Sets of terms that the weak form finds worth shooting: docs/interaction.md, How it works, 2."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest

from ..laws import Term
from .weak_form import Support, WeakForm, supports

# Of a parameter, in logarithms of the variance that the weak form leaves open: it must explain 1 - exp(-0.2) = 18 % of it. BIC's price,
# log(rows) / rows, holds for independent errors; those of the weak form are errors of the path, which a wrong term can follow.
HIGH_PRICE = 0.2
LOW_PRICE = 0.01  # for data whose path is good: there the variance left open tells candidates apart
LARGEST_SUPPORT = 5  # terms of sets by beam search: as many as the mutualistic law has, the longest of ``ndcn.laws``
NONLINEAR_PRICE = 2  # a function or quotient counts as so many parameters more: a plain product comes before it


@dataclass(frozen=True)
class RankedSupport:
    """A set of terms, the logarithm of the variance that it leaves open, and how complex its terms are together."""

    support: Support
    log_rest: float
    complexity: int

    def score(self, price: float) -> float:
        """Less is better."""
        return self.log_rest + price * self.complexity


def candidates(forms: Sequence[WeakForm], feature: int) -> list[list[tuple[Term, float]]]:
    """Term sets for the rate of one feature that the weak form finds worth shooting, best first.

    Those of one coupling with all polynomial terms come first, as most laws have one coupling; then those of one coupling
    with one self term of another kind and polynomial terms of two degrees (with all of them the fit would be lost in
    valleys: docs/interaction.md, What did not work); then any others. What the weak form leaves open says little where the path
    through the data is poor: sets come by it with a high price on each parameter, and then with a low one. How many of each
    are kept trades time for the rank at which the true set may stand.
    """
    one_coupling, one_curve, any_terms = zip(*(_ranked_sets(form, feature) for form in forms), strict=True)
    tiers = (
        (one_coupling, HIGH_PRICE, 6),
        (one_coupling, LOW_PRICE, 4),
        (one_curve, HIGH_PRICE, 5),
        (any_terms, HIGH_PRICE, 3),
    )
    out: dict[tuple, list[tuple[Term, float]]] = {}
    for sets_of_forms, price, most in tiers:
        columns = [
            best_of_families(form, feature, sets, price, most) for form, sets in zip(forms, sets_of_forms, strict=True)
        ]
        for row in zip_longest(*columns):
            for form, support in zip(forms, row, strict=True):
                if support is not None:
                    terms = [form.terms[feature][m] for m in support.members]
                    key = (id(form), *_families(form, feature, support))
                    out.setdefault(key, list(zip(terms, support.coefficients.tolist(), strict=True)))
    return list(out.values())


def _ranked_sets(form: WeakForm, feature: int) -> tuple[list[RankedSupport], list[RankedSupport], list[RankedSupport]]:
    """Polynomial self terms with one coupling or none; with one coupling and one curve; any sets, by beam search."""
    terms = form.terms[feature]
    polynomials = tuple(k for k, term in enumerate(terms) if not term.coupling and is_polynomial(term))
    couplings = [(*polynomials, k) for k, term in enumerate(terms) if term.coupling]
    with_coupling = form.solved_all(feature, couplings)
    without = form.solved(feature, polynomials)
    return (
        [ranked_support(form, feature, support) for support in (*with_coupling, without)],
        _with_one_curve(form, feature, polynomials, with_coupling),
        [ranked_support(form, feature, support) for support in supports(form, feature, most=LARGEST_SUPPORT)],
    )


def ranked_support(form: WeakForm, feature: int, support: Support) -> RankedSupport:
    """With what it leaves open and how complex it is."""
    terms = [form.terms[feature][m] for m in support.members]
    return RankedSupport(support, math.log(support.rest), sum(map(complexity, terms)))


def _with_one_curve(
    form: WeakForm, feature: int, polynomials: tuple[int, ...], with_coupling: Sequence[Support]
) -> list[RankedSupport]:
    """For each family of self terms that are no polynomials, the best of its sets with polynomials of two degrees."""
    terms = form.terms[feature]
    couplings: dict[tuple, int] = {}  # of each family the one that explains most
    for support in sorted(with_coupling, key=lambda s: s.rest):
        couplings.setdefault(terms[support.members[-1]].family, support.members[-1])
    curves = [k for k, term in enumerate(terms) if not term.coupling and k not in polynomials]
    sets = []
    for degrees in ((0, 1), (1, 2)):
        few = tuple(k for k in polynomials if _degree(terms[k]) in degrees)
        sets += [(*few, curve, coupling) for curve, coupling in product(curves, couplings.values())]
    best: dict[tuple, RankedSupport] = {}
    for support in form.solved_all(feature, sets):
        one = ranked_support(form, feature, support)
        family = terms[support.members[-2]].family  # of the curve
        best[family] = min(best.get(family, one), one, key=lambda ranked: ranked.score(HIGH_PRICE))
    return list(best.values())


def best_of_families(
    form: WeakForm, feature: int, ranked: Sequence[RankedSupport], price: float, most: int
) -> list[Support]:
    """The best of each combination of families, ``most`` of them."""
    found: dict[tuple, Support] = {}
    for one in sorted(ranked, key=lambda ranked: ranked.score(price)):
        found.setdefault(_families(form, feature, one.support), one.support)
    return list(found.values())[:most]


def _families(form: WeakForm, feature: int, support: Support) -> tuple:
    return tuple(sorted(form.terms[feature][m].family for m in support.members))


def complexity(term: Term) -> int:
    """Its coefficient and parameters, and more for functions and quotients."""
    return 1 + len(term.values) + (0 if is_polynomial(term) else NONLINEAR_PRICE)


def is_polynomial(term: Term) -> bool:
    """Whether it is a product of states, without functions, quotients or parameters."""
    return not term.values and not re.search(r"/|[a-z]\(|\^(?!\d)", term.formula.text)


def _degree(term: Term) -> int:
    """Of a product of features, as x^2 or u*v; of one's own formulas with sums about that."""
    powers = (re.search(r"\^(\d+)", factor) for factor in term.formula.text.split("*"))
    return 0 if term.formula.text == "1" else sum(int(power[1]) if power else 1 for power in powers)
