"""Does the network matter? The gain from the neighbours against no graph, the common mean, and shuffled graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._support.horizon import usual_horizon
from .._support.html import grid
from .._support.progress import Progress
from .._support.threads import threads_for
from .._support.wording import short, some
from ..data import Dataset, Trajectory, one_run, panel_of
from . import ridge
from .backtest import scored_horizons
from .network_errors import Judge, usual_kind

if TYPE_CHECKING:
    from ..graph import GraphSequence

LEAST = 24  # snapshots: forecasts are judged in the second half, and the first has the 12 that forecasts need (``MIN_SNAPSHOTS``)
ALPHA = 0.05  # the usual level of significance
LEAST_SHUFFLES = 19  # with fewer no p-value can be as low as ALPHA: the least is 1 / (1 + 19)
TIE = (
    1e-9  # relative difference of errors below which two graphs are equally good: sums in another order differ by less
)

Verdict = Literal["matters", "does not matter", "cannot tell"]
Reason = Literal["better than shuffled", "shuffled as good", "persistence wins", "no gain", "same graph"]


@dataclass(frozen=True)
class NetworkTest:
    """What the neighbours add to a forecast, and how often a shuffled graph adds as much.

    Errors are means over nodes and times, scaled by node and winsorised, so that no single cell or node decides.

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
        >>> found = forecast.network_test(data)
        >>> found.verdict, found.reason
        ('does not matter', 'shuffled as good')
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
        """1 - error with neighbours / the smallest error without (own past, with the common mean, persistence)."""
        without = [min(o, m, 1.0) for o, m in zip(self.own, self.mean, strict=True)]
        return tuple(1 - n / w if w > 0 else 0.0 for n, w in zip(self.network, without, strict=True))

    @property
    def gain(self) -> float:
        """The gain one step ahead."""
        return self.gains[0]

    @property
    def p_values(self) -> tuple[float, ...]:
        """(1 + shuffled graphs at least as good) / (1 + shuffled graphs), for each horizon."""
        others = np.array(self.shuffled)
        beaten = (others <= np.array(self.network) * (1 + TIE)).sum(axis=0)
        return tuple(float(p) for p in (1 + beaten) / (1 + len(others)))

    @property
    def p_value(self) -> float:
        """That of one step ahead: the answer of the test. The others are not corrected for their number."""
        return self.p_values[0]

    @property
    def verdict(self) -> Verdict:
        """The answer about one step ahead.

        - "matters": the neighbours lower the error, and p <= 0.05;
        - "does not matter": shuffled graphs do as well, p > 0.05: no effect, or one too small to be seen;
        - "cannot tell": the test has no ground to stand on; ``reason`` and ``advice`` say why and what would help.
        """
        if self.reason == "better than shuffled":
            return "matters"
        return "does not matter" if self.reason == "shuffled as good" else "cannot tell"

    @property
    def reason(self) -> Reason:
        """Why.

        - "better than shuffled": the error is below every one without neighbours, and p <= 0.05;
        - "shuffled as good": p > 0.05;
        - "persistence wins": no model of the test beats persistence, so their differences say nothing;
        - "no gain": p <= 0.05, yet neighbours do not lower the error;
        - "same graph": most shuffled graphs equal the graph, as those of a complete graph do.
        """
        others, here = np.array(self.shuffled)[:, 0], self.network[0]
        if (np.abs(others - here) <= TIE * here).mean() > 0.5:
            return "same graph"
        if min(self.own[0], self.mean[0], here) >= 1:
            return "persistence wins"
        if self.p_value > ALPHA:
            return "shuffled as good"
        return "better than shuffled" if self.gain > 0 else "no gain"

    @property
    def helps(self) -> bool:
        """Whether the verdict is "matters"."""
        return self.verdict == "matters"

    @property
    def advice(self) -> str:
        """What would help where the test cannot tell; empty elsewhere."""
        return ADVICE.get(self.reason, "")

    @property
    def sentence(self) -> str:
        """The answer in words; of several features, with the name of the one that was tested."""
        scope = ""
        if self.untested:
            others = f"{some(self.untested)} {'was' if len(self.untested) == 1 else 'were'} not tested"
            scope = f" This is about {short(self.feature)}; {others}: name it with feature= (--feature NAME)."
        advice = f" {self.advice}" if self.advice else ""
        return f"{self._opening()}: {self._grounds()}.{advice}{scope}"

    def _opening(self) -> str:
        if self.verdict == "cannot tell":
            return "The test cannot tell whether the network matters"
        if self.verdict == "does not matter":
            return "The network does not matter here, or too little to be seen"
        return "The network matters" if self.gain >= 0.01 else "The network matters, but hardly for forecasts"

    def _grounds(self) -> str:
        count, gain = len(self.shuffled), round(100 * abs(self.gain), 3)
        as_good = round(self.p_value * (1 + count)) - 1
        versus = f"{as_good} of {count} graphs with shuffled nodes do as well (p = {self.p_value:.2g})"
        size = f"{gain:.2g} % {'lower' if self.gain > 0 else 'higher'}"
        effect = (
            f"one step ahead, neighbours make the error of a node's forecast {size} than the best of its own past, the "
            "common mean and persistence"
        )
        if self.reason == "same graph":
            return "most graphs with shuffled nodes are the graph itself, so there is nothing to compare it with"
        if self.reason == "persistence wins":
            loss = round(100 * (min(self.own[0], self.mean[0], self.network[0]) - 1), 3)
            return (
                f"one step ahead, the error of its best model is {loss:.2g} % above that of persistence (no change), and the "
                "differences between models that do not forecast say nothing about the network"
            )
        if self.reason == "no gain":
            return f"the graph fits better than shuffled ones, {versus}, but {effect}"
        return f"{effect}; {versus}"

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
        values = ("verdict", "reason", "advice", "p_value", "gain", "helps", "seed", "feature", "sentence")
        about = {name: list(getattr(self, name)) for name in lists} | {name: getattr(self, name) for name in values}
        return {**about, "shuffles": len(self.shuffled)}


ADVICE: dict[str, str] = {
    "persistence wins": "More snapshots, or snapshots further apart, in which more changes between two of them, would help.",
    "no gain": "More snapshots would help: with few, what neighbours tell is less than the noise of their coefficients.",
    "same graph": "A graph in which nodes differ by their edges would help: weights, or the strongest edges only.",
}


def network_test(
    data: Trajectory | Dataset,
    *,
    graphs: GraphSequence | None = None,
    feature: int = 0,
    horizon: int | None = None,
    shuffles: int = 99,
    seed: int = 0,
    kind: str | None = None,
    period: int | None = None,
    progress: bool | None = None,
) -> NetworkTest:
    """Whether knowing the neighbours lowers the errors of forecasts, and more so than other graphs of the same shape.

    A ridge regression, pooled over nodes and fitted anew at each origin of the second half of the data, forecasts from
    own past and the common mean; then the neighbours are added (their mean in the graph in force, now and over the last
    week or period); then those of graphs whose nodes are shuffled. Errors are those of the transformed series: the
    logarithm of counts and other values of at least 0, else the values themselves. Entries that stand alone are not used,
    errors are scaled by node, and large ones are cut, so that one wrong cell, day or node does not decide.

    If the graph has nothing to do with the data, all shuffles are alike and p <= 0.05 comes up in 5 of 100 cases. Where no
    model of the test beats persistence, it does not judge: ``verdict`` is "cannot tell".

    Args:
        data: at least 24 snapshots; of a ``Dataset`` its run and its graphs.
        graphs: the graph in force at each time, where edges change.
        feature: which feature.
        horizon: the longest to be told, in steps; as in ``auto`` by default.
        shuffles: at least 19; p cannot be below 1 / (1 + shuffles).
        seed: of the shuffles.
        kind, period: what the values are and after how many steps they repeat, as in ``Auto``; found out by default.
        progress: whether to show a progress bar; None shows it on a terminal.

    Raises:
        TypeError, ValueError: data that cannot be tested (too few snapshots; one node, or no edges between nodes; nothing
            that changes), or too few shuffles.
    """
    if isinstance(shuffles, bool) or not isinstance(shuffles, int) or shuffles < LEAST_SHUFFLES:
        raise ValueError(f"shuffles must be a whole number of at least {LEAST_SHUFFLES}, got {shuffles!r}")
    graphs = data.graphs if graphs is None and isinstance(data, Dataset) else graphs
    data = one_run(data, "the test")
    if not 0 <= feature < data.num_features:
        raise ValueError(f"feature must be from 0 to {data.num_features - 1}, got {feature!r}")
    if len(data) < LEAST:
        raise ValueError(f"the test needs at least {LEAST} snapshots, got {len(data)}")
    panel = panel_of(
        data, feature, graphs, kind=kind, period=period, keep_outliers=True
    )  # ``Judge`` deals with outliers
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
    longest = usual_horizon(len(panel)) if horizon is None else horizon
    if not 1 <= longest <= len(panel) // 4:
        raise ValueError(f"horizon must be from 1 to {len(panel) // 4} steps, got {horizon!r}")
    horizons = scored_horizons(longest)
    generator = np.random.default_rng(seed)
    judge = Judge(panel, usual_kind(panel) if kind is None and period is None else panel.kind, horizons)
    still = judge.errors(())
    if still[0] == 0:
        raise ValueError(
            f"{short(data.features[feature])} has no change from one step to the next that was observed in the second half, where "
            "forecasts are judged: there is nothing to test"
        )
    unit = np.where(still > 0, still, 1.0)

    def relative(blocks: tuple[str, ...], order: np.ndarray | None = None) -> tuple[float, ...]:
        return tuple((judge.errors(blocks, order) / unit).tolist())

    with threads_for(n), Progress(shuffles, 0, progress, "graphs", "shuffling") as bar:
        shuffled = []
        for k in range(shuffles):
            shuffled.append(relative(ridge.BLOCKS, generator.permutation(n)))
            bar.update(k + 1)
        own, mean, network = (relative(ridge.BLOCKS[:count]) for count in (1, 2, 3))
    others = tuple(name for k, name in enumerate(data.features) if k != feature)
    steps = tuple(int(h) for h in horizons)
    return NetworkTest(steps, own, mean, network, tuple(shuffled), seed, data.features[feature], others)
