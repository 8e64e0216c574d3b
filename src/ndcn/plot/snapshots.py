"""One snapshot on the square layout: a heat map, or a surface in three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D

from .notebook import Picture
from .runs import takes_datasets
from .square import snapshot
from .style import INK, QUIET, STATE_MAP, colour_bar, finish_picture

if TYPE_CHECKING:
    from ..data import Trajectory

FINEST = 60  # a surface has at most so many lines in each direction


@takes_datasets
def heat_map(
    data: Trajectory, time: float, *, feature: int | str = 0, scale: Normalize | None = None, ax: Axes | None = None
) -> Axes:
    """x_i at one time as a picture: node i is the cell at row i // N, column i % N, N = ceil(sqrt(n)).

    Cells without a node, and nodes that were not observed, stay blank. A new figure has a colour bar; for one in ``ax``
    call ``ax.figure.colorbar(ax.images[0])``.

    Args:
        data: states of shape (T, n, d).
        time: the nearest snapshot is shown.
        feature: which of the d features, by position or name.
        scale: the colour scale; by default that of all snapshots of the data. Values outside are clipped.
        ax: where to draw.

    Raises:
        ValueError: there is no such feature, or the time is no finite number.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(100)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> ax = ndcn.plot.heat_map(truth, 1.0)
        >>> ax.get_title()
        't = 1'
        >>> same = ndcn.plot.heat_map(guess, 1.0, scale=ax.images[0].norm)  # one scale for both
    """
    shown = snapshot(data, time, feature, scale)
    if ax is None:
        figure = Picture(figsize=(3.6, 3.0))
        ax = figure.add_axes((0.04, 0.05, 0.7, 0.84))
        colour_bar(figure.add_axes((0.78, 0.05, 0.035, 0.84)), shown.scale, shown.feature, shown.states)
    draw_heat_map(ax, shown.picture, shown.scale)
    ax.set_title(shown.title, fontsize=10, color=INK, pad=5)
    return ax


@takes_datasets
def surface(
    data: Trajectory, time: float, *, feature: int | str = 0, scale: Normalize | None = None, ax: Axes | None = None
) -> Axes:
    """x_i at one time as a surface over the square layout: node i at row i // N, column i % N, N = ceil(sqrt(n)).

    The first row lies at the back, as it lies at the top of ``heat_map``. Height and colour both show the state; there
    is no surface where there is no node or no observation. A new figure has a colour bar.

    Args:
        data: states of shape (T, n, d), n >= 4.
        time: the nearest snapshot is shown.
        feature: which of the d features, by position or name.
        scale: the scale of colour and height; by default that of all snapshots of the data. Values outside are
            clipped.
        ax: where to draw; made with ``projection="3d"``.

    Raises:
        ValueError: there is no such feature, the time is no finite number, or there are fewer than 4 nodes.
        TypeError: ``ax`` is not of three dimensions.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(100)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> ax = ndcn.plot.surface(truth, 1.0)
        >>> same = ndcn.plot.surface(guess, 1.0, scale=ax.collections[0].norm)  # one scale for both
        >>> same.get_zlim() == ax.get_zlim()
        True
    """
    shown = snapshot(data, time, feature, scale)
    check_surface(data)
    if ax is not None and not isinstance(ax, Axes3D):
        raise TypeError('a surface needs axes of three dimensions: make them with figure.add_subplot(projection="3d")')
    if ax is None:
        figure = Picture(figsize=(4.2, 3.2))
        ax = figure.add_axes((0.02, 0.02, 0.74, 0.88), projection="3d")
        colour_bar(figure.add_axes((0.8, 0.14, 0.03, 0.66)), shown.scale, shown.feature, shown.states)
    assert isinstance(ax, Axes3D)
    draw_surface(ax, shown.picture, shown.scale)
    ax.set_zlabel(shown.feature, fontsize=8, color=INK, labelpad=-6)
    ax.set_xlabel("column", fontsize=8, color=INK, labelpad=-14)
    ax.set_ylabel("row", fontsize=8, color=INK, labelpad=-14)
    ax.set_title(shown.title, fontsize=10, color=INK, pad=0)
    return ax


def check_surface(data: Trajectory) -> None:
    """Refuse data on so few nodes that their square has no complete cell.

    Raises:
        ValueError: there are fewer than 4 nodes.
    """
    if data.graph.num_nodes < 4:
        raise ValueError(f"a surface needs at least 4 nodes, got {data.graph.num_nodes}; draw a heat map instead")


def draw_heat_map(ax: Axes, picture: np.ndarray, scale: Normalize) -> None:
    """One square picture, shape (N, N), in a thin frame."""
    ax.imshow(picture, cmap=STATE_MAP, norm=scale, aspect="equal")
    finish_picture(ax)


def draw_surface(ax: Axes3D, picture: np.ndarray, scale: Normalize) -> None:
    """One square picture, shape (N, N), as a surface in a light box, with ticks for the height only."""
    side = len(picture)
    low, high = float(scale.vmin or 0.0), float(scale.vmax or 0.0)
    columns, rows = np.meshgrid(np.arange(side), np.arange(side))
    style: dict[str, Any] = {"linewidth": 0.15, "edgecolor": (1, 1, 1, 0.25), "antialiased": True}
    fine = {"rcount": FINEST, "ccount": FINEST}
    ax.plot_surface(columns, rows, np.clip(picture, low, high), cmap=STATE_MAP, norm=scale, **fine, **style)
    ax.set(xlim=(0, side - 1), ylim=(side - 1, 0), zlim=(low, high), xticks=[], yticks=[])
    ax.zaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    ax.view_init(elev=28, azim=-60)
    ax.set_box_aspect((1, 1, 0.62), zoom=1.1)
    ax.patch.set_alpha(0)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1, 1, 1, 0.0))
        axis.line.set(color=QUIET, linewidth=0.6)
        axis._axinfo["grid"].update(color="#DDDDDD", linewidth=0.5)
    ax.tick_params(axis="z", labelsize=7, colors=INK, pad=-2, length=2)
