"""The test of the network as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .style import INK, PREDICTION, QUIET, TRUTH, new_axes, short_label

if TYPE_CHECKING:
    from ..forecast import NetworkTest


TITLES = {
    "matters": "the network matters",
    "does not matter": "no effect of the network is seen",
    "cannot tell": "the test cannot tell",
}


def network_test(answer: NetworkTest, *, ax: Axes | None = None) -> Axes:
    """Errors one step ahead with shuffled graphs as a histogram, with the real graph and without a graph as lines.

    Of several features, the one that was tested is named below.

    Example:
        >>> import ndcn, numpy as np
        >>> noise = np.random.default_rng(0).normal(size=(60, 9))
        >>> data = ndcn.Trajectory(times=np.arange(60.0), states=noise, graph=ndcn.networks.grid(9))
        >>> ax = ndcn.plot.network_test(ndcn.forecast.network_test(data, shuffles=19))
        >>> ax.get_ylabel()
        'shuffled graphs'
    """
    ax = new_axes(6.4, 3.6) if ax is None else ax
    shuffled = np.array(answer.shuffled)[:, 0]
    ax.hist(shuffled, bins=min(20, max(5, len(shuffled) // 5)), color=QUIET, alpha=0.6, label="shuffled graphs")
    ax.axvline(answer.network[0], color=PREDICTION, lw=2, label="the graph")
    ax.axvline(answer.mean[0], color=TRUTH, lw=2, ls="--", label="no graph")
    size = f"error {100 * abs(answer.gain):.2g} % {'lower' if answer.gain > 0 else 'higher'}"
    ax.set_title(f"{TITLES[answer.verdict]}: {size} with it, p = {answer.p_value:.2g}", fontsize=10, color=INK)
    of = f" of {short_label(answer.feature)}" if answer.untested else ""
    ax.set(xlabel=f"mean |error|{of} one step ahead, persistence = 1", ylabel="shuffled graphs")
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(labelsize=8, colors=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax
