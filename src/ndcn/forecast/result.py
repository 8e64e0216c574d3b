"""Forecast: what was chosen, and what it says about the times to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._support.html import card
from .._support.wording import Listed, counted, some
from ..data import Calendar, Trajectory, checked_times, numbers_of, time_text
from ..graph import Graph
from .groups import GroupForecast, Sums
from .intervals import LEVELS, Residuals
from .past import Past
from .rounding import rounded_counts, significant
from .table import Table

if TYPE_CHECKING:
    from ..data import Panel
    from .automatic import Choice

ONE_SIGMA = 0.6827
RESIDUALS = tuple(field.name for field in fields(Residuals))


@dataclass(frozen=True)
class Forecast:
    """The result of ``forecast.auto``; it keeps forecasts and residuals, not the data.

    Args:
        graph: the graph of the data.
        features: names.
        start: time of the last snapshot.
        step: between snapshots.
        path: shape (H + 1, n, d): the last snapshot, and the forecasts for the H steps after it: medians, which have the
            smallest absolute error. NaN for a node that was never observed.
        residuals: for each feature.
        tables: for each feature; ``table`` is that of the first.
        chosen: for each feature and horizon, "combination" or the simple guess that was kept.
        reference: for each feature and horizon, the best simple guess.
        ratios: for each feature and horizon, past error of what was chosen over that of the best simple guess online.
        margins: of the ratios: differences from 1 that are no larger may be chance.
        kinds: for each feature, what kind of data it is, in words.
        whole: for each feature, whether values are whole numbers, so that the ends of intervals are too.
        lower: for each feature, below what no forecast can lie: "none", "zero", or "last" for totals.
        notes: what was done to the data, and what failed.
        past: for each feature, the errors of all nodes at past origins; empty if it was read from a file of version 0.2 or 0.1.
        calendar: what times mean; None where they are numbers.
    """

    graph: Graph
    features: tuple[str, ...]
    start: float
    step: float
    path: np.ndarray
    residuals: tuple[Residuals, ...]
    tables: tuple[Table, ...]
    chosen: tuple[tuple[str, ...], ...]
    reference: tuple[tuple[str, ...], ...]
    ratios: tuple[tuple[float, ...], ...]
    margins: tuple[tuple[float, ...], ...]
    kinds: tuple[str, ...]
    whole: tuple[bool, ...]
    lower: tuple[str, ...]
    notes: tuple[str, ...]
    past: tuple[Past, ...] = ()
    calendar: Calendar | None = None

    @classmethod
    def of(cls, data: Trajectory, panels: Sequence[Panel], choices: Sequence[Choice]) -> Forecast:
        """From one choice for each feature."""
        empty = [np.where(p.observed.any(axis=0), p.values[-1:], np.nan) for p in panels]
        paths = [np.concatenate([last, c.path]) for last, c in zip(empty, choices, strict=True)]
        kinds = [c.kind for c in choices]
        return cls(
            graph=data.graph if len(panels[0].graphs) == 1 else panels[0].graphs[-1],
            features=data.features,
            start=panels[0].last_time,
            step=panels[0].step,
            path=np.stack(paths, axis=-1),
            residuals=tuple(c.residuals for c in choices),
            tables=tuple(c.table for c in choices),
            chosen=tuple(c.kept for c in choices),
            reference=tuple(c.reference for c in choices),
            ratios=tuple(c.ratios for c in choices),
            margins=tuple(c.margins for c in choices),
            kinds=tuple(k.sentence for k in kinds),
            whole=tuple(k.counts and k.positive for k in kinds),
            lower=tuple("last" if k.cumulative else "zero" if k.positive else "none" for k in kinds),
            notes=tuple(dict.fromkeys(note for p in panels for note in (*p.notes, *_doubts(p, data))))
            + tuple(f for c in choices for f in c.failures),
            past=tuple(c.past for c in choices),
            calendar=data.calendar,
        )

    def __repr__(self) -> str:
        first, last = (time_text(self.start + k * self.step, self.calendar) for k in (1, self.horizon))
        size = f"{counted(self.horizon, 'step')} of {counted(self.graph.num_nodes, 'node')}"
        return f"Forecast({size}, {counted(len(self.features), 'feature')}, {first} .. {last})"

    @property
    def horizon(self) -> int:
        """H, how many steps ahead it goes."""
        return len(self.path) - 1

    @property
    def table(self) -> Table:
        """Past errors of all candidates for the first feature; print it."""
        return self.tables[0]

    @property
    def kind(self) -> str:
        """What kind of data the first feature is, in words."""
        return self.kinds[0]

    @property
    def sentence(self) -> str:
        """At which horizons what was kept had beaten the best simple guess chosen online, and by how much, in words."""
        said = [
            "\n".join(f"{h} step{'s' * (h != 1)} ahead: {words}" for h, words in self.verdicts(k))
            for k in range(len(self.tables))
        ]
        named = [f"{name}:\n{text}" for name, text in zip(self.features, said, strict=True)]
        return said[0] if len(said) == 1 else "\n".join(named)

    def verdicts(self, feature: int = 0) -> list[tuple[int, str]]:
        """(steps ahead, what is used and how it had done beside the best simple guess) for each horizon of a feature."""
        k = feature
        return _verdicts(self.tables[k], self.chosen[k], self.ratios[k], self.margins[k])

    def _repr_html_(self) -> str:
        rows = [("forecast", f"{self.horizon} steps of {self.step:.4g} after t = {self.start:.4g}")]
        rows += zip(self.features, self.kinds, strict=True)
        rows += [("verdict", self.sentence), *(("note", note) for note in self.notes)]
        return card("Forecast", rows, "".join(table._repr_html_() for table in self.tables))

    def predict(self, times: Any) -> Trajectory:
        """The forecast at these times, in any order: after the last snapshot, up to ``horizon`` steps; linear between.

        It is a median: as often too high as too low. Medians of nodes do not add up to that of their sum; ``mean`` does.
        Those of counts have one decimal. Times are numbers, or dates where the data had dates.

        Raises:
            ValueError: a time before the last snapshot or beyond the horizon.
        """
        found = self._at(times, self.path)
        for k in np.flatnonzero(self.whole).tolist():
            found[..., k] = rounded_counts(found[..., k])
        return self._trajectory(times, found)

    def mean(self, times: Any) -> Trajectory:
        """The expected value at these times: the forecast, and what the skewness of its past errors adds (``Past``).

        Sums over nodes of these are the expected values of the sums. Where values may be below 0, and for forecasts from files of
        version 0.2 or 0.1, it is the forecast itself. Digits are those of ``groups``.

        Raises:
            ValueError: times as in ``predict``.
        """
        return self._trajectory(times, Sums(self.expected(), self.least()).nodes(lambda path: self._at(times, path)))

    def expected(self) -> np.ndarray:
        """Expected values of all steps, of the shape of ``path``; totals never fall, values of at least 0 stay there."""
        path = self.path.copy()
        for k, past in enumerate(self.past):
            path[1:, :, k] += past.shifts(self.horizon)
            if self.lower[k] == "zero":
                path[1:, :, k] = np.maximum(path[1:, :, k], 0.0)
            elif self.lower[k] == "last":
                path[..., k] = np.maximum.accumulate(path[..., k], axis=0)
        return path

    def least(self) -> np.ndarray:
        """Below what no value can lie, shape (n, d): the last total, 0, or minus infinity; NaN for nodes without a forecast."""
        bounds = {
            "last": self.path[0],
            "zero": np.zeros(self.path.shape[1:]),
            "none": np.full(self.path.shape[1:], -np.inf),
        }
        least = np.stack([bounds[low][:, k] for k, low in enumerate(self.lower)], axis=-1)
        return np.where(np.isnan(self.path[0]), np.nan, least)

    def groups(self, groups: Any, times: Any, level: float = 0.9) -> GroupForecast:
        """Expected values of sums over groups of nodes and over all nodes, between ends that should hold a share ``level``.

        The value of a group is exactly the sum of the expected values of its nodes (``mean``), in all digits. Its interval comes
        from the errors that such sums made at past origins, not from the intervals of its nodes.

        Args:
            groups: {node: group}; or a table with a row for each node, a file or pandas: a column of nodes, and a column of groups
                for each level, such as region and country.
            times: as in ``predict``.
            level: in (0, 1).

        Raises:
            TypeError, ValueError: groups that cannot be read, or have none of the nodes; times as in ``predict``; the forecast is
                from a file that holds no past errors.

        Example:
            >>> import ndcn, numpy as np
            >>> cases = np.random.default_rng(0).poisson(20, size=(60, 4))
            >>> data = ndcn.Trajectory(times=np.arange(60.0), states=cases, graph=ndcn.networks.grid(4))
            >>> found = ndcn.forecast.auto(data, horizon=3)
            >>> sums = found.groups({0: "north", 1: "north", 2: "south", 3: "south"}, [60.0, 61.0])
            >>> sums.names, sums.levels
            (('north', 'south', 'all nodes'), ('group', 'group', 'total'))
            >>> north = found.mean([60.0]).states[0, :2, 0].sum()
            >>> abs(sums.values[0, 0, 0] - north) < 1e-9
            tensor(True)
        """
        return GroupForecast.of(self, groups, times, level)

    def intervals(self, times: Any, level: float = 0.9, *, whole: bool = True) -> tuple[Trajectory, Trajectory]:
        """Lower and upper ends between which a share ``level`` of the values should lie, by past residuals.

        Ends for counts are whole numbers, rounded outwards; quantiles are the ends with ``whole=False``.

        Raises:
            ValueError: times as in ``predict``; a level outside (0, 1).
        """
        low, high = self.path.copy(), self.path.copy()
        for k, known in enumerate(self.residuals):
            below, above = known.margins(self.horizon, level)
            low[1:, :, k] += below
            high[1:, :, k] += above
            if self.lower[k] != "none":
                least = self.path[0, :, k] if self.lower[k] == "last" else np.zeros(self.path.shape[1])
                low[..., k] = np.maximum(low[..., k], np.minimum(least, self.path[..., k]))
            if self.lower[k] == "last":
                low[..., k], high[..., k] = (np.maximum.accumulate(end[..., k], axis=0) for end in (low, high))
        ends = self._trajectory(times, self._at(times, low)), self._trajectory(times, self._at(times, high))
        for end in ends:
            end.states[:] = torch.from_numpy(significant(end.states.numpy()))
        for k in np.flatnonzero(self.whole).tolist() if whole else ():
            ends[0].states[..., k] = (ends[0].states[..., k] + 1e-6).floor()
            ends[1].states[..., k] = (ends[1].states[..., k] - 1e-6).ceil()
        return ends

    def deviation(self, times: Any) -> Trajectory:
        """Half the width of the interval that should hold 68.27 % of the values, as a standard deviation."""
        wide = np.zeros_like(self.path)
        for k, known in enumerate(self.residuals):
            below, above = known.margins(self.horizon, ONE_SIGMA)
            wide[1:, :, k] = (above - below) / 2
        return self._trajectory(times, self._at(times, wide))

    def _at(self, times: Any, path: np.ndarray) -> np.ndarray:
        """A path of all steps, shape (H + 1, ...), at these times."""
        asked = checked_times(numbers_of(times, self.calendar), ordered=False)
        at = (asked.numpy() - self.start) / self.step
        outside = (at < -1e-6) | (at > self.horizon + 1e-6)
        if outside.any():
            bad = asked[int(np.argmax(outside))].item()
            begin, end = self.start + self.step, self.start + self.horizon * self.step
            first, last, asked_for = (time_text(t, self.calendar) for t in (begin, end, bad))
            range_ = f"from {first} to {last} ({self.horizon} steps of {self.step:g})"
            if bad < self.start:
                raise ValueError(
                    f"a forecast begins only after the last snapshot, {range_}, but {asked_for} was asked for; "
                    'a model of dynamics, as model="ndcn" or "interaction", predicts there too'
                )
            raise ValueError(f"this forecast goes {range_}, but {asked_for} was asked for; fit with a longer horizon")
        at = np.clip(np.where(np.abs(at - np.round(at)) < 1e-6, np.round(at), at), 0.0, self.horizon)
        left = np.minimum(np.floor(at + 1e-9).astype(int), self.horizon - 1)
        share = (at - left)[:, None, None]
        return np.asarray((1 - share) * path[left] + share * path[left + 1])

    def _trajectory(self, times: Any, values: np.ndarray) -> Trajectory:
        asked = checked_times(numbers_of(times, self.calendar), ordered=False)
        states = torch.from_numpy(values)
        mask = None if not states.isnan().any() else ~states.isnan()
        ordered = bool((asked.diff() > 0).all())
        same: dict[str, Any] = {"graph": self.graph, "features": self.features, "calendar": self.calendar}
        return Trajectory(times=asked, states=states, mask=mask, ordered=ordered, **same)

    def to_state(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """All but the graph, as JSON and tensors, for ``from_state``."""
        plain: dict[str, Any] = {"start": self.start, "step": self.step, "tables": [t.to_json() for t in self.tables]}
        for name in ("features", "kinds", "whole", "lower", "notes"):
            plain[name] = list(getattr(self, name))
        for name in ("chosen", "reference"):
            plain[name] = [list(row) for row in getattr(self, name)]
        for name in ("ratios", "margins"):
            plain[name] = [[float(r) if np.isfinite(r) else None for r in row] for row in getattr(self, name)]
        tensors = {"path": torch.from_numpy(self.path.copy())}
        for k, known in enumerate(self.residuals):
            for name in RESIDUALS:
                tensors[f"residuals.{k}.{name}"] = torch.from_numpy(np.array(getattr(known, name)))
        for k, past in enumerate(self.past):
            tensors |= {f"past.{k}.{name}": value for name, value in past.to_tensors().items()}
        return plain, tensors

    @classmethod
    def from_state(cls, plain: dict[str, Any], tensors: dict[str, torch.Tensor], graph: Graph) -> Forecast:
        """What ``to_state`` gave, on its graph.

        Raises:
            KeyError: an entry is missing.
            ValueError: the numbers do not belong together.
        """

        def known(k: int) -> Residuals:
            at = f"residuals.{k}."
            old = [name for name in RESIDUALS if at + name in tensors] == list(RESIDUALS[:4])  # files of 0.2
            parts = [tensors[at + name].numpy() for name in RESIDUALS[: 4 if old else None]]
            found = Residuals.pooled(*parts) if old else Residuals(*parts)
            many, nodes = len(found.horizons), graph.num_nodes
            middle = (many, found.quantiles.shape[1] if found.quantiles.ndim == 3 else 0, len(LEVELS))
            shapes = [(many,), middle, (many, nodes), (many,), (many, nodes), (many, nodes)]
            if not many or [getattr(found, name).shape for name in RESIDUALS] != shapes:
                raise ValueError(f"residuals for {graph.num_nodes} nodes were expected")
            return found

        count, path = len(plain["features"]), tensors["path"].numpy()
        if path.ndim != 3 or len(path) < 2 or path.shape[1:] != (graph.num_nodes, count) or _damaged(path):
            raise ValueError(f"forecasts for {graph.num_nodes} nodes and {count} features were expected")
        whole = plain.get("whole", [False] * count)  # not in files of 0.2
        pasts = [
            {n.removeprefix(f"past.{k}."): t for n, t in tensors.items() if n.startswith(f"past.{k}.")}
            for k in range(count)
        ]
        if len(whole) != count:
            raise ValueError(f"whether values are whole numbers was expected for {count} features")
        by_feature = ("tables", "chosen", "reference", "ratios", "margins", "kinds", "lower")
        if any(len(plain[name]) != count for name in by_feature):
            raise ValueError(f"the choice of {count} features was expected")
        if not plain["step"] > 0 or not np.isfinite([plain["start"], plain["step"]]).all():
            raise ValueError(f"a start and a step > 0 were expected, got {plain['start']} and {plain['step']}")
        kept: dict[str, Any] = {name: tuple(plain[name]) for name in ("features", "kinds", "lower", "notes")}
        kept |= {name: tuple(tuple(row) for row in plain[name]) for name in ("chosen", "reference")}
        return cls(
            graph=graph,
            start=plain["start"],
            step=plain["step"],
            path=path,
            past=tuple(Past.from_tensors(one, graph.num_nodes) for one in pasts) if any(pasts) else (),  # files of 0.2
            whole=tuple(bool(one) for one in whole),
            residuals=tuple(known(k) for k in range(count)),
            tables=tuple(Table.from_json(t) for t in plain["tables"]),
            ratios=tuple(tuple(float("nan") if r is None else r for r in row) for row in plain["ratios"]),
            margins=tuple(tuple(float("inf") if m is None else m for m in row) for row in plain["margins"]),
            **kept,
        )


def _damaged(path: np.ndarray) -> bool:
    """Whether there are infinite numbers, or NaN other than for all steps of some of the nodes."""
    empty = np.isnan(path)
    return bool(np.isinf(path).any() or empty.all() or (empty != empty[:1]).any())


SAME = 0.02  # errors that differ by a smaller share are called equal
SHOWN = 3  # outliers that a note names


def _verdicts(
    table: Table, kept: Sequence[str], ratios: Sequence[float], margins: Sequence[float]
) -> list[tuple[int, str]]:
    """For each horizon, what is used and how its past error compares with the best simple guess online."""
    own = next((errors for name, _, errors in table.rows if name == "combination"), (None,) * len(table.horizons))
    lines = []
    for h, name, ratio, margin, error in zip(table.horizons, kept, ratios, margins, own, strict=True):
        if error is not None and error > 1 + SAME:
            lost = f"{100 * (error - 1):.0f} % less accurate than repeating the last value"
            said = f"{name}, in the past {lost}: do not rely on it"
        elif name != "combination":
            said = f"{name} alone, which was the more accurate"
        elif not np.isfinite(ratio):
            said = "combination; too few past forecasts to compare it with the best simple guess"
        elif abs(ratio - 1) <= SAME:
            said = "combination, as accurate as the best simple guess"
        else:
            size, side = f"{100 * abs(1 - ratio):.0f} %", "more" if ratio < 1 else "less"
            doubt = (
                "" if abs(ratio - 1) > margin else "; may be chance" if np.isfinite(margin) else "; too few to be sure"
            )
            said = f"combination, {size} {side} accurate than the best simple guess{doubt}"
        lines.append((h, said))
    return lines


def _doubts(panel: Panel, data: Trajectory) -> list[str]:
    """What was held out, and which nodes have no forecast."""
    notes: list[str] = []
    held = [one for one in panel.outliers if one.held]
    if held:
        named = [
            f"{'all nodes' if one.node is None else data.graph.nodes[one.node]}: {one.sentence}" for one in held[:SHOWN]
        ]
        more = f", and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
        notes.append(Listed(f"outliers ({'; '.join(named)}{more}); ndcn inspect lists them, --keep-outliers uses them"))
    empty = [data.graph.nodes[i] for i in np.flatnonzero(~panel.observed.any(axis=0)).tolist()]
    if empty:
        notes.append(f"no forecast for {some(empty)}: never observed")
    return notes
