"""Couplings of similar shape: which of two would leave evidence like that of the data, by simulations under each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data import Trajectory
from ..laws import Term
from .families import SECOND_ROWS, Scored, complexity, fitted, rows_of, same, scored
from .increments import Increments
from .paths import Paths
from .simulation import Simulated, simulated

# Nats a row within which a coupling is a rival: the wrong ones of 30 runs with 5 % noise were behind by 3.1 to 5 (gene, seeds 20, 21 and 81; logistic), and
# noise can move margins by 2 (heat: sin(x_j - x_i) ahead of x_j - x_i).
NEAR = 4.0
MOST = 3  # rivals: each costs a simulation and four fits
ROWS = 50  # on which rivals are compared
SURE = 3.0  # standard deviations of ranks of rows, by which margins must differ from those under a rival


@dataclass(frozen=True)
class Contest:
    """Two couplings by the margin of the first in nats of each row, (B,): as observed, and in data simulated under the first and under the second."""

    margin: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor

    @property
    def sureness(self) -> float:
        """Standard deviations by which the data differ from those under the coupling that they are less like; negative if that is the first.

        Rows are compared with themselves: they have the same links and initial states.
        """
        from_first, from_second = (_away(self.margin - other) for other in (self.first, self.second))
        return from_second if from_first <= from_second else -from_first


def _away(differences: torch.Tensor) -> float:
    """Wilcoxon's signed ranks of differences, in standard deviations: a few rows, whose links the search missed, do not decide."""
    ranks = differences.abs().argsort().argsort().double() + 1
    return abs(float((differences.sign() * ranks).sum())) / float(ranks.square().sum().sqrt())


def contested(
    increments: Increments,
    families: Sequence[Scored],
    runs: Sequence[Trajectory],
    seed: int,
    told: Callable[[str], None] = lambda _: None,
) -> tuple[list[Scored], float]:
    """Families with that first which simulations under the best one and its rivals are for, and how sure it is, in units of what is asked for: 1 or more
    to be told apart from all others.

    Noise in the states changes what a coupling looks like, by the same amount in every row: margins of evidence are no odds. What they would be if
    the rival were true is seen in data that are simulated under it, with the same noise. Of two that even so cannot be told apart the simpler one is
    taken; that is no doubt if they differ by no more than noise on the states that were observed.
    """
    best = families[0]
    looked = [one for one in families[1:] if len(one.by_row) == len(best.by_row)]
    rivals = [one for one in looked if best.evidence - one.evidence < NEAR * len(best.by_row)][:MOST]
    if not rivals:
        return list(families), math.inf
    arena = _Arena(increments, runs, rows_of(increments.paths.nodes, ROWS, seed), seed)
    sure = math.inf
    for rival in rivals:
        told(f"couplings that look alike: {best.term.formula.text} and {rival.term.formula.text}")
        try:
            contest = arena.contest(best.term, rival.term)
        except torch.linalg.LinAlgError:  # simulated states that leave columns the same up to rounding
            contest = None
        sureness = 0.0 if contest is None else contest.sureness
        told_apart = abs(sureness) >= SURE
        if told_apart or not same(increments, best.term, rival.term, in_noise=True):
            sure = min(sure, abs(sureness) / SURE)
        if sureness < 0 if told_apart else complexity(rival) < complexity(best):
            best = rival
    rest = [one for one in families if one is not best]
    return [replace(best, evidence=families[0].evidence), *rest], sure


class _Arena:
    """The data, and data simulated under couplings, with the evidence that couplings have there."""

    def __init__(self, increments: Increments, runs: Sequence[Trajectory], rows: np.ndarray, seed: int) -> None:
        self.increments, self.runs, self.rows, self.seed = increments, runs, rows, seed
        self.known: dict[Term, Increments | None] = {}

    def contest(self, one: Term, other: Term) -> Contest | None:
        """None if a coupling cannot be simulated."""
        data = self.margins(self.increments, one, other)
        under = [self.under(term) for term in (one, other)]
        if data is None or under[0] is None or under[1] is None:
            return None
        first, second = (self.margins(where, one, other) for where in under if where is not None)
        if first is None or second is None:
            return None
        return Contest(data, first, second)

    def margins(self, increments: Increments, one: Term, other: Term) -> torch.Tensor | None:
        """By how much the evidence for the first is larger, row by row, both with parameters that suit these data."""
        values = []
        for term in (one, other):
            generator = torch.Generator().manual_seed(self.seed)
            few = rows_of(increments.paths.nodes, SECOND_ROWS, self.seed)
            suited = fitted(increments, term, few, generator)
            found = None if suited is None else scored(increments, suited.term, self.rows, generator, 20)
            if found is None:
                return None
            values.append(found.by_row)
        return values[0] - values[1]

    def under(self, term: Term) -> Increments | None:
        """Increments of data simulated under a coupling, with all links that the rows have."""
        if term not in self.known:
            self.known[term] = self._simulated(term)
        return self.known[term]

    def _simulated(self, term: Term) -> Increments | None:
        increments, n = self.increments, self.increments.paths.nodes
        found = scored(increments, term, np.arange(n), torch.Generator().manual_seed(self.seed), 20)
        if found is None:
            return None
        soft, (x_scale, z_scale) = found.soft, found.soft.grams.scales
        rng = np.random.default_rng([self.seed, 7])
        p = soft.probabilities.numpy()
        links = rng.random(p.shape) < p
        weights = np.zeros((n, n))
        np.put_along_axis(weights, soft.grams.candidates, np.where(links, soft.weights.numpy() / x_scale, 0.0), axis=1)
        np.fill_diagonal(weights, 0.0)
        law = Simulated(increments, term, soft.coefficients / torch.from_numpy(z_scale))
        paths = simulated(law, weights, self.runs, rng)
        return None if paths is None else _like(increments, paths)


def _like(increments: Increments, paths: Paths) -> Increments:
    """Increments of other paths, with the same noise of the process."""
    count = sum(len(piece.times) - 1 for piece in paths.pieces)
    profile = increments.profile if count == len(increments.profile) else None
    return Increments(paths, increments.names, increments.output, increments.rho, profile)
