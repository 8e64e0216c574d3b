"""A law on trial: looked for briefly, and kept only where nothing speaks against it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..data import Trajectory
from .discovery import discover
from .interaction import Interaction
from .result import FoundLaw


def law_on_trial(
    trajectories: Sequence[Trajectory], seconds: float, seed: int = 0, *, progress: bool | None = None
) -> FoundLaw | None:
    """A closed form that explains the trajectories to their noise or rounding, or None.

    None stands for all that a user of ``discover`` would be warned of, too: residuals that are more than noise, numbers that the data
    leave open, no motion beyond the noise, a search that time ended. The search gives up early where no candidate comes near the data.

    Args:
        trajectories: where to look.
        seconds: after so many the search ends.
        seed: of posterior samples.
        progress: whether to show progress lines; None shows them on a terminal.

    Raises:
        KeyboardInterrupt: Ctrl-C, at once.

    Example:
        >>> import ndcn
        >>> graph, times = ndcn.networks.grid(25), ndcn.sampling.regular_times(1.0, 20)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> law_on_trial([data], 30.0).evidence.equation
        '+1[sum_j A_ij x_j - x_i]'
    """
    what = Interaction("closed", seconds=seconds, nodes="same")
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        try:
            found = discover(trajectories, what, seed, trial=True, progress=progress)
        except ValueError:  # states that no law can be told from
            return None
    told = any(issubclass(one.category, UserWarning) for one in doubts)
    return found if found.evidence.explained and not told and not found.out_of_time else None
