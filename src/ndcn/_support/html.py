"""Small HTML tables for notebooks, in which names from files are text."""

from __future__ import annotations

import html
from collections.abc import Sequence

LONGEST = 80  # characters of a list of names


def card(title: str, rows: Sequence[tuple[str, str]], more: str = "") -> str:
    """A title and lines of name and value, all escaped; ``more`` is HTML that is ready.

    Example:
        >>> card("Graph", [("nodes", "<3")])
        '<div><strong>Graph</strong><table><tr><th ...>nodes</th><td ...>&lt;3</td></tr></table></div>'
    """
    left = 'style="text-align:left"'
    lines = (f"<tr><th {left}>{html.escape(a)}</th><td {left}>{html.escape(b)}</td></tr>" for a, b in rows)
    return f"<div><strong>{html.escape(title)}</strong><table>{''.join(lines)}</table>{more}</div>"


def grid(title: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], notes: Sequence[str] = ()) -> str:
    """A title, column heads, lines of a name and its cells, and notes below, all escaped.

    Example:
        >>> grid("errors", ["heat"], [("<a>", ["0.1"])], ["one run"])
        '<div><strong>errors</strong><table>...<th ...>&lt;a&gt;</th><td ...>0.1</td></tr></table><p>one run</p></div>'
    """
    left, right = ('style="text-align:' + side + '"' for side in ("left", "right"))
    head = "".join(f"<th {right}>{html.escape(name)}</th>" for name in heads)
    lines = (
        f"<tr><th {left}>{html.escape(name)}</th>{''.join(f'<td {right}>{html.escape(c)}</td>' for c in cells)}</tr>"
        for name, cells in rows
    )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<div><strong>{html.escape(title)}</strong><table><tr><th></th>{head}</tr>{''.join(lines)}</table>{below}</div>"


def first_names(names: Sequence[str], total: int) -> str:
    """The first names, as far as there is room."""
    text = ""
    for k, name in enumerate(names):
        longer = f"{text}, {name}" if k else name
        if len(longer) > LONGEST:
            return f"{longer[:LONGEST]} ..."
        text = longer
    return text if len(names) == total else f"{text}, ..."
