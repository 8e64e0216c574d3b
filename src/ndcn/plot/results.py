"""A table of results as a picture, as it stands in a paper: three rules, numbers in columns, the best in bold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from .notebook import Picture
from .style import INK, inches

ROW = 0.2  # inches
LETTER = 0.068  # inches, of text of size 8
LARGEST, SMALLEST = 8.0, 5.0  # sizes of text
BEST = {"min": np.nanmin, "max": np.nanmax}


def table(
    results: Any, *, digits: int = 3, best: str | None = None, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Rows and columns of results between rules, the best number of each column in bold.

    Args:
        results: a pandas DataFrame, something that has ``to_pandas()``, or a dictionary of rows, each a dictionary of
            columns. Numbers are rounded, text stays as it is, what is missing is a dash.
        digits: significant ones of a number.
        best: "min" or "max", which number of a column is in bold; by default none is.
        title: above the table.
        ax: where to draw; it is filled, at text size 8 or, if there is little room, down to 5. Rows that do not fit even then are
            left out at the end, and the last line says how many.

    Raises:
        ValueError: there is nothing to draw, or ``best`` is another word.
        TypeError: it is no table.

    Example:
        >>> import ndcn
        >>> errors = {"NDCN": {"heat": 0.0392, "gene": 0.041}, "no graph": {"heat": 0.31, "gene": None}}
        >>> ax = ndcn.plot.table(errors, best="min")
        >>> [text.get_text() for text in ax.texts]
        ['heat', 'gene', 'NDCN', '0.0392', '0.041', 'no graph', '0.31', '–']
        >>> [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
        ['0.0392', '0.041']
    """
    if best not in (None, "min", "max"):
        raise ValueError(f'best must be "min", "max" or None, got {best!r}')
    frame = _frame(results)
    if frame.empty:
        raise ValueError(f"there is nothing to draw: the table has {frame.shape[0]} rows and {frame.shape[1]} columns")
    heads = [_head(head) for head in frame.columns]
    names = [_head(name) for name in frame.index]
    cells = [[_cell(value, digits) for value in row] for row in frame.itertuples(index=False)]
    bold = _bold(frame, best)
    widths = [max(map(len, names)), *(max(len(head), *(len(row[k]) for row in cells)) for k, head in enumerate(heads))]
    ax = _axes(ax, widths, len(names), title)
    size, most = _room(ax, widths, len(names))
    left_out = len(names) - most
    names, cells = names[:most], cells[:most]
    right = np.cumsum([width + 2 for width in widths]) / (sum(widths) + 2 * len(widths))
    lines = len(names) + 1 + (left_out > 0)
    gap = 0.5
    style: dict[str, Any] = {"fontsize": size, "color": INK, "va": "center"}
    for k, head in enumerate(heads):
        ax.text(right[k + 1], gap, head, ha="right", **style)
    for row, (name, values) in enumerate(zip(names, cells, strict=True)):
        ax.text(0, row + 1 + gap, name, ha="left", **style)
        for k, value in enumerate(values):
            ax.text(right[k + 1], row + 1 + gap, value, ha="right", weight="bold" if bold[row, k] else 400, **style)
    if left_out:
        ax.text(0, lines - 1 + gap, f"and {left_out} more rows", ha="left", style="italic", **style)
    for y, thick in ((0, 1.0), (1, 0.6), (lines, 1.0)):
        ax.plot([0, 1], [y, y], color=INK, linewidth=thick, clip_on=False)
    ax.set(xlim=(0, 1), ylim=(lines, 0))
    ax.axis("off")
    if title is not None:
        ax.set_title(title, fontsize=9, color=INK, loc="left", pad=5)
    return ax


def _frame(results: Any) -> Any:
    if isinstance(results, dict):
        return pd.DataFrame.from_dict(results, orient="index")
    made = results.to_pandas() if callable(getattr(results, "to_pandas", None)) else results
    if not isinstance(made, pd.DataFrame):
        raise TypeError(
            f"expected a pandas DataFrame, something with to_pandas(), or a dictionary of rows, got {type(results).__name__}"
        )
    return made


def _head(name: Any) -> str:
    return ", ".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "–"
    if isinstance(value, (float, np.floating)):
        return f"{value:.{digits}g}".replace("-", "−")
    return str(value)


def _bold(frame: Any, best: str | None) -> np.ndarray:
    """Which cells are the best number of their column."""
    found = np.zeros(frame.shape, dtype=bool)
    if best is None:
        return found
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        if column.dtype.kind in "iuf" and column.notna().any():
            numbers = column.to_numpy(dtype=float)
            found[:, k] = numbers == BEST[best](numbers)
    return found


def _room(ax: Axes, widths: list[int], rows: int) -> tuple[float, int]:
    """The size of text with which the table fits into the axes, and how many rows are then shown."""
    wide, high = inches(ax)
    needed = LETTER * (sum(widths) + 2 * len(widths))
    size = float(np.clip(LARGEST * min(1.02 * high / (ROW * (rows + 1)), 1.02 * wide / needed), SMALLEST, LARGEST))
    lines = int(1.02 * high / (ROW * size / LARGEST) + 1e-6)  # with the heads
    return size, rows if lines > rows else max(1, lines - 2)


def _axes(ax: Axes | None, widths: list[int], rows: int, title: str | None) -> Axes:
    if ax is not None:
        return ax
    width = LETTER * (sum(widths) + 2 * len(widths)) + 0.1
    head = 0.3 if title else 0.06
    height = ROW * (rows + 1) + head + 0.06
    figure = Picture(figsize=(max(width, 1.5), height))
    return figure.add_axes((0.05 / width, 0.06 / height, 1 - 0.1 / width, 1 - (head + 0.06) / height))
