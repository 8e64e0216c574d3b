"""How far a what-if is from anything seen in training, and where its values are not plausible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .._support.wording import short
from ..data import Trajectory
from ..graph import Graph

NEAR = 1e-3  # of the range seen: what a solver or the rounding of a model may be off
FAR = 1.0  # ranges outside the range seen beyond which a value is said to be far from the data
MOST = 0.5  # of a node's input: what goes above this share is said
NAMED = 3  # nodes in a message


@dataclass(frozen=True)
class SeenRange:
    """What training showed of one feature, over all nodes and times: a law is one for all nodes, so any node's states count.

    Args:
        low, high: smallest and largest value.
        falls: whether it fell at any node; totals never do.
    """

    low: float
    high: float
    falls: bool

    @property
    def width(self) -> float:
        """high - low; of a constant its size, or 1."""
        return self.high - self.low or abs(self.high) or 1.0


def seen_ranges(trajectories: Sequence[Trajectory]) -> tuple[SeenRange, ...]:
    """What the training data show of each feature.

    Example:
        >>> import ndcn
        >>> pair = ndcn.Graph.from_edges([("a", "b")])
        >>> data = ndcn.Trajectory(times=[0.0, 1.0], states=[[[1.0], [2.0]], [[4.0], [2.5]]], graph=pair)
        >>> seen_ranges([data])
        (SeenRange(low=1.0, high=4.0, falls=False),)
    """
    out = []
    for k in range(trajectories[0].num_features):
        tables = [_held(one.states[..., k].detach().cpu().double().numpy()) for one in trajectories]
        values = np.concatenate([table[np.isfinite(table)] for table in tables])
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        falls = any(bool((np.diff(table, axis=0) < 0).any()) for table in tables)
        ends = trajectories[0].graph.highest(torch.tensor([-low, high, float(falls)], dtype=torch.float64)).tolist()
        out.append(SeenRange(-ends[0] + 0.0, ends[1], bool(ends[2])))
    return tuple(out)


def _held(table: np.ndarray) -> np.ndarray:
    """Missing entries as the last one before; NaN before the first."""
    rows = np.arange(len(table))[:, None]
    last = np.maximum.accumulate(np.where(np.isfinite(table), rows, 0), axis=0)
    return np.take_along_axis(table, last, axis=0)


class ChangedTrajectory(Trajectory):
    """A trajectory after changes, and how far to believe it.

    Attributes:
        notes: what the user has to know: states and networks that training never showed, values that are not plausible.
        distances: for each feature, how far the changed state is outside the range seen in training, in units of that
            range; 0 inside; None if it is not known which states were seen.
        lost_input: for each node that lost some, the share of its input, sum_j |A_ij|, that the changes take away.

    Example:
        >>> import ndcn
        >>> graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, [[1.0], [0.0], [0.0]], [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(data)
        >>> changed = reg.what_if(["shock a +4", "cut b c"], [2.0])
        >>> changed.distances, changed.lost_input
        ((4.0,), {'b': 0.5, 'c': 1.0})
        >>> print(changed.notes[0])
        just after the changes, x of 'a' is 5, and training showed 0 to 1: 4 times that range outside, ...
    """

    notes: tuple[str, ...] = ()
    distances: tuple[float, ...] | None = None
    lost_input: dict[Hashable, float] = {}  # noqa: RUF012  # replaced, never changed


def lost_input(before: Graph, after: Graph) -> dict[Hashable, float]:
    """Of nodes in both graphs, the share of sum_j |A_ij|, j != i, that is gone, where any is."""
    place = {node: k for k, node in enumerate(before.nodes)}
    was, now = _input(before), _input(after)
    shares = {node: 1 - now[k] / was[place[node]] for k, node in enumerate(after.nodes) if was[place[node]] > 0}
    return {node: float(share) for node, share in shares.items() if share > 1e-9}


def _input(graph: Graph) -> np.ndarray:
    matrix = abs(graph.to_scipy())
    return np.asarray(matrix.sum(axis=1)).ravel() - matrix.diagonal()


def distances(state: torch.Tensor, seen: Sequence[SeenRange]) -> tuple[float, ...]:
    """How far a state (n, d) is outside the range seen, for each feature, in units of that range."""
    return tuple(float(_outside(state[:, k], one).max()) for k, one in enumerate(seen))


def _outside(values: torch.Tensor, seen: SeenRange) -> np.ndarray:
    x = values.detach().cpu().double().numpy()
    return np.maximum(np.maximum(seen.low - x, x - seen.high), 0.0) / seen.width


def notes_of(
    changed: Trajectory,
    state: torch.Tensor,
    kept: Graph,
    seen: Sequence[SeenRange] | None,
    lost: dict[Hashable, float],
    when: Callable[[float], str],
) -> tuple[str, ...]:
    """What the user has to know.

    Args:
        changed: the changed trajectory, from the changes on, at increasing times.
        state: the changed state, shape (kept nodes, d).
        kept: the changed graph.
        seen: of each feature; None if it is not known.
        lost: shares of input that nodes lose.
        when: a time in words.
    """
    found = [] if seen is None else _of_state(changed.features, state, kept, seen)
    much = sorted((node for node, share in lost.items() if share >= MOST), key=lambda node: -lost[node])
    if much:
        named = ", ".join(f"{100 * lost[node]:.0f} % of that of {short(node)}" for node in much[:NAMED])
        more = f" and as much of {len(much) - NAMED} others" if len(much) > NAMED else ""
        found.append(
            f"the changes take away input from neighbours, {named}{more}: the model knows these nodes with all their neighbours only"
        )
    if seen is None:
        found.append(
            "the model file does not tell which states were seen in training, so nothing is said about how far this is "
            "from them: fit again with this version to be told"
        )
        return tuple(found)
    for k, one in enumerate(seen):
        found += _of_values(changed, k, one, when)
    return tuple(found)


def _of_state(features: Sequence[str], state: torch.Tensor, kept: Graph, seen: Sequence[SeenRange]) -> list[str]:
    found = []
    for k, one in enumerate(seen):
        outside = _outside(state[:, k], one)
        worst = int(outside.argmax())
        if outside[worst] > NEAR:
            found.append(
                f"just after the changes, {features[k]} of {short(kept.nodes[worst])} is {state[worst, k].item():.4g}, and "
                f"training showed {one.low:.4g} to {one.high:.4g}: {outside[worst]:.2g} times that range outside, where the "
                "model was never tested"
            )
    return found


def _of_values(changed: Trajectory, k: int, seen: SeenRange, when: Callable[[float], str]) -> list[str]:
    """Values of one feature that are negative, fall, or are far away where none in training was or did."""
    x = changed.states[..., k].detach().cpu().double().numpy()
    slack = NEAR * seen.width
    found: list[str] = []
    checks: list[tuple[np.ndarray, str, int]] = []
    if seen.low >= 0:
        checks.append((np.where(np.isfinite(x), -x - slack, -np.inf), "though it was never below 0 in training", 0))
    if not seen.falls and len(x) > 1:
        drop = np.vstack([np.full_like(x[:1], -np.inf), x[:-1] - x[1:] - slack])
        checks.append((np.where(np.isfinite(drop), drop, -np.inf), "though it never fell in training", 1))
    beyond = np.maximum(seen.low - x, x - seen.high) - FAR * seen.width
    far = f"far from the {seen.low:.4g} to {seen.high:.4g} of training"
    checks.append((np.where(np.isfinite(beyond), beyond, -np.inf), far, 2))
    for excess, why, rank in checks:
        t, i = (int(place) for place in np.unravel_index(int(excess.argmax()), excess.shape))
        nodes = int((excess > 0).any(axis=0).sum())
        if nodes == 0 or (rank == 2 and found):
            continue
        verb = f"falls from {x[t - 1, i]:.4g} to" if rank == 1 else "comes to"
        others = f", and {nodes - 1} more nodes" if nodes > 2 else ", and one more node" if nodes == 2 else ""
        at = when(changed.times[t].item())
        found.append(
            f"not plausible: {changed.features[k]} of {short(changed.graph.nodes[i])}{others} {verb} {x[t, i]:.4g} at {at}, {why}"
        )
    return found
