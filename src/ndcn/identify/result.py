"""What identification returns: a law, what is known of its errors, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..data import Inputs
from ..laws import Law
from .equation_fit import EXPLAINED_EXCESS


@dataclass(frozen=True)
class Evidence:
    """Why this law.

    Attributes:
        form: "closed", "free", or "known" for a law whose parameters were estimated.
        reason: the choice in words.
        noise: share of the states that observations are off by, by feature.
        closed, free: typical residual of each form in units of the noise that a smooth path shows, if it was tried.
        equation: the best closed form, also where it was not kept.
        explained: whether the law leaves nothing but noise or rounding. Files of version 0.1 do not say; for them it is
            whether the residuals of the form that was kept are small.
    """

    form: str
    reason: str
    noise: tuple[float, ...]
    closed: float | None = None
    free: float | None = None
    equation: str | None = None
    explained: bool | None = None

    def __post_init__(self) -> None:
        if self.explained is None:
            residual = self.free if self.form == "free" else self.closed
            object.__setattr__(self, "explained", residual is not None and residual < EXPLAINED_EXCESS)

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class FoundLaw:
    """A law that ``discover`` found or whose parameters ``estimate`` found.

    P is the number of parameters; of a law with values for each node, those of q parameters follow, n for each in turn, and P + n q
    takes the place of P in ``posterior_samples`` and ``errors``.
    """

    law: Law  # with its numbers; of a law known in part, the known part and its correction
    covariance: torch.Tensor  # of the parameters that were found, (P, P)
    errors: torch.Tensor  # standard errors, (P,)
    posterior_samples: torch.Tensor  # parameters drawn from the posterior, (samples, P)
    initial_states: list[torch.Tensor]  # of each trajectory, (n, d)
    # Those that belong to ``posterior_samples``, (samples, n, d) for each trajectory; None where they are known.
    initial_state_samples: list[torch.Tensor] | None
    evidence: Evidence
    states: torch.Tensor  # some of those seen, the least and largest among them, (N, d)
    # Of the parameters that ``estimate`` found: those in common to all nodes, and those with a value for each.
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    drivers: list[Inputs] | None = None  # of each trajectory, inputs that were not given but found in it
    doubt: str | None = None  # what speaks against a law with inputs, as the predicate of "the law that was found"
    seconds: float = 0.0  # it took
    out_of_time: bool = False  # whether the time limit or Ctrl-C ended the search
