"""Known laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), the paper's three, others of the literature, one's own."""

from .agreement import Consensus, Kuramoto
from .epidemics import SIR, SIS
from .kinetics import MichaelisMenten
from .law import Law, per_node
from .neurons import FitzHughNagumo, WilsonCowan
from .paper import Gene, Heat, Mutualistic
from .populations import LotkaVolterra
from .simulation import simulate
from .states import initial_state

__all__ = [
    "NAMED",
    "SIR",
    "SIS",
    "Consensus",
    "FitzHughNagumo",
    "Gene",
    "Heat",
    "Kuramoto",
    "Law",
    "LotkaVolterra",
    "MichaelisMenten",
    "Mutualistic",
    "WilsonCowan",
    "initial_state",
    "per_node",
    "simulate",
]

NAMED: dict[str, type[Law]] = {
    "heat": Heat,
    "mutualistic": Mutualistic,
    "gene": Gene,
    "sis": SIS,
    "sir": SIR,
    "kuramoto": Kuramoto,
    "consensus": Consensus,
    "lotka_volterra": LotkaVolterra,
    "wilson_cowan": WilsonCowan,
    "fitzhugh_nagumo": FitzHughNagumo,
    "michaelis_menten": MichaelisMenten,
}
