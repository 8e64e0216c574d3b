"""What acted on the network from outside, over the time of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...data import Driver
from ..dates import shift_of
from ..encode import plain
from ..section import PageContext, Section

MOST_POINTS = 600  # of a curve: a page is some 1200 pixels wide
MOST_INPUTS = 8


def inputs_of(page: PageContext) -> dict[str, Any] | None:
    """The curve of each input, from the first to the last moment of the page; None where there are none."""
    run = page.shown.run
    inputs = page.estimator.train_[0].inputs if run is None or run.inputs is None else run.inputs
    if inputs is None:
        return None
    first, last = float(page.frames.times[0]), float(page.frames.times[-1])
    shift = shift_of(page.shown.calendar)
    curves = [_curve(one, first, last, shift) for one in inputs.drivers[:MOST_INPUTS]]
    used = list(page.estimator.fitted_.takes)
    return {
        "curves": [curve for curve in curves if curve["x"]],
        "used": used,
        "left_out": len(inputs.drivers) - len(curves),
    }


def _curve(one: Driver, first: float, last: float, shift: float) -> dict[str, Any]:
    """Its values at its own times, or at evenly spread ones if these are many; of each node the least, mean and largest."""
    last = min(last, one.times[-1].item())
    knots = one.times[(one.times > first) & (one.times < last)].numpy()
    times = np.unique(np.concatenate([[first], knots, [last]])) if last > first else np.zeros(0)
    if len(times) > MOST_POINTS:
        times = np.linspace(first, last, MOST_POINTS)
    if one.between == "held" and len(times):  # both values where it jumps
        before = np.nextafter(times[1:], -np.inf)
        times = np.sort(np.concatenate([times, before]))
    values = one.at(torch.from_numpy(times)).numpy() if len(times) else np.zeros((0, 1))
    content: dict[str, Any] = {"name": one.name, "between": one.between, "x": plain(times + shift, 9)}
    content["y"] = plain(values.mean(axis=1), 6)
    if one.per_node:
        content |= {"low": plain(values.min(axis=1), 6), "high": plain(values.max(axis=1), 6)}
    return content


SECTION = Section("Inputs", "inputs.js", inputs_of)
