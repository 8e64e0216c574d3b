"""The weak form of each node once more, along the trajectories of a law that nearly explains the data: couplings that may be meant by it.

A smooth path misses fast transients, and by it most couplings look alike. The trajectories of a fitted law, even of one with another coupling,
are nearer to the truth: so couplings of all families are ranked by them, each with all its starting values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ..laws import Term
from .mixed_model import MixedFit
from .node_fit import NodeFit
from .node_paths import joined
from .node_weak_form import NodeForm, contexts, node_form
from .observations import Observations, gauss_points
from .tape import roll
from .trajectory_problem import TrajectoryProblem

FAMILIES_FOLLOWED = 6  # families of couplings that are followed, each with its likeliest terms
# Of BIC for each observation, by which a family may be behind the likeliest. Of 40 nodes with capacities of their own, 80 snapshots, along a law with
# x_j - x_i the true coupling was the first, and the 22 families lay within 0.09.
BEHIND = 0.1


def along(fitted: NodeFit) -> list[Observations] | None:
    """The data with the trajectories of a law as their paths; None if it explodes on the way."""
    out = []
    for problem in fitted.problems:
        one = _along(fitted, problem)
        if one is None:
            return None
        out.append(one)
    return out


def _along(fitted: NodeFit, problem: TrajectoryProblem) -> Observations | None:
    one, d = problem.data, problem.x0.shape[1]
    points = gauss_points(one.times)
    every = torch.cat([torch.cat([one.times[:-1, None], points], 1).reshape(-1), one.times[-1:]])
    each = points.shape[1] + 1
    steps = [-(-count // each) for count in problem.steps for _ in range(each)]
    start = joined(problem, problem.x0, fitted.deviations, None)
    states = roll(fitted.model, one.network, start, every.diff(), steps)
    if states is None:
        return None
    states = states[..., :d]
    inner = states[:-1].unflatten(0, (-1, each))[:, 1:]
    return replace(one, level=states[::each], inner=inner)


def second_form(fitted: NodeFit, terms: Sequence[Term], feature: int) -> NodeForm | None:
    """Least squares of every node on integrals along the trajectories of the law; None if it explodes on the way."""
    data = along(fitted)
    return None if data is None else node_form(data, terms, feature, noisy=True)


def likely_couplings(form: NodeForm) -> Iterator[MixedFit]:
    """Sets of terms with a coupling, of each of the likeliest families one, the likeliest first."""
    S = form.polynomials
    best: dict[tuple[str, bool, int], MixedFit] = {}
    for k, term in enumerate(form.terms):
        if term.coupling:
            fit = min((form.grams.fitted((*S, k), some) for some in contexts(S, k)), key=lambda one: one.score)
            best[term.family] = min(best.get(term.family, fit), fit, key=lambda one: one.score)
    ranked = sorted(best.values(), key=lambda one: one.score)[:FAMILIES_FOLLOWED]
    for fit in ranked:
        if fit.score < ranked[0].score + BEHIND * form.grams.rows:
            yield form.stepwise(fit, fit.members[-1:])
