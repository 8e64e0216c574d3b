"""What comes of a run."""

from __future__ import annotations

from dataclasses import dataclass

from .._support.processes import Failed, Lost


@dataclass(frozen=True)
class Result:
    """What a run measured."""

    # By part and metric: errors "l1" and "normalized_l1" on "train", "interpolation" and "extrapolation", or "accuracy" on
    # "train", "validation" and "test".
    scores: dict[str, dict[str, float]]
    per_time: dict[str, list[float]]  # "times", and at each mean |prediction - truth| ("l1") and mean |truth| ("truth")
    parameters: int  # how many were learned
    seconds: float  # of learning
    versions: dict[str, str]
    states: bytes | None = None  # predictions at all times as compressed float32 of shape (T, n, d), if asked for


Outcome = Result | Failed | Lost
