"""Known laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), the paper's three and those of one's own."""

from .law import Law
from .paper import Gene, Heat, Mutualistic
from .simulation import simulate
from .states import initial_state

__all__ = ["NAMED", "Gene", "Heat", "Law", "Mutualistic", "initial_state", "simulate"]

NAMED: dict[str, type[Law]] = {"heat": Heat, "mutualistic": Mutualistic, "gene": Gene}
