"""A simulated epidemic on the map of the United States."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from ..data import Calendar, Dataset, Trajectory
from ..graph import Graph, projected
from ..laws import MetapopulationSIR, simulate
from ..solve import Solver
from .tables import table

START = "2024-01-01"  # a Monday; the year is nominal
DAYS = 140  # at the end the wave has passed the West and not yet reached New England
SEED_STATE, SEEDED = "Washington", 2e-3  # share infected on the first day
R0, GAMMA, MOBILITY = 1.5, 0.285, 2.8e-3  # Brockmann and Helbing (2013), for influenza; per day

REPORTED = 0.1  # share of infections that become reported cases
WEEKDAYS = (1.25, 1.15, 1.05, 1.0, 1.0, 0.85, 0.7)  # Monday to Sunday; fewer reports at weekends; the mean is 1
DISPERSION = 100.0  # negative binomial: variance = mean + mean^2 / 100, a relative scatter of 10 % in large states
PARTS = 4  # of a day, in which new infections are summed up


def us_states() -> pd.DataFrame:
    """The 48 contiguous states and the District of Columbia: code, population, latitude and longitude.

    Populations are those of the census of 2020; coordinates are those of the middle of each state, to about 0.1 degrees.
    Rows are in the order of the nodes of ``epidemic``, by name.

    Example:
        >>> import ndcn
        >>> ndcn.datasets.us_states().loc["Texas"].to_dict()
        {'code': 'TX', 'population': 29145505, 'lat': 31.5, 'lon': -99.3}
    """
    return table("us_states").set_index("state")


def epidemic(*, seed: int = 0, reports: bool = True) -> Dataset:
    """140 days of reported cases in the 48 contiguous US states and the District of Columbia; simulated.

    The network is real: an edge is a border that two states share, and nodes are drawn where the states are. The epidemic is not: infections follow
    ``laws.MetapopulationSIR`` with the rates of Brockmann and Helbing (Science 342, 2013) for influenza: R0 = 1.5, a recovery
    rate of 0.285 and a mobility of 0.0028 per day. They start in Washington, where 0.2 % are infected. A tenth of them is
    reported, fewer at weekends, with the scatter of a negative binomial distribution. The wave goes east; on the last day it
    has left the West and not yet reached New England.

    Args:
        seed: of the scatter of the reports.
        reports: False gives the exact shares s and i of each state at the start of each day instead, from which the law can
            be found.

    Returns:
        one run with dates, of "cases", or of "s" and "i".

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.epidemic()
        >>> data.trajectory
        Trajectory(140 snapshots of 49 nodes, 1 feature, 2024-01-01 .. 2024-05-19)
        >>> data.calendar.texts([0, 139])
        ['2024-01-01', '2024-05-19']
        >>> data.trajectory.graph
        Graph(49 nodes, 107 edges, undirected)
    """
    states = us_states()
    names = dict(zip(states["code"], states.index, strict=True))
    borders = table("us_borders")
    pairs = [(names[a], names[b]) for a, b in zip(borders["source"], borders["target"], strict=True)]
    graph = Graph.from_edges(pairs, nodes=list(states.index), directed=False)
    graph = graph.with_positions(projected(states["lat"], states["lon"]))
    law = MetapopulationSIR(beta=R0 * GAMMA, gamma=GAMMA, k=MOBILITY)
    x0 = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(len(states), 1)
    x0[states.index.get_loc(SEED_STATE)] = torch.tensor([1 - SEEDED, SEEDED], dtype=torch.float64)
    solver = Solver(
        "rk4", step_size=1 / PARTS
    )  # to 1e-6 of the largest share, in a tenth of the time of adaptive steps
    shares = simulate(law, graph, x0, np.arange(DAYS * PARTS + 1) / PARTS, solver=solver)
    run = _reports(shares, states, seed) if reports else shares[:-1:PARTS]
    what = "cases reported that day" if reports else "susceptible and infected shares at the start of the day"
    return Dataset(
        (run,),
        calendar=Calendar(START, "day"),
        notes=(f"simulated: {what}, by a metapopulation SIR model", "edges: borders between the states"),
    )


def _reports(shares: Trajectory, states: pd.DataFrame, seed: int) -> Trajectory:
    """Cases reported on each day, by the trapezoidal rule for beta s i."""
    s, i = shares.states.numpy().transpose(2, 0, 1)
    rate = R0 * GAMMA * s * i
    infected = ((rate[:-1] + rate[1:]) / (2 * PARTS)).reshape(DAYS, PARTS, len(states)).sum(1)
    weekday = np.array(WEEKDAYS)[np.arange(DAYS) % 7, None]
    mean = np.maximum(REPORTED * weekday * infected * states["population"].to_numpy(), 1e-9)
    cases = np.random.default_rng(seed).negative_binomial(DISPERSION, DISPERSION / (DISPERSION + mean))
    return Trajectory(
        times=np.arange(DAYS, dtype=np.float64), states=cases.astype(float), graph=shares.graph, features=("cases",)
    )
