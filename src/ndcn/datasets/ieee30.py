"""A disturbance in the IEEE 30-bus test system."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import root

from ..data import Trajectory
from ..graph import Graph
from ..laws import Swing, simulate
from ..solve import Solver
from .tables import table

MEGAWATTS = 100.0  # of the per-unit system of the test case
DAMPING = 0.5
KICK = 3.0  # rad/s at bus 1, where most power is produced
TIMES = np.arange(101) / 10  # seconds


def power_grid() -> Trajectory:
    """10 seconds after a shock in the IEEE 30-bus test system: angle and frequency of each bus, every 0.1 s; simulated.

    The network is real: buses, lines with their reactances, generation and loads of a part of the American grid of 1961
    (IEEE 30-bus test case, Power Systems Test Case Archive of the University of Washington, 1993). Edges are lines, with
    the weight 1/reactance. The dynamics are the swing equation of Filatrella, Nielsen and Pedersen (Eur. Phys. J. B 61,
    2008), ``laws.Swing(power, damping=0.5, k=1)``, with the same inertia at all buses. The grid is in step when the large
    generator at bus 1 is pushed to 3 rad/s above the common frequency.

    Returns:
        101 snapshots; ``theta`` in radians, ``omega`` in radians per second.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.power_grid()
        >>> data.graph
        Graph(30 nodes, 41 edges, undirected, weighted)
        >>> data.features
        ('theta', 'omega')
    """
    graph, power = grid_and_power()
    matrix = graph.to_scipy().toarray()

    def imbalance(theta: np.ndarray) -> np.ndarray:
        flow = (matrix * np.sin(theta[None, :] - theta[:, None])).sum(1)
        return np.concatenate([theta[:1], (power + flow)[1:]])  # bus 1 is the reference

    in_step = root(imbalance, np.zeros(graph.num_nodes)).x
    x0 = torch.from_numpy(np.stack([in_step, np.zeros_like(in_step)], axis=1))
    x0[0, 1] = KICK
    return simulate(Swing(power=power, damping=DAMPING), graph, x0, TIMES, solver=Solver("rk4", step_size=0.01))


def grid_and_power() -> tuple[Graph, np.ndarray]:
    """The lines, and what each bus produces less what it consumes, per unit."""
    lines, buses = table("ieee30_lines"), table("ieee30_buses")
    edges = [(f"bus {a:.0f}", f"bus {b:.0f}", 1 / x) for a, b, x in lines.to_numpy()]
    graph = Graph.from_edges(edges, nodes=[f"bus {k}" for k in buses["bus"]], directed=False)
    return graph, (buses["generation"] - buses["load"]).to_numpy(dtype=np.float64) / MEGAWATTS
