"""Data sets that come with the package: an epidemic, a power grid, opinions; and those for node classification."""

from ..classify import NodeDataset, geom_gcn, karate_club, node_tables, planetoid
from .ieee30 import grid_and_power as grid_and_power, power_grid
from .karate_opinions import opinions
from .us_epidemic import epidemic, us_states

__all__ = [
    "NodeDataset",
    "epidemic",
    "geom_gcn",
    "karate_club",
    "node_tables",
    "opinions",
    "planetoid",
    "power_grid",
    "us_states",
]
