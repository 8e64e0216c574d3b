"""The series that is forecast in place of the data, and the way back: increments, smoothing, square root, logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class View:
    """y = f(S(D(x))): D increments or nothing, S the mean over the last w steps or nothing, f a function.

    Args:
        function: "raw" y = x, "sqrt" y = sqrt(x) or "log" y = log(1 + x), the last two of max(x, 0).
        increments: D takes max(x(t) - x(t - 1), 0), for totals that never fall.
        window: w; 1 smooths nothing.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.transforms import View
        >>> view = View("sqrt", increments=True)
        >>> y = view.series(np.array([[0.0], [4.0], [13.0]]))
        >>> y.ravel()
        array([0., 2., 3.])
        >>> view.levels(np.array([[[1.0], [2.0]]]), np.array([[13.0]])).ravel()  # + 1, + 4
        array([14., 18.])
    """

    function: str = "raw"
    increments: bool = False
    window: int = 1

    @property
    def name(self) -> str:
        """As it stands in tables: "", "sqrt", "smooth log", ..."""
        words = ["smooth"] * (self.window > 1) + [self.function] * (self.function != "raw")
        return " ".join(words)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f(x)."""
        if self.function == "raw":
            return x
        return np.sqrt(np.maximum(x, 0.0)) if self.function == "sqrt" else np.log1p(np.maximum(x, 0.0))

    def backward(self, y: np.ndarray) -> np.ndarray:
        """The x >= 0 with f(x) = y (any x for "raw"); y below f(0) gives 0, and a logarithm above 40 counts as 40."""
        if self.function == "raw":
            return y
        return np.maximum(y, 0.0) ** 2 if self.function == "sqrt" else np.expm1(np.clip(y, 0.0, 40.0))

    def flow(self, values: np.ndarray) -> np.ndarray:
        """D(x), shape (T, n)."""
        return np.maximum(np.diff(values, axis=0, prepend=values[:1]), 0.0) if self.increments else values

    def series(self, values: np.ndarray) -> np.ndarray:
        """y, shape (T, n); y(t) uses x up to t only."""
        return self.forward(trailing_mean(self.flow(values), self.window))

    def levels(self, path: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Forecasts of x from forecasts of y at every step.

        Args:
            path: shape (O, H, n), y at steps 1 .. H after each of O origins.
            last: shape (O, n), x at the origins.
        """
        flow = self.backward(path)
        return last[:, None] + np.cumsum(np.maximum(flow, 0.0), axis=1) if self.increments else flow


def trailing_mean(x: np.ndarray, window: int) -> np.ndarray:
    """(x(t - w + 1) + ... + x(t)) / w along the first axis; over fewer steps at the start.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.transforms import trailing_mean
        >>> trailing_mean(np.array([[2.0], [4.0], [9.0]]), 2).ravel()
        array([2. , 3. , 6.5])
    """
    if window == 1:
        return x
    total = np.cumsum(np.concatenate([np.zeros_like(x[:1]), x]), axis=0)
    stop = np.arange(1, len(x) + 1)
    begin = np.maximum(stop - window, 0)
    return np.asarray((total[stop] - total[begin]) / (stop - begin).reshape(-1, *[1] * (x.ndim - 1)))


def delayed(x: np.ndarray, lag: int) -> np.ndarray:
    """x(t - lag) along the first axis, x(0) before that."""
    return x if lag == 0 else np.concatenate([np.repeat(x[:1], min(lag, len(x)), axis=0), x[:-lag]])[: len(x)]
