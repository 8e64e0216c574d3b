"""Shooting: integrate a model from known states over given spans, with the derivatives of where it ends.

An explicit Runge-Kutta method with a number of equal steps that is found for each span by halving them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch

from ..laws import Model, Network
from ..solve import TSIT5, Tableau

T = TypeVar("T", torch.Tensor, np.ndarray)

MOST_STEPS = 512  # within an interval: a model that needs more is too fast for such snapshots, or explodes
# Derivatives only say where to look next, so that they may be coarser than ends, but not on few steps, where they would mislead
# (docs/interaction.md, What did not work): from 16 steps on.
COARSER_DERIVATIVES = 4
FEWEST_DERIVATIVE_STEPS = 8


def ends(
    model: Model, network: Network, x: torch.Tensor, spans: torch.Tensor, steps: int, method: Tableau = TSIT5
) -> torch.Tensor:
    """Where states x (K, n, d) go within spans (K,), in ``steps`` steps each."""
    if not network.in_parts and (kernel := model.kernel(network)) is not None:
        return torch.from_numpy(kernel.ends(x.numpy(), spans.numpy(), steps, method))
    h = (spans / steps)[:, None, None]
    for _ in range(steps):
        stages = [network.rate(model, x)]
        for row in _rows(method):
            stages.append(network.rate(model, x + h * _sum(row, stages)))
        x = x + h * _sum(method.b, stages)
    return x


def steps_needed(
    model: Model,
    network: Network,
    x: torch.Tensor,
    spans: torch.Tensor,
    tolerance: torch.Tensor,
    most: int = MOST_STEPS,
    method: Tableau = TSIT5,
) -> torch.Tensor:
    """Steps for each span with which halving their length moves no end by more than ``tolerance`` (d,), a power of 2, (K,).

    Spans for which ``most`` do not suffice get 0: the model is too fast there, or explodes.
    """
    found = torch.zeros(len(x), dtype=torch.int64)
    for steps, which, _ in accurate_ends(model, network, x, spans, tolerance, most, method):
        found[which] = steps
    return found


def accurate_ends(
    model: Model,
    network: Network,
    x: torch.Tensor,
    spans: torch.Tensor,
    tolerance: torch.Tensor,
    most: int = MOST_STEPS,
    method: Tableau = TSIT5,
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Steps, the spans that need so many, and where they end, as by ``ends``: from few steps to many, see ``steps_needed``."""
    left = torch.arange(len(x))
    steps = 1
    coarse = ends(model, network, x, spans, 1, method)
    while steps <= most and len(left):
        steps *= 2
        fine = ends(model, network, x[left], spans[left], steps, method)
        moved = network.world.highest(((fine - coarse).abs() / tolerance).amax(dim=(1, 2)))
        good = moved < 2**method.order  # by so much the finer solution is nearer
        if good.any():
            yield steps, left[good], fine[good]
        left = left[~good]
        coarse = fine[~good]


def derivatives(model: Model, network: Network, x: torch.Tensor, spans: torch.Tensor, steps: int) -> torch.Tensor:
    """Derivatives of ``ends`` by the parameters, (K, n, d, P); the starts do not depend on them."""
    if not network.in_parts and (kernel := model.kernel(network)) is not None:
        return torch.from_numpy(kernel.shots(x.numpy(), spans.numpy(), steps, TSIT5))
    K, n, d = x.shape
    P = len(model.parameters)
    S = np.zeros((K * n * d, P))
    h = (spans / steps)[:, None, None]
    rows = np.repeat((spans / steps).numpy(), n * d)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # shots that are lost; the caller counts them
        for _ in range(steps):
            stages: list[torch.Tensor] = []
            slopes: list[np.ndarray] = []
            for row in ((), *_rows(TSIT5)):
                at = x + h * _sum(row, stages) if row else x
                along = S + rows * _sum(row, slopes) if row else S
                rate, slope = network.tangent(model, at, along)
                stages.append(rate)
                slopes.append(slope)
            x = x + h * _sum(TSIT5.b, stages)
            S = S + rows * _sum(TSIT5.b, slopes)
    return torch.from_numpy(S).reshape(K, n, d, P)


def _rows(method: Tableau) -> tuple[tuple[float, ...], ...]:
    """The stages after the first that an end depends on."""
    return method.a[:-1] if method.last_is_next else method.a


def _sum(weights: Sequence[float], stages: Sequence[T]) -> T:
    out = weights[0] * stages[0]
    for weight, stage in zip(weights[1:], stages[1:], strict=False):
        if weight:
            out = out + weight * stage
    return out
