"""The adjacency matrix of a network as a picture."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from ..graph import Graph
from .style import INK, QUIET, inches, new_axes

DOTS_PER_INCH = 160  # cells finer than that run into each other
INKS = LinearSegmentedColormap.from_list("ink", ["white", "#1B2A41"])


def adjacency(graph: Graph, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """A dot at row i, column j where A[i, j] is not 0, that is where node j acts on node i.

    There are as many cells as the axes have room for. If there are more nodes, a cell stands for a block of A, and is the
    darker the larger the share of its entries that are not 0, on a square-root scale. Time and memory are those of the
    edges; A is never made dense.

    Args:
        graph: any graph; weights do not show. Nodes are counted by position, from 0.
        title: above the picture.
        ax: where to draw.

    Raises:
        TypeError: it is no graph.

    Example:
        >>> import ndcn
        >>> ax = ndcn.plot.adjacency(ndcn.Graph.from_edges([(0, 1), (1, 2)]))
        >>> ax.images[0].get_array().astype(int).tolist()
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    if not isinstance(graph, Graph):
        hint = ": give that of a run, as data.runs[0].graph" if hasattr(graph, "runs") else ""
        raise TypeError(f"expected an ndcn.Graph, got {type(graph).__name__}{hint}")
    ax = new_axes(3.6, 3.6) if ax is None else ax
    draw_adjacency(ax, graph)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    ax.tick_params(labelsize=8, colors=INK, width=0.6, length=2.5)
    ax.set_xlabel("node j, which acts", fontsize=9, color=INK)
    ax.set_ylabel("node i, which is acted on", fontsize=9, color=INK)
    if title is not None:
        ax.set_title(title, fontsize=10, color=INK)
    return ax


def draw_adjacency(ax: Axes, graph: Graph) -> None:
    """The dots in a thin frame, with as many cells as the axes have room for."""
    n = graph.num_nodes
    block = math.ceil(n / max(1, int(DOTS_PER_INCH * min(inches(ax)))))
    picture = blocks(graph, block)
    end = block * len(picture) - 0.5
    ax.imshow(picture, cmap=INKS, vmin=0, vmax=1, extent=(-0.5, end, end, -0.5), interpolation="nearest")
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.spines[:].set(color=QUIET, linewidth=0.6)


def blocks(graph: Graph, block: int) -> np.ndarray:
    """sqrt(share of entries of A that are not 0) in blocks of block x block entries, relative to the full ones.

    What 95 % of the blocks with an edge do not exceed is 1, and so are the others.

    Example:
        >>> import ndcn
        >>> blocks(ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 3)]), 2).round(3).tolist()
        [[1.0, 0.707], [0.707, 1.0]]
    """
    n = graph.num_nodes
    cells = math.ceil(n / block)
    rows, columns = (index.numpy() // block for index in graph.edge_index())
    counts = np.bincount(rows * cells + columns, minlength=cells * cells).reshape(cells, cells)
    sizes = np.bincount(np.arange(n) // block)
    share = np.sqrt(counts / np.outer(sizes, sizes))
    full = np.quantile(share[share > 0], 0.95) if len(rows) else 1.0
    return np.minimum(share / full, 1.0)
