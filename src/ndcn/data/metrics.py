"""Errors of a predicted trajectory against a true one. Entries that were not observed never count."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from .dataset import Dataset, one_run
from .trajectory import Trajectory

Run = Trajectory | Dataset  # a dataset with one run


def l1(prediction: Run, truth: Run) -> float:
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


def normalized_l1(prediction: Run, truth: Run) -> float:
    """mean |prediction - truth| / mean |truth|: the paper's error; 0.04 is 4 %.

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> guess = ndcn.Trajectory(times=times, states=torch.tensor([[[2.0], [2.0]]]), graph=pair)
        >>> ndcn.metrics.normalized_l1(guess, truth)
        0.5
    """
    error, size = l1(prediction, truth), one_run(truth, "an error").states.double().abs().nanmean().item()
    if size == 0:
        raise ValueError("the true states are all 0, so an error cannot be given relative to them; use metrics.l1")
    return error / size


def rmse(prediction: Run, truth: Run) -> float:
    """sqrt(mean (prediction - truth)^2).

    Example:
        >>> import ndcn, torch
        >>> pair, times = ndcn.Graph.from_edges([(0, 1)]), [0.0]
        >>> truth = ndcn.Trajectory(times=times, states=torch.tensor([[[1.0], [3.0]]]), graph=pair)
        >>> ndcn.metrics.rmse(truth, truth)
        0.0
    """
    return _errors(prediction, truth).square().nanmean().sqrt().item()


def r2(prediction: Run, truth: Run) -> float:
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
    true = one_run(truth, "an error").states.detach().cpu().double()
    spread = (true - true.nanmean(dim=(0, 1), keepdim=True)).square().nansum().item()
    if spread == 0:
        raise ValueError("the true states do not vary, so R^2 is not defined; use metrics.l1 or metrics.rmse")
    return 1 - residual / spread


def per_time(prediction: Run, truth: Run) -> torch.Tensor:
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


def per_node(prediction: Run, truth: Run) -> torch.Tensor:
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


def mase(prediction: Run, truth: Run, past: Run, *, period: int = 1) -> float:
    """mean |prediction - truth| / mean |x(t) - x(t - period)| over the past, the mean over nodes and features.

    Below 1 it is more accurate than persistence was one period ahead in the past. Nodes that never changed there have no
    scale and do not count.

    Args:
        prediction, truth: at the same times.
        past: snapshots of the same nodes in order of time, from which the scale is taken.
        period: snapshots in a season; 1 compares with persistence.

    Raises:
        ValueError: the past is too short, has other nodes or features, or nothing in it ever changed.

    Example:
        >>> import ndcn, torch
        >>> one = ndcn.networks.grid(1)
        >>> past = ndcn.Trajectory(times=[0.0, 1.0, 2.0], states=torch.tensor([[1.0], [3.0], [5.0]]), graph=one)
        >>> truth = ndcn.Trajectory(times=[3.0], states=torch.tensor([[7.0]]), graph=one)
        >>> guess = ndcn.Trajectory(times=[3.0], states=torch.tensor([[6.0]]), graph=one)
        >>> ndcn.metrics.mase(guess, truth, past)
        0.5
    """
    past = one_run(past, "an error")
    error = _errors(prediction, truth).abs().nanmean(dim=0)
    if past.states.shape[1:] != error.shape or isinstance(period, bool) or not 1 <= period < len(past):
        raise ValueError(
            f"the past must have more than period = {period} snapshots of the same nodes and features {tuple(error.shape)}; "
            f"it has {len(past)} of {tuple(past.states.shape[1:])}"
        )
    known = past.states.detach().cpu().double()
    scale = (known[period:] - known[:-period]).abs().nanmean(dim=0)
    useful = (scale > 0) & error.isfinite()
    if not useful.any():
        raise ValueError("nothing in the past ever changed, so there is no scale for the error; use metrics.l1")
    return (error[useful] / scale[useful]).mean().item()


def pinball(prediction: Run, truth: Run, quantile: float) -> float:
    """mean of q (x - x^) where x >= x^ and (1 - q) (x^ - x) elsewhere, for a forecast x^ of the q-quantile of x.

    It is least, on average, for the true quantile; at q = 0.5 it is half of ``l1``.

    Example:
        >>> import ndcn, torch
        >>> one = ndcn.networks.grid(1)
        >>> truth = ndcn.Trajectory(times=[0.0], states=torch.tensor([[3.0]]), graph=one)
        >>> guess = ndcn.Trajectory(times=[0.0], states=torch.tensor([[2.0]]), graph=one)
        >>> ndcn.metrics.pinball(guess, truth, 0.5)
        0.5
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must lie between 0 and 1, as 0.9; got {quantile!r}")
    above = -_errors(prediction, truth)
    return torch.maximum(quantile * above, (quantile - 1) * above).nanmean().item()


def crps(quantiles: Mapping[float, Run], truth: Run) -> float:
    """Continuous ranked probability score, 2 x the mean pinball loss over quantiles: the ``l1`` of a whole distribution.

    CRPS = 2 * integral of the pinball loss over q from 0 to 1. The mean over some quantiles approximates it, the better
    the more of them there are and the more evenly they lie. Of a single value at all quantiles it is ``l1``.

    Args:
        quantiles: forecasts by their quantile, as 0.05, 0.15, ..., 0.95.
        truth: what happened.

    Example:
        >>> import ndcn, torch
        >>> one = ndcn.networks.grid(1)
        >>> x = [ndcn.Trajectory(times=[0.0], states=torch.tensor([[float(k)]]), graph=one) for k in range(3)]
        >>> ndcn.metrics.crps({0.25: x[0], 0.75: x[2]}, x[1])
        0.5
    """
    if not quantiles:
        raise ValueError("crps needs at least one quantile, as {0.1: lower, 0.5: median, 0.9: upper}")
    return 2 * sum(pinball(guess, truth, q) for q, guess in quantiles.items()) / len(quantiles)


def coverage(lower: Run, upper: Run, truth: Run) -> float:
    """Share of the observed values with lower <= x <= upper; of 90 % intervals it should be 0.9.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> low, high, truth = (
        ...     ndcn.Trajectory(times=[0.0], states=torch.tensor([x]), graph=pair) for x in ([0.0, 0], [1.0, 1], [0.5, 2])
        ... )
        >>> ndcn.metrics.coverage(low, high, truth)
        0.5
    """
    below, above = _errors(lower, truth), _errors(upper, truth)
    seen = below.isfinite() & above.isfinite()
    return ((below <= 0) & (above >= 0))[seen].double().mean().item()


def _errors(prediction: Run, truth: Run) -> torch.Tensor:
    """prediction - truth in float64, NaN where the truth was not observed."""
    prediction, truth = one_run(prediction, "an error"), one_run(truth, "an error")
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
