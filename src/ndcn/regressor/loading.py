"""``ndcn.load``: a trained model of any kind from its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.container import kind_of
from .._support.registries import MODEL_FILES
from . import files
from .estimator import DynamicsRegressor

if TYPE_CHECKING:
    from torch import nn


def load(path: str | Path, *, model: nn.Module | None = None) -> Any:
    """Read what ``DynamicsRegressor.save`` or ``NodeClassifier.save`` wrote; the file says which.

    Args:
        path: the file.
        model: for a model that was made from a ready module: a module of the same kind, which gets the weights; for a
            classifier with a field of your own: the field.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, not ours, of another version or kind, or needs ``model``.

    Example:
        >>> import ndcn, tempfile, torch
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(epochs=2).fit(data)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reg.save(f"{folder}/heat.ndcn")
        ...     again = ndcn.load(f"{folder}/heat.ndcn")
        >>> torch.equal(again.predict([0.7]).states, reg.predict([0.7]).states)
        True
    """
    path = Path(path)
    kind = kind_of(path)
    if kind not in MODEL_FILES:
        raise ValueError(f"{path} holds a {kind}, which this ndcn does not know; use a newer ndcn")
    return MODEL_FILES[kind](path, model)


def load_regressor(path: Path, model: nn.Module | None) -> DynamicsRegressor:
    """What ``DynamicsRegressor.save`` wrote; ``load`` calls it for files that say that they hold one."""
    return files.load(path, model, DynamicsRegressor)
