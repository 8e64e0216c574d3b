"""backtest: a model fitted at past origins and judged by what came next, beside persistence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.base import clone

from .._support.checks import check_whole
from .._support.horizon import usual_horizon
from .._support.html import grid
from .._support.progress import Progress
from .._support.warn import warn
from .._support.work import run_all
from ..data import Calendar, Dataset, Trajectory, numbers_of, one_run, time_text
from ..graph import GraphSequence
from ..solve import IntegrationError
from ..training import TrainingError
from .driving import inputs_of_run
from .estimator import DynamicsRegressor

LEAST = 3  # snapshots before the first origin: two changes


@dataclass(frozen=True)
class Backtest:
    """Errors of a model by origin and horizon, beside those of persistence: what ``ndcn.backtest`` gives.

    Attributes:
        model: its name.
        features: names.
        origins: time of the last snapshot known at each origin, shape (O,).
        times: what was forecast, shape (O, H).
        errors: mean |error| over the observed nodes, shape (O, H, d); NaN where the model failed or nothing was observed.
        persistence: the same of persistence.
        calendar: what times mean; None where they are numbers.
        failures: origins at which the model could not be fitted or predict, and why.
    """

    model: str
    features: tuple[str, ...]
    origins: np.ndarray
    times: np.ndarray
    errors: np.ndarray
    persistence: np.ndarray
    calendar: Calendar | None = None
    failures: tuple[str, ...] = ()

    @property
    def horizon(self) -> int:
        """H, in snapshots."""
        return self.times.shape[1]

    @property
    def ratio(self) -> float:
        """Mean error over that of persistence, over all origins and horizons; the mean over features."""
        return float(
            np.mean([self._ratio(self.errors[..., k], self.persistence[..., k]) for k in range(len(self.features))])
        )

    @staticmethod
    def _ratio(error: np.ndarray, still: np.ndarray) -> float:
        both = np.isfinite(error) & np.isfinite(still)
        total = still[both].sum()
        return float(error[both].sum() / total) if total > 0 else float("nan")

    def to_pandas(self, by: str = "origin") -> pd.DataFrame:
        """A row for each origin and step with its error; with ``by="horizon"`` for each step, over all origins.

        Columns are origin, steps, time, feature, error, persistence and ratio; times are dates where the data have them.
        """
        count, H, d = self.errors.shape
        if by == "horizon":
            rows = [self._row(k, h) for k in range(d) for h in range(H)]
            return pd.DataFrame(rows, columns=["feature", "steps", "error", "persistence", "ratio"])
        if by != "origin":
            raise ValueError(f'by must be "origin" or "horizon", got {by!r}')
        origins, times = (
            t if self.calendar is None else self.calendar.dates(t) for t in (self.origins, self.times.reshape(-1))
        )
        still = np.where(self.persistence > 0, self.persistence, np.nan)
        return pd.DataFrame(
            {
                "origin": origins.repeat(H * d),
                "steps": np.tile(np.repeat(np.arange(1, H + 1), d), count),
                "time": times.repeat(d),
                "feature": np.tile(np.array(self.features, dtype=object), count * H),
                "error": self.errors.reshape(-1),
                "persistence": self.persistence.reshape(-1),
                "ratio": (self.errors / still).reshape(-1),
            }
        )

    def _row(self, k: int, h: int) -> tuple[str, int, float, float, float]:
        error, still = self.errors[:, h, k], self.persistence[:, h, k]
        both = np.isfinite(error) & np.isfinite(still)
        mine, theirs = (float(x[both].mean()) if both.any() else float("nan") for x in (error, still))
        return self.features[k], h + 1, mine, theirs, self._ratio(error, still)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON: errors (origin, step, feature), None where they are not known."""

        def plain(values: np.ndarray) -> Any:
            return np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()

        dates = {} if self.calendar is None else {"origin_dates": self.calendar.texts(self.origins)}
        about = {"model": self.model, "features": list(self.features), "origins": self.origins.tolist(), **dates}
        errors = {"times": self.times.tolist(), "errors": plain(self.errors), "persistence": plain(self.persistence)}
        ratio = self.ratio if np.isfinite(self.ratio) else None
        return {**about, **errors, "ratio": ratio, "failures": list(self.failures)}

    def _rows(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        several = len(self.features) > 1
        shown = np.unique(np.geomspace(1, self.horizon, 12).round().astype(int))
        rows = [row for row in self.to_pandas("horizon").itertuples(index=False) if row.steps in shown]
        heads = [*(["feature"] if several else []), "mean |error|", "persistence", "ratio"]
        cells = [
            [*([r.feature] if several else []), f"{r.error:.4g}", f"{r.persistence:.4g}", f"{r.ratio:.3f}"]
            for r in rows
        ]
        return heads, [(str(r.steps), cell) for r, cell in zip(rows, cells, strict=True)]

    def _said(self) -> list[str]:
        first, last = (time_text(self.origins[k], self.calendar) for k in (0, -1))
        word = "less" if self.ratio < 1 else "more"
        size = f": {100 * abs(1 - self.ratio):.0f} % {word} than persistence" if np.isfinite(self.ratio) else ""
        return [f"{self.model}, {len(self.origins)} origins from {first} to {last}{size}", *self.failures]

    def __str__(self) -> str:
        heads, rows = self._rows()
        table = [["steps ahead", *heads], *([name, *cells] for name, cells in rows)]
        widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([*lines, *self._said()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return grid("mean |error| by steps ahead", *self._rows(), self._said())


def backtest(
    data: Trajectory | Dataset,
    model: Any = "auto",
    *,
    origins: int | Sequence[Any] = 5,
    horizon: int | None = None,
    progress: bool | None = None,
    processes: int | str = 1,
    **settings: Any,
) -> Backtest:
    """Rolling-origin backtest: at each origin the model is fitted to the data so far and predicts the next snapshots.

    Args:
        data: one run, or a ``Dataset`` with one.
        model: what ``DynamicsRegressor`` takes as ``model``, or a ``DynamicsRegressor`` with its settings, which is copied.
        origins: how many, evenly spaced over the second half of the snapshots; or their times, as numbers or dates: all
            snapshots up to there are learned from.
        horizon: how many snapshots ahead; by default 14, or a quarter of the snapshots if that is less.
        progress: whether to show a progress bar; None shows it on a terminal.
        processes: origins that are fitted at a time, each in a process of one thread; or the address of a Ray cluster, or "ray" for
            the one that runs here.
        settings: further arguments of ``DynamicsRegressor``, as ``epochs=200``.

    Returns:
        Errors by origin and horizon beside those of persistence. An origin at which the model fails is listed in
        ``failures``.

    Raises:
        ValueError: too few snapshots, origins outside the data, or the model fails at every origin.

    Example:
        >>> import ndcn
        >>> graph, times = ndcn.networks.grid(4), ndcn.sampling.regular_times(1.0, 12)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> found = ndcn.backtest(data, ndcn.laws.Heat(k=None), origins=2, horizon=3)
        >>> found.errors.shape, found.ratio < 0.01
        ((2, 3, 1), True)
    """
    run = one_run(data, "a backtest")
    steps = usual_horizon(len(run)) if horizon is None else horizon
    check_whole("horizon", steps, 1)
    if (run.times.diff() <= 0).any():
        raise ValueError("the snapshots of a backtest must be in increasing order of time, each once")
    at = _origins(run, origins, steps)
    regressor = _prepared(model, steps, settings)
    graphs = data.graphs if isinstance(data, Dataset) else None
    failed: Exception | None = None
    pairs = [(run[: k + 1], run[k + 1 : k + 1 + steps]) for k in at]
    still = [_errors(_held(known).expand_as(real.states), real, steps) for known, real in pairs]
    errors = [np.full_like(one, np.nan) for one in still]
    said: dict[int, str] = {}
    tasks = [_Origin(regressor, known, real, graphs, steps) for known, real in pairs]
    with Progress(len(at), 0, progress, "origins", "backtest") as bar:
        for done, (k, answer) in enumerate(run_all(_at_origin, tasks, jobs=processes, name="backtest")):
            if isinstance(answer, Exception):
                failed = answer
                said[k] = f"failed at {time_text(pairs[k][0].times[-1].item(), run.calendar)}: {answer}"
            else:
                errors[k] = answer
            bar.update(done + 1)
    failures = [said[k] for k in sorted(said)]
    if len(failures) == len(at):
        assert failed is not None
        raise ValueError(f"the model failed at every origin; the last time: {failed}") from failed
    if failures:
        warn(f"the model failed at {len(failures)} of {len(at)} origins: {failures[0]}")
    times = np.stack([run.times.numpy()[k + 1 : k + 1 + steps] for k in at])
    clock = run.times.numpy()[at]
    found = (np.stack(errors), np.stack(still))
    return Backtest(regressor.title_, run.features, clock, times, *found, run.calendar, tuple(failures))


class _Origin(NamedTuple):
    """What is fitted at one origin, and what came next."""

    regressor: DynamicsRegressor
    known: Trajectory
    real: Trajectory
    graphs: GraphSequence | None
    steps: int


def _at_origin(task: _Origin) -> np.ndarray | Exception:
    """Errors at one origin, or why the model failed there."""
    known = task.known
    try:
        seen = known if task.graphs is None else Dataset((known,), calendar=known.calendar, graphs=task.graphs)
        return _errors(_predicted(clone(task.regressor).fit(seen), task.real), task.real, task.steps)
    except (ValueError, TrainingError, IntegrationError) as error:
        return error


def _prepared(model: Any, steps: int, settings: dict[str, Any]) -> DynamicsRegressor:
    """The estimator to copy: silent, without checkpoints, and with a horizon that reaches."""
    if isinstance(model, DynamicsRegressor):
        regressor = clone(model).set_params(**settings)
    else:
        regressor = DynamicsRegressor(model, **settings)
    reaching = regressor.kind_.reaching(regressor.model, steps)
    regressor.set_params(model=reaching, progress=False, checkpoint=None)
    regressor._settings()  # refuses wrong ones before the first fit
    return regressor


def _origins(run: Trajectory, origins: int | Sequence[Any], steps: int) -> np.ndarray:
    """Positions of the last snapshots that are learned from."""
    last, least = len(run) - 1 - steps, LEAST - 1
    if last < least:
        raise ValueError(
            f"{len(run)} snapshots are too few for a backtest {steps} steps ahead, which needs {LEAST + steps} at least"
        )
    if isinstance(origins, int) and not isinstance(origins, bool):
        check_whole("origins", origins, 1)
        first = min(max(least, len(run) // 2 - 1), last)
        return np.unique(np.linspace(first, last, origins).round().astype(int)) if origins > 1 else np.array([last])
    asked = np.asarray(numbers_of(origins, run.calendar, "origins"), dtype=np.float64)
    gap = float(run.times.diff().min())
    at = np.unique(np.searchsorted(run.times.numpy(), asked + 1e-6 * gap, side="right") - 1)
    if asked.ndim != 1 or not len(at) or at[0] < least or at[-1] > last:
        ends = [time_text(run.times[k].item(), run.calendar) for k in (least, last)]
        raise ValueError(f"origins must be a number of them, or times from {ends[0]} to {ends[1]}; got {origins!r}")
    return at


def _predicted(fitted: DynamicsRegressor, real: Trajectory) -> torch.Tensor:
    """What a model says about the snapshots that came next, NaN where a forecast does not reach."""
    out, ahead = torch.full(real.states.shape, torch.nan, dtype=torch.float64), fitted.fitted_.ahead
    reached = torch.ones(len(real), dtype=torch.bool)
    if ahead is not None:  # on unequal times its steps may end before the last snapshot
        reached = real.times <= ahead.times[-1] + 1e-6 * ahead.step
    if reached.any():
        known = inputs_of_run(fitted, real)
        out[reached] = fitted.predict(real.times[reached], inputs=known).states.detach().cpu().double()
    return out


def _held(known: Trajectory) -> torch.Tensor:
    """The last observed value of each node, shape (n, d); NaN where there is none."""
    states = known.states.detach().cpu().double()
    rows = torch.arange(len(states))[:, None, None].expand_as(states)
    last = torch.where(states.isfinite(), rows, -1).amax(dim=0, keepdim=True)
    return torch.where(last[0] >= 0, states.gather(0, last.clamp(min=0))[0], torch.nan)


def _errors(said: torch.Tensor, real: Trajectory, steps: int) -> np.ndarray:
    """mean |error| over nodes, shape (H, d); NaN where nothing can be compared."""
    error = (said - real.states.detach().cpu().double()).abs().nanmean(dim=1)
    assert len(error) == steps
    return np.asarray(error.numpy())
