"""Values that stand for "not observed": those that the user gives, and those that look like it (-999, 9999)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.wording import Urgent, counted, short
from ..data import Dataset, panel_of
from .cells import number
from .states import Observations

CODES = np.array([s * float(d * k) for s in (1, -1) for k in range(2, 8) for d in "987"])  # 99, 999, ..., -7777777
FEWEST = 20  # values; with fewer, one that is far from the others says little
DISTINCT = 4  # other values: where a column has only a few, as 0 and 1, all of them repeat and are far apart


@dataclass(frozen=True)
class Missing:
    """Words and numbers that mean "not observed"."""

    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: Any) -> Missing:
        """From one value or several, numbers or words; a word that is written as a number is one.

        Raises:
            TypeError: something else is among them.
            ValueError: an empty word, or a number that is not finite.
        """
        values = [given] if isinstance(given, (str, int, float)) else [] if given is None else list(given)
        words, numbers = [], []
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (str, int, float, np.number)):
                raise TypeError(f"missing must hold numbers and words, as [-999, 'unknown'], got {value!r}")
            meant = number(value) if isinstance(value, str) else float(value)
            if meant is None and isinstance(value, str):
                words.append(value.strip())
            elif meant is not None and math.isfinite(meant):
                numbers.append(meant)
            else:
                raise ValueError(f"missing: {value!r} already means that there is no value; remove it")
        return cls(tuple(words), tuple(numbers))

    def hidden(self, rows: Observations) -> Observations:
        """The rows with these numbers taken as missing, and a note on how many they are."""
        values, notes = rows.values, list(rows.notes)
        for value in self.numbers:
            found = np.abs(values - value) <= 1e-6 * abs(value)  # what was float32 once is near
            values = np.where(found, np.nan, values)
            count = counted(int(found.sum()), "value")
            notes.append(f"{rows.title}: {count} of {value:.15g}, taken as missing")
        return replace(rows, values=values, notes=tuple(notes))


def suspected(data: Dataset) -> list[str]:
    """Sentences on values that may stand for "not observed": they repeat, and are far from all others.

    That is a value beyond the others by more than their range, or -1 and codes such as -999 where nothing else is
    negative. The extremes alone are looked at.

    Example:
        >>> import ndcn, numpy as np
        >>> states = np.arange(60.0).reshape(20, 3)
        >>> states[[4, 9], 1] = -999
        >>> run = ndcn.Trajectory(times=range(20), states=states, graph=ndcn.Graph.from_edges([("a", "b"), ("b", "c")]))
        >>> print(*suspected(ndcn.Dataset((run,))))
        -999 occurs twice (first 'b' at t = 4), all other values lie between 0 and 59: forecasts hold it out; for other
        models say --missing -999 (missing=[-999])
    """
    sentences: list[str] = []
    for k, feature in enumerate(data.runs[0].features):
        cubes = [run.states[..., k].numpy() for run in data.runs]
        values = np.concatenate([cube.ravel() for cube in cubes])
        values = values[np.isfinite(values)]
        for value, low, high in _codes(values):
            if value not in CODES and not any(_passes(cube, value) for cube in cubes):
                continue
            count = int((values == value).sum())
            times = {1: "once", 2: "twice"}.get(count, f"{count} times")
            where = f"{times} ({'' if count == 1 else 'first '}{_first(data, cubes, value)})"
            name = "" if data.runs[0].features == ("x",) else f"{short(feature)}: "
            far = f"{name}{value:.15g} occurs {where}, all other values lie between {low:.6g} and {high:.6g}"
            said = f"--missing {value:.15g} (missing=[{value:.15g}])"
            if _held_out(data, k, value) == count:
                sentences.append(Urgent(f"{far}: forecasts hold it out; for other models say {said}"))
            else:
                sentences.append(Urgent(f"{far}: if it means that nothing was observed, say so with {said}"))
    return sentences


def _held_out(data: Dataset, feature: int, value: float) -> int:
    """How many cells with this value a forecast holds out already."""
    try:
        found = panel_of(data.runs[0], feature, data.graphs).outliers
    except ValueError:  # too few snapshots, or times too uneven, for a forecast
        return 0
    cells = data.runs[0].states[..., feature].numpy()
    held = {(k, one.node) for one in found if one.held and one.node is not None for k in range(one.first, one.last + 1)}
    return sum(cells[k, node] == value for k, node in held if k < len(cells))


def _codes(values: np.ndarray) -> list[tuple[float, float, float]]:
    """Suspected values with the range of all that are not."""
    if len(values) < FEWEST:
        return []
    found: list[float] = []
    rest = values
    while len(rest):
        usual = rest[~np.isin(rest, CODES)]
        code = next((v for v in (float(rest.min()), float(rest.max())) if _is_code(v, rest, usual)), None)
        if code is None:
            break
        found.append(code)
        rest = rest[rest != code]
    return [(value, float(rest.min()), float(rest.max())) for value in found]


def _is_code(value: float, rest: np.ndarray, usual: np.ndarray) -> bool:
    others = usual[usual != value]
    count = int((rest == value).sum())
    if 2 * count > len(rest) or len(np.unique(others[:10_000])) < DISTINCT:
        return False
    low, high = float(others.min()), float(others.max())
    listed = bool(np.isin(value, CODES))
    if value < 0 <= low and (listed or (value == -1 and count > 2 and (others == np.round(others)).all())):
        return True
    beyond = max(low - value, value - high)
    return count > (0 if listed and value < 0 else 1) and beyond > high - low


def _passes(cube: np.ndarray, value: float) -> bool:
    """Whether another value comes after this one in some node, so that it is not where its values ended; cube is (T, n)."""
    return bool(((cube[:-1] == value) & (cube[1:] != value) & np.isfinite(cube[1:])).any())


def _first(data: Dataset, cubes: Sequence[np.ndarray], value: float) -> str:
    for run, cube in zip(data.runs, cubes, strict=True):
        at = np.argwhere(cube == value)
        if len(at):
            step, node = at[0].tolist()
            return f"{short(run.graph.nodes[node])} at {_time(data, float(run.times[step]))}"
    return ""


def _time(data: Dataset, time: float) -> str:
    return f"t = {time:g}" if data.calendar is None else data.calendar.texts([time])[0]
