"""Laws whose nodes differ and in which inputs act: the weak form of each node with terms u, u x and u times the coupling, one after the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data import Inputs
from ..laws import Equation, Formula, NodeEquation, Term
from .candidates import is_polynomial
from .clock import in_time
from .data_smoothing import Noise
from .driven_problem import STRAIGHT
from .equation_fit import EXPLAINED_ROUNDING
from .input_search import times_text
from .mixed_model import MixedFit
from .node_fit import NodeFit, fit_nodes_along
from .node_paths import driven_problems
from .node_pruning import SCREENING_ITERATIONS, SETTLING_ITERATIONS
from .node_search import BEST_FEW, FOLLOWED_CLOSELY, PRETENDED, refined, with_products
from .node_weak_form import NodeForm, contexts, node_form
from .observations import CLEAN_TOLERANCE, Observations, largest

logger = logging.getLogger(__name__)

COUPLINGS = 6  # families of couplings beside which inputs are tried
FOLLOWED = 4  # laws of the weak form that are followed along trajectories
MOST_INPUT_TERMS = 3
LEAST_GAIN = 10.0  # of BIC, for each input term


@dataclass(frozen=True)
class _Column:
    """A term, and the input that multiplies it, if any."""

    term: Term
    input: str | None = None


def differing_driven(
    data: Sequence[Observations],
    inputs: Sequence[Inputs],
    terms: Sequence[Term],
    names: tuple[str, ...],
    tolerance: torch.Tensor,
    *,
    noisy: bool,
) -> NodeFit | None:
    """The best law of one feature whose nodes may differ, with input terms; None if there is none or all diverge.

    ``names`` are those of the feature and then of all inputs in formulas. Without noise laws are first followed as if there were some.
    """
    size = largest(data)
    soft = list(data)
    coarse = tolerance
    if not noisy:
        noise = Noise(PRETENDED / 10 * size, torch.full_like(size, PRETENDED))
        soft, coarse = [replace(one, measured=noise) for one in data], PRETENDED / 100 * size
    begun: list[NodeFit] = []
    for model, u, spread in in_time(_starts(soft, inputs, terms, names)):
        problems = driven_problems(soft, inputs, model, u, coarse, STRAIGHT)
        if problems is None:
            continue
        iterations = SCREENING_ITERATIONS if noisy else SETTLING_ITERATIONS
        fitted = fit_nodes_along(model, u, problems, np.maximum(spread, 1e-9), iterations=iterations)
        if fitted is not None:
            logger.debug(
                "driven nodes: %.1f %.3f %s %s", fitted.score, fitted.excess, model.varying, fitted.model.equation
            )
            begun.append(fitted)
            if not noisy and fitted.excess < FOLLOWED_CLOSELY:
                break
    best: NodeFit | None = None
    for fitted in in_time(with_products(begun)[:BEST_FEW]):
        found: NodeFit | None = fitted
        if not noisy:
            u = fitted.deviations
            exact = driven_problems(data, inputs, fitted.model, u, CLEAN_TOLERANCE * size, 0.0)
            found = None if exact is None else fit_nodes_along(fitted.model, u, exact, fitted.spread)
        if found is not None:
            found = refined(found, data, ())
            best = found if best is None or found.score < best.score else best
        if not noisy and best is not None and best.excess < EXPLAINED_ROUNDING:
            break
    return best


def _starts(
    data: Sequence[Observations], inputs: Sequence[Inputs], terms: Sequence[Term], names: tuple[str, ...]
) -> list[tuple[NodeEquation, torch.Tensor, np.ndarray]]:
    """The likeliest laws by the weak form, input terms being taken in one at a time beside each of the best couplings."""
    given = dict(zip(inputs[0].names, names[1:], strict=True))
    plain = [term for term in terms if term.output == 0 and not term.coupling and is_polynomial(term)]
    of_state = [k for k, term in enumerate(plain) if term.formula.text in ("1", names[0])]
    couplings = [term for term in terms if term.coupling and term.output == 0]
    acting = [(k, name) for name in given for k in of_state]
    both = [*plain, *couplings]
    form = node_form(data, both, 0, noisy=True, driven=acting, inputs=inputs)
    beside = range(len(both), len(both) + len(acting))
    chosen: dict[tuple, int] = {}
    for own in (False, True):
        gain = form.gains(own=own, beside=beside)
        taken = 0
        for k in np.argsort(-gain):
            key = (both[k].family, own)
            if gain[k] > 0 and key not in chosen and taken < COUPLINGS:
                chosen[key], taken = int(k), taken + 1
    kept = [both[k] for k in dict.fromkeys(chosen.values())]
    some = [*plain, *kept]
    first = len(plain)
    driven = [*acting, *((k, name) for name in given for k in range(first, len(some)))]
    small = node_form(data, some, 0, noisy=True, driven=driven, inputs=inputs)
    columns = [_Column(term) for term in some] + [_Column(some[k], given[name]) for k, name in driven]
    fits = [_grown(small, k, driven, len(some)) for k in in_time(range(first, len(some)))]
    return [_start(columns, fit, names) for fit in sorted(fits, key=lambda one: one.score)[:FOLLOWED]]


def _grown(form: NodeForm, coupling: int, driven: Sequence[tuple[int, str]], first: int) -> MixedFit:
    """The law with this coupling, and input terms as long as BIC falls."""
    S = form.polynomials
    every = [form.grams.fitted((*S, coupling), which) for which in contexts(S, coupling)]
    kept: tuple[int, ...] = (coupling,)
    best = form.stepwise(min(every, key=lambda one: one.score), kept)
    offered = [first + m for m, (k, _) in enumerate(driven) if k in (*S, coupling)]
    while len(kept) <= MOST_INPUT_TERMS:
        trials = [
            form.grams.fitted((*best.members, m), which)
            for m in offered
            if m not in best.members
            for which in (best.varying, (*best.varying, m))
        ]
        new = min(trials, key=lambda one: one.score, default=None)
        if new is None or new.score > best.score - LEAST_GAIN:
            break
        kept = (*kept, new.members[-1])
        best = form.stepwise(new, kept)
    return best


def _start(
    columns: Sequence[_Column], fit: MixedFit, names: tuple[str, ...]
) -> tuple[NodeEquation, torch.Tensor, np.ndarray]:
    own = []
    for m in fit.members:
        term, name = columns[m].term, columns[m].input
        text = term.formula.text if name is None else times_text(name, term.formula.text)
        own.append(replace(term, formula=Formula(text, names)))
    equation = Equation(tuple(own), torch.tensor(np.array(fit.means), dtype=torch.float64), len(names))
    order = [m for m in fit.members if m in fit.varying]
    which = [fit.varying.index(m) for m in order]
    model = NodeEquation(equation, tuple(fit.members.index(m) for m in order), names, len(names) - 1)
    return model, torch.from_numpy(fit.deviations[:, which].copy()), fit.spreads[which]
