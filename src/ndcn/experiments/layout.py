"""Tables laid out as in the paper, as text, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._support import html
from .report import ACCURACY, METRICS, Row, sides

MARKS = {"below": "↓", "within": "≈", "above": "↑"}
DIGITS = {"normalized_l1_percent": 2, "l1": 3, ACCURACY: 2}


@dataclass(frozen=True)
class Grid:
    """A table: a title, column heads, lines (group, label, cells); a cell is (ours, the paper's).

    ``notes`` say how to read it, ``summary`` what it shows.
    """

    title: str
    heads: list[str]
    lines: list[tuple[str, str, list[tuple[str, str]]]]
    notes: list[str]
    summary: list[str]

    @property
    def first_heads(self) -> tuple[str, ...]:
        """Heads of the columns that name a row; without that of the dynamics where there are none."""
        return ("dynamics", "model") if any(group for group, _, _ in self.lines) else ("model",)

    def _repr_html_(self) -> str:
        rows = [
            (f"{group}, {label}" if group else label, list(map(_beside, cells))) for group, label, cells in self.lines
        ]
        return html.grid(f"{self.title}, the paper's in brackets", self.heads, rows, [*self.notes, *self.summary])

    def to_pandas(self) -> Any:
        """A DataFrame of text: a row for each dynamics and model, a column for each network; the paper's in brackets."""
        index = pd.MultiIndex.from_tuples([(g, label) for g, label, _ in self.lines], names=["dynamics", "model"])
        return pd.DataFrame([list(map(_beside, cells)) for _, _, cells in self.lines], index=index, columns=self.heads)


def grids(rows: Sequence[Row], titles: dict[str, str], notes: dict[str, list[str]]) -> list[Grid]:
    """The values arranged as in the paper: dynamics and models down, networks across.

    ``rows`` may be of several tables; ``titles`` and ``notes`` go by the names of these.
    """
    found = []
    for table in dict.fromkeys(row.table for row in rows):
        for metric in dict.fromkeys(row.metric for row in rows if row.table == table):
            part = [row for row in rows if row.table == table and row.metric == metric]
            if metric == "parameters":
                lines = [("", row.title, [(_number(row, 0), _paper(row, 0))]) for row in part]
                found.append(Grid(titles[table], ["parameters"], lines, notes[table], []))
            else:
                found.append(_grid(part, titles[table], notes[table] if metric != "l1" else []))
    return found


def _grid(rows: Sequence[Row], title: str, notes: list[str]) -> Grid:
    """One table of one metric."""
    metric = rows[0].metric
    heads = list(dict.fromkeys(row.network for row in rows))
    runs = sorted({row.runs for row in rows if row.runs} or {0})
    cells = {(row.dynamics, row.model, row.network): row for row in rows}
    lines = []
    for dynamics, model in dict.fromkeys((row.dynamics, row.model) for row in rows):
        line = [cells.get((dynamics, model, network)) for network in heads]
        label = next(row.title for row in line if row is not None)
        if len(runs) > 1:
            label += f" ({_count([row.runs for row in line if row is not None and row.runs] or [0])})"
        digits = DIGITS[metric]
        texts = [("", "") if row is None else (_number(row, digits), _paper(row, digits - 1)) for row in line]
        lines.append((dynamics, label, texts))
    what = METRICS[metric].title if metric in METRICS else "accuracy in %"
    spread = "" if runs[-1] < 2 else "mean ± standard deviation of "
    better, worse = sides(metric)
    means = f"{MARKS[better]} {better} the paper's mean, ≈ within one of its standard deviations {worse} it"
    marked = [f"{means}, {MARKS[worse]} further {worse}"] if any(row.mark for row in rows) else []
    more = [] if metric == "l1" else summarise(rows)
    return Grid(f"{title}: {what}, {spread}{_count(runs)}", heads, lines, [*marked, *notes], more)


def _count(runs: Sequence[int]) -> str:
    low, high = min(runs), max(runs)
    return f"{low} run{'s' * (low != 1)}" if low == high else f"{low} to {high} runs"


def summarise(rows: Sequence[Row]) -> list[str]:
    """How the models that the paper has compare with it, and where another one with its recipe is before NDCN.

    ``rows`` are those of one table and one metric.
    """
    better, worse = sides(rows[0].metric)
    lines = []
    for title in dict.fromkeys(row.title for row in rows if row.mark):
        marks = [row for row in rows if row.title == title and row.mark]
        counts = {mark: sum(row.mark == mark for row in marks) for mark in MARKS}
        further = ", ".join(_cell(row) for row in marks if row.mark == worse)
        lines.append(
            f"{title}: {better} the paper's mean in {counts[better]} of {len(marks)} cells, within one standard deviation "
            f"{worse} it in {counts['within']}, further {worse} in {counts[worse]}{f' ({further})' if further else ''}"
        )
    first = 0
    total = 0
    exceptions: list[str] = []
    for cell in dict.fromkeys(_cell(row) for row in rows):
        here = [row for row in rows if _cell(row) == cell and row.recipe == "paper" and row.mean is not None]
        own = next((row.mean for row in here if row.model == "ndcn"), None)
        if own is None or len(here) == 1:
            continue
        before = [f"{cell} {row.title} ({row.mean:.2f} < {own:.2f})" for row in here if (row.mean or 0.0) < own]
        total += 1
        first += not before
        exceptions += before
    lines += _order(rows)
    if total:
        text = f"Of all models with the published recipe, NDCN is first in {first} of {total} cells"
        lines.append(text + (f"; exceptions: {', '.join(exceptions)}" if exceptions else ""))
    return lines


def _order(rows: Sequence[Row]) -> list[str]:
    """All rows by the geometric mean of their errors over the cells that all have; those without recipe learn nothing."""
    if rows[0].metric == ACCURACY:
        return []
    titles = list(dict.fromkeys(row.title for row in rows if row.mean is not None))
    means = {(row.title, _cell(row)): row.mean for row in rows if row.mean is not None}
    cells = [c for c in dict.fromkeys(_cell(row) for row in rows) if all((title, c) in means for title in titles)]
    if len(titles) < 2 or not cells:
        return []
    smallest = 10 ** -DIGITS[rows[0].metric]  # what is printed as less than it counts as it
    average = {t: math.exp(sum(math.log(max(smallest, means[t, c])) for c in cells) / len(cells)) for t in titles}
    order = ", ".join(f"{title} {value:.2f}" for title, value in sorted(average.items(), key=lambda item: item[1]))
    return [f"Order by the geometric mean over {len(cells)} cells: {order}"]


def _cell(row: Row) -> str:
    return f"{row.dynamics}/{row.network}" if row.dynamics else row.network


def _number(row: Row, digits: int) -> str:
    if row.mean is None:
        return f"failed ({row.failed})" if row.failed else "-"
    spread = f" ± {row.std:.{digits}f}" if row.runs > 1 and row.std is not None else ""
    failed = f" ({row.failed} failed)" if row.failed else ""
    mark = MARKS.get(row.mark, "") if row.metric != "parameters" else ""
    tiny = 0 < row.mean < 0.5 * 10**-digits
    number = f"< {10**-digits:.{digits}f}" if tiny else f"{row.mean:.{digits}f}{spread}"
    return f"{number}{failed}{' ' + mark if mark else ''}"


def _paper(row: Row, digits: int) -> str:
    if row.paper_mean is None:
        return ""
    digits = 3 if row.metric == "l1" else digits  # as the paper prints them
    return f"{row.paper_mean:.{digits}f}" + ("" if row.paper_std is None else f" ± {row.paper_std:.{digits}f}")


def as_text(found: Sequence[Grid]) -> str:
    """Columns of text; the paper's value below ours."""
    blocks = []
    for grid in found:
        lines = [["", "", *grid.heads]]
        previous = None
        for group, label, cells in grid.lines:
            lines.append([group if group != previous else "", label, *(ours for ours, _ in cells)])
            if any(paper for _, paper in cells):
                lines.append(["", "  paper", *(paper for _, paper in cells)])
            previous = group
        if not any(group for group, _, _ in grid.lines):
            lines = [line[1:] for line in lines]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        notes = ["", *grid.notes, *grid.summary] if grid.notes or grid.summary else []
        blocks.append("\n".join([grid.title, "", *(line.rstrip() for line in body), *notes]))
    return "\n\n\n".join(blocks)


def as_markdown(found: Sequence[Grid]) -> str:
    """Markdown tables; the paper's value in brackets after ours."""
    blocks = []
    for grid in found:
        first = grid.first_heads
        lines = [f"| {' | '.join((*first, *grid.heads))} |", "|---" * (len(first) + len(grid.heads)) + "|"]
        for group, label, cells in grid.lines:
            lines.append(f"| {' | '.join((*(group, label)[-len(first) :], *map(_beside, cells)))} |")
        notes = ["", *(f"- {note}" for note in (*grid.notes, *grid.summary))] if grid.notes or grid.summary else []
        blocks.append("\n".join([f"**{grid.title}**, the paper's in brackets", "", *lines, *notes]))
    return "\n\n".join(blocks)


def as_latex(found: Sequence[Grid]) -> str:
    """Tables for LaTeX with the booktabs package; the paper's value in brackets after ours."""
    blocks = []
    for grid in found:
        first = grid.first_heads
        lines = [" & ".join(_tex(head) for head in (*first, *grid.heads)) + r" \\"]
        previous = None
        for group, label, cells in grid.lines:
            if group != previous:
                lines.append(r"\midrule")
            words = (*(group if group != previous else "", label)[-len(first) :], *map(_beside, cells))
            lines.append(" & ".join(_tex(word) for word in words) + r" \\")
            previous = group
        frame = [
            *(f"% {line}" for line in grid.summary),
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{_tex('; '.join([grid.title, 'in brackets the paper', *grid.notes]))}.}}",
            f"\\begin{{tabular}}{{{'l' * len(first)}{'r' * len(grid.heads)}}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        blocks.append("\n".join(frame))
    return "\n\n".join(blocks)


def _beside(cell: tuple[str, str]) -> str:
    ours, paper = cell
    return f"{ours} ({paper})" if paper else ours


def _tex(text: str) -> str:
    signs = {"±": r"\pm", "↓": r"\downarrow", "≈": r"\approx", "↑": r"\uparrow", "l1": r"\ell_1"}
    for plain, written in {"%": r"\%", "_": r"\_", **{sign: f"${name}$" for sign, name in signs.items()}}.items():
        text = text.replace(plain, written)
    return text


FORMATS: dict[str, Callable[[Sequence[Grid]], str]] = {"text": as_text, "markdown": as_markdown, "latex": as_latex}
