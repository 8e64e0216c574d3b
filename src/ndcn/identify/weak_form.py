"""The weak form: increments between snapshots as integrals of candidate terms along a path, linear in the coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .._support.world import World
from ..laws import Model, Term, term_values
from .observations import Observations, integrals

# Rows whose path may be off by more than this share of what they moved count less (docs/interaction.md, 9).
DOUBTED_SHARE = 0.1
LEAST_SHARE = 1e-3  # of a state, and of the typical increment: rows that moved less do not count for more than that
NOISE_FACTOR = 2.0  # of the noise, added to what a row moved: what is not known to have moved counts little
MOST_ROWS = 200_000  # of a trajectory: the noise of a thousandth of them is far below what tells terms apart
OVERFLOW = 1e100  # terms beyond it explain nothing, and their squares would be infinite
SINGULAR = 1e-12  # added to the diagonal of scaled normal equations, for terms that are alike


@dataclass(frozen=True)
class WeakForm:
    """Rows are (interval, node) pairs of all trajectories, weighted; one system for each feature.

    Where there are gaps, rows reach from each time a node was seen to the next, so that what it did is known.
    """

    gram: tuple[np.ndarray, ...]  # W^T W of the terms of that feature, by feature
    moment: tuple[np.ndarray, ...]  # W^T y
    power: tuple[float, ...]  # y^T y
    rows: int  # of the first feature
    terms: tuple[list[Term], ...]  # of each feature

    def solved(self, feature: int, members: Sequence[int]) -> Support:
        """The best coefficients of some terms."""
        return self.solved_all(feature, [members])[0]

    def solved_all(self, feature: int, sets: Sequence[Sequence[int]]) -> list[Support]:
        """The best coefficients of each of some sets of terms; sets of the same size are solved together."""
        out: dict[int, Support] = {}
        sizes = [len(members) for members in sets]
        for size in set(sizes):
            which = [k for k, count in enumerate(sizes) if count == size]
            index = np.array([sets[k] for k in which], dtype=np.int64).reshape(len(which), size)
            gram = self.gram[feature][index[:, :, None], index[:, None, :]]
            moment = self.moment[feature][index]
            unit = np.sqrt(np.maximum(np.einsum("kii->ki", gram), 1e-300))
            scaled = gram / (unit[:, :, None] * unit[:, None, :]) + SINGULAR * np.eye(size)
            c = _least_squares(scaled, moment / unit) / unit
            explained = 2 * (c * moment).sum(1) - np.einsum("ki,kij,kj->k", c, gram, c)
            rest = 1 - explained / max(self.power[feature], 1e-300)
            for k, members, values, left in zip(which, index, c, rest, strict=True):
                out[k] = Support(tuple(members.tolist()), values, max(float(left), 1e-15))
        return [out[k] for k in range(len(sets))]


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b of symmetric matrices (K, m, m) and vectors (K, m), without directions that rounding alone gives a size."""
    values, vectors = np.linalg.eigh(A)
    size = np.abs(values)
    kept = size > np.finfo(float).eps * A.shape[-1] * size.max(axis=-1, keepdims=True, initial=0.0)
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    along = np.einsum("kij,ki->kj", vectors, b)
    return np.einsum("kij,kj->ki", vectors, inverse * along)


def unexplained_increments(one: Observations, which: torch.Tensor, base: Model | None) -> torch.Tensor:
    """Increments over some intervals, less what a base, along the path, has done of them, (K, n, d)."""
    step = (one.level[1:] - one.level[:-1])[which]
    return step if base is None else step - integrated_rate(base, one, which)


def integrated_rate(base: Model, one: Observations, which: torch.Tensor) -> torch.Tensor:
    """Integrals of a model's rate along the path over some intervals, (K, n, d)."""
    inner = one.inner[which]
    return integrals(base.rate(inner.flatten(0, 1), one.network).reshape(inner.shape), one.spans[which])


def weak_form(
    data: Sequence[Observations],
    chosen: Sequence[torch.Tensor],
    terms: Sequence[Term],
    power: float,
    known: dict[tuple[int, str, bool, tuple[float, ...]], np.ndarray] | None = None,
    base: Model | None = None,
) -> WeakForm:
    """The regression of increments over the chosen intervals (all of those with gaps) on integrals of the terms, beside a base.

    Rows are divided by a mean of |increment| to a power: 1 weighs relative errors, 0 absolute ones. ``known`` keeps integrals of terms from
    call to call on the same data and intervals. Of large networks about ``MOST_ROWS`` rows of each trajectory are taken, evenly spread.
    """
    d = data[0].states.shape[2]
    parts: list[list[np.ndarray]] = [[] for _ in range(d)]
    targets: list[list[np.ndarray]] = [[] for _ in range(d)]
    own = [[t for t in terms if t.output == a] for a in range(d)]
    evaluated = {} if known is None else known
    for m, (one, which) in enumerate(zip(data, chosen, strict=True)):
        inner = one.inner[which]
        flat = inner.reshape(-1, *inner.shape[2:])
        spans = one.spans[which]
        done = None if base is None else integrated_rate(base, one, which).numpy()
        cache: dict[str, torch.Tensor] = {}
        for a in range(d):
            rows = stretches(one, which, a, power)
            columns = []
            for term in own[a]:
                key = (m, term.formula.text, term.coupling, term.values)
                if key not in evaluated:
                    values = term_values(term, flat, one.network, cache).reshape(inner.shape[:3])
                    evaluated[key] = integrals(values, spans).numpy()
                columns.append(rows.over(evaluated[key]) * rows.weight)
            rest = rows.step if done is None else rows.step - rows.over(done[..., a])
            parts[a].append(np.stack(columns, 1))
            targets[a].append(rest * rows.weight)
    systems = []
    for a in range(d):
        W = np.concatenate(parts[a])
        y = np.concatenate(targets[a])
        W[~(np.abs(W) < OVERFLOW)] = 0.0  # NaN too
        systems.append(_of_all_processes(data[0].network.world, W.T @ W, W.T @ y, float(y @ y)))
    gram, moment, squares = zip(*systems, strict=True)
    count = int(data[0].network.world.total(torch.tensor(sum(map(len, targets[0])))))
    return WeakForm(gram, moment, squares, count, tuple(own))


def _of_all_processes(
    world: World, gram: np.ndarray, moment: np.ndarray, power: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """The system of all processes that share the network: sums over their rows, one message."""
    if world.size == 1:
        return gram, moment, power
    count = len(moment)
    flat = world.total(torch.from_numpy(np.concatenate([gram.ravel(), moment, [power]]))).numpy()
    return flat[: count**2].reshape(count, count), flat[count**2 : -1], float(flat[-1])


@dataclass(frozen=True)
class Stretches:
    """What nodes did from one time to another."""

    first: np.ndarray  # of the chosen intervals
    last: np.ndarray  # of them, not included
    node: np.ndarray  # which one
    step: np.ndarray  # how far it moved
    weight: np.ndarray  # how much that counts

    def over(self, values: np.ndarray) -> np.ndarray:
        """Sums of values (K, n, ...) over the intervals of each stretch."""
        return _over(values, self.first, self.last, self.node)


def stretches(one: Observations, which: torch.Tensor, feature: int, power: float) -> Stretches:
    """The chosen intervals of each node or, in gaps, from each time it was seen to the next; see ``weak_form``."""
    count = len(which)
    n = one.level.shape[1] if one.counted is None else one.counted
    if one.gaps:
        node, time = np.nonzero(one.seen[..., feature].numpy().T)
        same = node[1:] == node[:-1]
        first = time[:-1][same]
        last = time[1:][same]
        node = node[1:][same]
    else:
        first = np.repeat(np.arange(count), n)
        node = np.tile(np.arange(n), count)
        last = first + 1
    rows = int(one.network.world.highest(torch.tensor(len(node))))  # the same share in all processes
    thinned = slice(None, None, max(1, rows // MOST_ROWS))
    first, last, node = first[thinned], last[thinned], node[thinned]
    level = one.level[..., feature].numpy()
    begin = (which.numpy()[first], node)
    step = level[which.numpy()[last - 1] + 1, node] - level[begin]
    size = np.abs(step)
    square, rows = one.network.world.total(torch.tensor([np.square(size).sum(), len(size)])).tolist()
    typical = np.sqrt(square / rows if rows else 0.0)
    floor = LEAST_SHARE * np.abs(level[begin]) + LEAST_SHARE * typical + 1e-300
    weight = (size + floor + NOISE_FACTOR * one.noise[..., feature].numpy()[begin]) ** -power
    if one.gaps:
        off = _over(_doubt(one, feature), first, last, node) / _over(one.spans[:, None].numpy(), first, last, 0 * node)
        weight = weight / (1 + off / (DOUBTED_SHARE * (size + floor)))
    return Stretches(first, last, node, step, weight)


def _doubt(one: Observations, feature: int) -> np.ndarray:
    """How far the path of a node and of its neighbours may be off, integrated over each interval, (T - 1, n)."""
    assert one.doubt is not None
    own = one.doubt[..., feature] * one.spans[:, None]
    weights = abs(one.network.graph.to_scipy())
    around = torch.from_numpy(weights @ own.T.numpy() / np.maximum(weights.sum(1), 1e-300)[:, None]).T
    return ((own + around) / 2).numpy()


def _over(values: np.ndarray, first: np.ndarray, last: np.ndarray, node: np.ndarray) -> np.ndarray:
    if (last - first == 1).all():
        return values[first, node]
    with np.errstate(over="ignore", invalid="ignore"):  # of terms that overflow
        total = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, 0)])
        return total[last, node] - total[first, node]


@dataclass(frozen=True)
class Support:
    """Some of the terms of one feature, with their coefficients and the share of the increments they leave open."""

    members: tuple[int, ...]
    coefficients: np.ndarray
    rest: float


def supports(
    form: WeakForm, feature: int, *, most: int = 8, width: int = 12, start: Sequence[int] = ()
) -> list[Support]:
    """Promising supports by beam search: grown one by one, and each member exchanged for better ones."""
    gram = form.gram[feature]
    moment = form.moment[feature]
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram = gram / np.outer(size, size)
    moment = moment / size
    families = [t.family for t in form.terms[feature]]
    found: dict[tuple[int, ...], Support] = {}

    def solved(sets: Sequence[tuple[int, ...]]) -> list[Support]:
        keys = [tuple(sorted(members)) for members in sets]
        new = [key for key in dict.fromkeys(keys) if key not in found]
        found.update(zip(new, form.solved_all(feature, new), strict=True))
        return [found[key] for key in keys]

    def gains(members: tuple[int, ...]) -> np.ndarray:
        if not members:
            return moment**2
        index = list(members)
        block = gram[np.ix_(index, index)] + SINGULAR * np.eye(len(index))
        inverse = np.linalg.inv(block)
        cross = gram[:, index] @ inverse
        left = 1 - np.einsum("ij,ij->i", cross, gram[:, index])
        corr = moment - cross @ moment[index]
        gain = np.where(left > 1e-9, corr**2 / np.maximum(left, 1e-9), 0.0)
        used = {families[m] for m in members}
        gain[[k for k, f in enumerate(families) if f in used]] = 0.0
        return gain

    def grown(sets: Sequence[tuple[int, ...]], most: int) -> list[Support]:
        larger = []
        for members in sets:
            gain = gains(members)
            larger += [(*members, int(m)) for m in np.argsort(-gain)[:most] if gain[m] > 0]
        return solved(larger)

    def by_rest(some: dict[tuple[int, ...], Support]) -> list[Support]:
        return sorted(some.values(), key=lambda s: s.rest)[:width]

    beam = [tuple(sorted(start))]
    best: list[Support] = []
    for _ in range(most - len(start)):
        ranked = by_rest({s.members: s for s in grown(beam, 2 * width)})
        swapped = {s.members: s for s in ranked}
        fewer = [
            tuple(m for m in support.members if m != out) for support in ranked[: width // 2] for out in support.members
        ]
        swapped |= {s.members: s for s in grown(fewer, 3)}
        ranked = by_rest(swapped)
        if not ranked:
            break
        best += ranked
        beam = [s.members for s in ranked]
    return best
