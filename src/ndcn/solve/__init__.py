"""Integrating dX/dt = f(t, X, G): fields, solvers, methods and kernels."""

from __future__ import annotations

from .field import Field
from .field import ReluForm as ReluForm
from .field import SumField as SumField
from .field import check_field as check_field
from .integrate import integrate
from .integrate import solve_and_decode as solve_and_decode
from .kernels.euler_compiled import kernel_in_use as kernel_in_use
from .methods.tableau import DOPRI5 as DOPRI5
from .methods.tableau import RK4 as RK4
from .methods.tableau import TSIT5 as TSIT5
from .methods.tableau import Tableau as Tableau
from .solver import IntegrationError, Solution, Solver

__all__ = ["Field", "IntegrationError", "Solution", "Solver", "integrate"]
