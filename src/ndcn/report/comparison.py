"""The card that a page may open on: several models side by side."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Models side by side, above everything else on the page.

    Attributes:
        title: heading of the card.
        headings: of the columns after the first, which has the models' names.
        rows: cells as text, the model's name first.
        note: a sentence below the table.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def comparison_card(shown: Comparison | None) -> str:
    """HTML that needs no script; nothing without a comparison.

    Example:
        >>> "<td>1.6</td>" in comparison_card(Comparison("Errors", ["error, %"], [["NDCN", "1.6"]]))
        True
    """
    if shown is None:
        return ""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in ("", *shown.headings))
    lines = [
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(text)}</td>" for text in cells)
        + "</tr>"
        for name, *cells in shown.rows
    ]
    note = f'<p class="quiet">{html.escape(shown.note)}</p>\n' if shown.note else ""
    return (
        '<section class="card" id="comparison" aria-labelledby="comparison-title">\n'
        f'<h2 id="comparison-title">{html.escape(shown.title)}</h2>\n<div class="scroll"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{''.join(lines)}</tbody>\n</table></div>\n{note}</section>\n"
    )
