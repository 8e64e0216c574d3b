"""Integrating dX/dt = f(t, X, G): fields, solvers, methods and kernels."""

from __future__ import annotations

from .field import Field, ReluForm, SumField, check_field
from .integrate import integrate, solve_and_decode
from .methods.tableau import DOPRI5, RK4, TSIT5, Tableau
from .solver import IntegrationError, Solution, Solver

__all__ = [
    "DOPRI5",
    "RK4",
    "TSIT5",
    "Field",
    "IntegrationError",
    "ReluForm",
    "Solution",
    "Solver",
    "SumField",
    "Tableau",
    "check_field",
    "integrate",
    "solve_and_decode",
]
