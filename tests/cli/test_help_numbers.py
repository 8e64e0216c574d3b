"""Numbers in the help of commands and in docstrings are those of the recipes."""

from __future__ import annotations

import ndcn
from ndcn import forecast, training
from ndcn._support.horizon import LONGEST
from ndcn._support.registries import MODELS
from ndcn.cli import fit, options
from ndcn.regressor import Kind

TRAINED = {name: kind for name, kind in ((name, MODELS[name]) for name in MODELS) if "epochs" in kind.uses}
TEMPORAL = {name: kind for name, kind in TRAINED.items() if kind.can.history}
OTHERS = {name: kind for name, kind in TRAINED.items() if name not in TEMPORAL and name != "residual_gnn"}


def common(kinds: dict[str, Kind], preset: str, choice: str) -> str:
    """What all of these kinds have in common."""
    (value,) = {getattr(kind.recipes[preset], choice) for kind in kinds.values()}
    return f"{value:g}"


def test_epochs() -> None:
    assert common(TRAINED, "default", "epochs") == common(TRAINED, "paper", "epochs")
    assert options.EPOCHS.endswith(f"Default: {common(TRAINED, 'default', 'epochs')}.")


def test_learning_rate() -> None:
    rates = f"Default: {common(OTHERS, 'default', 'learning_rate')}; of residual_gnn "
    rates += f"{training.RESIDUAL_GNN['default'].learning_rate:g}, of temporal GNNs {common(TEMPORAL, 'default', 'learning_rate')}; "
    assert fit.LEARNING_RATE.endswith(f"{rates}paper {common(TRAINED, 'paper', 'learning_rate')}.")


def test_weight_decay() -> None:
    decay = f"{common(TRAINED, 'default', 'weight_decay')}; paper {common(TRAINED, 'paper', 'weight_decay')}"
    assert fit.WEIGHT_DECAY.endswith(f"Default: {decay}.")


def test_width() -> None:
    (usual,) = {kind.width for name, kind in TRAINED.items() if name not in TEMPORAL}
    (temporal,) = {kind.width for kind in TEMPORAL.values()}
    assert fit.HIDDEN.endswith(f"Default: {usual}; of temporal GNNs {temporal}.")
    assert f"by default {usual}, of temporal GNNs {temporal}." in (ndcn.DynamicsRegressor.__doc__ or "")


def test_horizon() -> None:
    for thing in (forecast.auto, forecast.Auto, ndcn.backtest):
        assert f"by default {LONGEST}, or a quarter of the snapshots" in (thing.__doc__ or "")
