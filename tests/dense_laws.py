"""Every known law as a formula over a dense matrix A, written without the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ndcn.laws import (
    SIR,
    SIS,
    Consensus,
    FitzHughNagumo,
    Gene,
    Heat,
    Kuramoto,
    Law,
    LotkaVolterra,
    MetapopulationSIR,
    MichaelisMenten,
    Mutualistic,
    Swing,
    WilsonCowan,
)


def _column(value: Any) -> torch.Tensor:
    """A parameter as a number or a column that multiplies (n, d)."""
    tensor = torch.as_tensor(value, dtype=torch.float64)
    return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def _row_of_pairs(value: Any) -> torch.Tensor:
    """A parameter of the acting node, as it multiplies (n acted on, n acting, d)."""
    tensor = _column(value)
    return tensor if tensor.dim() == 0 else tensor.unsqueeze(0)


def _flat(value: Any) -> torch.Tensor:
    """A parameter as a number or (n,), for a single feature."""
    return torch.as_tensor(value, dtype=torch.float64)


def dense_heat(a: torch.Tensor, x: torch.Tensor, k: Any = 1.0) -> torch.Tensor:
    pairs = x.unsqueeze(1) - x.unsqueeze(0)  # x_i - x_j
    return -_column(k) * torch.einsum("ij,ijd->id", a, pairs)


def dense_mutualistic(
    a: torch.Tensor, x: torch.Tensor, b: Any = 0.1, k: Any = 5.0, c: Any = 1.0, d: Any = 5.0, e: Any = 0.9, h: Any = 0.1
) -> torch.Tensor:
    b, k, c, d, e = (_column(value) for value in (b, k, c, d, e))
    own, other = x.unsqueeze(1), x.unsqueeze(0)
    pairs = own * other / ((d + e * x).unsqueeze(1) + _row_of_pairs(h) * other)
    return b + x * (1 - x / k) * (x / c - 1) + torch.einsum("ij,ijd->id", a, pairs)


def dense_gene(a: torch.Tensor, x: torch.Tensor, b: Any = 1.0, f: Any = 1.0, h: Any = 2.0) -> torch.Tensor:
    raised = x ** _column(h)
    return -_column(b) * x ** _column(f) + a @ (raised / (raised + 1))


def dense_sis(a: torch.Tensor, x: torch.Tensor, beta: Any = 1.0, delta: Any = 1.0) -> torch.Tensor:
    pairs = (1 - x).unsqueeze(1) * x.unsqueeze(0)
    return -_column(delta) * x + _column(beta) * torch.einsum("ij,ijd->id", a, pairs)


def dense_sir(a: torch.Tensor, x: torch.Tensor, beta: Any = 1.0, gamma: Any = 1.0) -> torch.Tensor:
    s, i = x[:, 0], x[:, 1]
    infected = _flat(beta) * s * (a @ i)
    return torch.stack([-infected, infected - _flat(gamma) * i], dim=1)


def dense_metapopulation_sir(
    a: torch.Tensor, x: torch.Tensor, beta: Any = 1.0, gamma: Any = 0.5, k: Any = 0.1
) -> torch.Tensor:
    infected = _flat(beta) * x[:, 0] * x[:, 1]
    return torch.stack([-infected, infected - _flat(gamma) * x[:, 1]], dim=1) + dense_heat(a, x, k)


def dense_kuramoto(a: torch.Tensor, x: torch.Tensor, omega: Any = 0.0, k: Any = 1.0) -> torch.Tensor:
    pairs = torch.sin(x.unsqueeze(0) - x.unsqueeze(1))
    return _column(omega) + _column(k) * torch.einsum("ij,ijd->id", a, pairs)


def dense_consensus(a: torch.Tensor, x: torch.Tensor, k: Any = 1.0, s: Any = 1.0) -> torch.Tensor:
    scale = _column(s)
    scale = scale if scale.dim() == 0 else scale.unsqueeze(1)
    pairs = torch.tanh(scale * (x.unsqueeze(0) - x.unsqueeze(1)))
    return _column(k) * torch.einsum("ij,ijd->id", a, pairs)


def dense_lotka_volterra(
    a: torch.Tensor, x: torch.Tensor, alpha: Any = 1.0, theta: Any = 1.0, c: Any = 1.0
) -> torch.Tensor:
    return _column(alpha) * x - _column(theta) * x**2 - _column(c) * torch.einsum("ij,id,jd->id", a, x, x)


def dense_wilson_cowan(a: torch.Tensor, x: torch.Tensor, tau: Any = 1.0, mu: Any = 3.0) -> torch.Tensor:
    return -x + a @ (1 / (1 + torch.exp(-_column(tau) * (x - _column(mu)))))


def dense_fitzhugh_nagumo(
    matrix: torch.Tensor,
    x: torch.Tensor,
    a: Any = 0.7,
    b: Any = 0.8,
    epsilon: Any = 0.08,
    current: Any = 0.5,
    k: Any = 0.1,
) -> torch.Tensor:
    v, w = x[:, 0], x[:, 1]
    flow = _flat(k) * (matrix @ v - matrix.sum(1) * v)
    slow = _flat(epsilon) * (v + _flat(a) - _flat(b) * w)
    return torch.stack([v - v**3 / 3 - w + _flat(current) + flow, slow], dim=1)


def dense_michaelis_menten(a: torch.Tensor, x: torch.Tensor, h: Any = 1.0) -> torch.Tensor:
    raised = x ** _column(h)
    return -x + a @ (raised / (1 + raised))


def dense_swing(a: torch.Tensor, x: torch.Tensor, power: Any = 0.0, damping: Any = 0.1, k: Any = 1.0) -> torch.Tensor:
    theta, omega = x[:, 0], x[:, 1]
    pull = (a * torch.sin(theta[None, :] - theta[:, None])).sum(1)
    return torch.stack([omega, _flat(power) - _flat(damping) * omega + _flat(k) * pull], dim=1)


DENSE: dict[type[Law], Callable[..., torch.Tensor]] = {
    Heat: dense_heat,
    Mutualistic: dense_mutualistic,
    Gene: dense_gene,
    SIS: dense_sis,
    SIR: dense_sir,
    MetapopulationSIR: dense_metapopulation_sir,
    Kuramoto: dense_kuramoto,
    Consensus: dense_consensus,
    LotkaVolterra: dense_lotka_volterra,
    WilsonCowan: dense_wilson_cowan,
    FitzHughNagumo: dense_fitzhugh_nagumo,
    MichaelisMenten: dense_michaelis_menten,
    Swing: dense_swing,
}
SETTINGS: list[tuple[type[Law], dict[str, float]]] = [
    (Heat, {}),
    (Heat, {"k": 0.3}),
    (Mutualistic, {}),
    (Mutualistic, {"b": 0.2, "k": 4.0, "c": 1.5, "d": 3.0, "e": 0.1, "h": 0.9}),
    (Gene, {}),
    (Gene, {"b": 2.0, "f": 2.0, "h": 1.0}),
    (Gene, {"b": 0.5, "f": 1.5, "h": 2.5}),
    (SIS, {}),
    (SIS, {"beta": 0.3, "delta": 1.7}),
    (SIR, {}),
    (SIR, {"beta": 0.3, "gamma": 1.7}),
    (MetapopulationSIR, {}),
    (MetapopulationSIR, {"beta": 0.3, "gamma": 1.7, "k": 2.0}),
    (Kuramoto, {}),
    (Kuramoto, {"omega": 1.2, "k": 0.3}),
    (Consensus, {}),
    (Consensus, {"k": 2.0, "s": 0.3}),
    (LotkaVolterra, {}),
    (LotkaVolterra, {"alpha": 0.5, "theta": 0.8, "c": 0.3}),
    (WilsonCowan, {}),
    (WilsonCowan, {"tau": 2.0, "mu": 0.5}),
    (FitzHughNagumo, {}),
    (FitzHughNagumo, {"a": 0.2, "b": 0.5, "epsilon": 0.3, "current": 0.1, "k": 2.0}),
    (MichaelisMenten, {}),
    (MichaelisMenten, {"h": 2.5}),
    (Swing, {}),
    (Swing, {"power": 0.4, "damping": 1.3, "k": 2.5}),
]
