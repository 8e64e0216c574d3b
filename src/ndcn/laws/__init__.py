"""Laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), known ones, one's own, as formulas and as splines."""

from __future__ import annotations

from .._support.registries import LAWS as NAMED
from .agreement import Consensus, Kuramoto
from .basis import Basis as Basis
from .basis import basis_for as basis_for
from .closed_form import ClosedForm
from .closed_form import Equation as Equation
from .corrected import Corrected
from .corrected import described as described
from .corrected import law_from as law_from
from .corrected import law_of as law_of
from .epidemics import SIR, SIS
from .formula import Formula as Formula
from .formula import plain_names as plain_names
from .free_form import FreeForm
from .free_form import FreeModel as FreeModel
from .kinetics import MichaelisMenten
from .law import Law, per_node
from .law_ode import LawODE
from .model import Model as Model
from .model import Slopes as Slopes
from .network import Network as Network
from .neurons import FitzHughNagumo, WilsonCowan
from .paper import Gene, Heat, Mutualistic
from .populations import LotkaVolterra
from .printing import Equations
from .printing import with_error as with_error
from .simulation import simulate
from .states import initial_state
from .styles import latex_name as latex_name
from .styles import latex_number as latex_number
from .terms import Term as Term
from .terms import values_of as values_of

__all__ = [
    "NAMED",
    "SIR",
    "SIS",
    "ClosedForm",
    "Consensus",
    "Corrected",
    "Equations",
    "FitzHughNagumo",
    "FreeForm",
    "Gene",
    "Heat",
    "Kuramoto",
    "Law",
    "LawODE",
    "LotkaVolterra",
    "MichaelisMenten",
    "Mutualistic",
    "WilsonCowan",
    "initial_state",
    "per_node",
    "simulate",
]
