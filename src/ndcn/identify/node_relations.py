"""Numbers of nodes as functions of attributes: regressed on the values found, fitted again along trajectories, decided by BIC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data import Trajectory
from ..laws import NodeClosedForm, Relation
from .clock import time_is_over
from .node_design import Design
from .node_fit import NodeFit, fit_nodes_along

# Of BIC, by which a fit must be better with an attribute, beyond twice the log of how many were compared: "very strong" evidence of Kass
# and Raftery (J. Am. Stat. Assoc. 90, 1995), as for nodes that differ.
EVIDENCE = 10.0
FEWEST_KNOWN = 6  # nodes whose attribute is known: fewer do not tell a slope from a spread
LOG_FROM = 3.0  # largest over least value of a positive attribute from which its logarithm is offered: below it is nearly straight
PREFER_PLAIN = (
    6.0  # of BIC, by which a logarithm must be better than the attribute itself: "strong" evidence of Kass and Raftery
)
MOST_RELATIONS = 3
TAUS = 40  # spreads of the rest that are compared in a regression


@dataclass(frozen=True)
class Offered:
    """A number of each node that values may follow, NaN where it is not known."""

    name: str
    values: np.ndarray
    log: bool = False

    @property
    def known(self) -> np.ndarray:
        """Where it is known."""
        return np.isfinite(self.function)

    @property
    def function(self) -> np.ndarray:
        """The number itself or its logarithm."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(self.values) if self.log else self.values

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation."""
        f = self.function[self.known]
        return float(f.mean()), float(f.std())

    @property
    def scaled(self) -> np.ndarray:
        """With mean 0 and standard deviation 1; 0 where it is not known."""
        middle, width = self.scale
        return np.where(self.known, (self.function - middle) / width, 0.0)


Pair = tuple[int, Offered]  # which of the numbers that vary follows what


def attributes_of(trajectories: Sequence[Trajectory]) -> dict[str, np.ndarray]:
    """Attributes that all graphs of the data agree on, and the degree."""
    graphs = [one.graph for one in trajectories]
    names = [
        name
        for name in (*graphs[0].attributes, "degree")
        if all(name in g.attributes or name == "degree" for g in graphs)
    ]
    every = {name: [g.attribute(name) for g in graphs] for name in dict.fromkeys(names)}
    return {
        name: some[0] for name, some in every.items() if all(np.array_equal(a, some[0], equal_nan=True) for a in some)
    }


def offered(attributes: Mapping[str, np.ndarray]) -> list[Offered]:
    """Attributes, and logarithms of those that are positive and far from constant."""
    out = []
    for name, values in attributes.items():
        known = values[np.isfinite(values)]
        if len(known) < FEWEST_KNOWN or not np.ptp(known) > 1e-9 * np.abs(known).max():
            continue
        out.append(Offered(name, values))
        if known.min() > 0 and known.max() > LOG_FROM * known.min():
            out.append(Offered(name, values, log=True))
    return out


def design_of(pairs: Sequence[Pair], n: int, rest: Sequence[bool]) -> Design:
    """Columns of what is followed, then one for each node of which it is not known: it has a value of its own."""
    q = len(rest)
    columns = []
    for k, one in pairs:
        column = np.zeros((n, q))
        column[:, k] = one.scaled
        columns.append(column.ravel())
    for k, i in sorted({(k, int(i)) for k, one in pairs for i in np.flatnonzero(~one.known)}):
        column = np.zeros((n, q))
        column[i, k] = 1.0
        columns.append(column.ravel())
    return Design(np.stack(columns, 1) if columns else np.zeros((n * q, 0)), tuple(rest))


@dataclass(frozen=True)
class Following:
    """A fit in which numbers follow attributes, and by how much BIC is lower than without."""

    fit: NodeFit
    pairs: tuple[Pair, ...] = ()
    gain: float = 0.0
    tried: tuple[str, ...] = ()

    def relations(self) -> list[Relation]:
        """As a law has them."""
        out = []
        for (k, one), beta in zip(self.pairs, self.fit.slopes, strict=False):
            middle, width = one.scale
            out.append(Relation(k, one.name, float(beta) / width, middle, tuple(one.values.tolist()), one.log))
        return out

    @property
    def widths(self) -> np.ndarray:
        """By which slopes of the fit are divided to be those of the law."""
        return np.array([one.scale[1] for _, one in self.pairs])

    def spreads(self) -> np.ndarray:
        """Of what attributes leave, (q,); 0 where nothing is left."""
        out = np.zeros(len(self.fit.design.rest))
        out[list(self.fit.design.rest)] = self.fit.spread
        return out

    def words(self, law: NodeClosedForm) -> str:
        """What was found, for the evidence."""
        given = [name for name in self.tried if name != "degree"]
        if not self.pairs:
            return f"; it follows none of the attributes ({', '.join(given)}, degree)" if given else ""
        parts = []
        for k, label in enumerate(law.labels):
            names = [f"log {one.name}" if one.log else one.name for m, one in self.pairs if m == k]
            left = "with a spread that is left" if law.spread[k] > 0 else "which leaves no spread"
            parts += [f"{label} follows {' and '.join(names)}, {left}"] if names else []
        unknown = sum(int((~one.known).sum()) for _, one in self.pairs)
        own = f"; {unknown} values whose attribute is not known are estimated from the states alone" if unknown else ""
        return f"; {', '.join(parts)} (BIC falls by {self.gain:.3g}){own}"


def following(found: NodeFit, attributes: Mapping[str, np.ndarray]) -> Following:
    """The fit in which numbers of nodes follow attributes where BIC says so; as it is where none helps."""
    choices = offered(attributes)
    tried = tuple(dict.fromkeys(one.name for one in choices))
    q = found.deviations.shape[1]
    best: NodeFit = found
    pairs: tuple[Pair, ...] = ()
    price = EVIDENCE + 2 * math.log(max(len(choices) * q, 1))
    while len(pairs) < MOST_RELATIONS and not time_is_over():
        pair = _likeliest(found, choices, pairs)
        if pair is None:
            break
        trial = _likelier(found, (*pairs, pair))
        if trial is None or not trial.score < best.score - price:
            break
        best, pairs = trial, (*pairs, pair)
        if not any(best.design.rest[k] for k, _ in pairs):
            break
    for pair in pairs if len(pairs) > 1 else ():  # the first may have stood for others
        fewer = tuple(one for one in pairs if one is not pair)
        shorter = _likelier(found, fewer)
        if shorter is not None and shorter.score < best.score:
            best, pairs = shorter, fewer
    return Following(best, pairs, found.score - best.score, tried)


def _fitted(found: NodeFit, pairs: Sequence[Pair], rest: Sequence[bool]) -> NodeFit | None:
    kept = [k for k, left in enumerate(rest) if left]
    design = design_of(pairs, len(found.deviations), rest)
    return fit_nodes_along(found.model, found.deviations, found.problems, found.spread[kept], design=design)


def _likelier(found: NodeFit, pairs: Sequence[Pair]) -> NodeFit | None:
    """With attributes as all that moves the numbers that follow them, or with a rest, whichever BIC wants."""
    q = found.deviations.shape[1]
    bare = [k not in {m for m, _ in pairs} for k in range(q)]
    fits = [_fitted(found, pairs, rest) for rest in (bare, [True] * q)]
    return min((fit for fit in fits if fit is not None), key=lambda fit: fit.score, default=None)


def _likeliest(found: NodeFit, choices: Sequence[Offered], pairs: Sequence[Pair]) -> Pair | None:
    """The next number and what it follows, by a regression of the values on attributes."""
    n, q = found.deviations.shape
    best: tuple[float, Pair] | None = None
    for k in range(q):
        variance = found.covariance[: n * q, : n * q].diagonal()[k::q]
        prior = found.spread[k] ** 2
        held = np.clip(variance / prior, 1e-12, 0.98)
        y = found.deviations[:, k].numpy() / (1 - held)  # as the data alone say
        error = variance / (1 - held)
        already = [one for m, one in pairs if m == k]
        for one in choices:
            if any(one.name == other.name for other in already):
                continue
            known = np.all([other.known for other in (*already, one)], axis=0)
            if known.sum() < FEWEST_KNOWN + len(already):
                continue
            basis = [np.ones(n), *(other.scaled for other in already)]
            before = _regression(y[known], error[known], np.stack(basis, 1)[known])
            after = _regression(y[known], error[known], np.stack([*basis, one.scaled], 1)[known])
            gain = before - after - (PREFER_PLAIN if one.log else 0.0)
            if gain > 0 and (best is None or gain > best[0]):
                best = gain, (k, one)
    return None if best is None else best[1]


def _regression(y: np.ndarray, error: np.ndarray, X: np.ndarray) -> float:
    """BIC of y = X c + rest + errors of these variances, the spread of the rest being the likeliest."""
    wide = max(float(y.std()), 1e-300)
    taus = np.concatenate([[0.0], wide * np.geomspace(1e-4, 2.0, TAUS)])
    scores = []
    for tau in taus:
        v = error + tau**2 + (1e-12 * wide) ** 2
        W = X / np.sqrt(v)[:, None]
        z = y / np.sqrt(v)
        c = np.linalg.lstsq(W, z, rcond=None)[0]
        scores.append(float(np.square(z - W @ c).sum() + np.log(v).sum()))
    return min(scores) + X.shape[1] * math.log(len(y))
