"""The title of a page: what it shows, of which values, from which file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from .._support.wording import counted

MOST_NAMED = 3  # features
NAMELESS = "x"  # the feature of a table that does not name its values, as a wide one


def title_of(model: str, features: Sequence[str], nodes: int, *, ahead: bool, data_words: Sequence[str] | None) -> str:
    """A title from the data.

    Args:
        model: name of the model.
        features: names of the values.
        nodes: how many there are.
        ahead: whether it is a forecast of what comes after the data.
        data_words: the data as the command line names them, files first; None if nobody knows.

    Example:
        >>> title_of("auto", ["cases"], 129, ahead=True, data_words=["edges.csv", "data/flu.csv", "--step", "1"])
        'flu.csv: forecast of cases at 129 nodes'
        >>> title_of("ndcn", ["x", "y"], 1, ahead=False, data_words=None)
        'Prediction of x and y at 1 node by ndcn'
    """
    files = list(takewhile(lambda word: not word.startswith("--"), data_words or ()))
    *others, last = features
    named = f"{', '.join(others)} and {last}" if others else last
    what = f" of {named if len(features) <= MOST_NAMED else counted(len(features), 'variable')}"
    if files and last == NAMELESS and not others:
        what = ""
    by = "" if ahead else f" by {model}"
    said = f"{'forecast' if ahead else 'prediction'}{what} at {counted(nodes, 'node')}{by}"
    return f"{Path(files[-1]).name}: {said}" if files else said[0].upper() + said[1:]
