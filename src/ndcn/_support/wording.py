"""Words of messages: some of a list, a name that is not too long, a number with its noun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Urgent(str):
    """A note that a reader has to see at once, whatever is summed up: data were left out, or a value may be wrong."""

    __slots__ = ()


class Listed(str):
    """A note that sums up what `ndcn inspect` lists one by one; a command that has counted them leaves it out."""

    __slots__ = ()


def some(items: Sequence[Any], count: int = 5) -> str:
    """The first few of a list, for messages, and how many more there are."""
    shown = ", ".join(short(item) for item in items[:count])
    return shown if len(items) <= count else f"{shown} and {len(items) - count} more"


def digits(x: float, count: int = 4) -> str:
    """A number with so many significant digits; large ones are written out, for nobody reads 1.1e+03 as a count.

    Example:
        >>> digits(12345.6), digits(0.00012345, 3)
        ('12350', '0.000123')
    """
    return f"{float(f'{x:.{count}g}'):.15g}"


def short(item: Any, width: int = 60) -> str:
    """A name as messages show it: in quotes, control characters escaped, not too long."""
    text = repr(item)
    return text if len(text) <= width else f"{text[: width - 4]}...{text[0]}"


def counted(count: int, word: str) -> str:
    """A number with its noun: 1 node, 2 nodes."""
    return f"{count} {word}{'s' * (count != 1)}"


def percent(share: float, spread: float | None = None, sign: str = "") -> str:
    """A share in percent, perhaps with its standard deviation; with the sign "+" also positive ones have one.

    Example:
        >>> percent(0.643), percent(0.5, 0.012), percent(0.05, sign="+")
        ('64.3 %', '50.0 ± 1.2 %', '+5.0 %')
    """
    return f"{100 * share:{sign}.1f}" + ("" if spread is None else f" ± {100 * spread:.1f}") + " %"
