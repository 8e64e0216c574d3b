"""Solver: how a field is integrated; what comes of it, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Literal

import torch

from .._support.checks import is_real
from ..data import Statistics
from .methods.tableau import ADAPTIVE, FIXED

STIFF = ("bdf",)
METHODS = (*FIXED, *ADAPTIVE, *STIFF)
GRADIENTS = ("backprop", "adjoint", "checkpoint")
KERNELS = ("auto", "torch", "off")
Reason = Literal["exploded", "max_steps", "tolerance", "start"]


class IntegrationError(RuntimeError):
    """The solver could not go on.

    Attributes:
        time: how far it came.
        reason: why it stopped, for code to decide on; the message, which says what to try, is for people. "exploded": the
            state or its rate became NaN or infinite. "max_steps": it used all its steps. "tolerance": no step is small
            enough for rtol and atol. "start": the first state or its rate is NaN or infinite.
    """

    def __init__(self, message: str, time: float, reason: Reason = "exploded") -> None:
        super().__init__(message)
        self.time = time
        self.reason: Reason = reason

    def __reduce__(self) -> tuple[type[IntegrationError], tuple[str, float, Reason]]:
        return type(self), (str(self), self.time, self.reason)  # from one process to another, with all it says


@dataclass(frozen=True)
class Solver:
    """How to integrate a field.

    Args:
        method: fixed steps: "euler", "midpoint", "heun", "rk4"; adaptive steps: "dopri5", "tsit5"; stiff problems:
            "bdf" (implicit, by scipy; gives no gradients).
        rtol, atol: tolerances of the adaptive and stiff methods: the error of a step stays below
            atol + rtol |x|, in root mean square over all entries.
        step_size: for fixed-step methods, in units of time. The steps start at t0 and states between them come from
            cubic Hermite interpolation, so the result at a time does not depend on which other times are requested.
            ``"observations"`` steps from each requested time to the next instead, as the paper's code does; then it
            does depend on them. ``DynamicsRegressor.predict`` adds the training times to those requested.
        gradient: "backprop" goes back through the stored steps; "checkpoint" gives the same gradient with memory for
            only sqrt(steps) of them; "adjoint" solves the adjoint equation backwards in time: constant memory, and a
            gradient that is exact only up to the solver's error.
        max_steps: give up after that many steps.
        kernel: "auto" takes compiled code where it was built: for Euler with a ``GraphField`` or ``NodeField`` with ReLU, and, without
            gradients, for dopri5 and tsit5 with a law in float64 on a CPU. "torch" takes the same for Euler in torch; "off" the plain
            loop, which second derivatives need.
        segment: with gradient="checkpoint", how many steps lie between the states that are kept; about sqrt(steps) by default.

    Raises:
        ValueError: an unknown method, a fixed-step method without a step size, or a number out of range.

    Example:
        >>> import ndcn
        >>> ndcn.Solver("rk4", step_size=0.1)
        Solver(method='rk4', step_size=0.1)
    """

    method: str = "dopri5"
    rtol: float = 1e-5
    atol: float = 1e-6
    step_size: float | str | None = None
    gradient: str = "backprop"
    max_steps: int = 100_000
    kernel: str = "auto"
    segment: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("method", METHODS), ("gradient", GRADIENTS), ("kernel", KERNELS)):
            if getattr(self, name) not in known:
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; known are {', '.join(known)}")
        if self.method in FIXED:
            if self.step_size is None:
                raise ValueError(
                    f"{self.method} takes fixed steps and needs a step_size: a number in units of time, "
                    'or "observations" to step on the requested times as the paper does'
                )
            if self.step_size != "observations" and not _positive(self.step_size):
                raise ValueError(f'step_size must be a positive number or "observations", got {self.step_size!r}')
        elif self.step_size is not None:
            raise ValueError(f"{self.method} chooses its own steps: drop step_size, or use one of {', '.join(FIXED)}")
        for name in ("rtol", "atol"):
            if not _positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)!r}")
        for name in ("max_steps", "segment"):
            value = getattr(self, name)
            if not (isinstance(value, Integral) and _positive(value)) and not (name == "segment" and value is None):
                raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}")
        for field in fields(self):  # NumPy's numbers become Python's, as files need them
            value = getattr(self, field.name)
            if isinstance(value, Real):
                object.__setattr__(self, field.name, int(value) if isinstance(value, Integral) else float(value))

    def __repr__(self) -> str:
        kept = [f for f in fields(self) if f.name == "method" or getattr(self, f.name) != f.default]
        return f"Solver({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in kept)})"


@dataclass(frozen=True)
class Solution:
    """The states at the requested times, shape (T, n, d), in the order asked for, and what they cost."""

    states: torch.Tensor
    statistics: Statistics


def _positive(value: object) -> bool:
    return is_real(value) and float(value) > 0  # type: ignore[arg-type]  # is_real has looked
