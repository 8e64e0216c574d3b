"""The posterior of parameters to first order: a normal distribution around the fit."""

from __future__ import annotations

import torch

from .shooting_fit import ShotFit

# By which bands are drawn. A standard deviation of 24 is good to 1 / sqrt(2 * 23) = 15 %; each costs an integration of the law in ``predict``.
POSTERIOR_SAMPLES = 24


def pseudo_inverse(normal: torch.Tensor) -> torch.Tensor:
    """The covariance that belongs to normal equations of any scaling; directions the data do not hold are left out.

    Example:
        >>> pseudo_inverse(torch.diag(torch.tensor([4.0, 1e-20], dtype=torch.float64))).diagonal()
        tensor([2.5000e-01, 1.0000e+20], dtype=torch.float64)
    """
    size = normal.diagonal().clamp(min=1e-300).sqrt()
    both = torch.outer(size, size)
    return torch.linalg.pinv(normal / both, rtol=1e-13, hermitian=True) / both


def normal_samples(mean: torch.Tensor, covariance: torch.Tensor, seed: int) -> torch.Tensor:
    """Parameters from the normal distribution with this mean (P,) and covariance, (POSTERIOR_SAMPLES, P)."""
    values, vectors = torch.linalg.eigh(covariance)
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(POSTERIOR_SAMPLES, len(mean), generator=generator, dtype=torch.float64)
    return mean + normal @ (vectors * values.clamp(min=0).sqrt()).T


def standard_errors(covariance: torch.Tensor) -> torch.Tensor:
    """Roots of the diagonal, (P,)."""
    return covariance.diagonal().clamp(min=0).sqrt()


def residual_variance(fit: ShotFit) -> float:
    """The variance of the weighted residuals of shots, at least that which rounding of their starts and ends makes.

    Shots that come nearer than rounding do so by chance, or because the fit was good enough and ended there.
    """
    return (fit.misfit / min(1.0, max(fit.excess, 1e-12))) ** 2
