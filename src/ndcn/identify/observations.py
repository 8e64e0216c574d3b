"""Trajectories as the identification sees them: states in float64, with a smooth path through them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator

from ..data import Trajectory
from ..laws import Network
from .data_smoothing import SMALL_STATE, Noise, Smoother, estimated_noise, roughness
from .decimals import ROUNDING_ERROR, decimal_step
from .gap_paths import interpolated
from .node_sample import LaterPath

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
# How far observations are from a cubic through their neighbours in time, as a share (docs/interaction.md, How it works, 1): about 1e-7 for
# clean data that are finely sampled. Between the two bounds data may be noisy, or clean and coarsely sampled: both are tried.
NOISY_ABOVE = 3e-3
CLEAN_BELOW = 2e-5
# Of integration where there is no noise, as a share of the largest state: below the rounding of float32, 6e-8.
CLEAN_TOLERANCE = 1e-8
# Rounding of snapshots: that of their dtype, and 2e-8 of the largest state, for those near 0, which the solver that made them had too.
LEAST_ROUNDING = 2e-8
FLOAT64_ROUNDING = 1e-9  # in place of 1e-16: trajectories are rarely solved more exactly
# Of the largest state: states are compared as asinh(x / unit), which is linear below and logarithmic above it.
UNIT = 1e-3
NOISE_UNIT = 20.0  # times additive noise: below it logarithms would magnify noise
FILLED_ERROR = 1e-3  # of states that are filled in, as a share of them and of 1 % of the largest one
# Share of the noise, squared, that a smooth path keeps: a straight line through 100 snapshots keeps as much.
LEAST_FREEDOM = 0.02
LATER = 10_000_000  # states, whose path would take 0.3 GiB, and as much again several times while it is computed
STATES_KEPT = 4000  # of those seen: enough for a histogram, and 32 kB for each feature in a file


@dataclass(frozen=True)
class Observations:
    """One trajectory, with estimates of its states at all times."""

    network: Network
    times: torch.Tensor  # (T,)
    states: torch.Tensor  # as observed, (T, n, d), NaN where they were not
    seen: torch.Tensor  # where they were, (T, n, d)
    # Estimates (T, n, d): the observations themselves if they are complete and without noise, else a smooth path through them.
    level: torch.Tensor
    inner: torch.Tensor | LaterPath  # that path at 4 Gauss points inside each interval, (T - 1, 4, n, d)
    noise: torch.Tensor  # standard deviation of the error of ``level``, (T, n, d)
    unit: torch.Tensor  # states are compared as asinh(x / unit), (d,)
    measured: Noise  # how noisy single observations are
    # How far the path may be off in each interval, (T - 1, n, d), where it leads through gaps between observations without noise.
    doubt: torch.Tensor | None = None
    counted: int | None = None  # the first nodes, whose motion is to be explained; the others act on them. None: all
    sampled: bool = False  # whether these are some of the nodes, ``some_nodes``

    @property
    def gaps(self) -> bool:
        """Whether the path leads through gaps between observations without noise."""
        return self.doubt is not None

    @property
    def nodes(self) -> int:
        """Nodes of the whole network, of which this process may hold a part."""
        return self.network.nodes

    @property
    def rows(self) -> int:
        """About how many numbers of a snapshot each process explains."""
        return -(-self.nodes // self.network.world.size) * self.states.shape[2]

    @property
    def spans(self) -> torch.Tensor:
        """Lengths of the intervals between snapshots, (T - 1,)."""
        return self.times.diff()

    def until(self, count: int) -> Observations:
        """The first snapshots."""
        parts = {name: getattr(self, name)[:count] for name in ("times", "states", "seen", "level", "noise")}
        doubt = None if self.doubt is None else self.doubt[: count - 1]
        return replace(self, **parts, inner=self.inner[: count - 1], doubt=doubt)


def observed(data: Trajectory, *, noisy: bool | None = None) -> Observations:
    """A trajectory with a path through it: the observations themselves, or a smooth one if they are noisy.

    Their roughness tells whether they are, unless ``noisy`` does.
    """
    states, seen = _states_of(data)
    times = data.times.double()
    if noisy is None:
        noisy = roughness_of(data) > NOISY_ABOVE
    scale = torch.where(seen, states.abs(), 0.0).amax(dim=(0, 1)).clamp(min=1e-300)
    if noisy:
        return _smoothed(data, times, states, seen, scale)
    return _interpolated(data, times, states, seen, scale)


def _states_of(data: Trajectory) -> tuple[torch.Tensor, torch.Tensor]:
    """States in float64, and where they were seen."""
    states = data.states.detach().cpu().double()
    return states, torch.ones_like(states, dtype=torch.bool) if data.mask is None else data.mask.cpu()


def _interpolated(
    data: Trajectory, times: torch.Tensor, states: torch.Tensor, seen: torch.Tensor, scale: torch.Tensor
) -> Observations:
    """With a path through all observations, monotone cubic in asinh(x / unit) (docs/interaction.md, How it works, 2)."""
    network = Network(data.graph)
    complete = data.mask is None
    eps = max(torch.finfo(data.states.dtype).eps, FLOAT64_ROUNDING)
    rounding = Noise(LEAST_ROUNDING * scale, torch.full_like(scale, eps)).at_least(rounding_of(data))
    unit = UNIT * scale
    if complete and states.numel() > LATER:
        later = LaterPath(times, states, unit, _NODES)
        return Observations(network, times, states, seen, states, later, rounding.at(states), unit, rounding)
    z = torch.asinh(states / unit).flatten(1).numpy()

    def path(t: np.ndarray, *, straight: bool = False) -> np.ndarray:
        if complete:
            out = PchipInterpolator(times.numpy(), z, axis=0)(t)
        else:
            out = interpolated(times.numpy(), z, seen.flatten(1).numpy(), t, straight=straight)
        return np.sinh(out.reshape(len(t), *states.shape[1:])) * unit.numpy()

    inner = _filled(inside(path, times))
    if complete:
        return Observations(network, times, states, seen, states, inner, rounding.at(states), unit, rounding)
    level = _filled(torch.from_numpy(path(times.numpy())))
    error = rounding.at(level)
    error = torch.where(seen, error, error + FILLED_ERROR * (level.abs() + scale * 1e-2))
    lines = _filled(inside(functools.partial(path, straight=True), times))
    doubt = (lines - inner).abs().mean(1)
    return Observations(network, times, states, seen, level, inner, error, unit, rounding, doubt)


def rounding_of(data: Trajectory) -> torch.Tensor:
    """Standard deviation of the rounding of observations that are written with few decimals, (d,); else 0."""
    states = data.states.detach().cpu()
    seen = torch.ones_like(states, dtype=torch.bool) if data.mask is None else data.mask.cpu()
    return ROUNDING_ERROR * decimal_step(states, seen)


def _smoothed(
    data: Trajectory, times: torch.Tensor, states: torch.Tensor, seen: torch.Tensor, scale: torch.Tensor
) -> Observations:
    """With a smooth path: first through the states, which shows their noise, then through asinh(x / unit)."""
    network = Network(data.graph)
    written = rounding_of(data)
    T, n, d = states.shape
    flags = seen.reshape(T, -1).numpy()
    counts = flags.sum(0)
    smoother = Smoother(times.numpy())

    def noise_around(level: torch.Tensor, freedom: np.ndarray) -> Noise:
        inflation = torch.from_numpy(np.sqrt(counts / np.maximum(counts - freedom, 1.0))).reshape(n, d)
        return estimated_noise(level, states, seen, inflation).at_least(written)

    c, freedom = smoother.fit(np.nan_to_num(states.reshape(T, -1).numpy()), flags)
    noise = noise_around(torch.from_numpy(smoother.path(c, times.numpy())).reshape(T, n, d), freedom)
    unit = torch.maximum(UNIT * scale, NOISE_UNIT * noise.additive)
    z = torch.asinh(states / unit).reshape(T, -1).numpy()
    c, freedom = smoother.fit(np.nan_to_num(z), flags)

    def path(t: np.ndarray) -> np.ndarray:
        return np.sinh(smoother.path(c, t).reshape(len(t), n, d)) * unit.numpy()

    level = _filled(torch.from_numpy(path(times.numpy())))
    noise = noise_around(level, freedom)
    share = torch.from_numpy(np.sqrt(np.clip(freedom / np.maximum(counts, 1), LEAST_FREEDOM, 1))).reshape(n, d)
    inner = _filled(inside(path, times))
    return Observations(network, times, states, seen, level, inner, noise.at(level) * share, unit, noise)


def signed(one: Observations) -> Observations:
    """The path through states that are never below 0 is not either: a law may not be defined there."""
    least = torch.where(one.seen, one.states, torch.inf).amin(dim=(0, 1))
    floor = torch.where(least >= 0, 0.0, -torch.inf)
    inner = one.inner.above(floor) if isinstance(one.inner, LaterPath) else torch.maximum(one.inner, floor)
    return replace(one, level=torch.maximum(one.level, floor), inner=inner)


def roughness_of(data: Trajectory) -> float:
    """How far observations are from curves through their neighbours in time, as a share: see ``roughness``.

    No less than the rounding of observations that are written with few decimals, which repeat where states are at rest.
    """
    states, seen = _states_of(data)
    rough = roughness(data.times.double(), states, seen)
    for step, x, here in zip(rounding_of(data).tolist(), states.unbind(-1), seen.unbind(-1), strict=True):
        if step:
            size = x[here].abs()
            rough = max(rough, step / float(size[size > SMALL_STATE * size.max()].median()))
    return rough


def largest(data: Sequence[Observations]) -> torch.Tensor:
    """The largest state of each feature, (d,): what errors are compared with."""
    return extremes(data).abs().amax(0).clamp(min=1e-300)


def extremes(data: Sequence[Observations]) -> torch.Tensor:
    """The least and the largest state of each feature, (2, d)."""
    least, most = (torch.stack([pick(one.level, dim=(0, 1)) for one in data]) for pick in (torch.amin, torch.amax))
    both = data[0].network.world.highest(torch.stack([-least.amin(0), most.amax(0)]))
    return torch.stack([-both[0], both[1]])


def some_states(data: Sequence[Observations], most: int = STATES_KEPT) -> torch.Tensor:
    """Some of the states seen, the least and largest among them, (N, d)."""
    world, width = data[0].network.world, data[0].level.shape[-1]
    every = torch.cat([one.level[:, : one.counted].reshape(-1, width) for one in data])
    if world.size == 1:
        chosen = every[even_places(len(every), most)]
    else:  # as many from each process, some of them twice where it has few
        places = torch.arange(-(-most // world.size)) * len(every) // -(-most // world.size)
        chosen = world.gather(every[places]).reshape(-1, width)
    return torch.cat([chosen, extremes(data)])


def even_places(count: int, most: int) -> torch.Tensor:
    """Up to ``most`` places from 0 to count - 1, evenly spread with both ends; exact for any count.

    Example:
        >>> even_places(40_000_000, 3)
        tensor([       0, 19999999, 39999999])
    """
    kept = min(most, count)
    return torch.arange(kept) * (count - 1) // max(kept - 1, 1)


def _filled(level: torch.Tensor) -> torch.Tensor:
    """Nodes that were never seen get the mean of the others."""
    return torch.where(level.isnan(), level.nanmean(dim=-2, keepdim=True).nan_to_num(0.0), level)


def gauss_nodes() -> np.ndarray:
    """Gauss points on [-1, 1]."""
    return _NODES


def gauss_points(times: torch.Tensor) -> torch.Tensor:
    """The Gauss points of every interval, (T - 1, 4)."""
    return times[:-1, None] + times.diff()[:, None] * (1 + torch.from_numpy(_NODES)) / 2


def inside(path: Callable[[np.ndarray], np.ndarray], times: torch.Tensor) -> torch.Tensor:
    """A path at the Gauss points of every interval, (T - 1, 4, n, d)."""
    points = gauss_points(times)
    return torch.from_numpy(path(points.numpy().ravel())).unflatten(0, points.shape)


def integrals(values: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
    """Integrals over each interval of values at its Gauss points, (T - 1, 4, ...) -> (T - 1, ...)."""
    w = torch.from_numpy(_WEIGHTS / 2)
    shape = (-1, *[1] * (values.dim() - 2))
    return (values * w.reshape(1, *shape)).sum(1) * spans.reshape(shape)


# Which intervals between snapshots a fit uses (docs/interaction.md, How it works, 4) ----------------------------------


def interval_speeds(one: Observations) -> torch.Tensor:
    """How much happens in each interval, as a multiple of the mean over all, (T - 1,)."""
    moved = torch.asinh(one.level[:, : one.counted] / one.unit).diff(dim=0).abs().sum(1)
    moved = one.network.world.total(moved)  # of all nodes, (T - 1, d)
    return (moved / moved.mean(0).clamp(min=1e-300)).mean(1)


def spread_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals: half of them the fastest, the others evenly spread."""
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    fast = speed.argsort(descending=True)[: count // 2]
    even = torch.linspace(0, len(speed) - 1, count - count // 2).round().long()
    return torch.cat([fast, even]).unique()


def fastest_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` of the fastest intervals, two of them slow ones.

    The very fastest, one in 40 and one more, are left out: a first guess, whose rates are off, overshoots there.
    """
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    skip = min(1 + len(speed) // 40, len(speed) - count)
    if count < 3:
        return speed.argsort(descending=True)[skip : skip + count]
    fast = speed.argsort(descending=True)[skip : skip + count - 2]
    slow = torch.linspace(len(speed) // 2, len(speed) - 1, 2).round().long()
    return torch.cat([fast, slow]).unique()
