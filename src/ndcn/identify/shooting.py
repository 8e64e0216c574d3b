"""Shooting: integrate a model from known states over given spans, with the derivatives of where it ends.

Classical Runge-Kutta of order 4 with a number of equal steps that is found for each span by halving.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from .equation import Model
from .network import Network

MOST_STEPS = 512


def ends(model: Model, network: Network, x: torch.Tensor, spans: torch.Tensor, steps: int) -> torch.Tensor:
    """Where states x (K, n, d) go within spans (K,), in ``steps`` steps each."""
    h = (spans / steps)[:, None, None]
    for _ in range(steps):
        k1 = model.rate(x, network)
        k2 = model.rate(x + h / 2 * k1, network)
        k3 = model.rate(x + h / 2 * k2, network)
        k4 = model.rate(x + h * k3, network)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def steps_needed(
    model: Model,
    network: Network,
    x: torch.Tensor,
    spans: torch.Tensor,
    tolerance: torch.Tensor,
    most: int = MOST_STEPS,
) -> torch.Tensor:
    """Steps for each span with which halving them moves no end by more than ``tolerance`` (d,), a power of 2, (K,).

    Spans for which ``most`` do not suffice get 0: the model is too fast there, or explodes.
    """
    found = torch.zeros(len(x), dtype=torch.int64)
    left = torch.arange(len(x))
    steps = 1
    coarse = ends(model, network, x, spans, 1)
    while steps <= most and len(left):
        fine = ends(model, network, x[left], spans[left], 2 * steps)
        moved = ((fine - coarse).abs() / tolerance).amax(dim=(1, 2))
        good = moved < 16  # of order 4, the finer solution is 16 times nearer
        found[left[good]] = 2 * steps
        left, coarse, steps = left[~good], fine[~good], 2 * steps
    return found


@dataclass(frozen=True)
class Shot:
    """Ends of a batch, shape (K, n, d), and their derivatives by the parameters, (K, n, d, P)."""

    ends: torch.Tensor
    columns: torch.Tensor


def shoot(model: Model, network: Network, x: torch.Tensor, spans: torch.Tensor, steps: int) -> Shot:
    """``ends`` with derivatives by the parameters; the starts do not depend on them."""
    K, n, d = x.shape
    P = len(model.parameters)
    S = np.zeros((K * n * d, P))
    h = (spans / steps)[:, None, None]
    rows = np.repeat((spans / steps).numpy(), n * d)[:, None]
    for _ in range(steps):
        k1, v1 = _stage(model, network, x, S)
        k2, v2 = _stage(model, network, x + h / 2 * k1, S + rows / 2 * v1)
        k3, v3 = _stage(model, network, x + h / 2 * k2, S + rows / 2 * v2)
        k4, v4 = _stage(model, network, x + h * k3, S + rows * v3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        S = S + rows / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return Shot(x, torch.from_numpy(S).reshape(K, n, d, P))


def _stage(model: Model, network: Network, x: torch.Tensor, S: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
    s = model.slopes(x, network)
    J = network.jacobian(s.own, s.edges)
    return s.rate, J @ S + s.columns.reshape(S.shape).numpy()
