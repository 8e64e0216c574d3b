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
    from ..graph import GraphSequence

LEAST = 24  # snapshots
LEAST_SHUFFLES = 19
ALPHA = 0.05


@dataclass(frozen=True)
class NetworkTest:
    """What the neighbours add to a forecast, and how often a shuffled graph adds as much.

    Args:
        horizons: in steps; the test is about the first, one step.
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
        verdict = "The network matters"
        if not self.helps:
            verdict = "The network does not matter here, or too little to be seen"
        elif self.gain < 0.01:
            verdict = "The network matters, but hardly for forecasts"
        scope = ""
        if self.untested:
            others = f"{some(self.untested)} {'was' if len(self.untested) == 1 else 'were'} not tested"
            scope = f" This is about {short(self.feature)}; {others}: name it with feature= (--feature NAME)."
        return (
            f"{verdict}: one step ahead, neighbours make the error of a node's forecast {size} than its own past does, "
            f"alone or with the common mean, whichever is better; {versus}.{scope}"
        )

    def _error_name(self) -> str:
        return f"mean |error| of {short(self.feature)}" if self.untested else "mean |error|"

    def _rows(self) -> list[tuple[str, list[str]]]:
        shuffled = np.array(self.shuffled).mean(axis=0)
        errors = {"own past": self.own, "+ mean": self.mean, "+ network": self.network, "shuffled": shuffled}
        rows = [(name, [f"{e:.4f}" for e in row]) for name, row in errors.items()]
        gains, chances = [f"{100 * g:.2f}" for g in self.gains], [f"{p:.3f}" for p in self.p_values]
        return [*rows, ("gain, %", gains), ("p", chances)]

    def _repr_html_(self) -> str:
        heads = [str(h) for h in self.horizons]
        return grid(f"{self._error_name()} by steps ahead, persistence = 1", heads, self._rows(), [self.sentence])

    def __str__(self) -> str:
        lines = [f"{self._error_name()}, persistence = 1"]
        for name, row in [("steps ahead", [str(h) for h in self.horizons]), *self._rows()]:
            lines.append(f"{name:11s}" + "".join(f"{cell:>8s}" for cell in row))
        return "\n".join([*lines, self.sentence])

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON."""
        lists = ("horizons", "own", "mean", "network", "gains", "p_values", "untested")
        values = ("p_value", "gain", "helps", "seed", "feature", "sentence")
        about = {name: list(getattr(self, name)) for name in lists} | {name: getattr(self, name) for name in values}
        return {**about, "shuffles": len(self.shuffled)}


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
    links = [graph.edge_index() for graph in panel.graphs]
    if not any((target != source).any() for target, source in links):
        raise ValueError("the graph has no edges between different nodes, so there is nothing to test")
    if (np.ptp(panel.values[len(panel) // 2 :], axis=0) == 0).all():
        name = short(data.features[feature])
        raise ValueError(
            f"{name} never changes in the second half, where forecasts are judged: there is nothing to test"
        )
    kind = kind_of(panel.values, panel.observed)
    longest = min(14, len(panel) // 4) if horizon is None else horizon
    if not 1 <= longest <= len(panel) // 4:
        raise ValueError(f"horizon must be from 1 to {len(panel) // 4} steps, got {horizon!r}")
    horizons = scored_horizons(longest)
    generator = np.random.default_rng(seed)
    still = _errors(panel, kind, horizons, ())
    unit = np.where(still > 0, still, 1.0)

    def relative(blocks: tuple[str, ...], order: np.ndarray | None = None) -> tuple[float, ...]:
        return tuple((_errors(panel, kind, horizons, blocks, order) / unit).tolist())

    with Progress(shuffles, 0, progress, "graphs", "shuffling") as bar:
        shuffled = []
        for k in range(shuffles):
            shuffled.append(relative(ridge.BLOCKS, generator.permutation(n)))
            bar.update(k + 1)
    own, mean, network = (relative(ridge.BLOCKS[:count]) for count in (1, 2, 3))
    others = tuple(name for k, name in enumerate(data.features) if k != feature)
    steps = tuple(int(h) for h in horizons)
    return NetworkTest(steps, own, mean, network, tuple(shuffled), seed, data.features[feature], others)


def _errors(
    panel: Panel, kind: Kind, horizons: np.ndarray, blocks: tuple[str, ...], order: np.ndarray | None = None
) -> np.ndarray:
    """Mean absolute error of the transformed series over the second half; without blocks, that of no change."""
    view = View("log" if kind.positive else "raw", kind.cumulative)
    x, y = panel.values, view.series(panel.values)
    Z = ridge.features(panel, y, kind.window + 1, blocks, order) if blocks else np.zeros((*y.shape, 1))
    out = []
    for h in horizons:
        target = ridge.targets(x, y, view, int(h))
        known = panel.pairs(int(h))
        origins = np.arange(len(x) // 2, len(x) - h)
        w = ridge.coefficients(Z, target, known, origins - h) if blocks else np.zeros((len(origins), 1))
        error = np.abs(np.einsum("onp,op->on", Z[origins], w) - target[origins])
        out.append(error[known[origins]].mean())
    return np.array(out)
