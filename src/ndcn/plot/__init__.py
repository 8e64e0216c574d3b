"""Pictures of trajectories, predictions and training.

Single-panel functions draw into ``ax`` if given, else into a new figure, and return the matplotlib Axes; ``compare``
returns a Figure. Nothing is shown and no global setting of matplotlib is changed: save with
``ax.figure.savefig("name.png")``, or let a notebook display the figure.
"""

from __future__ import annotations

from .animation import animate
from .static import compare, error_over_time, training_curve, trajectories

__all__ = ["animate", "compare", "error_over_time", "training_curve", "trajectories"]
