"""What a Dataset holds, in numbers and words: nodes, edges, times, gaps, what is missing, and what will be done about it."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from .._support.wording import counted, digits, short, some
from ..data import MIN_SNAPSHOTS, Dataset, Trajectory, panel_of
from ..graph import Graph
from .doubts import Doubt, doubts
from .missing_values import suspected

SHOWN = 20  # lines about what looks wrong
UNNAMED = "x"  # what the values of a file with a column for each node are called
GAP = 1.5  # a step of more than 1.5 usual ones lacks a snapshot; less is jitter of the clock


@dataclass(frozen=True)
class Spread:
    """Smallest, middle, mean and largest of some numbers."""

    min: float
    median: float
    mean: float
    max: float

    @classmethod
    def of(cls, values: np.ndarray) -> Spread:
        """Of finite numbers, at least one."""
        return cls(float(values.min()), float(np.median(values)), float(values.mean()), float(values.max()))

    def __str__(self) -> str:
        return f"{self.min:.6g} to {self.max:.6g}, median {digits(self.median)}, mean {digits(self.mean)}"


@dataclass(frozen=True)
class RunFacts:
    """Times of a run: how many, from when to when, the usual step, and gaps (from, to) that are longer, largest first."""

    name: str
    snapshots: int
    first: str
    last: str
    step: float | None
    equal_steps: bool
    gaps: tuple[tuple[str, str], ...]
    missing: float


@dataclass(frozen=True)
class Inspection:
    """Facts about a dataset; ``str`` tells them to people, ``to_json`` to machines.

    Attributes:
        nodes, edges, directed, weighted: of the (last) graph.
        graphs: how many there are, one after the other.
        components, largest: connected pieces, and the nodes in the largest.
        isolated: nodes without an edge.
        degrees: number of edges of a node (that act on it).
        weights: of edges; None without edges.
        runs: the times of each.
        unit: of time.
        missing: share of all entries.
        ranges: of each feature.
        constant_features, equal_features: that never change, and pairs that are the same.
        constant_nodes, equal_nodes: likewise of nodes.
        notes: what was understood.
        plans: what will be done about what was found.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(9)
        >>> run = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 1.0, 2.0])
        >>> facts = ndcn.tables.inspect(ndcn.Dataset((run,)))
        >>> facts.nodes, facts.components, facts.runs[0].snapshots
        (9, 1, 3)
    """

    nodes: int
    edges: int
    directed: bool
    weighted: bool
    graphs: int
    components: int
    largest: int
    isolated: tuple[Hashable, ...]
    degrees: Spread
    weights: Spread | None
    runs: tuple[RunFacts, ...]
    unit: str
    missing: float
    ranges: dict[str, Spread]
    constant_features: tuple[str, ...]
    equal_features: tuple[tuple[str, str], ...]
    constant_nodes: tuple[Hashable, ...]
    equal_nodes: tuple[tuple[Hashable, Hashable], ...]
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    plans: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain numbers, texts, lists and dictionaries."""
        return asdict(self) | {"doubts": [one._asdict() for one in self.doubts]}

    def __str__(self) -> str:
        kind = f"{'directed' if self.directed else 'undirected'}{', weighted' * self.weighted}"
        turns = f", {self.graphs} graphs in turn (the last is described)" if self.graphs > 1 else ""
        lines = [
            f"network     {counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}, {kind}{turns}",
            f"            {counted(self.components, 'component')}, the largest of {counted(self.largest, 'node')}; "
            f"{counted(len(self.isolated), 'isolated node')}",
            f"degrees     {self.degrees}",
        ]
        if not self.edges:
            lines = [f"network     {counted(self.nodes, 'node')}, no edges"]
        if self.weights is not None and self.weighted:
            lines.append(f"weights     {self.weights}")
        for run in self.runs[:5]:
            name = f"run {short(run.name)[1:-1]}: " if run.name else ""
            unit = f" {self.unit}{'s' * (run.step != 1)}" if self.unit else ""
            step = "" if run.step is None else f", usually {run.step:.4g}{unit} apart"
            lines.append(f"times       {name}{counted(run.snapshots, 'snapshot')} from {run.first} to {run.last}{step}")
            lines += [f"  gap       {begin} to {end}" for begin, end in run.gaps[:3]]
            if len(run.gaps) > 3:
                lines.append(f"            and {len(run.gaps) - 3} more gaps")
        if len(self.runs) > 5:
            lines.append(f"            and {len(self.runs) - 5} more runs")
        lines.append(f"missing     {100 * self.missing:.3g} % of the entries")
        lines += [f"values      {_head(name, self.ranges)}{spread}" for name, spread in self.ranges.items()]
        lines += ["", "What was understood:", *(f"- {note}" for note in self.notes)] if self.notes else []
        if self.doubts:
            named = (
                self.doubts[:SHOWN]
                if len(self.ranges) > 1
                else [one._replace(feature="") for one in self.doubts[:SHOWN]]
            )
            lines += ["", "What looks wrong:", *(f"- {one}" for one in named)]
            if len(self.doubts) > SHOWN:
                lines.append(f"- and {len(self.doubts) - SHOWN} more; --json lists them all")
        lines += ["", "What will be done:", *(f"- {plan}" for plan in self.plans)]
        return "\n".join(lines)


def inspect(
    data: Dataset, *, kind: str | None = None, period: int | None = None, keep_outliers: bool = False
) -> Inspection:
    """Facts about a dataset, and what a forecast of it will do: see ``Inspection``.

    Args:
        data: what was read.
        kind, period, keep_outliers: those of ``forecast.Auto``.

    Raises:
        ValueError: an unknown kind, or a period that the data are too short for.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([("a", "b")])
        >>> run = ndcn.Trajectory(times=[0.0, 1.0, 4.0], states=torch.tensor([[1.0, 5], [2, 5], [3, 5]]), graph=pair)
        >>> ndcn.tables.inspect(ndcn.Dataset((run,))).constant_nodes
        ('b',)
    """
    graph, features = data.runs[0].graph, data.runs[0].features
    matrix = graph.to_scipy()
    components, member = csgraph.connected_components(matrix, directed=graph.directed, connection="weak")
    degrees = np.diff(matrix.indptr)
    both_ways = degrees + np.bincount(matrix.indices, minlength=graph.num_nodes)
    isolated = tuple(graph.nodes[i] for i in np.flatnonzero(both_ways == 0).tolist())
    names = data.names or [""] * len(data.runs)
    runs = tuple(_run(run, name, data) for run, name in zip(data.runs, names, strict=True))
    cube = np.concatenate([run.states.numpy() for run in data.runs])
    ranges = {name: Spread.of(cube[..., k][~np.isnan(cube[..., k])]) for k, name in enumerate(features)}
    constant = tuple(name for k, name in enumerate(features) if len(cube) > 1 and _still(cube[..., k : k + 1]).all())
    pairs = itertools.combinations(range(len(features)), 2)
    equal = [(a, b) for a, b in pairs if np.array_equal(cube[..., a], cube[..., b], equal_nan=True)]
    still, twins = _nodes(cube, graph)
    facts = Inspection(
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        directed=graph.directed,
        weighted=graph.weighted,
        graphs=1 if data.graphs is None else len(data.graphs),
        components=int(components),
        largest=int(np.bincount(member).max()),
        degrees=Spread.of(degrees),
        weights=Spread.of(matrix.data) if matrix.nnz else None,
        unit="" if data.calendar is None or not data.calendar.dated else data.calendar.unit,
        ranges=ranges,
        notes=data.notes,
        plans=(),
        missing=float(np.isnan(cube).mean()),
        isolated=isolated,
        runs=runs,
        constant_features=constant,
        equal_features=tuple((features[a], features[b]) for a, b in equal),
        constant_nodes=still,
        equal_nodes=twins,
        doubts=_used(doubts(data, kind=kind, period=period), keep_outliers),
    )
    reading = {"kind": kind, "period": period, "keep_outliers": keep_outliers}
    return replace(facts, plans=tuple(_plans(facts, data, reading)))


def _used(found: tuple[Doubt, ...], keep_outliers: bool) -> tuple[Doubt, ...]:
    """What looks wrong, as it is used where outliers are kept."""
    if not keep_outliers:
        return found
    kept = "used as it is (--keep-outliers)"
    return tuple(
        one._replace(what=f"{one.what.rpartition(': ')[0]}: {kept}", held_out=False, treated=False)
        if one.treated
        else one
        for one in found
    )


def _head(feature: str, features: Iterable[str]) -> str:
    """A feature's name before a colon; nothing for the only one of a file that gives it none."""
    return "" if tuple(features) == (UNNAMED,) else f"{short(feature)[1:-1]}: "


def _run(run: Trajectory, name: str, data: Dataset) -> RunFacts:
    times = run.times.numpy()
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else None
    equal = bool(len(steps)) and bool(np.allclose(steps, steps[0], rtol=1e-6))
    wide = np.flatnonzero(steps > GAP * (usual or 0.0))
    wide = wide[np.argsort(-steps[wide], kind="stable")]

    def text(values: np.ndarray) -> list[str]:
        return [f"{value:.6g}" for value in values] if data.calendar is None else data.calendar.texts(values)

    begin, end = text(times[wide]), text(times[wide + 1])
    first, last = text(times[[0, -1]])
    hidden = 0.0 if run.mask is None else 1.0 - float(run.mask.double().mean())
    return RunFacts(name, len(times), first, last, usual, equal, tuple(zip(begin, end, strict=True)), hidden)


def _still(cube: np.ndarray) -> np.ndarray:
    """Which nodes of (T, n, d) are observed and never change, shape (n,)."""
    low = np.where(np.isnan(cube), np.inf, cube).min(axis=0)
    high = np.where(np.isnan(cube), -np.inf, cube).max(axis=0)
    return np.asarray((low >= high).all(axis=1) & np.isfinite(low).any(axis=1))


def _nodes(cube: np.ndarray, graph: Graph) -> tuple[tuple[Hashable, ...], tuple[tuple[Hashable, Hashable], ...]]:
    """Nodes that never change, and pairs of others whose values are the same at all times; cube is (T, n, d)."""
    if len(cube) < 2:
        return (), ()
    still = _still(cube)
    by_node = np.ascontiguousarray(cube.transpose(1, 0, 2))
    first: dict[bytes, int] = {}
    twins = []
    for i in np.flatnonzero(~still).tolist():
        other = first.setdefault(by_node[i].tobytes(), i)
        if other != i:
            twins.append((graph.nodes[other], graph.nodes[i]))
    return tuple(graph.nodes[i] for i in np.flatnonzero(still).tolist()), tuple(twins)


def _plans(facts: Inspection, data: Dataset, reading: dict[str, Any]) -> list[str]:
    plans = []
    runs = facts.runs
    if any(run.snapshots < 2 for run in runs):
        plans.append("a run of one snapshot shows no dynamics: `ndcn fit` needs at least two, better ten or more")
    elif min(run.snapshots for run in runs) < 10:
        plans.append(f"{min(run.snapshots for run in runs)} snapshots are few: expect a rough model")
    plans += _forecast_plans(data, reading)
    even = "snapshots are equally spaced: all models can be used"
    uneven = "snapshots are not equally spaced, which continuous-time models take as it is; temporal GNNs do not"
    plans.append(even if all(run.equal_steps for run in runs) else uneven)
    if facts.missing > 0.9:
        why = "almost all entries are missing, as nodes were observed at times of their own"
        plans.append(f"{why}: --step rounds the times")
    if facts.missing:
        plans.append(
            "missing entries are masked: a model named with --model learns from what was observed and predicts the rest; a "
            "forecast (without --model) holds the last value of the node in their place, and is not judged there"
        )
    plans += [sentence for sentence in suspected(data) if sentence not in data.notes]
    if not facts.edges:
        plans.append(
            "without edges: `ndcn find-network STATES --out edges.csv` finds who acts on whom, with probabilities"
        )
    elif facts.isolated:
        plans.append(f"isolated nodes evolve by themselves, without neighbours: {some(facts.isolated)}")
    elif facts.components > 1:
        plans.append(f"the {facts.components} components do not act on each other and are learned together")
    if facts.constant_features:
        plans.append(f"{some(facts.constant_features)} never changes in time: leave it out with --values")
    if facts.equal_features:
        pairs = [f"{a} = {b}" for a, b in facts.equal_features]
        plans.append(f"columns with the same values are learned twice ({some(pairs)}): leave one out with --values")
    if facts.constant_nodes:
        still = facts.constant_nodes
        one = len(still) == 1
        stay = "1 node that never changes stays in" if one else f"{len(still)} nodes that never change stay in"
        plans.append(f"{stay}: {some(still)}")
    if facts.equal_nodes:
        pairs = [f"{a} = {b}" for a, b in facts.equal_nodes]
        twins = f"{counted(len(pairs), 'pair')} of nodes with the same values stay in"
        plans.append(f"{twins}, check that it is meant: {some(pairs)}")
    if data.graphs is not None:
        plans.append("models by name: the runs are cut where the graph changes; each piece is learned on its own graph")
    if len(runs) > 1:
        plans.append("all runs are learned by one model: name it, as --model ndcn")
    return plans


def _forecast_plans(data: Dataset, reading: dict[str, Any]) -> list[str]:
    """What `ndcn fit` does if no model is named.

    Raises:
        ValueError: what was said of the data cannot be.
    """
    if len(data.runs) > 1 or len(data.runs[0]) < MIN_SNAPSHOTS:
        return []
    plans = [
        "without --model, a law is looked for first; where none explains the data, a forecast is chosen by backtest"
    ]
    for k, name in enumerate(data.runs[0].features):
        try:
            panel = panel_of(data.runs[0], k, data.graphs, **reading)
        except ValueError as error:
            if reading["kind"] or reading["period"]:
                raise
            return [f"no forecast can be chosen by backtest: {error}"]
        plans.append(f"{_head(name, data.runs[0].features)}{panel.kind.sentence}")
    return [*plans, *panel.time_notes]
