"""What ``ndcn fit`` and ``ndcn predict`` do with the model auto, a forecast chosen by its past errors."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .guard import note
from .options import print_json

if TYPE_CHECKING:
    from ..data import Calendar, Dataset
    from ..forecast import Auto, Forecast, Table
    from ..regressor import DynamicsRegressor

SHOWN = 10  # rows of the table, besides those that are always shown
ALWAYS = ("combination", "best simple guess online", "persistence")


def check_options(
    name: str,
    horizon: int | None,
    compare_learned: bool,
    *,
    resume: bool,
    interpolation: float | None,
    extrapolation: float | None,
) -> None:
    """Refuse options that have no effect on the model."""
    if name != "auto":
        if horizon is not None or compare_learned:
            which = "--horizon" if horizon is not None else "--compare-learned"
            raise ValueError(f"{which} is for forecasts, and has no effect on {name}: drop it, or take --model auto")
        return
    if resume:
        raise ValueError("auto keeps no checkpoint that it could go on from: drop --resume")
    for option, share in (("--interpolation", interpolation), ("--extrapolation", extrapolation)):
        if share:
            raise ValueError(
                f"{option}: auto learns from all snapshots and is judged by its past forecasts: drop it, or name a model that is "
                "trained, as --model ndcn"
            )


def model_named(name: str, horizon: int | None, compare_learned: bool) -> str | Auto:
    """What ``DynamicsRegressor`` takes as a model."""
    if name != "auto":
        return name
    from ..forecast import NAMES, Auto

    return Auto(horizon=horizon, learned=NAMES if compare_learned else ())


def fit(estimator: DynamicsRegressor, known: Dataset, out: Path, as_json: bool) -> None:
    """Choose a forecast, write it and tell about it."""
    if not sys.stderr.isatty():
        note(f"comparing forecasts of {known!r}")
    try:
        estimator.fit(known)
    except KeyboardInterrupt:
        note(f"stopped at once: {out} {'is as it was' if out.exists() else 'was not written'}")
        raise
    from ..forecast import Auto

    estimator.save(out)
    found, calendar = estimator.forecast_, estimator.calendar_
    for text in found.notes:
        note(f"note: {text}")
    if as_json:
        print_json(_facts(estimator, known, out))
        return
    for k, feature in enumerate(found.features):
        head = f"{feature}: " if len(found.features) > 1 else ""
        typer.echo(f"{head}{found.kinds[k]}\n\n{_short(found.tables[k])}\n")
    typer.echo(found.sentence)
    if not isinstance(estimator.model, Auto) or not estimator.model.learned:
        typer.echo("Trained models were not compared: --compare-learned does that, and takes minutes.")
    first, last = (time_text(found.start + k * found.step, calendar) for k in (1, found.horizon))
    seconds = estimator.history_.seconds
    typer.echo(f"{seconds:.1f} s; forecasts of {found.horizon} steps, {first} to {last}, written to {out}")


def _short(table: Table) -> str:
    """The best rows, those that all are compared with, and models that were trained on request."""
    from ..forecast import LEARNED

    rows = tuple(row for k, row in enumerate(table.rows) if k < SHOWN or row[0] in ALWAYS or row[1] == LEARNED)
    more = len(table.rows) - len(rows)
    return f"{replace(table, rows=rows)}" + (f"\n{more} more are not shown; --json has them all" if more else "")


def _facts(estimator: DynamicsRegressor, known: Dataset, out: Path) -> dict[str, Any]:
    found, calendar = estimator.forecast_, estimator.calendar_
    choices = zip(
        found.features,
        found.kinds,
        found.tables,
        found.chosen,
        found.reference,
        found.ratios,
        found.margins,
        strict=True,
    )
    return {
        "out": str(out),
        "model": "auto",
        "horizon": found.horizon,
        "step": found.step,
        "last_time": found.start,
        "seconds": estimator.history_.seconds,
        "snapshots": {"train": len(estimator.train_[0].times)},
        "sentence": found.sentence,
        "features": {
            feature: {
                "kind": kind,
                "table": table.to_json(),
                "kept": list(kept),
                "best_simple_guess": list(reference),
                "error_ratio": [ratio if isfinite(ratio) else None for ratio in ratios],
                "margin": [margin if isfinite(margin) else None for margin in margins],
            }
            for feature, kind, table, kept, reference, ratios, margins in choices
        },
        "notes": [*known.notes, *found.notes],
        **({} if calendar is None else {"calendar": calendar.to_json()}),
    }


def check_forecast(*, changed: bool, elsewhere: bool, counted: bool) -> None:
    """Refuse what only a model of dynamics can be asked."""
    dynamics = "fit a model of dynamics, as --model interaction or --model ndcn"
    if changed:
        raise ValueError(f"--what-if: a forecast has no dynamics that a change could act on; {dynamics}")
    if elsewhere:
        raise ValueError(f"--data: a forecast goes on from its own data only; {dynamics}")
    if counted:
        raise ValueError("--count: forecasts are made at the steps of the data; drop it")


def time_text(time: float, calendar: Calendar | None) -> str:
    """A time as the data have it: a date, or t = 5."""
    import numpy as np

    return f"t = {time:.15g}" if calendar is None else calendar.texts(np.array([time]))[0]


def steps_asked(
    found: Forecast, asked: list[float] | None, until: float | None, calendar: Calendar | None
) -> list[float]:
    """The times to forecast: those asked for, or all steps up to ``until``, or up to the horizon.

    Raises:
        ValueError: a time that the forecast does not reach.
    """
    near = 1e-6 * found.step
    every = [
        float(f"{found.start + k * found.step:.12g}") for k in range(1, found.horizon + 1)
    ]  # not 20.396999999999977
    wanted = asked if asked is not None else [t for t in every if until is None or t <= until + near]
    named = [until] if asked is None and until is not None else wanted
    outside = [t for t in named if not found.start + near < t <= every[-1] + near]
    if outside:
        first, last, bad = (time_text(t, calendar) for t in (every[0], every[-1], outside[0]))
        what = (
            "fit with a larger --horizon to go further"
            if outside[0] > found.start
            else "it says nothing about the times of the data themselves, a model that is trained does, as --model ndcn"
        )
        raise ValueError(f"the forecast goes from {first} to {last}, and {bad} was asked for: {what}")
    return wanted
