"""Whether nodes differ: the law of nodes that do, against the same law at every node, and what is known of its errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import linalg

from .._support.warn import warn
from ..laws import Equation, NodeClosedForm, NodeEquation, Term
from .clock import time_is_over
from .equation_fit import EXPLAINED_ROUNDING
from .node_fit import NodeFit, fit_nodes_along, node_problems
from .node_noise import with_own_noise
from .node_paths import features_at
from .node_pruning import plainer, pruned
from .node_relations import Following, following
from .node_search import MOST_UNKNOWNS, differing
from .node_suggestions import best_alone, with_varying
from .observations import Observations, some_states
from .posterior import POSTERIOR_SAMPLES
from .result import Evidence, FoundLaw
from .stretches import doubt_in_noise
from .trajectory_fit import TrajectoryFit

# Of BIC, by which nodes that differ must be likelier: "very strong" evidence of Kass and Raftery (J. Am. Stat. Assoc. 90, 1995).
EVIDENCE = 10.0
FEWEST_NODES = 6  # fewer do not tell a spread
FEWEST_SNAPSHOTS = 8  # fewer do not tell a node's own numbers from its noise
ROUGH_RATE = 0.05  # of dx/dt: an error that is told
RATE_SAMPLES = 20  # from which that error is computed: to a tenth of it
# Of the way to a sample, at which its rates are compared: errors of first order, as the covariance is. Numbers that are divided by, as C in
# x/C, may be uncertain by as much as they are, where what they do is well known.
FIRST_ORDER = 1e-3


@dataclass(frozen=True)
class DifferingNodes:
    """A law whose nodes differ, and by how much BIC is larger if they have the same numbers."""

    following: Following
    gain: float
    doubt: str | None  # what speaks against it, if anything
    noisy: bool

    @property
    def explained(self) -> bool:
        """Whether it leaves nothing to explain."""
        return self.doubt is None


def may_differ(data: Sequence[Observations]) -> bool:
    """Whether the data could tell: trajectories of the same nodes without gaps, neither too few nor too many."""
    n, d = data[0].level.shape[1:]
    same = all(one.level.shape[1] == n and not one.gaps for one in data)
    enough = n >= FEWEST_NODES and sum(len(one.times) for one in data) >= FEWEST_SNAPSHOTS
    return same and enough and n * (d + 1) <= MOST_UNKNOWNS


def differing_nodes(
    data: Sequence[Observations],
    terms: Sequence[Term],
    tolerance: torch.Tensor,
    features: tuple[str, ...],
    closed: Equation | None,
    attributes: Mapping[str, np.ndarray],
    *,
    noisy: bool,
    explained: TrajectoryFit | None = None,
) -> DifferingNodes | None:
    """The law whose nodes differ, if they do, and whether their numbers follow ``attributes``.

    ``closed`` is the best law of nodes that are alike, and ``explained`` its fit, with the noise that it shows itself, if it explains the
    data: then nodes differ only if it looks like it.
    """
    if not may_differ(data) or time_is_over():
        return None
    if closed is not None and explained is not None:
        gain, _ = best_alone(NodeEquation(closed, (), features), explained.problems)
        if gain <= 0:
            return None
    alike = None if closed is None else _alike(closed, data, tolerance, features)
    # By the noise that the law itself shows: where a smooth path misjudges noise, nodes seem to differ.
    if explained is not None and (alike is None or not _hinted(with_own_noise(alike, rounds=1, iterations=4))):
        return None
    known = [] if closed is None else [closed]
    found = differing(data, terms, tolerance, features, known, noisy=noisy)
    if found is None or not found.model.varying:
        return None
    if alike is not None and found.score > alike.score - EVIDENCE:
        return None
    if noisy:
        found = plainer(pruned(with_own_noise(found)), data, terms)  # noise that was misjudged may have called for more
    common = with_none(found)
    gain = float("inf") if common is None else common.score - found.score
    if gain < EVIDENCE:
        return None
    follows = following(found, attributes)
    found = follows.fit
    if noisy:
        return DifferingNodes(follows, gain, doubt_in_noise(found), noisy)
    missed = f"leaves residuals of {found.excess:.3g} times the rounding even where nodes differ"
    return DifferingNodes(follows, gain, missed if found.excess >= EXPLAINED_ROUNDING else None, noisy)


def _alike(
    equation: Equation, data: Sequence[Observations], tolerance: torch.Tensor, features: tuple[str, ...]
) -> NodeFit | None:
    """The law of nodes that are alike, fitted in the same way."""
    model = NodeEquation(equation, (), features)
    u = torch.zeros(data[0].level.shape[1], 0, dtype=torch.float64)
    problems = node_problems(data, model, u, tolerance)
    return None if problems is None else fit_nodes_along(model, u, problems, np.zeros(0))


def _hinted(alike: NodeFit) -> bool:
    """Whether a law that leaves nothing but noise is likelier if one of its numbers varies."""
    gain, varying = best_alone(alike.model, alike.problems)
    if gain <= 0:
        return False
    model, u, spread = with_varying(alike, varying)
    trial = fit_nodes_along(model, u, alike.problems, spread)
    return trial is not None and trial.score < alike.score - EVIDENCE


def with_none(found: NodeFit) -> NodeFit | None:
    """The same law with the same numbers at every node."""
    model, u, spread = with_varying(found, ())
    return fit_nodes_along(model, u, found.problems, spread)


def found_law(
    found: DifferingNodes,
    data: Sequence[Observations],
    features: tuple[str, ...],
    nodes: Sequence[Hashable],
    seed: int,
    *,
    made: Callable[..., NodeClosedForm] = NodeClosedForm,
    also: str = "",
) -> FoundLaw:
    """The law, as it is ``made``, with its errors, posterior samples and evidence, which ``also`` has."""
    fit, follows = found.following.fit, found.following
    law = made(
        fit.model.equation, fit.model.varying, fit.values, follows.spreads(), nodes, features, follows.relations()
    )
    n, q = fit.deviations.shape
    count = len(fit.model.parameters) + len(follows.pairs)
    unit = np.concatenate([np.ones(len(fit.model.parameters)), 1 / follows.widths])
    covariance = torch.from_numpy(fit.covariance[n * q :, n * q :][:count, :count] * np.outer(unit, unit))
    errors = torch.cat([covariance.diagonal().clamp(min=0).sqrt(), torch.from_numpy(fit.errors.T.reshape(-1).copy())])
    samples, initial_samples = samples_of(fit, follows.widths, seed)
    initial = [problem.x0 for problem in fit.problems]
    left = "the noise" if found.noisy else "the rounding"
    what = " and ".join(law.labels)
    reason = (
        f"{what} {'varies' if q == 1 else 'vary'} among nodes: with the same value at every node BIC is {found.gain:.3g} higher"
        f"{follows.words(law)}{also}; the closed form leaves residuals of {fit.excess:.2f} times {left}"
    )
    if found.explained and (off := rate_error(fit, samples)) > ROUGH_RATE:
        reason += f"; the data leave its rates of change open by about {100 * off:.2g} %"
        warn(
            f"values of nodes are known so roughly that rates of change have an error of about {100 * off:.2g} %: take more snapshots while "
            "states change, or more exact ones"
        )
    if found.noisy and found.explained and len(moved := _moved_by_links(fit.model)) > 1:
        named = " and ".join(law.labels[k] for k in moved)
        reason += f"; {named} vary as they would where links are wrong or missing"
        warn(
            f"{named} say how much comes from neighbours: they also seem to vary where links are wrong or missing. Check the network"
        )
    noise = tuple(fit.problems[0].data.measured.share.tolist())
    evidence = Evidence("closed", reason, noise, fit.excess, None, str(fit.model.equation), found.explained)
    kept = initial_samples if found.noisy else None
    return FoundLaw(law, covariance, errors, samples, initial, kept, evidence, some_states(data))


def _moved_by_links(model: NodeEquation) -> list[int]:
    """Which of the numbers that vary would do so where links are wrong: of couplings, and beside them a constant, which is what missing ones add."""
    terms = model.equation.terms
    own = [*range(len(terms)), *(k for k, term in enumerate(terms) for _ in term.values)]
    kinds = [terms[own[place]] for place in model.varying]
    coupled = any(term.coupling for term in kinds)
    return [m for m, term in enumerate(kinds) if term.coupling or (coupled and term.formula.text == "1")]


def rate_error(fit: NodeFit, samples: torch.Tensor) -> float:
    """Mean |error| of dx/dt along the trajectories that the errors of all numbers imply to first order, over mean |dx/dt|."""
    n, q = fit.deviations.shape
    P, varying = len(fit.model.parameters), list(fit.model.varying)
    paths = [(problem, states) for problem in fit.problems if (states := fit.states(problem)) is not None]

    def rates(model: NodeEquation, u: torch.Tensor) -> torch.Tensor:
        every = [
            model.rate(features_at(problem, x, u), problem.data.network)[..., : x.shape[-1]].flatten()
            for problem, x in paths
        ]
        return torch.cat(every)

    here = rates(fit.model, fit.deviations)
    off = []
    for p in samples[:RATE_SAMPLES]:
        own = p[len(p) - n * q :].reshape(q, n).T - p[varying]
        common = fit.model.parameters
        moved = fit.model.with_parameters(torch.lerp(common, p[:P], FIRST_ORDER))
        off.append(
            float((rates(moved, torch.lerp(fit.deviations, own, FIRST_ORDER)) - here).abs().mean()) / FIRST_ORDER
        )
    return sum(off) / len(off) / max(float(here.abs().mean()), 1e-300)


def samples_of(fit: NodeFit, widths: np.ndarray, seed: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Samples of numbers, and initial states of each trajectory.

    Numbers are those of the equation, slopes in units of the attributes, whose ``widths`` these are, then values of nodes, n for each that
    varies: (samples, P + m + n q).
    """
    n, q = fit.deviations.shape
    both = n * q + len(fit.model.parameters)
    generator = torch.Generator().manual_seed(seed)

    def normal(count: int) -> np.ndarray:
        return torch.randn(count, POSTERIOR_SAMPLES, generator=generator, dtype=torch.float64).numpy()

    values, vectors = np.linalg.eigh(fit.covariance)
    moves = (vectors * np.sqrt(np.maximum(values, 0.0))) @ normal(len(values))  # (n q + P, samples)
    theta = fit.model.parameters.numpy()[:, None] + moves[n * q : both]
    slopes = (fit.slopes[: len(widths), None] + moves[both : both + len(widths)]) / widths[:, None]
    u = fit.deviations.numpy()[..., None] + moves[: n * q].reshape(n, q, -1)
    own = u + theta[list(fit.model.varying)] if fit.model.centred else u  # (n, q, samples)
    samples = np.concatenate([theta, slopes, own.transpose(1, 0, 2).reshape(n * q, -1)]).T
    initial = []
    for problem, (factor, B) in zip(fit.problems, fit.follow, strict=True):
        drawn = linalg.solve_triangular(factor.T, normal(len(factor)), lower=False, check_finite=False)
        shift = torch.from_numpy((drawn - B @ moves[:both]).T.copy()).reshape(-1, *problem.x0.shape)
        initial.append(torch.clamp(problem.x0 + shift, *problem.bounds))
    return torch.from_numpy(samples.copy()), initial
