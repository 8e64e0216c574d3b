"""What comes of a run."""

from __future__ import annotations

from dataclasses import dataclass

from .._support.processes import Failed, Lost


@dataclass(frozen=True)
class Result:
    """What a run measured.

    Attributes:
        scores: by part and metric: errors "l1" and "normalized_l1" on "train", "interpolation" and "extrapolation", or
            "accuracy" on "train", "validation" and "test".
        per_time: "times", and at each of them mean |prediction - truth| ("l1") and mean |truth| ("truth").
        parameters: how many were learned.
        seconds: of learning.
        versions: what computed it.
        states: predictions at all times as compressed float32 of shape (T, n, d), if asked for.
    """

    scores: dict[str, dict[str, float]]
    per_time: dict[str, list[float]]
    parameters: int
    seconds: float
    versions: dict[str, str]
    states: bytes | None = None


Outcome = Result | Failed | Lost
