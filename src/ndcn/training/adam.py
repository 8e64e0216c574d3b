"""Adam, without the import of torch's compiler that torch's own makes on its first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    """What a method is before torch wraps it for its compiler."""
    plain: Callable[..., Any] = getattr(method, "__wrapped__", method)
    return plain


class Adam(torch.optim.Adam):
    """torch.optim.Adam to the last bit. Its methods import ``torch._dynamo`` to keep the compiler out; nothing is compiled here.

    That import takes 1.5 s of the first fit in a process, more than half a fit to Cora.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(1))
        >>> optimizer = Adam([weight], lr=0.1)
        >>> weight.square().sum().backward()
        >>> _ = optimizer.step()
        >>> round(weight.item(), 4)
        0.9
    """

    add_param_group = _plain(torch.optim.Optimizer.add_param_group)
    zero_grad = _plain(torch.optim.Optimizer.zero_grad)
    state_dict = _plain(torch.optim.Optimizer.state_dict)
    load_state_dict = _plain(torch.optim.Optimizer.load_state_dict)
    step = torch.no_grad()(_plain(torch.optim.Adam.step))
