"""Tables so small that a run takes a moment."""

from __future__ import annotations

from ndcn.experiments.result import Result
from ndcn.experiments.spec import ErrorTable, Run, load_table


def miniature(name: str = "extrapolation", **choices: object) -> ErrorTable:
    settings: dict[str, object] = {"only": ["heat/grid"], "models": ["ndcn"], "runs": 2, "nodes": 16, "epochs": 2}
    return load_table(name).narrowed(**(settings | choices))


def some_runs(count: int) -> list[Run]:
    return list(miniature(runs=count).all_runs())


def result(error: float = 0.04, states: bytes | None = None) -> Result:
    parts = {part: {"l1": 2 * error, "normalized_l1": error} for part in ("train", "interpolation", "extrapolation")}
    per_time = {"times": [0.0, 1.0], "l1": [error, error], "truth": [1.0, 1.0]}
    return Result(parts, per_time, 901, 1.5, {"ndcn": "0"}, states)
