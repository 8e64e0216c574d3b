"""Laws whose nodes differ: formulas by the weak form of each node, fitted along trajectories, decided by BIC."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from ..laws import Equation, NodeEquation, Term
from .clock import in_time, noted, time_is_over
from .data_smoothing import Noise
from .equation_fit import EXPLAINED_ROUNDING
from .mixed_model import MixedFit
from .node_factored import factored, larger_first, roots_are_seen
from .node_fit import NodeFit, fit_nodes_along, node_problems
from .node_inner import inner_starts
from .node_pruning import SCREENING_ITERATIONS, SETTLING_ITERATIONS, plain_in_rounding, plainer, pruned
from .node_second_form import BEHIND, likely_couplings, second_form
from .node_signs import with_positive_squares
from .node_suggestions import as_suggested, suggested
from .node_weak_form import NodeForm, node_form
from .observations import Observations, largest

logger = logging.getLogger(__name__)

TRIED = 4  # formulas of the weak form that are followed along trajectories
SHORT_LAWS = 3  # couplings whose shortest laws are followed too
SHORT_SETS = 3  # of them, for each coupling
NEARLY_EXPLAINED = 1.3  # times the noise: what linear models say of laws that leave more is not to be relied on
EXPLAINED = 1.1  # times the noise: a formula that leaves no more needs no rival to be fitted
ROUNDING = 0.7  # times the noise: noise itself leaves 1, so that less is the rounding of data without noise
BEST_FEW = 2  # of them that are fitted further
COUPLINGS_SETTLED = 6  # of which other numbers are tried as those that vary
FITS_OF_A_COUPLING = 2
FACTORED = 2  # of them whose cubic polynomials are also written as products
PRETENDED = 0.01  # noise, as a share, with which laws are first followed where there is none
FOLLOWED_CLOSELY = 0.1  # times that noise: what is left is to be explained by fits to rounding
PRODUCT_ITERATIONS = 8  # its roots are those of the mean polynomial, and its nodes are alike at first
STAGES = (0.1, 0.25, 0.5)  # shares of the snapshots along which a law that explodes is fitted first
STAGE_ITERATIONS = 6
FEWEST_OF_A_STAGE = 6  # snapshots
ALTERNATIVES = 2  # other choices of what varies that are fitted, in each round
ROUNDS = 4
SECOND_LOOKS = 2  # at couplings, along the trajectories of the best fit
MOST_UNKNOWNS = 1700  # initial states and deviations, whose matrix is formed: 23 MB, and minutes for more of them


def differing(
    data: Sequence[Observations],
    terms: Sequence[Term],
    tolerance: torch.Tensor,
    features: tuple[str, ...],
    known: Iterable[Equation] = (),
    *,
    noisy: bool,
) -> NodeFit | None:
    """The best law whose nodes may differ; None if all diverge or the network is too large.

    ``known`` are formulas that were found for nodes that are alike: they are tried too.
    """
    n, d = data[0].level.shape[1:]
    if n * (d + 1) > MOST_UNKNOWNS or any(one.level.shape[1] != n for one in data):
        return None
    begun: list[NodeFit] = []
    explained = EXPLAINED if noisy else EXPLAINED_ROUNDING
    for model, u, spread in in_time(_starts(data, terms, features, known, noisy=noisy)):
        fitted = _followed(data, model, u, spread, tolerance, SCREENING_ITERATIONS)
        if fitted is None:
            continue
        noted(fitted.excess)
        logger.debug(
            "nodes differ: %.1f %.3f %s %s", fitted.score, fitted.excess, fitted.model.varying, fitted.model.equation
        )
        begun.append(fitted)
        if not noisy and fitted.excess < explained and fitted.model.varying:
            break
    best: NodeFit | None = None
    if noisy:
        begun += with_likely_couplings(begun, data, terms, features, tolerance)
        begun += with_others_varying(begun)
    for fitted in in_time(with_products(begun)[:BEST_FEW]):
        done = refined(fitted, data, terms)
        if best is None or done.score < best.score:
            best = done
        if best.excess < explained:
            break
    return None if best is None else with_positive_squares(best)


def with_likely_couplings(
    begun: Sequence[NodeFit],
    data: Sequence[Observations],
    terms: Sequence[Term],
    features: tuple[str, ...],
    tolerance: torch.Tensor,
) -> list[NodeFit]:
    """Laws with the couplings that are likely along the trajectories of the best fit, and of the best of these, if that is another."""
    out: list[NodeFit] = []
    if len(features) > 1:
        return out
    before: NodeFit | None = None
    for _ in in_time(range(SECOND_LOOKS)):
        best = min([*begun, *out], key=lambda one: one.score, default=None)
        if best is None or best is before:
            break
        before = best
        form = second_form(best, terms, 0)
        for fit in in_time(likely_couplings(form) if form is not None else ()):
            assert form is not None
            fitted = _followed(data, *_start([form], [fit], features), tolerance, SCREENING_ITERATIONS)
            if fitted is not None:
                noted(fitted.excess)
                logger.debug(
                    "along the best: %.1f %.3f %s %s",
                    fitted.score,
                    fitted.excess,
                    fitted.model.varying,
                    fitted.model.equation,
                )
                out.append(fitted)
    return out


def with_others_varying(begun: Sequence[NodeFit]) -> list[NodeFit]:
    """The best fits of each coupling with those numbers varying that seem to along their own trajectories.

    The weak form, from which they began, errs by its paths: where fast transients are missed, self terms of each node do best beside any
    coupling, and a law whose coupling varies is not among its first sets.
    """
    out: list[NodeFit] = []
    least = min((one.score for one in begun), default=0.0)
    held: Counter[tuple] = Counter()
    tried: set[tuple] = set()
    for fitted in in_time(sorted(begun, key=lambda one: one.score)):
        coupling = tuple(family for family in fitted.model.equation.families if family[1])
        held[coupling] += 1
        if held[coupling] > FITS_OF_A_COUPLING or len(held) > COUPLINGS_SETTLED:
            continue
        for said, gain in suggested(fitted, 1):
            key = (fitted.model.equation.families, said.varying)
            far = fitted.score - gain > least + BEHIND * fitted.count and fitted.excess < NEARLY_EXPLAINED
            if said.varying == fitted.model.varying or key in tried or far:
                continue
            tried.add(key)
            model, u, spread = as_suggested(fitted, said)
            other = fit_nodes_along(model, u, fitted.problems, spread, iterations=SCREENING_ITERATIONS)
            if other is not None:
                logger.debug(
                    "nodes differ, varying %s: %.1f %.3f %s",
                    said.varying,
                    other.score,
                    other.excess,
                    other.model.equation,
                )
                out.append(other)
    return out


def with_products(begun: Sequence[NodeFit]) -> list[NodeFit]:
    """Fits, best first, and the best of them with products in the place of polynomials."""
    ranked = sorted(begun, key=lambda one: one.score)
    products = [_as_product(fitted) for fitted in in_time(ranked[:FACTORED])]
    return sorted([*ranked, *(one for one in products if one is not None)], key=lambda one: one.score)


def _as_product(fitted: NodeFit) -> NodeFit | None:
    """The likeliest law with a product in the place of its cubic polynomial, if it is likelier."""
    best: NodeFit | None = None
    for model, u, spread in in_time(factored(fitted)):
        trial = fit_nodes_along(model, u, fitted.problems, spread, iterations=PRODUCT_ITERATIONS)
        if trial is not None:
            logger.debug("nodes differ, as a product: %.1f %.3f %s", trial.score, trial.excess, trial.model.equation)
        if trial is not None and trial.score < (best or fitted).score and roots_are_seen(trial):
            best = trial
    if best is None or (ordered := larger_first(best.model)) is best.model:
        return best
    return fit_nodes_along(ordered, best.deviations, best.problems, best.spread, iterations=1) or best


Start = tuple[NodeEquation, torch.Tensor, np.ndarray]  # a law, deviations of nodes, and their spreads


def _starts(
    data: Sequence[Observations],
    terms: Sequence[Term],
    features: tuple[str, ...],
    known: Iterable[Equation],
    *,
    noisy: bool,
) -> Iterator[Start]:
    """Laws to be followed along trajectories, the most promising first.

    Sets of terms that the weak form grew; those with a parameter inside a coupling that varies; then the shortest laws with its best couplings; then those with couplings that are plain
    products or sines, as the weak form says little of couplings where a path through the data misses fast transients. Without noise the
    third are laws that were followed as if there were some.
    """
    n = data[0].level.shape[1]
    forms = [node_form(data, terms, feature, noisy=noisy) for feature in range(len(features))]
    ranked = [form.ranked() for form in forms]
    for chosen in itertools.zip_longest(*(fits[:TRIED] for fits in ranked)):
        yield _start(forms, [fit or fits[0] for fit, fits in zip(chosen, ranked, strict=True)], features)
    for equation in known:
        yield NodeEquation(equation, (), features), torch.zeros(n, 0, dtype=torch.float64), np.zeros(0)
    if len(forms) > 1:
        return
    if noisy:
        yield from inner_starts(data, forms[0], 0, features, noisy=True)
    else:
        yield from _as_if_noisy(data, terms, features)
    (form,), (fits,) = forms, ranked
    best = [k for fit in fits[:SHORT_LAWS] for k in fit.members if form.terms[k].coupling]
    plain = [k for k, term in enumerate(form.terms) if term.coupling and not term.values and term.formula.text != "1"]
    for coupling in dict.fromkeys([*best, *plain]):
        short = sorted(form.shortest(coupling), key=lambda fit: fit.score)
        for fit in short[: SHORT_SETS if coupling in best else 1]:
            yield _start(forms, [fit], features)


def _as_if_noisy(data: Sequence[Observations], terms: Sequence[Term], features: tuple[str, ...]) -> Iterator[Start]:
    """Laws followed with the tolerance that noise would leave, by states and not by increments.

    Where states soon rest, most increments are nothing but errors of the path; and units of rounding make the valleys of chi^2 narrow.
    """
    size = largest(data)
    noise = Noise(PRETENDED / 10 * size, torch.full_like(size, PRETENDED))
    soft = [replace(one, measured=noise) for one in data]
    forms = [node_form(soft, terms, feature, noisy=True) for feature in range(len(features))]
    ranked = [form.ranked()[:TRIED] for form in forms]
    begun, starts = (
        [],
        [
            _start(forms, [fit or fits[0] for fit, fits in zip(chosen, ranked, strict=True)], features)
            for chosen in itertools.zip_longest(*ranked)
        ],
    )
    if len(forms) == 1:
        starts += inner_starts(soft, forms[0], 0, features, noisy=True)
    for start in starts:
        fitted = _followed(soft, *start, PRETENDED / 100 * size, SETTLING_ITERATIONS)
        if fitted is None or time_is_over():
            continue
        begun.append(fitted)
        logger.debug("as if noisy: %.1f %.3f %s", fitted.score, fitted.excess, fitted.model.equation)
        if fitted.excess < FOLLOWED_CLOSELY:
            break
    for fitted in with_products(begun)[:BEST_FEW]:
        yield fitted.model, fitted.deviations, fitted.spread


def _start(forms: Sequence[NodeForm], fits: Sequence[MixedFit], features: tuple[str, ...]) -> Start:
    """A law of the terms of each feature."""
    places = [(form, fit, m) for form, fit in zip(forms, fits, strict=True) for m in fit.members]
    coefficients = [fit.means[fit.members.index(m)] for _, fit, m in places]
    varying = tuple(k for k, (_, fit, m) in enumerate(places) if m in fit.varying)
    own = [(fit, fit.varying.index(m)) for _, fit, m in places if m in fit.varying]
    terms = tuple(form.terms[m] for form, _, m in places)
    equation = Equation(terms, torch.tensor(np.array(coefficients), dtype=torch.float64), len(features))
    n = len(fits[0].deviations)
    u = np.stack([fit.deviations[:, k] for fit, k in own], 1) if own else np.zeros((n, 0))
    return (
        NodeEquation(equation, varying, features),
        torch.from_numpy(u),
        np.array([fit.spreads[k] for fit, k in own]),
    )


def _followed(
    data: Sequence[Observations],
    model: NodeEquation,
    u: torch.Tensor,
    spread: np.ndarray,
    tolerance: torch.Tensor,
    iterations: int,
) -> NodeFit | None:
    problems = node_problems(data, model, u, tolerance)
    spread = np.maximum(spread, 1e-9)
    fitted = None if problems is None else fit_nodes_along(model, u, problems, spread, iterations=iterations)
    if fitted is not None or problems is None:
        return fitted
    for share in in_time(STAGES):  # it explodes: first along the beginning, where it has not gone far astray
        some = [one.until(max(FEWEST_OF_A_STAGE, round(share * len(one.times)))) for one in data]
        problems = node_problems(some, model, u, tolerance)
        fitted = None if problems is None else fit_nodes_along(model, u, problems, spread, iterations=STAGE_ITERATIONS)
        if fitted is None:
            return None
        model, u, spread = fitted.model, fitted.deviations, fitted.spread
    problems = node_problems(data, model, u, tolerance)
    return None if problems is None else fit_nodes_along(model, u, problems, spread, iterations=iterations)


def refined(fitted: NodeFit, data: Sequence[Observations], terms: Sequence[Term]) -> NodeFit:
    """Fitted further, without terms it does not need, and with those numbers varying that BIC wants to."""
    best = _again(fitted, SETTLING_ITERATIONS)
    tried: set[tuple] = set()
    for _ in in_time(range(ROUNDS)):
        before = best.score
        best = plainer(pruned(best), data, terms)
        if best.excess < ROUNDING:
            return plain_in_rounding(best)
        for said, _ in suggested(best, ALTERNATIVES):
            key = (best.model.equation.families, said.varying)
            if key in tried or said.varying == best.model.varying or time_is_over():
                continue
            tried.add(key)
            model, u, spread = as_suggested(best, said)
            if u.shape[0] * (u.shape[1] + data[0].level.shape[2]) > MOST_UNKNOWNS:
                continue
            other = fit_nodes_along(model, u, best.problems, spread, iterations=SETTLING_ITERATIONS)
            if other is not None and other.score < best.score:
                logger.debug("nodes differ, varying %s: %.1f < %.1f", said.varying, other.score, best.score)
                best = other
        if not best.score < before:
            break
    return best


def _again(fitted: NodeFit, iterations: int) -> NodeFit:
    return (
        fit_nodes_along(fitted.model, fitted.deviations, fitted.problems, fitted.spread, iterations=iterations)
        or fitted
    )
