"""How far to trust the probabilities of a node classifier: accuracy over confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from .notebook import Picture
from .style import INK, PREDICTION, QUIET, TRUTH, axes_at, lighten

if TYPE_CHECKING:
    from ..classify import NodeBaseline, NodeClassifier


def reliability(classifier: NodeClassifier | NodeBaseline, mask: Any = None, ax: Axes | None = None) -> Axes:
    """A reliability diagram: the share of right classes among nodes of one confidence, and below it how many there are.

    Bars on the diagonal are calibrated probabilities; below it the classifier is too sure, above it not sure enough. Outlined
    bars show what is missing or too much.

    Args:
        classifier: fitted.
        mask: the nodes, shape (n,), bool; by default those held out, as in ``classifier.calibration``.
        ax: axes to draw into; the histogram hangs below them.

    Returns:
        The axes of the diagram; their first child axes hold the histogram.

    Raises:
        NotFittedError: before fit.
        ValueError: the mask is empty or holds a node without a class.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=20)
        >>> ax = ndcn.plot.reliability(clf.fit(data.graph, data.features, data.labels, data.train_mask))
        >>> ax.get_ylabel()
        'accuracy'
    """
    found = classifier.calibration(mask)
    if ax is None:
        ax = axes_at(Picture(figsize=(4.2, 5.05)), 0.6, 0.6, 3.45, 2.95)
        lighten(ax)
    some = found.counts > 0
    width = found.edges[1] - found.edges[0]
    middle, accuracy = found.edges[:-1][some] + width / 2, found.accuracy[some]
    bar: dict[str, Any] = {"width": 0.92 * width, "zorder": 2}
    gap: dict[str, Any] = {"fill": False, "edgecolor": PREDICTION, "linewidth": 1.2, "label": "gap to the confidence"}
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.bar(middle, accuracy, color=TRUTH, alpha=0.85, label="accuracy", **bar)
    ax.bar(middle, found.confidence[some] - accuracy, bottom=accuracy, **gap, **bar)
    ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy")
    ax.tick_params(labelbottom=False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8)  # above, where no bar is
    how = "" if found.temperature is None else f", temperature {found.temperature:.2g}"
    ax.set_title(f"ECE {100 * found.ece:.1f} % on {found.counts.sum()} nodes{how}", fontsize=10, color=INK, pad=24)
    below = ax.inset_axes((0, -0.34, 1, 0.28), sharex=ax)
    lighten(below)
    below.bar(middle, found.counts[some], color=QUIET, **bar)
    below.set(xlabel="confidence", ylabel="nodes")
    below.tick_params(labelbottom=True)
    return ax
