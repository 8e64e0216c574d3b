"""Whether a law could explain the data at all: two quick looks, before any search."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..data import Trajectory
from .library import formula_names, library, ranges_of
from .observations import observed, roughness_of
from .search import WEIGHTINGS, weak_form_intervals
from .weak_form import weak_form

# How far observations may be from a cubic through their neighbours in time, as a share. Of the real sets in docs/forecast.md, counts of
# diseases by region have 0.2 to 1.9; noise of 5 % has 0.05. With more than twice that, many formulas explain the same data.
TOO_ROUGH = 0.12
# Share of the increments along a smooth path that all terms of the library together may leave open. Eleven laws on four networks with noise
# of 1 and 5 % leave 0.3 to 32 %; wind speed leaves 80 to 98 %, random walks 84 to 96 %, sines 91 to 98 %.
TOO_OPEN = 0.5


def roughness_of_all(trajectories: Sequence[Trajectory]) -> float:
    """How far observations are from curves through their neighbours in time, as a share: the largest of all trajectories."""
    return max(roughness_of(one) for one in trajectories)


def open_share(trajectories: Sequence[Trajectory]) -> float:
    """The share of the increments that the best sum of all terms of the library leaves open, of the feature with the largest one.

    The sum is not a law that one would read: where even it leaves most of the increments open, no sum of fewer terms explains them.

    Example:
        >>> import ndcn
        >>> graph, times = ndcn.networks.grid(25), ndcn.sampling.regular_times(1.0, 20)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> open_share([data]) < 0.01
        True
    """
    data = [observed(one) for one in trajectories]
    ranges = ranges_of(torch.cat([one.level.reshape(-1, one.level.shape[-1]) for one in data]))
    terms = library(formula_names(tuple(trajectories[0].features)), ranges, (), ())
    form = weak_form(data, weak_form_intervals(data), terms, WEIGHTINGS[0], {}, None)
    return max(form.solved(k, range(len(terms))).rest for k, terms in enumerate(form.terms))
