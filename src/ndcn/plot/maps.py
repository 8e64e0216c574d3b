"""A forecast on the map: the network at some moments, what came, and some nodes' curves with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib.dates as mdates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from . import layout
from .style import INK, PREDICTION, QUIET, TINT, TRUTH, axes_at, bar_of, lighten

if TYPE_CHECKING:
    from ..data import Calendar, Trajectory

WIDTH, MAP, CURVE = 12.0, 1.62, 1.75  # inches: of the figure, and the heights of its two rows
HEAT = "YlOrRd"


def albers(lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Places on a map of the United States, shape (n, 2): the equal-area projection of Albers.

    Standard parallels 29.5 and 45.5 degrees, centre 23 N 96 W, as the US Geological Survey has it; the radius of the earth is 1.

    Example:
        >>> import numpy as np
        >>> albers(np.array([23.0]), np.array([-96.0])).round(6)
        array([[0., 0.]])
    """
    first, second, middle = np.radians([29.5, 45.5, 23.0])
    n = (np.sin(first) + np.sin(second)) / 2
    c = np.cos(first) ** 2 + 2 * n * np.sin(first)
    angle = n * np.radians(np.asarray(lon) + 96.0)
    far, origin = (np.sqrt(c - 2 * n * np.sin(phi)) / n for phi in (np.radians(lat), middle))
    return np.stack([far * np.sin(angle), origin - far * np.cos(angle)], axis=1)


@dataclass(frozen=True)
class MapForecast:
    """What ``forecast_maps`` shows, of one feature.

    Attributes:
        data: all snapshots, also those after the forecast was made.
        forecast: the forecast and the ends of its interval, at the same times.
        calendar: what times mean.
        places: of the nodes on the map, shape (n, 2).
        population: of the nodes; colours are values per 100,000, the areas of nodes their population.
        level: of the interval.
    """

    data: Trajectory
    forecast: tuple[Trajectory, Trajectory, Trajectory]
    calendar: Calendar
    places: np.ndarray
    population: np.ndarray
    level: float


def forecast_maps(shown: MapForecast, days: Sequence[float], nodes: Sequence[str]) -> Figure:
    """Maps at these days, then forecast and truth at the last day of the forecast; below, the curves of these nodes."""
    columns = len(days) + 2
    figure = Figure(figsize=(WIDTH, 4.35), dpi=150)
    per = 1e5 / shown.population
    last = shown.forecast[0].times[-1].item()
    pictures = [_value(shown.data, day) * per for day in days]
    pictures += [_value(shown.forecast[0], last) * per, _value(shown.data, last) * per]
    scale = PowerNorm(0.5, 0.0, max(picture.max() for picture in pictures))
    step = (WIDTH - 0.75) / columns
    titles = [*("observed" for _ in days), "forecast", "what came"]
    for k, (title, day, values) in enumerate(zip(titles, [*days, last, last], pictures, strict=True)):
        ax = axes_at(figure, 0.05 + k * step, 0.42, step - 0.06, MAP)
        predicted = k == len(days)
        _map(ax, shown, values, scale, [] if k else list(nodes))
        name = shown.calendar.dates([day])[0].strftime("%d %B").lstrip("0")
        ax.set_title(f"{name}\n{title}", fontsize=9.5, color=PREDICTION if predicted else INK, linespacing=1.3)
        if predicted:
            ax.patch.set(facecolor=TINT, visible=True)
    bar = axes_at(figure, WIDTH - 0.62, 0.62, 0.1, MAP - 0.35)
    bar_of(bar, ScalarMappable(scale, HEAT), "cases per 100,000", size=7.5)
    step = WIDTH / len(nodes)
    for k, node in enumerate(nodes):
        ax = axes_at(figure, 0.52 + k * step, 2.34, step - 0.62, CURVE - 0.05)
        _curve(ax, shown, node, legend=k == len(nodes) - 1)
    return figure


def _value(data: Trajectory, day: float) -> np.ndarray:
    """One feature at a day, by the mean of the week that ends there, so that weekends do not matter."""
    week = (data.times > day - 7) & (data.times <= day)
    return data.states[week, :, 0].nanmean(dim=0).double().numpy()


def _map(ax: Axes, shown: MapForecast, values: np.ndarray, scale: Normalize, named: Sequence[str]) -> None:
    u, v, _ = layout.links(shown.data.graph)
    places = shown.places
    ax.add_collection(
        LineCollection(list(places[np.stack([u, v], axis=1)]), colors="#BDBDBD", linewidths=0.7, zorder=1)
    )
    area = 16 + 190 * shown.population / shown.population.max()
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=area,
        c=values,
        cmap=HEAT,
        norm=scale,
        edgecolors="#5A5A5A",
        linewidths=0.45,
        zorder=2,
    )
    for name in named:
        place = places[list(shown.data.graph.nodes).index(name)]
        text = ax.annotate(
            name, (place[0], place[1]), (0, 6), textcoords="offset points", ha="center", fontsize=6.5, color=INK
        )
        text.set_path_effects([withStroke(linewidth=1.6, foreground="white")])
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.margins(0.06, 0.1)
    ax.spines[:].set_visible(False)
    ax.patch.set_visible(False)


def _curve(ax: Axes, shown: MapForecast, node: str, *, legend: bool) -> None:
    position = list(shown.data.graph.nodes).index(node)
    middle, low, high = (part.states[:, position, 0].numpy() for part in shown.forecast)
    start = shown.forecast[0].times[0].item() - 1
    dates = np.asarray(shown.calendar.dates(shown.data.times.numpy()))
    ahead = np.asarray(shown.calendar.dates(shown.forecast[0].times.numpy()))
    values = shown.data.states[:, position, 0].numpy()
    seen = shown.data.times.numpy() <= start
    ax.axvspan(dates[seen][-1], ahead[-1], color=TINT, zorder=0)
    ax.fill_between(
        ahead, low, high, color=PREDICTION, alpha=0.22, linewidth=0, label=f"{100 * shown.level:g} % interval"
    )
    ax.plot(dates[seen], values[seen], color=TRUTH, linewidth=1.1, label="observed")
    ax.plot(ahead, middle, color=PREDICTION, linewidth=1.5, label="forecast")
    ax.plot(
        dates[~seen],
        values[~seen],
        "o",
        color=TRUTH,
        markersize=2.6,
        markerfacecolor="white",
        markeredgewidth=0.8,
        label="what came",
    )
    lighten(ax)
    ax.tick_params(labelsize=7.5, colors=INK)
    ax.set_title(node, fontsize=9.5, color=INK, loc="left")
    ax.xaxis.set_major_locator(mdates.MonthLocator())
    ax.xaxis.set_major_formatter(mdates.DateFormatter("%b"))
    ax.yaxis.set_major_formatter(lambda y, _: f"{y / 1000:g}k" if y else "0")
    ax.set_ylim(bottom=0)
    ax.spines[:].set_color(QUIET)
    if legend:
        ax.legend(frameon=False, fontsize=7.5, loc="upper left", handlelength=1.4)
