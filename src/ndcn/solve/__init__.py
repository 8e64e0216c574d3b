"""Integrating dX/dt = f(t, X, G): fields, solvers, methods and kernels."""

from __future__ import annotations

from .driven import DrivenField as DrivenField, with_inputs as with_inputs
from .field import Field, ReluForm as ReluForm, SumField as SumField, check_field as check_field, inputs_of as inputs_of
from .integrate import integrate, solve_and_decode as solve_and_decode
from .kernels.euler_compiled import kernel_in_use as kernel_in_use
from .kernels.euler_loss import TrajectoryLoss as TrajectoryLoss
from .kernels.euler_torch import Comparison as Comparison
from .kernels.law_arrays import (
    FormulaArrays as FormulaArrays,
    GraphArrays as GraphArrays,
    LawArrays as LawArrays,
    ProgramArrays as ProgramArrays,
    SplineArrays as SplineArrays,
)
from .kernels.law_compiled import (
    CompiledTape as CompiledTape,
    LawKernel as LawKernel,
    Steps as Steps,
    law_kernel_in_use as law_kernel_in_use,
)
from .kernels.tape_memory import tapes_reuse_memory as tapes_reuse_memory
from .methods.tableau import DOPRI5 as DOPRI5, RK4 as RK4, TSIT5 as TSIT5, Tableau as Tableau
from .solver import IntegrationError, Solution, Solver

__all__ = ["Field", "IntegrationError", "Solution", "Solver", "integrate"]
