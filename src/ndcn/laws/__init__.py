"""Laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), known ones, one's own, as formulas and as splines."""

from __future__ import annotations

from .._support.registries import LAWS as NAMED
from .agreement import Consensus, Kuramoto
from .closed_form import ClosedForm
from .corrected import Corrected
from .descriptions import described, law_from
from .epidemics import SIR, SIS
from .equation import Equation, Model, Slopes, Term, values_of
from .formula import Formula, plain_names
from .free import Basis, FreeModel, basis_for
from .free_form import FreeForm
from .kinetics import MichaelisMenten
from .law import Law, per_node
from .law_ode import LawODE
from .network import Network
from .neurons import FitzHughNagumo, WilsonCowan
from .paper import Gene, Heat, Mutualistic
from .populations import LotkaVolterra
from .printing import Equations, with_error
from .simulation import simulate
from .states import initial_state
from .styles import latex_name

__all__ = [
    "NAMED",
    "SIR",
    "SIS",
    "Basis",
    "ClosedForm",
    "Consensus",
    "Corrected",
    "Equation",
    "Equations",
    "FitzHughNagumo",
    "Formula",
    "FreeForm",
    "FreeModel",
    "Gene",
    "Heat",
    "Kuramoto",
    "Law",
    "LawODE",
    "LotkaVolterra",
    "MichaelisMenten",
    "Model",
    "Mutualistic",
    "Network",
    "Slopes",
    "Term",
    "WilsonCowan",
    "basis_for",
    "described",
    "initial_state",
    "latex_name",
    "law_from",
    "per_node",
    "plain_names",
    "simulate",
    "values_of",
    "with_error",
]
