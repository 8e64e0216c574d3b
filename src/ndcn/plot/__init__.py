"""Pictures of trajectories, networks, predictions and training.

Functions draw into ``ax`` if given, else into a new figure, and return the matplotlib Axes, ``compare``, ``forecast`` and
``interaction`` an array of them; ``panels`` and ``inspect``, which lay out a whole page, return its Figure. No window opens and no
global setting of matplotlib is changed: save with ``ax.figure.savefig("name.png")``, or end a cell of a notebook with what a function
returned, and it shows the picture."""

from __future__ import annotations

from . import layout as layout, maps as maps, style as style
from .animation import animate
from .comparison import compare
from .confidence import reliability
from .curves import error_curves, error_over_time, training_curve, trajectories
from .drivers import driver
from .fan import forecast
from .figures import panels
from .inspection import inspect
from .interactions import interaction
from .matrix import adjacency
from .network import network
from .node_values import node_values
from .reconstruction import found_network, link_calibration, link_probabilities, precision_recall
from .results import table
from .shuffles import network_test
from .snapshots import heat_map, surface

__all__ = [
    "adjacency",
    "animate",
    "compare",
    "driver",
    "error_curves",
    "error_over_time",
    "forecast",
    "found_network",
    "heat_map",
    "inspect",
    "interaction",
    "link_calibration",
    "link_probabilities",
    "network",
    "network_test",
    "node_values",
    "panels",
    "precision_recall",
    "reliability",
    "surface",
    "table",
    "training_curve",
    "trajectories",
]
