"""A training iteration in one call of the compiled kernel, in memory that is kept from one iteration to the next.

For small networks the arithmetic of an iteration takes about a millisecond, and as many operations of torch as the general
path needs would take half of that again.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import torch

from .buffers import LIMIT
from .euler import Plan, Schedule
from .euler_compiled import BLOCK, KNOWN, MANY, PENALTIES, columns_of, function, threads_for
from .euler_torch import Comparison

# fmt: off
SIZES = (
    "n", "features", "inner", "inner_columns", "width", "columns", "outputs", "steps", "extra", "times", "kind",
    "differentiate", "threads",
)
MATRICES = (
    "phi_ptr", "phi_idx", "phit_ptr", "phit_idx", "m_ptr", "m_idx", "mt_ptr", "mt_idx", "n_ptr", "n_idx", "nt_ptr", "nt_idx",
    "phi", "phit", "m", "mt", "nn", "nt",
)
GIVEN = ("x0", "target", "weights")
WEIGHTS = ("we", "be", "w0", "b0", "w", "b", "r", "rb")
WORK = (
    "hidden", "here", "there", "slopes", "known", "u", "v", "grad", "masked", "scratch", "error_scratch", "padded", "shares",
    "sums",
)
# fmt: on


class _Arguments(ctypes.Structure):
    """As in euler_iteration.h."""

    _fields_ = [
        *((name, ctypes.c_int) for name in SIZES),
        *((name, ctypes.c_void_p) for name in (*MATRICES, *GIVEN, *WEIGHTS, "seen", "dt")),
        *((f"g_{name}", ctypes.c_void_p) for name in WEIGHTS),
        *((name, ctypes.c_void_p) for name in WORK),
    ]


def fits(plan: Plan, comparison: Comparison, nodes: int, width: int, dtype: torch.dtype) -> bool:
    """Whether an iteration can be one call: compiled, all states kept, and little memory held between iterations."""
    kept = len(plan.steps) * nodes * columns_of(width, dtype) * dtype.itemsize
    return plan.segment >= len(plan.steps) and comparison.name in PENALTIES and kept <= LIMIT


class Iteration:
    """The loss of one trajectory and its gradients, for weights that may change from call to call but not in shape.

    Attributes:
        gradients: of the encoder's weights, if there are any, and of W, b, R and the decoder's bias; the next call overwrites them.
    """

    def __init__(
        self, plan: Plan, schedule: Schedule, comparison: Comparison, x0: torch.Tensor, weights: Sequence[torch.Tensor]
    ) -> None:
        encoder, (w, _, readout, _) = weights[:-4], weights[-4:]
        n, features = x0.shape
        dtype, count, width, d = x0.dtype, len(plan.steps), len(w), len(readout)
        inner = len(encoder[0]) if encoder else 0
        columns, inner_columns = columns_of(width, dtype), columns_of(inner, dtype)
        most, extra, threads = max(columns, inner_columns), int(plan.with_slopes), threads_for(n * columns)
        kept = count + extra if plan.differentiate else 0
        known = -(-count // KNOWN) if plan.differentiate else 0
        sums = (width + 1 + d) * columns
        sizes = {
            "n": n, "features": features, "inner": inner, "inner_columns": inner_columns, "width": width, "columns": columns,
            "outputs": d, "steps": count, "extra": extra, "times": len(comparison.states), "kind": PENALTIES[comparison.name],
            "differentiate": int(plan.differentiate), "threads": threads,
        }  # fmt: skip
        work = {
            "hidden": n * inner_columns, "here": n * columns, "there": n * columns, "slopes": kept * n * columns,
            "known": known * n * columns, "u": (count + 1) * n * d, "v": (count + 1) * n * d * extra, "grad": n * columns,
            "masked": 2 * n * columns, "scratch": threads * 2 * BLOCK * most,
            "error_scratch": threads * len(comparison.states) * MANY,
            "padded": (2 * inner + 2 * width + d + features + 8) * most, "shares": threads * sums,
        }  # fmt: skip
        self._tensors = {name: x0.new_empty(size) for name, size in work.items()}
        self._tensors["sums"] = x0.new_empty(sums + threads, dtype=torch.float64)
        self._tensors |= {"x0": x0.contiguous(), "target": comparison.states.contiguous(), "dt": plan.steps}
        self._tensors["weights"] = comparison.weights.contiguous()
        if comparison.mask is not None:
            self._tensors["seen"] = comparison.mask.contiguous()
        pairs = (("phi", "phi", plan.phi), ("m", "m", schedule.at_states), ("n", "nn", schedule.at_slopes))
        for name, value, matrix in pairs:
            if matrix is not None:
                for turned, some in (("", matrix), ("t", matrix.T)):
                    at = (f"{name}{turned}_ptr", f"{name}{turned}_idx", f"{name}t" if turned else value)
                    self._tensors |= dict(zip(at, some.arrays(dtype), strict=True))
        self._flat = x0.new_zeros(sum(weight.numel() for weight in weights))
        parts = self._flat.split([weight.numel() for weight in weights])
        self.gradients = [part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]
        self._names = WEIGHTS[-len(weights) :]
        self._tensors |= {f"g_{name}": part for name, part in zip(self._names, self.gradients, strict=True)}
        self._hidden = self._tensors["hidden"]
        self._arguments = _Arguments(**sizes, **{name: tensor.data_ptr() for name, tensor in self._tensors.items()})
        self._address = ctypes.byref(self._arguments)
        self._encode, self._run = function("encode", dtype), function("iteration", dtype)
        self._round = ctypes.c_float if dtype == torch.float32 else ctypes.c_double

    def __call__(self, weights: Sequence[torch.Tensor]) -> float:
        """The loss; NaN if a state is not finite, and then ``gradients`` mean nothing."""
        for name, weight in zip(self._names, weights, strict=True):
            setattr(self._arguments, name, weight.data_ptr())
        if len(weights) > 4:
            self._encode(self._address)
            self._hidden.tanh_()
        value: float = self._round(self._run(self._address)).value
        return value

    def own_gradients(self) -> list[torch.Tensor]:
        """A copy of the gradients that stays."""
        parts = self._flat.clone().split([gradient.numel() for gradient in self.gradients])
        return [part.view(gradient.shape) for part, gradient in zip(parts, self.gradients, strict=True)]


def failed(value: float) -> bool:
    """Whether a call found a state that is not finite."""
    return math.isnan(value)
