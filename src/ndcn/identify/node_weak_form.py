"""The weak form node by node: which terms a law may have, which of them vary among nodes. It ranks formulas and never decides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data import Inputs
from ..laws import Term, term_values
from .candidates import is_polynomial
from .input_quadrature import input_weights
from .mixed_model import MixedFit, NodeGrams
from .observations import Observations, integrals
from .weak_form import OVERFLOW

COUPLINGS_TRIED = 6  # families of couplings from which sets of terms are grown
MOST_VARYING = 2  # numbers that vary among nodes at most, at first: more of them explain whatever a node does
VARYING_PRICE = 1.0  # of a variance, for each node: errors of the path differ among nodes too, and look like variation
SLOPE_STEP = 1e-3  # of a parameter inside a term, as a share of it, for derivatives by it
WITHIN = 1e-9  # of the diagonal, for terms that are alike at a node


@dataclass(frozen=True)
class NodeForm:
    """The rate of one feature: least squares of every node on integrals of all candidates."""

    terms: list[Term]
    grams: NodeGrams

    @property
    def polynomials(self) -> list[int]:
        """Self terms that are products of features."""
        return [k for k, term in enumerate(self.terms) if not term.coupling and is_polynomial(term)]

    def gains(self, *, own: bool, beside: Sequence[int] = ()) -> np.ndarray:
        """What each coupling explains beyond polynomials and other columns, 0 for other terms; ``own``: each node having its own of them."""
        S = [*self.polynomials, *beside]
        G, b = self.grams.gram, self.grams.moment
        if not own:
            G, b = G.sum(0, keepdims=True), b.sum(0, keepdims=True)
        GS = G[:, S]
        A = GS[:, :, S]
        size = np.sqrt(np.maximum(np.einsum("nii->ni", A), 1e-300))
        scaled = A / (size[:, :, None] * size[:, None, :]) + WITHIN * np.eye(len(S))
        X = np.linalg.solve(scaled, GS / size[:, :, None]) / size[:, :, None]
        c = b - np.einsum("nsm,ns->nm", X, b[:, S])
        left = np.einsum("nmm->nm", G) - np.einsum("nsm,nsm->nm", X, GS)
        total = left.sum(0)
        gain = np.where(total > 1e-9 * np.einsum("nmm->m", G), c.sum(0) ** 2 / np.maximum(total, 1e-300), 0.0)
        kind = np.array([term.coupling for term in self.terms])
        gain = gain[: len(kind)]  # not of derivatives, nor of what inputs do
        gain[~kind] = 0.0
        return gain

    def ranked(self) -> list[MixedFit]:
        """Sets of terms with one coupling, best first, one for each of the most promising families of couplings."""
        S = self.polynomials
        chosen: dict[tuple[tuple[str, bool, int], bool], int] = {}
        for own in (False, True):
            gain = self.gains(own=own)
            for k in np.argsort(-gain):
                if gain[k] > 0:
                    chosen.setdefault((self.terms[k].family, own), int(k))
        best: dict[tuple[str, bool, int], MixedFit] = {}
        for k in dict.fromkeys(chosen.values()):
            fits = [self.grams.fitted((*S, k), some) for some in contexts(S, k)]
            fit = min(fits, key=lambda one: one.score)
            family = self.terms[k].family
            best[family] = min(best.get(family, fit), fit, key=lambda one: one.score)
        first = sorted(best.values(), key=lambda one: one.score)[:COUPLINGS_TRIED]
        grown = [self.stepwise(fit, fit.members[-1:]) for fit in first]
        alone = self.stepwise(self.grams.fitted(tuple(S), ()), ())
        return sorted([*grown, alone], key=lambda one: one.score)

    def shortest(self, coupling: int) -> Iterator[MixedFit]:
        """A coupling alone, or beside one or two polynomials of low degree, one of the terms varying."""
        low = self.polynomials[:3]
        yield self.grams.fitted((coupling,), (coupling,))
        for some in ((low[0],), (low[1],), low[:2], low[1:]):
            for k in some:
                yield self.grams.fitted((*some, coupling), (k,))
        yield self.grams.fitted((low[1], coupling), (coupling,))

    def stepwise(self, fit: MixedFit, kept: Sequence[int]) -> MixedFit:
        """One term after the other made absent, common or varying, as long as BIC falls; those of ``kept`` stay."""
        pool = [*self.polynomials, *kept]
        while True:
            trials = []
            for members, varying in _changes(fit, pool, kept):
                if members:
                    trials.append(self.grams.fitted(members, varying))
            best = min(trials, key=lambda one: one.score, default=fit)
            if not best.score < fit.score:
                return fit
            fit = best


def contexts(polynomials: Sequence[int], coupling: int) -> Iterator[tuple[int, ...]]:
    """What may vary while couplings are ranked: nothing, one of the terms, or two of the first polynomials."""
    yield ()
    for k in (*polynomials, coupling):
        yield (k,)
    yield from itertools.combinations(polynomials[:3], 2)


def _changes(
    fit: MixedFit, pool: Sequence[int], kept: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Members and those that vary, with one term changed."""
    for k in pool:
        members = tuple(m for m in fit.members if m != k)
        varying = tuple(m for m in fit.varying if m != k)
        if k in fit.members:
            if k not in kept:
                yield members, varying
            if k in fit.varying:
                yield fit.members, varying
        else:
            yield (*fit.members, k), varying
        if k not in fit.varying and len(varying) < MOST_VARYING:
            yield (*members, k), (*varying, k)


def node_form(
    data: Sequence[Observations],
    terms: Sequence[Term],
    feature: int,
    *,
    noisy: bool,
    slopes: Sequence[tuple[int, int]] = (),
    driven: Sequence[tuple[int, str]] = (),
    inputs: Sequence[Inputs] = (),
) -> NodeForm:
    """The weak form of one feature; all trajectories are of the same nodes.

    With noise, y_i(t) - x0_i is the integral of the law, x0_i being taken out by what nodes are on average; without it, increments are.
    After the columns of terms come those of their derivatives by inner parameters, ``slopes``: (term, parameter), then of terms times an
    input, ``driven``: (term, name of one of the ``inputs`` of each trajectory).
    """
    own = [term for term in terms if term.output == feature]
    rows, sides, count = [], [], 0
    for which, one in enumerate(data):
        inner = one.inner[:]
        acting = input_weights(inputs[which], one.times) if driven else {}
        flat = inner.reshape(-1, *inner.shape[2:])
        cache: dict[str, torch.Tensor] = {}
        K, n = len(one.spans), one.level.shape[1]
        W = np.empty((n, K + noisy, len(own) + len(slopes) + len(driven)))

        columns: list[tuple[Term, int | None, str | None]] = [(term, None, None) for term in own]
        columns += [(own[k], m, None) for k, m in slopes]
        columns += [(own[k], None, name) for k, name in driven]
        for k, (term, m, name) in enumerate(columns):
            values = term_values(term, flat, one.network, cache)
            if m is not None:
                step = SLOPE_STEP * max(abs(term.values[m]), SLOPE_STEP)
                moved = replace(term, values=(*term.values[:m], term.values[m] + step, *term.values[m + 1 :]))
                values = (term_values(moved, flat, one.network, cache) - values) / step
            values = values.reshape(inner.shape[:3])
            each = (integrals(values, one.spans) if name is None else (values * acting[name]).sum(1)).numpy()
            W[:, noisy:, k] = (np.cumsum(each, 0) if noisy else each).T
            W[:, :noisy, k] = 0.0
        W[~(np.abs(W) < OVERFLOW)] = 0.0
        if noisy:
            weight = torch.where(one.seen, one.measured.at(one.level).clamp(min=1e-300) ** -1, 0.0)[
                ..., feature
            ].T.numpy()
            y = one.states[..., feature].nan_to_num(0.0).T.numpy()
            total = np.maximum((weight**2).sum(1, keepdims=True), 1e-300)
            y = (y - ((weight**2) * y).sum(1, keepdims=True) / total) * weight
            W -= np.einsum("nk,nkm->nm", weight**2, W)[:, None] / total[..., None]
            W *= weight[..., None]
            count += int((weight > 0).sum()) - n
        else:
            y = one.level[..., feature].diff(dim=0).T.numpy()
            size = np.abs(y)
            weight = (size + 1e-3 * np.sqrt(np.square(size).mean()) + 1e-300) ** -0.5
            y = y * weight
            W *= weight[..., None]
            count += y.size
        rows.append(W)
        sides.append(y)
    grams = NodeGrams.of(np.concatenate(rows, 1), np.concatenate(sides, 1), max(count, 2))
    return NodeForm(own, replace(grams, price=VARYING_PRICE * len(grams.power)))
