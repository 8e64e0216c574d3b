"""Figures that show themselves in notebooks, also where nobody has imported pyplot."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DPI = 110


class Picture(Figure):
    """A figure that a notebook shows, whether a cell ends with it or with its axes.

    Example:
        >>> ax = Picture().add_subplot()
        >>> ax._repr_png_()[:4]
        b'\\x89PNG'
    """

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=DPI, bbox_inches="tight")
        return drawn.getvalue()

    def add_axes(self, *where: Any, **how: Any) -> Axes:
        """As of any figure; a notebook shows these axes as the whole picture."""
        return self._shown(super().add_axes(*where, **how))

    def add_subplot(self, *where: Any, **how: Any) -> Axes:
        """As of any figure; a notebook shows these axes as the whole picture."""
        return self._shown(super().add_subplot(*where, **how))

    def _shown(self, ax: Axes) -> Axes:
        vars(ax)["_repr_png_"] = self._repr_png_
        return ax


class AxesArray(np.ndarray):
    """Axes of one figure, as an array; a notebook shows the picture instead of their names.

    Example:
        >>> axes = axes_array(Picture().subplots(2, 3))
        >>> axes, axes._repr_png_()[:4]
        (<2 x 3 axes of one figure>, b'\\x89PNG')
    """

    @property
    def figure(self) -> Figure:
        """The figure that they are in."""
        figure = self.flat[0].get_figure(root=True)
        assert isinstance(figure, Figure)
        return figure

    def _repr_png_(self) -> bytes | None:
        return self.figure._repr_png_() if isinstance(self.figure, Picture) else None

    def __repr__(self) -> str:
        return f"<{' x '.join(map(str, self.shape))} axes of one figure>"


def axes_array(axes: np.ndarray) -> AxesArray:
    """The same axes, as an array that shows its picture."""
    return axes.view(AxesArray)
