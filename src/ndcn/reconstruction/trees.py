"""Another opinion on links: forests of regression trees for each node's rates, for systems that no law of the library describes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from .engine import Found, found_links
from .paths import Paths, Piece

# Trees of each of a node's four forests. DREAM4, size 10: 200 have an area under precision over recall of .54, 50 one of .51; with 100 nodes as many would take
# minutes.
TREES, FEW_TREES = 200, 50
FEW_NODES = 30
LEAST_SHARE = 0.5  # of what the better one explains, for a say
LAW, FOREST, BOTH = "law", "trees", "law and trees"


@dataclass(frozen=True)
class Opinion:
    """Who explains held-out increments best, and how pairs rank then.

    Attributes:
        best: "law", "trees" or "law and trees".
        errors: mean squared errors of held-out rates in units of their variance, by these names.
        ranks: of all pairs, (n, n), larger for likelier links.
    """

    best: str
    errors: dict[str, float]
    ranks: np.ndarray

    def ranked(self, p: np.ndarray) -> np.ndarray:
        """The same probabilities in the order of ``ranks``, (n, n); pairs without any keep tiny ones in that order."""
        if self.best == LAW:
            return p
        off = ~np.eye(len(p), dtype=bool)
        order = np.argsort(self.ranks[off], kind="stable")
        values = np.maximum(np.sort(p[off]), 1e-6 * np.arange(1, off.sum() + 1) / off.sum())
        out = np.zeros_like(p)
        flat = np.empty(len(order))
        flat[order] = np.sort(values)
        out[off] = flat
        return out


class Forests:
    """dx_i/dt + a_i x_i = F_i(x), with forests of regression trees for each F_i, as dynGENIE3 has.

    Trees follow a straight line badly, and what they miss of the decay a_i x_i would go to whichever node resembles node i. Data tell a_i poorly: it
    is once that of a regression of node i's rates on its own state, once that of its fall from the largest to the least value of a run. With either
    there are a random forest and one of extremely randomised trees. The ranks of the four are averaged; rates are foretold by the two with the first decay,
    for noise makes the other too fast.

    Args:
        pieces: of runs.
        output: the feature whose rates are explained.
        seed: of the trees.
    """

    def __init__(self, pieces: Sequence[Piece], output: int, seed: int) -> None:
        from sklearn import ensemble  # noqa: PLC0415  takes a second, which only this opinion needs

        x, rates = left_states(pieces), rates_of(pieces, output)
        own = x[..., output]
        self.output, self.nodes = output, x.shape[1]
        inputs = x.reshape(len(x), -1)
        trees = TREES if self.nodes <= FEW_NODES else FEW_TREES
        self.parts: list[tuple[np.ndarray, list[Any]]] = []  # decays, and a forest for each node
        for decay in (_decay_of_rates(own, rates), _decay_of_extremes(pieces, output)):
            for kind in (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor):
                forests = [
                    kind(trees, max_features="sqrt", random_state=seed).fit(inputs, rates[:, i] + decay[i] * own[:, i])
                    for i in range(self.nodes)
                ]
                self.parts.append((decay, forests))

    def rates(self, pieces: Sequence[Piece]) -> np.ndarray:
        """Rates at the beginning of all intervals, (N, n)."""
        x = left_states(pieces)
        inputs = x.reshape(len(x), -1)
        each = [
            np.stack([forest.predict(inputs) for forest in forests], axis=1) - decay * x[..., self.output]
            for decay, forests in self.parts[:2]
        ]
        return np.asarray(np.mean(each, axis=0))

    def scores(self) -> np.ndarray:
        """Mean rank of the importance of node j in the forests of node i, over all features, (n, n); 0 for the node itself."""
        n = self.nodes
        total = np.zeros((n, n))
        for _, forests in self.parts:
            importance = np.stack([forest.feature_importances_.reshape(n, -1).sum(1) for forest in forests])
            np.fill_diagonal(importance, 0.0)
            total += rankdata(importance).reshape(n, n) / len(self.parts)
        np.fill_diagonal(total, 0.0)
        return total


def _decay_of_rates(own: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Minus the slope of a regression of each node's rates on its state, (n,); 0 if it grows."""
    spread = own - own.mean(0)
    return np.maximum(-(spread * rates).sum(0) / np.maximum(spread.var(0) * len(own), 1e-300), 0.0)


def _decay_of_extremes(pieces: Sequence[Piece], output: int) -> np.ndarray:
    """The fastest exponential fall between the extremes of a run, (n,), as in dynGENIE3."""
    observed = [piece.observed[..., output] for piece in pieces]
    least = min(float(x.min()) for x in observed)
    tiny = 1e-6 * (max(float(x.max()) for x in observed) - least) + 1e-300
    decays = []
    for piece, x in zip(pieces, observed, strict=True):
        low, high = (np.log(np.maximum(v - least, tiny)) for v in (x.min(0), x.max(0)))
        gap = np.abs(piece.times[x.argmax(0)] - piece.times[x.argmin(0)])
        decays.append((high - low) / np.maximum(gap, np.diff(piece.times).min()))
    return np.asarray(np.max(decays, axis=0))


def left_states(pieces: Sequence[Piece]) -> np.ndarray:
    """Observed states at the beginning of all intervals, (N, n, d)."""
    return np.concatenate([piece.observed[:-1] for piece in pieces])


def rates_of(pieces: Sequence[Piece], output: int) -> np.ndarray:
    """Increments over gaps, (N, n)."""
    return np.concatenate([np.diff(p.observed[..., output], axis=0) / np.diff(p.times)[:, None] for p in pieces])


def law_rates(found: Found, pieces: Sequence[Piece]) -> np.ndarray:
    """Expected rates by f and the links with their probabilities at the beginning of all intervals, (N, n)."""
    states = torch.from_numpy(left_states(pieces))
    learned, scales, formulas = found.learned, found.grams.scales, found.increments.formulas
    weights = found.dense(learned.probabilities * learned.weights) / scales[0]
    theta = learned.coefficients[:, : len(formulas)] / torch.from_numpy(scales[1][: len(formulas)])
    own = torch.stack([formula(states) for formula in formulas], dim=-1)  # (N, n, q)
    out = (own * theta).sum(-1).numpy()
    for i, row in enumerate(weights):
        some = np.flatnonzero(np.abs(row) > 0)
        x_j = states[:, torch.from_numpy(some)]
        g = found.term.formula(states[:, i : i + 1].expand_as(x_j), x_j, found.term.values)
        out[:, i] += g.numpy() @ row[some]
    return out


def second_opinion(
    found: Found, seed: int, prior: np.ndarray | None = None, told: Callable[[str], None] = lambda _: None
) -> Opinion | None:
    """Compare the law, forests, and the mean of both on every other run, fitted to the others; None where there is but one run.

    The ranks are those of whoever explains most: the mean of both ranks if it is the mean of both. Errors of 1 or more explain nothing, and who
    explains less than half of what the other does has no say, nor in the mean: that is smaller than either because errors average out,
    even where one of them ranks links hardly better than chance. If nobody explains anything, the ranks are of who comes nearest.
    """
    paths, output = found.increments.paths, found.increments.output
    known = [piece for piece in paths.pieces if piece.run % 2 == 0]
    held_out = [piece for piece in paths.pieces if piece.run % 2 == 1]
    if not known or not held_out:
        return None
    told("trees")
    half = Paths(tuple(known), paths.noise)
    law = found_links(half, found.increments.names, output, seed, term=found.term, prior=prior, thorough=False)
    true = rates_of(held_out, output)
    rates = {LAW: law_rates(law, held_out), FOREST: Forests(known, output, seed).rates(held_out)}
    rates[BOTH] = 0.5 * (rates[LAW] + rates[FOREST])
    scale = true.var(0) + 1e-300
    errors = {name: float(np.mean((rate - true) ** 2 / scale)) for name, rate in rates.items()}
    best = best_of(errors)
    ranks = rankdata(found.dense(found.learned.probabilities)).reshape(paths.nodes, -1)
    if best != LAW:
        trees = rankdata(Forests(paths.pieces, output, seed).scores()).reshape(ranks.shape)
        ranks = trees if best == FOREST else ranks + trees
    return Opinion(best, errors, ranks)


def best_of(errors: dict[str, float]) -> str:
    """Whose ranks to take, by errors in units of the variance; who comes nearest if nobody explains anything."""
    named = {name: errors[name] if math.isfinite(errors[name]) else math.inf for name in (LAW, FOREST)}
    most = max(0.0, 1 - min(named.values()))
    able = [name for name, error in named.items() if 1 - error >= LEAST_SHARE * most] if most else []
    if len(able) > 1:
        return min([*able, BOTH], key=lambda name: errors[name])
    return min(named, key=lambda name: named[name])
