"""Sets of terms that the weak form finds worth shooting: docs/interaction.md, How it works, 2."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ..laws import Term
from .weak_form import Support, WeakForm, supports

HIGH_PRICE = 0.2
"""Of a parameter, in logarithms of the variance that the weak form leaves open: it must explain 1 - exp(-0.2) = 18 % of it.

BIC's price, log(rows) / rows, would be far lower, but holds for independent errors. Those of the weak form are errors of the path
through the data, which a wrong term can follow.
"""
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


@dataclass(frozen=True)
class RankedSets:
    """All sets of one weak form for the rate of one feature.

    Attributes:
        one_coupling: all polynomial self terms and one coupling, or none.
        one_curve: one coupling, one self term that is no polynomial, and polynomials of two degrees.
        any_terms: any sets, by beam search.
    """

    one_coupling: list[RankedSupport]
    one_curve: list[RankedSupport]
    any_terms: list[RankedSupport]


def candidates(forms: Sequence[WeakForm], feature: int) -> list[list[tuple[Term, float]]]:
    """Term sets for the rate of one feature that the weak form finds worth shooting, best first.

    Those of one coupling with all polynomial terms come first, as most laws have one coupling; then those of one coupling
    with one self term of another kind and polynomial terms of two degrees (with all of them the fit would be lost in
    valleys: docs/interaction.md, What did not work); then any others. What the weak form leaves open says little where the path
    through the data is poor: sets come by it with a high price on each parameter, and then with a low one. How many of each
    are kept trades time for the rank at which the true set may stand.
    """
    ranked = [_ranked_sets(form, feature) for form in forms]
    tiers = (
        ([sets.one_coupling for sets in ranked], HIGH_PRICE, 6),
        ([sets.one_coupling for sets in ranked], LOW_PRICE, 4),
        ([sets.one_curve for sets in ranked], HIGH_PRICE, 5),
        ([sets.any_terms for sets in ranked], HIGH_PRICE, 3),
    )
    out: dict[tuple, list[tuple[Term, float]]] = {}
    for sets_of_forms, price, most in tiers:
        columns = [_best(form, feature, sets, price, most) for form, sets in zip(forms, sets_of_forms, strict=True)]
        for row in zip_longest(*columns):
            for form, support in zip(forms, row, strict=True):
                if support is not None:
                    terms = [form.terms[feature][m] for m in support.members]
                    key = (id(form), *_families(form, feature, support))
                    out.setdefault(key, list(zip(terms, support.coefficients.tolist(), strict=True)))
    return list(out.values())


def _ranked_sets(form: WeakForm, feature: int) -> RankedSets:
    terms = form.terms[feature]
    polynomials = tuple(k for k, term in enumerate(terms) if not term.coupling and _is_polynomial(term))
    with_coupling = [form.solved(feature, (*polynomials, k)) for k, term in enumerate(terms) if term.coupling]
    without = form.solved(feature, polynomials)
    return RankedSets(
        [_ranked(form, feature, support) for support in (*with_coupling, without)],
        _with_one_curve(form, feature, polynomials, with_coupling),
        [_ranked(form, feature, support) for support in supports(form, feature, most=LARGEST_SUPPORT)],
    )


def _ranked(form: WeakForm, feature: int, support: Support) -> RankedSupport:
    terms = [form.terms[feature][m] for m in support.members]
    return RankedSupport(support, math.log(support.rest), sum(map(_complexity, terms)))


def _with_one_curve(
    form: WeakForm, feature: int, polynomials: tuple[int, ...], with_coupling: Sequence[Support]
) -> list[RankedSupport]:
    """For each family of self terms that are no polynomials, the best of its sets."""
    terms = form.terms[feature]
    couplings: dict[tuple, int] = {}  # of each family the one that explains most
    for support in sorted(with_coupling, key=lambda s: s.rest):
        couplings.setdefault(terms[support.members[-1]].family, support.members[-1])
    best: dict[tuple, RankedSupport] = {}
    for members in _sets_with_one_curve(terms, polynomials, list(couplings.values())):
        one = _ranked(form, feature, form.solved(feature, members))
        family = terms[members[-2]].family
        best[family] = min(best.get(family, one), one, key=lambda ranked: ranked.score(HIGH_PRICE))
    return list(best.values())


def _sets_with_one_curve(
    terms: Sequence[Term], polynomials: tuple[int, ...], couplings: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Polynomials of degrees 0 and 1, or 1 and 2, then the curve and the coupling."""
    curves = [k for k, term in enumerate(terms) if not term.coupling and k not in polynomials]
    for degrees in ((0, 1), (1, 2)):
        few = tuple(k for k in polynomials if _degree(terms[k]) in degrees)
        for curve in curves:
            for coupling in couplings:
                yield (*few, curve, coupling)


def _best(form: WeakForm, feature: int, ranked: Sequence[RankedSupport], price: float, most: int) -> list[Support]:
    """The best of each combination of families, ``most`` of them."""
    found: dict[tuple, Support] = {}
    for one in sorted(ranked, key=lambda ranked: ranked.score(price)):
        found.setdefault(_families(form, feature, one.support), one.support)
    return list(found.values())[:most]


def _families(form: WeakForm, feature: int, support: Support) -> tuple:
    return tuple(sorted(form.terms[feature][m].family for m in support.members))


def _complexity(term: Term) -> int:
    """Its coefficient and parameters, and more for functions and quotients."""
    return 1 + len(term.values) + (0 if _is_polynomial(term) else NONLINEAR_PRICE)


def _is_polynomial(term: Term) -> bool:
    return not term.values and not re.search(r"/|[a-z]\(", term.formula.text)


def _degree(term: Term) -> int:
    """Of a product of features, as x^2 or u*v."""
    powers = [factor.partition("^")[2] or "1" for factor in term.formula.text.split("*")]
    return 0 if term.formula.text == "1" else sum(map(int, powers))
