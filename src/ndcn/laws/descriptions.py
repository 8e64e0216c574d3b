"""Known laws as names and numbers, for files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from .._support.registries import LAWS as NAMED
from .law import Law


def described(law: Law) -> dict[str, Any]:
    """The name and parameters of a law that comes with ndcn, in plain texts and numbers; ``law_from`` reads them.

    Raises:
        ValueError: it is a law of one's own, or one of its parameters is unknown.

    Example:
        >>> import ndcn
        >>> described(ndcn.laws.Heat(0.5))
        {'name': 'heat', 'parameters': {'k': 0.5}}
    """
    name = next((name for name, kind in NAMED.items() if type(law) is kind), None)
    own = name is None or any(not law._keeps(function, type(law)) for function in ("node", "edge"))
    if own or law.unknown:
        what = (
            f"{type(law).__name__} has unknown parameters"
            if law.unknown
            else f"{type(law).__name__} is a law of your own"
        )
        raise ValueError(
            f"{what}, which a file without code cannot hold: those with numbers of {', '.join(NAMED)} can be kept. Keep the "
            "correction alone, reg.law_.correction.description(), as JSON, and add your law to it when you read it"
        )
    return {"name": name, "parameters": {key: getattr(law, key).tolist() for key in law.parameter_names}}


def law_from(about: Any) -> Law:
    """The law that ``described`` described.

    Raises:
        ValueError: it describes none.

    Example:
        >>> law_from({"name": "heat", "parameters": {"k": 0.5}})
        Heat(k=0.5)
    """
    if not isinstance(about, Mapping) or set(about) != {"name", "parameters"}:
        raise ValueError(f"a description of a known law has name, parameters; got {str(about)[:80]}")
    name = about["name"]
    values = about["parameters"]
    if not isinstance(name, str) or name not in NAMED:
        raise ValueError(f"unknown law {str(name)[:40]!r}; known are {', '.join(NAMED)}")
    names = NAMED[name]().parameter_names
    if not isinstance(values, Mapping) or set(values) != set(names):
        raise ValueError(f"{name} has the parameters {', '.join(names)}; got {str(values)[:80]}")
    return NAMED[name](**{key: _numbers(f"{name}: {key}", value) for key, value in values.items()})


def _numbers(what: str, value: Any) -> torch.Tensor:
    try:
        numbers = torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        numbers = torch.tensor(math.nan)
    if isinstance(value, (bool, str)) or not numbers.isfinite().all():
        raise ValueError(f"{what} must be a number or a list of numbers, got {str(value)[:40]}")
    return numbers
