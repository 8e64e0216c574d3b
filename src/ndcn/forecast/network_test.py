"""Does the network matter? The gain from the neighbours against no graph, the common mean, and shuffled graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.html import grid
from .._support.progress import Progress
from .._support.wording import short, some
from ..data import Kind, Panel, Trajectory, kind_of, panel_of
from . import ridge
from .backtest import scored_horizons
from .transforms import View

if TYPE_CHECKING:
    from ..graph import Graph, GraphSequence

LEAST = 24  # snapshots
LEAST_SHUFFLES = 19
ALPHA = 0.05


@dataclass(frozen=True)
class NetworkTest:
    """What the neighbours add to a forecast, and how often a shuffled graph adds as much.

    Args:
        horizons: in steps; the first, one step, is what the test is about, the others are told beside it.
        own: error of a node's own past, in units of persistence's error, for each horizon.
        mean: the same with the common mean added.
        network: the same with the neighbours added to both.
        shuffled: the same with the neighbours in graphs with shuffled nodes, shape (shuffles, len(horizons)).
        seed: of the shuffles.
        feature: which one was tested.
        untested: the other features of the data.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn import forecast
        >>> noise = np.random.default_rng(0).normal(size=(60, 9))
        >>> data = ndcn.Trajectory(times=np.arange(60.0), states=noise, graph=ndcn.networks.grid(9))
        >>> forecast.network_test(data).helps
        False
    """

    horizons: tuple[int, ...]
    own: tuple[float, ...]
    mean: tuple[float, ...]
    network: tuple[float, ...]
    shuffled: tuple[tuple[float, ...], ...]
    seed: int
    feature: str = "x"
    untested: tuple[str, ...] = ()

    @property
    def gains(self) -> tuple[float, ...]:
        """1 - error with neighbours / the smaller error without, with or without the common mean, for each horizon."""
        without = [min(o, m) for o, m in zip(self.own, self.mean, strict=True)]
        return tuple(1 - n / w if w > 0 else 0.0 for n, w in zip(self.network, without, strict=True))

    @property
    def gain(self) -> float:
        """The gain one step ahead."""
        return self.gains[0]

    @property
    def p_values(self) -> tuple[float, ...]:
        """(1 + shuffled graphs at least as good) / (1 + shuffled graphs), for each horizon."""
        others = np.array(self.shuffled)
        beaten = (others <= np.array(self.network)).sum(axis=0)
        return tuple(float(p) for p in (1 + beaten) / (1 + len(others)))

    @property
    def p_value(self) -> float:
        """That of one step ahead: the answer of the test. The others are not corrected for their number."""
        return self.p_values[0]

    @property
    def helps(self) -> bool:
        """Whether the neighbours lower the error one step ahead, and p <= 0.05."""
        return self.gain > 0 and self.p_value <= ALPHA

    @property
    def sentence(self) -> str:
        """The answer in words; of several features, with the name of the one that was tested."""
        count, gain = len(self.shuffled), round(100 * abs(self.gain), 3)
        as_good = round(self.p_value * (1 + count)) - 1
        size = f"{gain:.2g} % {'lower' if self.gain > 0 else 'higher'}"
        versus = f"{as_good} of {count} graphs with shuffled nodes do as well (p = {self.p_value:.2g})"
        told = (
            f"one step ahead, neighbours make the error of a node's forecast {size} than its own past does, alone or with the common "
            f"mean, whichever is better; {versus}"
        )
        verdict = "The network matters"
        if not self.helps:
            verdict = "The network does not matter here, or too little to be seen"
        elif self.gain < 0.01:
            verdict = "The network matters, but hardly for forecasts"
        return f"{verdict}: {told}.{self._scope()}"

    def _scope(self) -> str:
        """Of several features, which this is about."""
        if not self.untested:
            return ""
        others, were = some(self.untested), "was" if len(self.untested) == 1 else "were"
        return (
            f" This is about {short(self.feature)}; {others} {were} not tested: name it with feature= (--feature NAME)."
        )

    def _errors(self) -> dict[str, tuple[float, ...]]:
        shuffled = tuple(float(s) for s in np.array(self.shuffled).mean(axis=0))
        return {"own past": self.own, "+ mean": self.mean, "+ network": self.network, "shuffled": shuffled}

    def _repr_html_(self) -> str:
        rows = [(name, [f"{e:.4f}" for e in row]) for name, row in self._errors().items()]
        rows.append(("gain, %", [f"{100 * g:.2f}" for g in self.gains]))
        rows.append(("p", [f"{p:.3f}" for p in self.p_values]))
        heads = [str(h) for h in self.horizons]
        of = f" of {short(self.feature)}" if self.untested else ""
        return grid(f"mean |error|{of} by steps ahead, persistence = 1", heads, rows, [self.sentence])

    def __str__(self) -> str:
        of = f" of {short(self.feature)}" if self.untested else ""
        lines = [f"mean |error|{of}, persistence = 1", "steps ahead" + "".join(f"{h:8d}" for h in self.horizons)]
        for name, row in self._errors().items():
            lines.append(f"{name:11s}" + "".join(f"{e:8.4f}" for e in row))
        lines.append("gain, %    " + "".join(f"{100 * g:8.2f}" for g in self.gains))
        lines.append("p          " + "".join(f"{p:8.3f}" for p in self.p_values))
        return "\n".join([*lines, self.sentence])

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON."""
        return {
            "horizons": list(self.horizons),
            "own": list(self.own),
            "mean": list(self.mean),
            "network": list(self.network),
            "gains": list(self.gains),
            "p_values": list(self.p_values),
            "p_value": self.p_value,
            "gain": self.gain,
            "helps": self.helps,
            "shuffles": len(self.shuffled),
            "seed": self.seed,
            "feature": self.feature,
            "untested": list(self.untested),
            "sentence": self.sentence,
        }


def network_test(
    data: Trajectory,
    *,
    graphs: GraphSequence | None = None,
    feature: int = 0,
    horizon: int | None = None,
    shuffles: int = 99,
    seed: int = 0,
    progress: bool | None = None,
) -> NetworkTest:
    """Whether knowing the neighbours lowers the errors of forecasts, and more so than other graphs of the same shape.

    A ridge regression, pooled over nodes and fitted anew at each origin of the second half of the data, forecasts from
    own past and the common mean; then the neighbours are added (their mean in the graph in force, now and over the last
    week or period); then those of graphs whose nodes are shuffled. Errors are those of the transformed series: the
    logarithm of counts and other values of at least 0, else the values themselves.

    If the graph has nothing to do with the data, all shuffles are alike and p <= 0.05 comes up in 5 of 100 cases.

    Args:
        data: at least 24 snapshots.
        graphs: the graph in force at each time, where edges change.
        feature: which feature.
        horizon: the longest to be told, in steps; as in ``auto`` by default.
        shuffles: at least 19; p cannot be below 1 / (1 + shuffles).
        seed: of the shuffles.
        progress: whether to show a progress bar; None shows it on a terminal.

    Raises:
        TypeError, ValueError: data that cannot be tested (too few snapshots; one node, or no edges between nodes; nothing
            that changes), or too few shuffles.
    """
    if isinstance(shuffles, bool) or not isinstance(shuffles, int) or shuffles < LEAST_SHUFFLES:
        raise ValueError(f"shuffles must be a whole number of at least {LEAST_SHUFFLES}, got {shuffles!r}")
    if isinstance(data, Trajectory) and not 0 <= feature < data.num_features:
        raise ValueError(f"feature must be from 0 to {data.num_features - 1}, got {feature!r}")
    if isinstance(data, Trajectory) and len(data) < LEAST:
        raise ValueError(f"the test needs at least {LEAST} snapshots, got {len(data)}")
    panel = panel_of(data, feature, graphs)
    if len(panel) < LEAST:
        raise ValueError(f"the test needs at least {LEAST} snapshots on equal steps, got {len(panel)}")
    n = panel.values.shape[1]
    if n == 1:
        raise ValueError("there is one node only, which has no neighbours, so there is nothing to test")
    if not any(_linked(g) for g in panel.graphs):
        raise ValueError("the graph has no edges between different nodes, so there is nothing to test")
    if (np.ptp(panel.values[len(panel) // 2 :], axis=0) == 0).all():
        raise ValueError(
            f"{short(data.features[feature])} never changes in the second half of the times, where forecasts are judged, so there is "
            "nothing to test"
        )
    kind = kind_of(panel.values, panel.observed)
    longest = min(14, len(panel) // 4) if horizon is None else horizon
    if not 1 <= longest <= len(panel) // 4:
        raise ValueError(f"horizon must be from 1 to {len(panel) // 4} steps, got {horizon!r}")
    horizons = scored_horizons(longest)
    generator = np.random.default_rng(seed)
    base = _errors(panel, kind, horizons, ("own", "mean"), None)
    with Progress(shuffles, 0, progress, "graphs", "shuffling") as bar:
        others = []
        for k in range(shuffles):
            others.append(_errors(panel, kind, horizons, ridge.BLOCKS, generator.permutation(n)))
            bar.update(k + 1)
    still = _errors(panel, kind, horizons, (), None)
    unit = np.where(still > 0, still, 1.0)
    return NetworkTest(
        tuple(int(h) for h in horizons),
        tuple((_errors(panel, kind, horizons, ("own",), None) / unit).tolist()),
        tuple((base / unit).tolist()),
        tuple((_errors(panel, kind, horizons, ridge.BLOCKS, None) / unit).tolist()),
        tuple(tuple((e / unit).tolist()) for e in others),
        seed,
        data.features[feature],
        tuple(name for k, name in enumerate(data.features) if k != feature),
    )


def _linked(graph: Graph) -> bool:
    """Whether an edge leads from a node to another one."""
    matrix = graph.to_scipy().tocoo()
    return bool((matrix.row != matrix.col).any())


def _errors(
    panel: Panel, kind: Kind, horizons: np.ndarray, blocks: tuple[str, ...], order: np.ndarray | None
) -> np.ndarray:
    """Mean absolute error of the transformed series over the second half; without blocks, that of no change."""
    view = View("log" if kind.positive else "raw", kind.cumulative)
    x, y = panel.values, view.series(panel.values)
    Z = ridge.features(panel, y, kind.window + 1, blocks, order) if blocks else np.zeros((*y.shape, 1))
    out = []
    for h in horizons:
        target = ridge.targets(x, y, view, int(h))
        known = panel.observed[h:] & panel.observed[:-h]
        origins = np.arange(len(x) // 2, len(x) - h)
        w = (
            ridge.coefficients(Z, target, known, origins - h, penalty=ridge.PENALTY)
            if blocks
            else np.zeros((len(origins), 1))
        )
        error = np.abs(np.einsum("onp,op->on", Z[origins], w) - target[origins])
        out.append(error[known[origins]].mean())
    return np.array(out)
