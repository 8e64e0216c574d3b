"""Evaluation: errors of a model on data, beside persistence, with coverage of its intervals and errors by horizon."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from .._support.horizon import LONGEST
from .._support.html import grid
from .._support.wording import digits
from ..data import Calendar, Dataset, Trajectory, metrics, time_text
from ..solve import IntegrationError
from .driving import inputs_of_run
from .query import Prediction
from .scored_snapshots import PARTS, Scores, check_forecast_data, in_time_of, on_nodes_of, parts_of, scores
from .tables import changes_graph

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

LEVELS = (0.5, 0.9)  # of the intervals whose coverage is told
# Quantiles 0.05, 0.1, ..., 0.95 for CRPS: the median, and both ends of intervals at these levels.
CRPS_LEVELS = tuple(round(0.1 * k, 1) for k in range(1, 10))
HEADS = {  # heading and form; without one, four digits
    "snapshots": ("snapshots", "{:d}"),
    "normalized_l1": ("normalised l1, %", "{:.2f}"),
    "l1": ("l1", None),
    "rmse": ("rmse", None),
    "persistence": ("l1 of persistence", None),
    "ratio": ("ratio", "{:.3f}"),
    "mase": ("MASE", "{:.3f}"),
    "crps": ("CRPS", None),
    "coverage_50": ("in 50 %", "{:.2f}"),
    "coverage_90": ("in 90 %", "{:.2f}"),
}
MOST_ROWS = LONGEST  # horizons that are printed: all of a forecast's by default; of more, some, and the last


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts data: what ``DynamicsRegressor.evaluate`` and `ndcn evaluate` give.

    Attributes:
        parts: scores on the snapshots trained on ("train"), others up to the last training time ("interpolation") and
            after it ("extrapolation"); parts without snapshots are left out. The scores are ``normalized_l1``, ``l1``,
            ``rmse``, the ``l1`` of ``persistence`` (the last value trained on), the ``ratio`` of both, ``mase``, and for
            models that know their spread ``crps``, ``coverage_50`` and ``coverage_90``; None where one is not known.
        by_horizon: for each snapshot after the last training time ``steps`` ahead, ``time``, ``l1``, ``persistence``,
            ``ratio``.
        calendar: what times mean.
        notes: which nodes only the data or only the model have, and more that a reader has to know.
    """

    parts: Mapping[str, Scores]
    by_horizon: tuple[dict[str, Any], ...]
    calendar: Calendar | None
    notes: tuple[str, ...]

    def to_pandas(self, by: str = "part") -> pd.DataFrame:
        """A row for each part, or with ``by="horizon"`` for each snapshot after the last training time."""
        if by == "part":
            return pd.DataFrame.from_dict(dict(self.parts), orient="index")
        if by != "horizon":
            raise ValueError(f'by must be "part" or "horizon", got {by!r}')
        table = pd.DataFrame(list(self.by_horizon), columns=["steps", "time", "l1", "persistence", "ratio"])
        if self.calendar is not None and len(table):
            table["time"] = self.calendar.dates(table["time"].to_numpy())
        return table

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON; parts without snapshots are None."""
        rows = [dict(row) for row in self.by_horizon]
        if self.calendar is not None:
            rows = [{**row, "date": self.calendar.text(row["time"])} for row in rows]
        return {**{name: self.parts.get(name) for name in PARTS}, "by_horizon": rows, "notes": list(self.notes)}

    def _part_rows(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        known = [key for key in HEADS if any(part[key] is not None for part in self.parts.values())]
        percent = {"normalized_l1": 100}

        def cell(part: Scores, key: str) -> str:
            value = part[key]
            return _number(None if value is None else value * percent.get(key, 1), HEADS[key][1])

        return [HEADS[key][0] for key in known], [(n, [cell(p, key) for key in known]) for n, p in self.parts.items()]

    def _horizon_rows(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        rows = self.by_horizon
        few = (
            np.geomspace(1, len(rows), MOST_ROWS).round().astype(int)
            if len(rows) > MOST_ROWS
            else range(1, len(rows) + 1)
        )
        chosen = np.unique(few) - 1

        def cells(row: dict[str, Any]) -> list[str]:
            sizes = [_number(row[name], None) for name in ("l1", "persistence")]
            return [time_text(row["time"], self.calendar), *sizes, _number(row["ratio"], "{:.3f}")]

        return ["at", "l1", "l1 of persistence", "ratio"], [(str(rows[k]["steps"]), cells(rows[k])) for k in chosen]

    def __str__(self) -> str:
        lines = [_columns("", *self._part_rows())]
        if self.by_horizon:
            heads, shown = self._horizon_rows()
            lines += ["", _columns("steps ahead", heads, shown)]
            more = len(self.by_horizon) - len(shown)
            lines += [f"{more} more are not shown; --json has them all"] if more else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        text = grid("errors by part", *self._part_rows(), list(self.notes))
        return text + grid("errors by steps ahead", *self._horizon_rows(), []) if self.by_horizon else text


def _number(x: float | None, form: str | None) -> str:
    return "-" if x is None else digits(x) if form is None else form.format(x)


def _columns(first: str, heads: list[str], rows: list[tuple[str, list[str]]]) -> str:
    """Text in columns, names at the left and numbers at the right."""
    table = [[first, *heads], *([name, *cells] for name, cells in rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in table
    )


class Judged(NamedTuple):
    """What is compared: the answer and the truth at the same times, and which of them belong to which part.

    ``held`` is what persistence says, shape (T, n, d), NaN where it says nothing; ``past`` are snapshots trained on.
    """

    answer: Prediction
    truth: Trajectory
    masks: dict[str, torch.Tensor]
    held: torch.Tensor
    past: Trajectory | None
    steps: torch.Tensor
    notes: list[str]


def evaluate(estimator: DynamicsRegressor, data: Trajectory | Dataset, run: Trajectory) -> Evaluation:
    """See ``DynamicsRegressor.evaluate``; ``run`` is the one of the data that is judged.

    Raises:
        ValueError: the data have dates and the model has none, no nodes in common, other features or another graph.
    """
    own = estimator.calendar_
    if isinstance(data, Dataset) and data.graphs is not None and estimator.fitted_.can.any_graph:
        raise ValueError(
            "the graph changes, and the errors of a model are measured on one graph: give --one-graph (edge_time=False)"
        )
    if run.calendar is not None and run.calendar.dated and own is None:
        raise ValueError(f"the data have dates ({run.calendar}), but the model was trained on times that are numbers")
    truth, strangers = on_nodes_of(estimator, in_time_of(estimator, run))
    judged = (_judged if estimator.fitted_.ahead is None else _judged_forecast)(estimator, truth)
    parts = {name: _scores(judged, mask) for name, mask in judged.masks.items()}
    notes = [*strangers, *judged.notes]
    known = {name: part for name, part in parts.items() if part is not None}
    return Evaluation(known, _by_horizon(judged), own, tuple(notes))


def _judged(estimator: DynamicsRegressor, truth: Trajectory) -> Judged:
    """A model that predicts its training window too."""
    parts, notes = parts_of(estimator, truth), []
    known = parts.train.clone()
    if parts.x0 is not None:
        notes.append("the data start from another state than the training data: no snapshot counts as trained on")
        known[0] = True
    if not known.any():
        notes.append("the data have no snapshot that the model was trained on: nothing is compared with persistence")
    masks = {name: getattr(parts, name) for name in PARTS}
    answer, why = _answer(estimator, truth, parts.x0)
    after = parts.extrapolation.cumsum(0)
    past = truth[known] if int(known.sum()) > 1 else None
    return Judged(answer, truth, masks, _held(truth, known), past, after, [*notes, *why])


def _judged_forecast(estimator: DynamicsRegressor, truth: Trajectory) -> Judged:
    """A forecast, at the snapshots after the last one that it was made from, up to its horizon.

    Raises:
        ValueError: there is no such snapshot.
    """
    check_forecast_data(estimator, truth)
    ahead = estimator.fitted_.ahead
    assert ahead is not None
    near, end = 1e-6 * ahead.step, ahead.times[-1]
    after = (truth.times > ahead.start + near) & (truth.times <= end + near)
    if not after.any():
        first, last = (time_text(t, estimator.calendar_) for t in (ahead.start, end))
        raise ValueError(
            f"the data have no snapshot after {first}, the last that the forecast was made from, up to {last}: there is "
            "nothing to judge it by but its past errors, which `ndcn fit` printed"
        )
    before, real = truth.times <= ahead.start + near, truth[after]
    answer, notes = _answer(estimator, real, None)
    held = estimator.predict([ahead.start]).states.double().expand(len(real), -1, -1)
    steps = ((real.times - ahead.start) / ahead.step).round().long()
    past = truth[before] if int(before.sum()) > 1 else None
    everything = torch.ones(len(real), dtype=torch.bool)
    return Judged(answer, real, {"extrapolation": everything}, held, past, steps, notes)


def _answer(estimator: DynamicsRegressor, run: Trajectory, x0: torch.Tensor | None) -> tuple[Prediction, list[str]]:
    """The prediction with its spread where the model knows one; and why not, where it should."""
    asked = (run.times, None, x0, None, inputs_of_run(estimator, run))
    if not estimator.fitted_.can.spread or changes_graph(estimator, {} if x0 is None else {"x0": x0}):
        return estimator._answer(*asked), []
    try:
        return estimator._answer(*asked, spread=True), []
    except IntegrationError as error:
        return estimator._answer(*asked), [f"intervals are not known: {error}"]


def _held(truth: Trajectory, known: torch.Tensor) -> torch.Tensor:
    """The last value of each node among the known snapshots before each time, shape (T, n, d); NaN before the first."""
    states = truth.states.detach().cpu().double().numpy()
    usable = np.isfinite(states) & known.numpy()[:, None, None]
    rows = np.arange(len(states))[:, None, None]
    last = np.maximum.accumulate(np.where(usable, rows, -1), axis=0)
    before = np.concatenate([np.full_like(last[:1], -1), last[:-1]])
    filled = np.take_along_axis(states, np.maximum(before, 0), axis=0)
    return torch.from_numpy(np.where(before >= 0, filled, np.nan))


def _scores(judged: Judged, mask: torch.Tensor) -> Scores | None:
    """All scores over some of the snapshots; None if nothing was observed there."""
    found = scores(judged.answer.mean, judged.truth, mask)
    if found is None:
        return None
    seen = mask if judged.truth.mask is None else mask & judged.truth.mask.any(dim=2).any(dim=1)
    guess, real = judged.answer.mean[seen], judged.truth[seen]
    still, ratio = _beside_persistence(guess, real, judged.held[seen])
    more: Scores = {"persistence": still, "ratio": ratio, "mase": None, "crps": None}
    more |= {f"coverage_{100 * level:.0f}": None for level in LEVELS}
    if judged.past is not None:
        with suppress(ValueError):  # nothing ever changed
            more["mase"] = metrics.mase(guess, real, judged.past)
    if judged.answer.std is not None or judged.answer.quantiles is not None:
        for level in LEVELS:
            lower, upper = (end[seen] for end in judged.answer.intervals(level))
            more[f"coverage_{100 * level:.0f}"] = metrics.coverage(lower, upper, real)
        quantiles, exact = {0.5: guess}, judged.answer.exact or judged.answer.intervals
        for level in CRPS_LEVELS:  # whole numbers, rounded outwards, would be no quantiles of small counts
            lower, upper = (end[seen] for end in exact(level))
            quantiles |= {0.5 - level / 2: lower, 0.5 + level / 2: upper}
        more["crps"] = metrics.crps(quantiles, real)
    return {**found, **more}


def _beside_persistence(guess: Trajectory, real: Trajectory, held: torch.Tensor) -> tuple[float | None, float | None]:
    """Mean |error| of persistence, and the model's over it, where persistence says something."""
    true, said = real.states.detach().cpu().double(), guess.states.detach().cpu().double()
    there = true.isfinite() & held.isfinite() & said.isfinite()
    if not there.any():
        return None, None
    still, mine = ((x - true)[there].abs().mean().item() for x in (held, said))
    return still, mine / still if still > 0 else None


def _by_horizon(judged: Judged) -> tuple[dict[str, Any], ...]:
    rows = []
    for k in judged.masks["extrapolation"].nonzero().flatten().tolist():
        real, guess = judged.truth[k], judged.answer.mean[k]
        if not (real.states.cpu().isfinite() & guess.states.cpu().isfinite()).any():
            continue
        still, ratio = _beside_persistence(guess, real, judged.held[k : k + 1])
        about = {"steps": int(judged.steps[k]), "time": real.times[0].item(), "l1": metrics.l1(guess, real)}
        rows.append({**about, "persistence": still, "ratio": ratio})
    return tuple(rows)
