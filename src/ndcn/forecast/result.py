"""Forecast: what was chosen, and what it says about the times to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._support.html import card
from ..data import Trajectory, checked_times
from ..graph import Graph
from .intervals import LEVELS, Residuals
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
        path: shape (H + 1, n, d): the last snapshot, and the forecasts for the H steps after it.
        residuals: for each feature.
        tables: for each feature; ``table`` is that of the first.
        chosen: for each feature and horizon, "combination" or the simple guess that was kept.
        reference: for each feature and horizon, the best simple guess.
        ratios: for each feature and horizon, past error of what was chosen over that of the best simple guess online.
        margins: of the ratios: differences from 1 that are no larger may be chance.
        kinds: for each feature, what kind of data it is, in words.
        lower: for each feature, below what no forecast can lie: "none", "zero", or "last" for totals.
        notes: what was done to the data, and what failed.
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
    lower: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Trajectory, panels: Sequence[Panel], choices: Sequence[Choice], steps: int) -> Forecast:
        """From one choice for each feature."""
        paths = [np.concatenate([p.values[-1:], c.path]) for p, c in zip(panels, choices, strict=True)]
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
            lower=tuple("last" if k.cumulative else "zero" if k.positive else "none" for k in kinds),
            notes=tuple(dict.fromkeys(note for p in panels for note in p.notes))
            + tuple(f for c in choices for f in c.failures),
        )

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
        rows = zip(self.tables, self.chosen, self.reference, self.ratios, self.margins, strict=True)
        said = [_verdict(*row) for row in rows]
        named = [f"{name}: {text}" for name, text in zip(self.features, said, strict=True)]
        return said[0] if len(said) == 1 else " ".join(named)

    def _repr_html_(self) -> str:
        rows = [("forecast", f"{self.horizon} steps of {self.step:.4g} after t = {self.start:.4g}")]
        rows += zip(self.features, self.kinds, strict=True)
        rows += [("verdict", self.sentence), *(("note", note) for note in self.notes)]
        return card("Forecast", rows, "".join(table._repr_html_() for table in self.tables))

    def predict(self, times: Any) -> Trajectory:
        """The forecast at these times, in any order: after the last snapshot, up to ``horizon`` steps; linear between.

        Raises:
            ValueError: a time before the last snapshot or beyond the horizon.
        """
        return self._at(times, self.path)

    def intervals(self, times: Any, level: float = 0.9) -> tuple[Trajectory, Trajectory]:
        """Lower and upper ends between which a share ``level`` of the values should lie, by past residuals.

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
        return self._at(times, low), self._at(times, high)

    def deviation(self, times: Any) -> Trajectory:
        """Half the width of the interval that should hold 68.27 % of the values, as a standard deviation."""
        wide = np.zeros_like(self.path)
        for k, known in enumerate(self.residuals):
            below, above = known.margins(self.horizon, ONE_SIGMA)
            wide[1:, :, k] = (above - below) / 2
        return self._at(times, wide)

    def _at(self, times: Any, path: np.ndarray) -> Trajectory:
        asked = checked_times(times, ordered=False)
        at = (asked.numpy() - self.start) / self.step
        outside = (at < -1e-6) | (at > self.horizon + 1e-6)
        if outside.any():
            bad = asked[int(np.argmax(outside))].item()
            end = self.start + self.horizon * self.step
            range_ = f"from t = {self.start:.15g} to {end:.15g} ({self.horizon} steps of {self.step:g})"
            if bad < self.start:
                raise ValueError(
                    f"a forecast begins only after the last snapshot, {range_}, but t = {bad:.15g} was asked for; "
                    'a model of dynamics, as model="ndcn" or "interaction", predicts there too'
                )
            raise ValueError(
                f"this forecast goes {range_}, but t = {bad:.15g} was asked for; fit with a longer horizon"
            )
        at = np.clip(at, 0.0, self.horizon)
        left = np.minimum(np.floor(at + 1e-9).astype(int), self.horizon - 1)
        share = (at - left)[:, None, None]
        states = torch.from_numpy((1 - share) * path[left] + share * path[left + 1])
        ordered = bool((asked.diff() > 0).all())
        return Trajectory(times=asked, states=states, graph=self.graph, features=self.features, ordered=ordered)

    def to_state(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """All but the graph, as JSON and tensors, for ``from_state``."""
        plain: dict[str, Any] = {"start": self.start, "step": self.step, "tables": [t.to_json() for t in self.tables]}
        for name in ("features", "kinds", "lower", "notes"):
            plain[name] = list(getattr(self, name))
        for name in ("chosen", "reference"):
            plain[name] = [list(row) for row in getattr(self, name)]
        for name in ("ratios", "margins"):
            plain[name] = [[float(r) if np.isfinite(r) else None for r in row] for row in getattr(self, name)]
        tensors = {"path": torch.from_numpy(self.path.copy())}
        for k, known in enumerate(self.residuals):
            for name in RESIDUALS:
                tensors[f"residuals.{k}.{name}"] = torch.from_numpy(np.array(getattr(known, name)))
        return plain, tensors

    @classmethod
    def from_state(cls, plain: dict[str, Any], tensors: dict[str, torch.Tensor], graph: Graph) -> Forecast:
        """What ``to_state`` gave, on its graph.

        Raises:
            KeyError: an entry is missing.
            ValueError: the numbers do not belong together.
        """

        def known(k: int) -> Residuals:
            found = Residuals(*(tensors[f"residuals.{k}.{name}"].numpy() for name in RESIDUALS))
            shapes = [(many := len(found.horizons),), (many, len(LEVELS)), (many, graph.num_nodes), (many,)]
            if not many or [getattr(found, name).shape for name in RESIDUALS] != shapes:
                raise ValueError(f"residuals for {graph.num_nodes} nodes were expected")
            return found

        count, path = len(plain["features"]), tensors["path"].numpy()
        if path.ndim != 3 or len(path) < 2 or path.shape[1:] != (graph.num_nodes, count) or not np.isfinite(path).all():
            raise ValueError(f"forecasts for {graph.num_nodes} nodes and {count} features were expected")
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
            residuals=tuple(known(k) for k in range(count)),
            tables=tuple(Table.from_json(t) for t in plain["tables"]),
            ratios=tuple(tuple(float("nan") if r is None else r for r in row) for row in plain["ratios"]),
            margins=tuple(tuple(float("inf") if m is None else m for m in row) for row in plain["margins"]),
            **kept,
        )


SAME = 0.02  # errors that differ by a smaller share are called equal


def _verdict(
    table: Table, kept: Sequence[str], reference: Sequence[str], ratios: Sequence[float], margins: Sequence[float]
) -> str:
    """One clause for each of: a combination was better, no better, worse; a simple guess is kept; nothing is known."""
    clauses = {
        "better": "the combination was better than the best simple guess chosen online at steps",
        "no better": "a simple guess was as good, as far as the past can tell, at steps",
        "worse": "a simple guess was better, though not clearly enough to be kept, at steps",
        "kept": "a simple guess wins and is kept at steps",
        "unknown": "there is too little past to compare the combination with simple guesses at steps",
        "still": "persistence was more accurate at steps",
    }
    parts: dict[str, list[str]] = {key: [] for key in clauses}
    own = next((errors for name, _, errors in table.rows if name == "combination"), (None,) * len(table.horizons))
    rows = zip(table.horizons, kept, reference, ratios, margins, own, strict=True)
    for h, name, simple, ratio, margin, error in rows:
        if name != "combination":
            parts["kept"].append(f"{h} ({simple})")
        elif not np.isfinite(ratio + margin):
            parts["unknown"].append(str(h))
        elif abs(ratio - 1) <= max(SAME, margin):
            parts["no better"].append(f"{h} ({simple})")
        else:
            word = "better" if ratio < 1 else "worse"
            parts[word].append(f"{h} (by {100 * abs(1 - ratio):.0f} %, {simple})")
        if name == "combination" and error is not None and error > 1 + SAME:
            parts["still"].append(str(h))
    said = "; ".join(f"{clauses[key]} {', '.join(found)}" for key, found in parts.items() if found)
    return said[0].upper() + said[1:] + "."
