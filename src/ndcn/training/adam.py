"""Adam, without the import of torch's compiler that torch's own makes on its first use, and without most of its layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    """What a method is before torch wraps it for its compiler."""
    plain: Callable[..., Any] = getattr(method, "__wrapped__", method)
    return plain


def _counted(states: list[dict[str, Any]], all_of_them: int) -> list[torch.Tensor]:
    """The numbers of steps of these weights, one more than before.

    Where all weights of a group are always learned together, they come to share one number: counting eight of them takes
    longer than the arithmetic of a step.
    """
    first = states[0]["step"]
    if len(states) == all_of_them and all(state["step"] is first for state in states):
        first.add_(1)
        return [first] * len(states)
    steps = [state["step"].clone() for state in states]  # some may be shared with weights that make no step now
    torch._foreach_add_(steps, 1)
    if len(states) == all_of_them and all(bool(step == steps[0]) for step in steps):
        steps = [steps[0]] * len(states)
    for state, step in zip(states, steps, strict=True):
        state["step"] = step
    return steps


class Adam(torch.optim.Adam):
    """torch.optim.Adam to the last bit. Its methods import ``torch._dynamo`` to keep the compiler out; nothing is compiled here.

    That import takes 1.5 s of the first fit in a process, more than half a fit to Cora. A fused step calls torch's kernel directly:
    for the 901 weights of NDCN the layers above it take four times as long as the kernel.

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
    _step = torch.no_grad()(_plain(torch.optim.Adam.step))

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step, as torch makes it."""
        groups = [self._ready(group) for group in self.param_groups]
        if closure is not None or None in groups:  # also the first step, which makes the averages
            return self._step(closure)
        for group, params in zip(self.param_groups, groups, strict=True):
            if not params:
                continue
            states = [self.state[p] for p in params]
            steps = _counted(states, len(group["params"]))
            torch._fused_adam_(
                params,
                [p.grad for p in params],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                steps,
                amsgrad=False,
                lr=group["lr"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=False,
            )
        return None

    step.hooked = True  # type: ignore[attr-defined]  # else torch wraps it for its profiler

    def _ready(self, group: dict[str, Any]) -> list[Any] | None:
        """The parameters with gradients, if the kernel takes them all at once; None if torch's own step has to look at them."""
        unusual = any(group[name] for name in ("amsgrad", "maximize", "differentiable", "capturable"))
        if not group["fused"] or unusual or not isinstance(group["lr"], float):
            return None
        params = [p for p in group["params"] if p.grad is not None]
        kinds = {(p.dtype, p.device.type, p.grad.is_sparse) for p in params}
        if len(kinds) > 1 or any(device != "cpu" or sparse for _, device, sparse in kinds):
            return None
        return params if all(self.state[p] for p in params) else None
