"""Errors of a predicted trajectory against a true one. Entries that were not observed never count."""

from __future__ import annotations

import torch

from .trajectory import Trajectory


def l1(prediction: Trajectory, truth: Trajectory) -> float:
    """mean |prediction - truth| over all observed times, nodes and features.

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[2.0], [2.0]]]), graph=pair)
        >>> ndcn.metrics.l1(guess, truth)
        1.0
    """
    return _errors(prediction, truth).abs().nanmean().item()


def normalized_l1(prediction: Trajectory, truth: Trajectory) -> float:
    """mean |prediction - truth| / mean |truth|: the paper's error; 0.04 is 4 %.

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[2.0], [2.0]]]), graph=pair)
        >>> ndcn.metrics.normalized_l1(guess, truth)
        0.5
    """
    error, size = l1(prediction, truth), truth.states.double().abs().nanmean().item()
    if size == 0:
        raise ValueError("the true states are all 0, so an error cannot be given relative to them; use metrics.l1")
    return error / size


def rmse(prediction: Trajectory, truth: Trajectory) -> float:
    """sqrt(mean (prediction - truth)^2).

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> ndcn.metrics.rmse(truth, truth)
        0.0
    """
    return _errors(prediction, truth).square().nanmean().sqrt().item()


def r2(prediction: Trajectory, truth: Trajectory) -> float:
    """1 - sum (prediction - truth)^2 / sum (truth - mean)^2, with the mean of each feature; 1 is perfect.

    Raises:
        ValueError: the truth does not vary, or shapes or times do not agree.

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [2.0]]]), graph=pair)
        >>> ndcn.metrics.r2(guess, truth)
        0.5
    """
    residual = _errors(prediction, truth).square().nansum().item()
    true = truth.states.detach().cpu().double()
    spread = (true - true.nanmean(dim=(0, 1), keepdim=True)).square().nansum().item()
    if spread == 0:
        raise ValueError("the true states do not vary, so R^2 is not defined; use metrics.l1 or metrics.rmse")
    return 1 - residual / spread


def per_time(prediction: Trajectory, truth: Trajectory) -> torch.Tensor:
    """mean |prediction - truth| at each time, shape (T,), float64; NaN where nothing was observed.

    Example:
        >>> import ndcn, torch
        >>> one, times = ndcn.networks.grid(1), [0.0, 1.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0]], [[2.0]]]), graph=one)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0]], [[5.0]]]), graph=one)
        >>> ndcn.metrics.per_time(guess, truth)
        tensor([0., 3.], dtype=torch.float64)
    """
    return _errors(prediction, truth).abs().nanmean(dim=(1, 2))


def per_node(prediction: Trajectory, truth: Trajectory) -> torch.Tensor:
    """mean |prediction - truth| at each node, shape (n,), float64; NaN where nothing was observed.

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[2.0], [3.0]]]), graph=pair)
        >>> ndcn.metrics.per_node(guess, truth)
        tensor([1., 0.], dtype=torch.float64)
    """
    return _errors(prediction, truth).abs().nanmean(dim=(0, 2))


def _errors(prediction: Trajectory, truth: Trajectory) -> torch.Tensor:
    """prediction - truth in float64, NaN where the truth was not observed."""
    if prediction.states.shape != truth.states.shape:
        raise ValueError(
            f"the prediction has shape {tuple(prediction.states.shape)} (time, node, feature), the truth "
            f"{tuple(truth.states.shape)}; predict at the times of the truth"
        )
    apart = (prediction.times - truth.times).abs()
    span = (truth.times.max() - truth.times.min()).item()
    if apart.max() > (1e-6 * span if span > 0 else 1e-12 * truth.times[0].item()):
        where = int(apart.argmax())
        raise ValueError(
            f"prediction and truth are at different times, e.g. {prediction.times[where].item():.15g} and "
            f"{truth.times[where].item():.15g}; predict at the times of the truth"
        )
    if truth.mask is not None and not truth.mask.any():
        raise ValueError("nothing was observed in the truth, so there is no error to speak of")
    return prediction.states.detach().cpu().double() - truth.states.detach().cpu().double()
