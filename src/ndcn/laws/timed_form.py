"""TimedForm: a law as formulas in the states and in time: with a season, a trend, or a step."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .._support.lazy import sympy
from ..data import Inputs, clock_inputs
from ..graph import Graph
from .closed_form import Equation
from .driven_form import DrivenForm
from .printing import Equations, with_error
from .styles import Text


class TimedForm(DrivenForm):
    """dx_i/dt = sum_k c_k f_k(x_i, t) + sum_j A_ij sum_k c_k g_k(x_i, x_j, t): a closed form that depends on time.

    Args:
        equation: terms and coefficients, in formulas of the features and then of the functions of time.
        features: names of the d features.
        clock: functions of time by their names in formulas: None for time itself, a number for a step from 0 to 1 at that time.
        step_error: standard error of the time of the step, for printing.

    Raises:
        ValueError: as ``DrivenForm``.

    Example:
        >>> import ndcn
        >>> from ndcn.laws import Formula, Term
        >>> names = ("x", "t")
        >>> terms = (Term(Formula("x", names), False), Term(Formula("sin(omega*t + phi)", names), False, values=(6.283186, 0.5)))
        >>> law = TimedForm(Equation(terms, torch.tensor([-1.0, 0.3]), 2), ["x"], {"t": None})
        >>> law
        TimedForm(dx_i/dt = -1 x_i + 0.3 sin(omega*t + phi),  omega = 6.28319, phi = 0.5,  a season of period 1)
        >>> law.kinds, round(law.period, 6)
        (('season',), 1.0)
        >>> ndcn.simulate(law, ndcn.networks.grid(4), torch.zeros(4, 1), [10.0]).states.shape
        torch.Size([1, 4, 1])
    """

    def __init__(
        self,
        equation: Equation,
        features: Sequence[str],
        clock: Mapping[str, float | None],
        step_error: float = math.nan,
    ) -> None:
        super().__init__(equation, features, {name: name for name in clock})
        self.of_time = dict(clock)
        self.step_error = step_error

    @property
    def inputs(self) -> tuple[str, ...]:
        """None are to be given: functions of time are known."""
        return ()

    @property
    def clock(self) -> Inputs:
        """The functions of time that it brings itself."""
        return clock_inputs(self.of_time)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of "season", "trend" and "step" are in it."""
        found = {kind_of(term.formula.text, self.of_time) for term in self.equation.terms}
        return tuple(kind for kind in ("season", "trend", "step") if kind in found)

    @property
    def period(self) -> float:
        """Of the season, 2 pi / omega; NaN without one."""
        return next((row for row in _periods(self.equation)), math.nan)

    @property
    def step_time(self) -> float:
        """When the step is; NaN without one."""
        return next((at for at in self.of_time.values() if at is not None), math.nan)

    def _like(self, equation: Equation) -> TimedForm:
        return TimedForm(equation, self.features or (), self.of_time, self.step_error)

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law at time t; ``u`` may hold the functions of time, as a solver has them between two jumps."""
        now = u or {name: value.unsqueeze(-1) for name, value in self.clock.at(t.detach().cpu()).items()}
        return super().forward(t, x, graph, now)

    def equations(self, covariance: Any = None) -> TimedEquations:
        """To be read, with standard errors from the covariance of all its numbers if that is known."""
        return TimedEquations(self, covariance)

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it."""
        plain = super().description()
        error = None if math.isnan(self.step_error) else self.step_error
        return {"features": plain["features"], "terms": plain["terms"], "clock": self.of_time, "step_error": error}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> TimedForm:
        """The law that ``description`` describes; formulas are read as such, nothing in it is run.

        Raises:
            ValueError: it is not such a description.
        """
        features, clock, error = (description.get(key) for key in ("features", "clock", "step_error"))
        if not isinstance(features, list) or not isinstance(clock, Mapping) or not clock:
            raise ValueError("a law with time has features and a clock")
        if not all(at is None or _finite(at) for at in clock.values()) or not (error is None or _finite(error)):
            raise ValueError("a clock holds null for time itself, or the time of a step")
        inputs = [{"name": name, "as": name, "per_node": False} for name in clock]
        plain = DrivenForm.from_description({"features": features, "inputs": inputs, "terms": description.get("terms")})
        return cls(plain.equation, features, dict(clock), math.nan if error is None else float(error))


class TimedEquations(Equations):
    """The equations of a law with time, with the period of its season or the time of its step in words."""

    def __init__(self, law: TimedForm, covariance: Any = None) -> None:
        super().__init__(law.equation, law.features or (), covariance, inputs=dict.fromkeys(law.of_time, False))
        self.law = law

    def sympy(self) -> dict[str, tuple[Any, Any]]:
        """As ``Equations.sympy``, with the symbol t, and a step as Heaviside(t - its time)."""
        steps = {
            sympy.Symbol(name): sympy.Heaviside(sympy.Symbol("t") - sympy.Float(at))
            for name, at in self.law.of_time.items()
            if at is not None
        }
        return {name: (f.subs(steps), g.subs(steps)) for name, (f, g) in super().sympy().items()}

    def _notes(self, feature: str, style: Text) -> list[str]:
        own = [t.formula.text for t in self.equation.terms if self.features[t.output] == feature]
        said = []
        for row in self.parameters:
            if row.feature == feature and row.name.startswith("omega"):
                period = 2 * math.pi / row.value
                said.append(f"a season of period {with_error(period, period * row.standard_error / row.value)}")
        for name, at in self.law.of_time.items():
            if at is not None and any(kind_of(text, {name: at}) for text in own):
                said.append(f"{name} = 1 from t = {with_error(at, self.law.step_error)} on, 0 before")
        return [*super()._notes(feature, style), *map(style.words, said)]


def kind_of(text: str, clock: Mapping[str, float | None]) -> str | None:
    """Which kind of function of time is in a formula: "season", "trend", "step", or None.

    Example:
        >>> kind_of("x*sin(omega*t + phi)", {"t": None}), kind_of("t*x", {"t": None}), kind_of("x", {"t": None})
        ('season', 'trend', None)
    """
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    for name, at in clock.items():
        if name in words:
            return "step" if at is not None else "season" if "omega" in words else "trend"
    return None


def _periods(equation: Equation) -> list[float]:
    return [
        2 * math.pi / abs(value)
        for term in equation.terms
        for name, value in zip(term.formula.parameters, term.values, strict=True)
        if name == "omega"
    ]


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
