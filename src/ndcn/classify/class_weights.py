"""Weights of classes in the cross-entropy, for classes of unequal size: scikit-learn's ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .._support.checks import is_real
from .._support.wording import some

BALANCED = "balanced"
ClassWeight = str | Mapping[Any, float] | None


def check_class_weight(given: object) -> None:
    """Refuse what is neither None, "balanced" nor a mapping from classes to numbers > 0.

    Raises:
        TypeError: it is something else.
        ValueError: another word, or a weight that is no number > 0.
    """
    if given is None or given == BALANCED:
        return
    if isinstance(given, str):
        raise ValueError(f'class_weight must be None, "balanced" or a mapping, got {given!r}')
    if not isinstance(given, Mapping):
        raise TypeError(f'class_weight must be None, "balanced" or a mapping, got {type(given).__name__}')
    for name, weight in given.items():
        if not is_real(weight) or weight <= 0:
            raise ValueError(f"class_weight must give each class a number > 0, but class {name!r} has {weight!r}")


def class_weights(given: ClassWeight, classes: np.ndarray, codes: torch.Tensor) -> torch.Tensor | None:
    """The weight of each class, shape (c,), float64; None where all are alike.

    "balanced" is m / (c m_k) for m training nodes, m_k of them of class k. Classes that a mapping does not name have weight 1.

    Args:
        given: as the estimator has it.
        classes: the classes, by their places.
        codes: the places of the training nodes' classes.

    Raises:
        ValueError: a mapping names something that is no class.

    Example:
        >>> import numpy as np, torch
        >>> class_weights("balanced", np.array(["left", "right"]), torch.tensor([0, 0, 0, 1]))
        tensor([0.6667, 2.0000], dtype=torch.float64)
    """
    if given is None:
        return None
    if isinstance(given, str):
        counts = torch.bincount(codes.cpu(), minlength=len(classes)).double()
        return len(codes) / (len(classes) * counts.clamp_min(1))  # without a training node a weight has no effect
    names = classes.tolist()
    if strange := [name for name in given if name not in names]:
        raise ValueError(f"class_weight names {strange[0]!r}, which is no class; the classes are {some(names)}")
    return torch.tensor([float(given.get(name, 1.0)) for name in names], dtype=torch.float64)
