"""Which coupling: families of g(x_i, x_j) compared by their evidence on some rows, their parameters refined."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.optimize import minimize

from ..identify import library
from ..laws import Term
from .increments import Grams, Increments
from .learning import diffuse, soft_fit
from .screening import SCREENED, first_candidates
from .slab import Rows
from .soft import Soft

# Rows of a glance at all terms, of a quick look at the best, and of a longer one at the best families. Families differ by tens of nats a row.
GLANCE_ROWS, FIRST_ROWS, SECOND_ROWS = 6, 10, 24
QUICK = 20  # terms, of some eighty, that get a quick look: of 3 rows, 10 runs and 5 % noise, the true one (SIS, seed 2) was at place 15
SAME = 1e-3  # share of the variance of g that a simpler coupling may leave open and still be taken for the same: 3 % of its size
# Nats a row within which couplings are rivals that noise may have put in the wrong order, if simulations do not tell: large differences of noisy states
# are partly noise, which makes couplings look as if they saturated (heat, 5 %: sin(x_j - x_i) ahead of x_j - x_i by 50 nats of 24 rows). Those that
# differ by no more than noise are taken for the same within that margin only: exp(-x_j) is not x_j^2/(1 + x_j^2), whose evidence is larger by
# 3.6 nats a row (gene, 5 %, seed 81).
NEAR = 2.5
CLEAN = 1e-3  # noise, as a share of the states' standard deviation, below which evidence is of errors of the path, and margins tell nothing
FUNCTION = re.compile(r"[a-z]\w*\(")
SECOND = 5  # families that are looked at longer
AGAIN = 2  # of them, once the noise that links leave is known


@dataclass(frozen=True)
class Scored:
    """A term and the evidence for it: log marginal likelihood of rows, (B,) and their sum less the price of its parameters."""

    term: Term
    evidence: float
    soft: Soft
    by_row: torch.Tensor


def couplings(features: Sequence[str], ranges: np.ndarray, output: int) -> list[Term]:
    """Candidates for g in the rate of one feature; a constant, which tells no nodes apart, is none."""
    terms = [term for term in library(features, ranges) if term.coupling and term.output == output]
    return [term for term in terms if term.formula.on_edges]


def starts(term: Term, features: Sequence[str], ranges: np.ndarray) -> list[Term]:
    """A coupling at several values of its parameters, from which they are fitted: those of the library, or sizes between 1 and that of states."""
    known = [one for one in couplings(features, ranges, term.output) if one.formula.text == term.formula.text]
    size = float(np.abs(ranges).max()) or 1.0
    every = sorted({1.0, 0.1 * size, 0.3 * size, 1 / size})
    return known or [replace(term, values=(value,) * len(term.formula.parameters)) for value in every]


def score(grams: Grams, soft: Soft, generator: torch.Generator) -> torch.Tensor:
    """Log evidence of rows, (B,): of the sets of links that are more probable than not, over their share of the posterior.

    Where a row's posterior is spread over many sets, that share is a poor estimate (SIS, 10 runs, 5 % noise, seed 11: a wrong coupling by 418
    nats): the evidence there is that of expectation propagation.
    """
    rows = Rows(grams, soft.shared, soft.probabilities > 0.5, generator)
    p = soft.probabilities.clamp(1e-12, 1 - 1e-12)
    share = torch.where(rows.links, p, 1 - p).log() * rows.possible
    return torch.where(diffuse(soft), soft.log_evidence(), rows.log_posterior - share.sum(1))


def quick_look(
    increments: Increments, terms: Sequence[Term], seed: int, told: Callable[[str], None] = lambda _: None
) -> list[Scored]:
    """Families by their evidence on few rows, best first; of each the best starting values of its parameters.

    Raises:
        ValueError: none can be computed.
    """
    generator = torch.Generator().manual_seed(seed)
    ranked = list(terms)
    for count in (GLANCE_ROWS, FIRST_ROWS):
        few = rows_of(increments.paths.nodes, count, seed)
        found: list[Scored] = []
        for k, term in enumerate(ranked):
            told(f"coupling {k + 1} of {len(ranked)}")
            one = scored(increments, term, few, generator, 12)
            found += [] if one is None else [one]
        found.sort(key=lambda one: -one.evidence)
        ranked = [one.term for one in found[:QUICK]]
    best: dict[tuple, Scored] = {}
    for one in found:
        best.setdefault(one.term.family, one)
    if not best:
        raise ValueError("no coupling of the library can be computed on these states; they are too large or not finite")
    return list(best.values())


def closer_look(
    increments: Increments, first: Sequence[Scored], seed: int, count: int = SECOND, contest: bool = False
) -> list[Scored]:
    """The best families on more rows, with refined parameters, and after them the others, whose evidence is of few rows.

    Of couplings that are the same up to noise the simplest stays; all of them with ``contest``, for which simulations decide.
    """
    more = rows_of(increments.paths.nodes, SECOND_ROWS, seed)
    generator = torch.Generator().manual_seed(seed)
    longer = []
    for one in first[:count]:
        again = fitted(increments, one.term, more, generator)
        if again is None:
            continue
        longer.append(again)
    longer.sort(key=lambda one: -one.evidence)
    if longer:
        alike = [one for one in first[count:] if complexity(one)[:2] < complexity(longer[0])[:2]]
        alike = [one for one in alike if same(increments, longer[0].term, one.term, in_noise=True)]
        simpler = (scored(increments, one.term, more, generator, 20) for one in alike)
        longer += [one for one in simpler if one is not None]
        first = [one for one in first if all(one is not other for other in alike)]
    longer = _simplest(increments, longer, in_noise=not contest)
    scale = len(more) / len(first[0].soft.grams.rows)
    best = longer[0].evidence if longer else 0.0
    rest = [replace(one, evidence=best + scale * (one.evidence - first[0].evidence)) for one in first[count:]]
    return [*longer, *rest]


def fitted(increments: Increments, term: Term, rows: np.ndarray, generator: torch.Generator) -> Scored | None:
    """A term with the parameters that suit these rows best; None if it cannot be computed."""
    one = scored(increments, term, rows, generator, 20)
    if one is None:
        return None
    refined = _refined(increments, one, rows)
    other = None if refined == term else scored(increments, refined, rows, generator, 20)
    return other if other is not None and other.evidence > one.evidence else one


def rows_of(n: int, count: int, seed: int) -> np.ndarray:
    """A sample of rows, in order; a larger one holds the smaller."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:count])


def _simplest(increments: Increments, ranked: list[Scored], in_noise: bool) -> list[Scored]:
    """The same without couplings that are the best one on the observed states, of which the simplest stays: x_i x_j/(K + x_j) with a large K."""
    if not ranked:
        return ranked
    best = ranked[0]

    clean = _noise(increments) < CLEAN

    def alike(one: Scored) -> bool:
        near = clean or best.evidence - one.evidence < NEAR * len(best.by_row)
        return one is best or (near and same(increments, best.term, one.term, in_noise))

    one_of = [one for one in ranked if alike(one)]
    simplest = min(one_of, key=complexity)
    return [replace(simplest, evidence=best.evidence), *(one for one in ranked if one not in one_of)]


def complexity(one: Scored) -> tuple[int, int, float]:
    """Parameters, functions, and how much f differs from node to node: of couplings that differ by a function of x_i, as x_j and x_j - x_i, the
    wrong one leaves degrees to f. In clean data evidence does not tell, for it is of errors of the path."""
    return len(one.term.values), len(FUNCTION.findall(one.term.formula.text)), float(one.soft.shared.variance.sum())


def same(increments: Increments, one: Term, other: Term, in_noise: bool = False) -> bool:
    """Whether two couplings differ, on pairs of states, by no more than a factor and a function of x_i, which f takes up; or by no more than noise."""
    generator = torch.Generator().manual_seed(0)
    states = increments.states.flatten(0, 1)
    i, j = torch.randint(len(states), (2, 4000), generator=generator)
    x_i, x_j = states[i], states[j]
    g = one.formula(x_i, x_j, one.values)
    own = torch.stack([formula(x_i) for formula in increments.formulas], dim=1)
    both = torch.cat([own, other.formula(x_i, x_j, other.values).unsqueeze(1)], dim=1)
    both = both / both.square().mean(0).sqrt().clamp(min=1e-300)

    def rest(columns: torch.Tensor) -> float:
        return float((g - columns @ torch.linalg.lstsq(columns, g.unsqueeze(1)).solution.squeeze(1)).square().mean())

    least = max(SAME, _noise(increments) ** 2) if in_noise else SAME
    return rest(both) < least * rest(both[:, :-1])


def _noise(increments: Increments) -> float:
    """Of the observations, in units of the standard deviation of the states."""
    states = increments.states[..., increments.output]
    return float(increments.paths.noise[:, increments.output].mean()) / (float(states.std()) + 1e-300)


def scored(
    increments: Increments, term: Term, rows: np.ndarray, generator: torch.Generator, iterations: int
) -> Scored | None:
    """The evidence for a term on some rows; None if it cannot be computed."""
    many = increments.paths.nodes > SCREENED
    grams = increments.grams(term, rows, first_candidates(increments, term, rows) if many else None)
    if not bool(grams.G.isfinite().all()) or float(grams.G.abs().amax()) > 1e100:
        return None
    try:
        soft = soft_fit(grams, iterations=iterations)
        found = score(grams, soft, generator)
    except torch.linalg.LinAlgError:  # columns that are the same up to rounding
        return None
    price = 0.5 * len(term.values) * math.log(grams.count * len(rows))
    total = float(found.sum())
    return Scored(term, total - price, soft, found) if math.isfinite(total) else None


def _refined(increments: Increments, one: Scored, rows: np.ndarray) -> Term:
    """The term with those parameters that leave least open, its links as they were found."""
    if not one.term.values:
        return one.term
    links = np.zeros((len(rows), increments.paths.nodes), dtype=bool)
    np.put_along_axis(links, one.soft.grams.candidates, (one.soft.probabilities > 0.5).numpy(), axis=1)
    signs = np.sign(np.array(one.term.values)) + (np.array(one.term.values) == 0)
    start = np.log(np.maximum(np.abs(one.term.values), 1e-3))

    def term_at(values: np.ndarray) -> Term:
        return replace(one.term, values=tuple((signs * np.exp(np.clip(values, -12, 12))).tolist()))

    def open_share(values: np.ndarray) -> float:
        rest = increments.residuals(term_at(values), rows, links).square().sum(0)
        total = float(rest.clamp(min=1e-300).log().sum())
        return total if math.isfinite(total) else 1e300

    found = minimize(open_share, start, method="Nelder-Mead", options={"maxfev": 40 * len(start), "xatol": 1e-3})
    return term_at(found.x)
