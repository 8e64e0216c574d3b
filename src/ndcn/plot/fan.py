"""A fan chart: the past of some nodes, their forecast, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, DateFormatter, num2date
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..data import Dataset, Trajectory
from ..regressor import in_time_of
from .notebook import AxesArray, Picture, axes_array
from .square import checked_feature, checked_nodes
from .style import INK, PREDICTION, QUIET, TRUTH

if TYPE_CHECKING:
    from ..data import Calendar
    from ..regressor import DynamicsRegressor

MOST_NODES = 6  # that are chosen unasked
LEAST_PAST = 30  # snapshots that are drawn unasked, or four times as many as are predicted
MARKED = 45  # observations up to which each has a dot
DARKEST, LIGHTEST = 0.4, 0.2  # opacity of the narrowest and the widest band
DATE_FORMS = ((1, "%H:%M"), (5, "%d %b %H:%M"), (300, "%d %b"), (1500, "%b %Y"), (math.inf, "%Y"))  # up to so many days
STEPS = 60  # of a prediction between whose times any may be asked for


def forecast(
    reg: DynamicsRegressor,
    *,
    nodes: Sequence[Hashable] | None = None,
    levels: Sequence[float] = (0.5, 0.9),
    history: int | None = None,
    times: Any = None,
    data: Trajectory | Dataset | None = None,
    feature: int | str = 0,
    ax: Axes | Sequence[Axes] | np.ndarray | None = None,
) -> AxesArray:
    """A fan chart for each node: observations as a line, then the prediction between shaded intervals.

    Observations after the forecast began are circles, so that it can be judged. Times are dates where the data have dates.

    Args:
        reg: fitted; a forecast ("auto") shows all its steps, another model a quarter of its training window more.
        nodes: labels of the nodes, a panel each; by default up to six with the largest predicted change.
        levels: shares of the values, in (0, 1), that the bands should hold. A model without intervals has no bands.
        history: how many snapshots to show before the prediction; by default 30, or four times as many as are predicted.
        times: when to predict, in the data's units, or dates as text.
        data: observations to show; by default those that the model was fitted on, or the last of them that its file keeps.
        feature: which of the d features, by position or name.
        ax: where to draw, axes for each node.

    Returns:
        The axes, one for each node, of a new figure if none were given.

    Raises:
        ValueError: there is no such node or feature, levels outside (0, 1), or not as many axes as nodes.

    Example:
        >>> import ndcn, numpy
        >>> times = numpy.arange(40.0)
        >>> states = numpy.sin(times[:, None] / 4) + numpy.arange(9.0)
        >>> data = ndcn.Trajectory(times=times, states=states, graph=ndcn.networks.grid(9), features=["cases"])
        >>> reg = ndcn.DynamicsRegressor(ndcn.forecast.Auto(horizon=8)).fit(data)
        >>> axes = ndcn.plot.forecast(reg, nodes=[0, 4], levels=(0.5, 0.8, 0.95))
        >>> axes, [ax.get_title(loc="left") for ax in axes]
        (<2 axes of one figure>, ['0', '4'])
    """
    bands = sorted({float(level) for level in levels}, reverse=True)
    if not all(0 < level < 1 for level in bands):
        raise ValueError(f"levels lie between 0 and 1, as (0.5, 0.9); got {levels!r}")
    past = _past(reg, data)
    ahead = _ahead(reg, times, bands, feature)
    graph = reg.train_[0].graph
    chosen = _most_changed(ahead) if nodes is None else checked_nodes(graph, nodes)
    axes = _axes(ax, len(chosen))
    seen = None if past is None else _Seen.of(past, ahead, history)
    calendar = reg.calendar_ if reg.calendar_ is not None and reg.calendar_.dated else None
    for panel, node in zip(axes, chosen, strict=True):
        _draw(panel, ahead, seen, node, calendar)
        panel.set_title(str(graph.nodes[node]), loc="left", fontsize=10, fontweight="bold", color=INK, parse_math=False)
    _label(axes, ahead, seen, dated=calendar is not None, own=ax is None)
    return axes_array(axes)


class _Ahead(NamedTuple):
    """A prediction of one feature: times (T,), mean (T, n), and (level, lower, upper), the widest first."""

    name: str
    place: int
    begin: float
    times: np.ndarray
    mean: np.ndarray
    bands: list[tuple[float, np.ndarray, np.ndarray]]


class _Seen(NamedTuple):
    """Observations before a prediction and after its begin: times, and states (T, n)."""

    before: tuple[np.ndarray, np.ndarray]
    after: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, past: Trajectory, ahead: _Ahead, history: int | None) -> _Seen:
        times, states = past.times.numpy(), past.states[..., ahead.place].detach().cpu().double().numpy()
        order = times.argsort()
        times, states = times[order], states[order]
        near = 1e-9 * max(1.0, abs(ahead.begin))
        first = int(np.searchsorted(times, ahead.begin + near, side="right"))
        wanted = max(LEAST_PAST, 4 * len(ahead.times)) if history is None else history
        kept = slice(max(0, first - wanted), first)
        later = (times > ahead.begin + near) & (times <= ahead.times[-1] + near)
        return cls((times[kept], states[kept]), (times[later], states[later]))


def _past(reg: DynamicsRegressor, data: Trajectory | Dataset | None) -> Trajectory | None:
    """The run to show, with times counted as the model's."""
    fitted = reg.fitted_
    known = data if data is not None else reg.__dict__.get("data_")
    if isinstance(known, Dataset):
        return in_time_of(reg, known.runs[0] if fitted.ahead is None else max(known.runs, key=len))
    if isinstance(known, Trajectory):
        return in_time_of(reg, known)
    return fitted.recent if fitted.recent is not None else reg.train_[0].seen


def _ahead(reg: DynamicsRegressor, times: Any, levels: list[float], feature: int | str) -> _Ahead:
    fitted = reg.fitted_
    begin, when = _moments(reg)
    if times is not None:
        when = np.array(
            [reg.calendar_.number(t) if isinstance(t, str) and reg.calendar_ else t for t in times], dtype=float
        )
        begin = begin if fitted.ahead is not None else min(begin, float(when.min()))
    when = np.unique(np.append(when, begin))  # from where the data end, without a gap
    found = reg.predict(torch.from_numpy(when))
    place = checked_feature(found, feature)
    bands = []
    for level in levels if fitted.can.spread else ():
        ends = reg.intervals(torch.from_numpy(when), level)
        low, high = (end.states[..., place].detach().cpu().double().numpy() for end in ends)
        bands.append((level, low, high))
    mean = found.states[..., place].detach().cpu().double().numpy()
    return _Ahead(found.features[place], place, begin, when, mean, bands)


def _moments(reg: DynamicsRegressor) -> tuple[float, np.ndarray]:
    """Where the data end, and times after it: all steps of a forecast, else a quarter of the training window."""
    fitted, known = reg.fitted_, reg.train_[0].times
    if fitted.ahead is not None:
        return fitted.ahead.start, np.asarray(fitted.ahead.times, dtype=float)
    begin, further = known[-1].item(), 0.25 * (known[-1] - known[0]).item()
    if fitted.step is None:
        return begin, np.linspace(begin, begin + further, STEPS)
    return begin, begin + fitted.step * np.arange(1, max(1, round(further / fitted.step)) + 1)


def _most_changed(ahead: _Ahead) -> list[int]:
    """The nodes whose prediction goes farthest from where it begins, in the order of the graph."""
    change = np.abs(ahead.mean - ahead.mean[0]).max(axis=0)
    return sorted(np.argsort(-np.nan_to_num(change, nan=-1.0), kind="stable")[:MOST_NODES].tolist())


def _axes(ax: Axes | Sequence[Axes] | np.ndarray | None, count: int) -> np.ndarray:
    if ax is not None:
        given = np.array([ax] if isinstance(ax, Axes) else ax, dtype=object).ravel()
        if len(given) != count:
            raise ValueError(f"{count} nodes need as many axes, got {len(given)}")
        return given
    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = math.ceil(count / columns)
    width, height = (6.6, 3.3) if count == 1 else (3.3, 2.25)
    figure = Picture(figsize=(columns * width, rows * height + 0.35), layout="constrained")
    made = np.empty(count, dtype=object)
    for k in range(count):
        made[k] = figure.add_subplot(rows, columns, k + 1)
    return made


def _draw(ax: Axes, ahead: _Ahead, seen: _Seen | None, node: int, calendar: Calendar | None) -> None:
    def when(times: np.ndarray) -> Any:
        if calendar is None:
            return times
        dates: Any = calendar.dates(times)
        return dates.tz_localize(None).to_numpy()

    for shade, (_, low, high) in zip(_shades(ahead), ahead.bands, strict=True):
        ax.fill_between(when(ahead.times), low[:, node], high[:, node], color=PREDICTION, alpha=shade, linewidth=0)
    ax.plot(when(ahead.times), ahead.mean[:, node], color=PREDICTION, linewidth=1.6, zorder=4, solid_capstyle="round")
    if seen is not None:
        times, states = seen.before
        observed = np.isfinite(states[:, node])
        dots: dict[str, Any] = {"marker": "o", "markersize": 2.4} if observed.sum() <= MARKED else {}
        ax.plot(when(times[observed]), states[observed, node], color=INK, linewidth=1.1, zorder=3, **dots)
        times, states = seen.after
        later: dict[str, Any] = {"marker": "o", "markersize": 4.5, "linestyle": "none", "markerfacecolor": "white"}
        ax.plot(when(times), states[:, node], color=TRUTH, markeredgewidth=1.2, zorder=5, **later)
    ax.axvline(when(np.array([ahead.begin]))[0], color=QUIET, linewidth=0.8, linestyle=(0, (3, 3)), zorder=1)
    _finish(ax, dated=calendar is not None)


def _shades(ahead: _Ahead) -> list[float]:
    """Opacity of each band, the widest first."""
    shades: list[float] = np.linspace(LIGHTEST, DARKEST, len(ahead.bands)).tolist()
    return shades


def _finish(ax: Axes, *, dated: bool) -> None:
    """Few ticks, a grid of levels only, and nothing below 0 where nothing is."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set(color=QUIET, linewidth=0.7)
    ax.grid(axis="y", alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8, colors=INK, length=0)
    ax.tick_params(axis="x", length=3, color=QUIET)
    ax.margins(x=0.02)
    if ax.dataLim.y0 >= 0 > ax.get_ylim()[0]:
        ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.6g}"))
    if dated:
        first, last = (num2date(x) for x in ax.dataLim.intervalx)
        days = (last - first).days
        form = next(form for most, form in DATE_FORMS if days <= most)
        ax.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=6))
        ax.xaxis.set_major_formatter(DateFormatter(form))
        if "%Y" not in form:
            years = str(first.year) if first.year == last.year else f"{first.year}–{last.year}"
            ax.set_xlabel(years, fontsize=8, color=INK)


def _label(axes: np.ndarray, ahead: _Ahead, seen: _Seen | None, *, dated: bool, own: bool) -> None:
    """Names of values and time, and one legend for all panels."""
    first = axes[0]
    signs: list[Any] = [] if seen is None else [Line2D([], [], color=INK, linewidth=1.2, label="observed")]
    if seen is not None and len(seen.after[0]):
        hollow: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "white", "markersize": 4.5}
        signs.append(Line2D([], [], color=TRUTH, label="observed later", **hollow))
    signs.append(Line2D([], [], color=PREDICTION, linewidth=1.8, label="forecast"))
    through = 1.0  # the share of the page that shows through; a narrow band lies on the wide ones
    patches = []
    for shade, (level, _, _) in zip(_shades(ahead), ahead.bands, strict=True):
        through *= 1 - shade
        patches.append(Patch(color=PREDICTION, alpha=1 - through, linewidth=0, label=f"{100 * level:.3g} %"))
    signs += reversed(patches)
    style: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "handlelength": 1.5, "columnspacing": 1.3}
    if own:
        figure = first.get_figure(root=True)
        assert isinstance(figure, Figure)
        figure.legend(handles=signs, loc="outside upper right", ncols=len(signs), **style)
        columns = first.get_subplotspec().get_gridspec().ncols
        for k in range(0, len(axes), columns):
            axes[k].set_ylabel(ahead.name, fontsize=9, color=INK)
    else:
        first.legend(handles=signs, loc="best", **style)
        first.set_ylabel(ahead.name, fontsize=9, color=INK)
    if not dated:
        for panel in axes:
            panel.set_xlabel("time", fontsize=9, color=INK)
