"""LawChoice: whether "auto" took a law or a forecast, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .._support.wording import counted
from ..identify import LEAST_ERROR

EXPLAINED = "explained"
NOT_TRIED = ("not asked for", "several runs", "graphs change", "too few snapshots")
REFUSED = (
    "too rough",
    "counts",
    "too open",
    "not explained",
    "few nodes",
    "held out",
    "forecast better",
    "not explained by all",
    "undecided",
)


@dataclass(frozen=True)
class LawChoice:
    """Why a law is the model, or why it is not: prints as a sentence.

    Attributes:
        reason: "explained", and the law is the model. Else one of "too rough" (observations are far from smooth curves), "counts" (whole
            numbers with the noise of counting), "too open" (all formulas together leave most changes open), "not explained" (no formula
            leaves nothing but noise), "few nodes" (it has as many numbers as nodes can tell apart, so that nodes may simply differ),
            "held out" (the law of the first snapshots misses the last by more than their noise), "forecast better" (a forecast
            misses them less), "not explained by all" (no formula explains all snapshots), "undecided" (the first snapshots and
            all of them give formulas that differ). Or why none was looked for: "not asked for", "several runs", "graphs
            change", "too few snapshots".
        share: of "too rough" and "counts" how far, of "too open" how much, of "undecided" how far apart, as a share.
        known, held: how many snapshots the law was found from, and how many it was judged by.
        error: mean |error| of the law on the snapshots that were held out, over mean |state|; None where there was none to judge.
        noise: the same of their noise alone.
        forecast: the same of a forecast by backtest, of the snapshots that it reaches.
        error_there: the same of the law, of these snapshots.
        numbers, nodes: of "few nodes", how many the law has, and how many there are.
        other: the formula of the first snapshots, where all of them gave one with other terms.
        outliers: how many wrong cells were held out, without which no law was found.

    Example:
        >>> print(LawChoice("explained", known=45, held=15, error=0.0081, noise=0.008))
        A law explains the data to their noise: found from the first 45 snapshots, it misses the last 15 by 0.81 %, and noise alone is 0.8 %.
        >>> print(LawChoice("too rough", share=0.34))
        No law explains these data: observations are 34 % away from smooth curves. The forecast was chosen by backtest.
    """

    reason: str
    share: float | None = None
    known: int = 0
    held: int = 0
    error: float | None = None
    noise: float | None = None
    forecast: float | None = None
    error_there: float | None = None
    numbers: int = 0
    nodes: int = 0
    other: str | None = None
    outliers: int = 0

    def __post_init__(self) -> None:
        if self.reason not in (EXPLAINED, *NOT_TRIED, *REFUSED):
            raise ValueError(f"{self.reason!r} is no reason for or against a law")

    @property
    def law(self) -> bool:
        """Whether the law is the model."""
        return self.reason == EXPLAINED

    @property
    def tried(self) -> bool:
        """Whether a law was looked for."""
        return self.reason not in NOT_TRIED

    @property
    def noisy(self) -> bool:
        """Whether what was held out is missed by more than the error that is allowed for without noise."""
        return self.error is None or self.error > LEAST_ERROR

    @property
    def sentence(self) -> str:
        """Which model was taken, and why."""
        if self.law:
            to, noise = (" to their noise", f", and noise alone is {_percent(self.noise)}") if self.noisy else ("", "")
            found = (
                f"found from the first {self.known} snapshots, it misses the last {self.held} by {_percent(self.error)}"
            )
            return f"A law explains the data{to}: {found}{noise}."
        if not self.tried:
            return f"No law was looked for: {self._untried()}. The forecast was chosen by backtest."
        return f"No law explains these data: {self._against()}. The forecast was chosen by backtest."

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the law has to know."""
        notes = []
        if self.law and self.outliers:
            held = f"{counted(self.outliers, 'outlier')} held out of the law"
            notes.append(f"{held}: `ndcn inspect` lists outliers, --keep-outliers uses them")
        if self.law and self.other is not None:
            nearly = "the data do not decide between two formulas that say nearly the same"
            notes.append(f"{nearly}: the first {self.known} snapshots alone gave {self.other}")
        return tuple(notes)

    def __str__(self) -> str:
        return self.sentence

    def _untried(self) -> str:
        return {
            "not asked for": "the options ask for a forecast",
            "several runs": 'there are several runs, and model="interaction" learns from all of them',
            "graphs change": 'the graph changes, and model="interaction" takes that into account',
        }.get(self.reason, self.reason)

    def _against(self) -> str:
        if self.reason == "too rough":
            return f"observations are {_percent(self.share)} away from smooth curves"
        if self.reason == "counts":
            return f"they are counts, {_percent(self.share)} away from smooth curves by chance"
        if self.reason == "too open":
            return f"all formulas of the library together leave {_percent(self.share)} of the changes open"
        if self.reason == "few nodes":
            return f"{counted(self.nodes, 'node')} do not tell whether the {counted(self.numbers, 'number')} of a formula hold for all of them"
        if self.reason == "held out":
            return f"that of the first {self.known} snapshots misses the last {self.held} by {_percent(self.error)}, and noise alone is {_percent(self.noise)}"
        if self.reason == "forecast better":
            return f"that of the first {self.known} snapshots misses the next ones by {_percent(self.error_there)}, a forecast by {_percent(self.forecast)}"
        if self.reason == "not explained by all":
            return f"no formula leaves nothing but noise of all {self.known + self.held} snapshots"
        if self.reason == "undecided":
            both = f"the first {self.known} snapshots and all {self.known + self.held}"
            return f"{both} give formulas whose rates are {_percent(self.share)} apart"
        return "no formula that was found in time leaves nothing but noise"

    def to_json(self) -> dict[str, Any]:
        """Plain values, for files and `--json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> LawChoice:
        """What ``to_json`` wrote."""
        return cls(**plain)


def _percent(share: float | None) -> str:
    if share is None:
        return "unknown"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
