"""Tables of results as pictures."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from matplotlib.figure import Figure

import ndcn
from pictures import png


def test_numbers_are_rounded_and_the_best_are_bold():
    frame = pd.DataFrame({"error": [0.12345, 0.2, None], "kind": ["a", "b", "c"]}, index=["one", "two", "three"])
    own = Figure(figsize=(3.3, 1.5)).add_subplot()
    assert ndcn.plot.table(frame, best="max", title="T", ax=own) is own
    words = [text.get_text() for text in own.texts]
    assert words == ["error", "kind", "one", "0.123", "a", "two", "0.2", "b", "three", "–", "c"]
    assert [text.get_text() for text in own.texts if text.get_fontweight() == "bold"] == ["0.2"]
    assert own.get_title(loc="left") == "T"


def test_text_stays_inside_the_figure():
    rows = {f"a model with a long name {k}": {"normalised error of the heat": -1.5 * k, "n": k} for k in range(9)}
    ax = ndcn.plot.table(rows, title="results", digits=6)
    assert png(ax.figure).std() > 0
    inside = ax.figure.bbox
    for text in [*ax.texts, ax.title]:
        box = text.get_window_extent()
        assert box.x0 >= inside.x0 - 1
        assert box.x1 <= inside.x1 + 1
        assert box.y1 <= inside.y1 + 1
    boxes = [text.get_window_extent() for text in ax.texts[2:5]]  # a row
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


@pytest.mark.parametrize(("size", "rows", "more"), [((6, 4), 47, True), ((6, 4), 20, False), ((3.3, 2.4), 47, True)])
def test_many_rows_in_given_axes_do_not_overlap(size: tuple[float, float], rows: int, more: bool) -> None:
    figure = Figure(figsize=size, layout="constrained")
    ax = ndcn.plot.table(
        {f"a model {k}": {"heat": float(k), "gene": 1.0} for k in range(rows)}, ax=figure.add_subplot()
    )
    png(figure)
    names = [text for text in ax.texts if text.get_text().startswith(("a model", "and "))]
    boxes = [text.get_window_extent() for text in names]
    assert all(above.y0 >= below.y1 - 0.5 for above, below in pairwise(boxes))
    shown = len(names) - more
    assert (names[-1].get_text() == f"and {rows - shown} more rows") == more
    assert shown >= 10


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="got int"):
        ndcn.plot.table(3)
    with pytest.raises(ValueError, match="0 rows"):
        ndcn.plot.table({})
    with pytest.raises(ValueError, match="best must be"):
        ndcn.plot.table({"a": {"b": 1.0}}, best="least")
