"""Laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), known ones, one's own, as formulas and as splines."""

from __future__ import annotations

from .._support.registries import LAWS as NAMED
from .agreement import Consensus, Kuramoto
from .basis import Basis as Basis, basis_for as basis_for
from .closed_form import ClosedForm, Equation as Equation
from .corrected import Corrected, described as described, law_from as law_from, law_of as law_of
from .divided import divided as divided
from .driven_form import DrivenForm
from .driven_node_form import DrivenNodeForm
from .epidemics import SIR, SIS, MetapopulationSIR
from .formula import Formula as Formula, plain_names as plain_names
from .free_form import FreeForm, FreeModel as FreeModel
from .kinetics import MichaelisMenten
from .law import Law, per_node
from .law_ode import LawODE
from .model import Model as Model, Slopes as Slopes
from .network import Network as Network
from .neurons import FitzHughNagumo, WilsonCowan
from .node_closed_form import NodeClosedForm
from .node_equation import NodeEquation as NodeEquation, parameter_names as parameter_names
from .node_free_form import (
    COUPLING as COUPLING,
    NODE_MEANS as NODE_MEANS,
    OFFSET as OFFSET,
    SCALE as SCALE,
    NodeFreeForm,
    NodeFreeModel as NodeFreeModel,
)
from .node_law import NodeLaw as NodeLaw
from .node_printing import NodeEquations
from .node_relation import Relation
from .paper import Gene, Heat, Mutualistic
from .part_network import PartNetwork as PartNetwork
from .populations import LotkaVolterra
from .power import Swing
from .printing import Equations, with_error as with_error
from .programs import term_values as term_values
from .simulation import simulate
from .splines import Splines as Splines, knots_for as knots_for
from .states import initial_state
from .styles import latex_name as latex_name, latex_number as latex_number
from .terms import Term as Term
from .timed_form import TimedForm, kind_of as kind_of

__all__ = [
    "NAMED",
    "SIR",
    "SIS",
    "ClosedForm",
    "Consensus",
    "Corrected",
    "DrivenForm",
    "DrivenNodeForm",
    "Equations",
    "FitzHughNagumo",
    "FreeForm",
    "Gene",
    "Heat",
    "Kuramoto",
    "Law",
    "LawODE",
    "LotkaVolterra",
    "MetapopulationSIR",
    "MichaelisMenten",
    "Mutualistic",
    "NodeClosedForm",
    "NodeEquations",
    "NodeFreeForm",
    "Relation",
    "Swing",
    "TimedForm",
    "WilsonCowan",
    "initial_state",
    "per_node",
    "simulate",
]
