"""Tables from a store: mean and spread over runs beside the paper's, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean, stdev

from .spec import Table, read_toml
from .store import Store

MARKS = {"below": "↓", "within": "≈", "above": "↑"}
LEGEND = "↓ below the paper's mean, ≈ within one of its standard deviations above it, ↑ further above"
METRICS = {  # as the paper names them: title, and the factor from our errors to its
    "normalized_l1_percent": ("normalised l1 error in %", "normalized_l1", 100.0),
    "l1": ("l1 error", "l1", 1.0),
}


@dataclass(frozen=True)
class Row:
    """One figure of a table.

    ``std`` is the sample standard deviation over runs, 0 for a single one; ``mean`` is None where no run is done, and
    the paper's values where it has none. ``recipe`` is that of training, "paper" or "default", or nothing.
    """

    table: str
    dynamics: str
    network: str
    model: str
    title: str
    recipe: str
    metric: str
    mean: float | None
    std: float | None
    runs: int
    failed: int
    paper_mean: float | None
    paper_std: float | None

    @property
    def mark(self) -> str:
        """Where it lies: "below", "within" or "above" the paper's value, or nothing."""
        if self.mean is None or self.paper_mean is None:
            return ""
        if self.mean < self.paper_mean:
            return "below"
        return "within" if self.mean <= self.paper_mean + (self.paper_std or 0.0) else "above"


def rows_of(table: Table, store: Store) -> list[Row]:
    """The figures of a table as far as its runs are done: errors of the last epoch, by both metrics."""
    failures = store.failures()
    rows = []
    for metric, (_, ours, factor) in METRICS.items():
        for dynamics, network in table.cells:
            for model in table.models:
                runs = table.cell_runs(dynamics, network, model)
                values = [factor * result.errors[table.part][ours] for result in store.results(runs)]
                theirs = table.paper[dynamics][network].get(model.compare, {}).get(metric, [None, None])
                rows.append(
                    Row(
                        table=table.name,
                        dynamics=dynamics,
                        network=network,
                        model=model.name,
                        title=model.title,
                        recipe=model.settings.get("preset", ""),
                        metric=metric,
                        mean=mean(values) if values else None,
                        std=(stdev(values) if len(values) > 1 else 0.0) if values else None,
                        runs=len(values),
                        failed=sum(run.key in failures for run in runs),
                        paper_mean=theirs[0],
                        paper_std=theirs[1],
                    )
                )
    return rows


def parameter_rows(models: Sequence[str] = (), nodes: int | None = None) -> list[Row]:
    """How many parameters each model learns, by fitting it for one epoch."""
    import ndcn

    content = read_toml("parameters")
    graph = ndcn.networks.grid(nodes or content["data"]["nodes"])
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5, 1.0])
    rows = []
    for name, about in content["models"].items():
        if models and name not in models:
            continue
        fitted = ndcn.DynamicsRegressor(model=name, epochs=1, progress=False).fit(data)
        count = sum(p.numel() for p in fitted.model_.parameters())
        paper = content["paper"].get(name) if nodes in (None, content["data"]["nodes"]) else None
        rows.append(Row("parameters", "", "", name, about["title"], "", "parameters", count, 0.0, 1, 0, paper, None))
    return rows


# For machines ---------------------------------------------------------------------------------------------------


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects, one for each figure."""
    return json.dumps([_plain(row) for row in rows], allow_nan=False)


def as_csv(rows: Sequence[Row]) -> str:
    """The same as comma-separated values with a header."""
    out = io.StringIO()
    names = [field.name for field in fields(Row)]
    writer = csv.DictWriter(out, [*names, "mark"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_plain(row) for row in rows)
    return out.getvalue().rstrip("\n")


def _plain(row: Row) -> dict[str, object]:
    return {**asdict(row), "mark": row.mark}


# For people -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A table as people read it: a title, column heads, and lines of cells; a cell is (ours, the paper's)."""

    title: str
    heads: list[str]
    lines: list[tuple[str, str, list[tuple[str, str]]]]
    notes: list[str]


def grids(rows: Sequence[Row], titles: dict[str, str], notes: dict[str, list[str]]) -> list[Grid]:
    """The figures arranged as in the paper: dynamics and models down, networks across.

    Args:
        rows: of any number of tables.
        titles, notes: of each table, by name.
    """
    found = []
    for table in dict.fromkeys(row.table for row in rows):
        for metric in dict.fromkeys(row.metric for row in rows if row.table == table):
            part = [row for row in rows if row.table == table and row.metric == metric]
            if metric == "parameters":
                lines = [("", row.title, [(_number(row, 0), _paper(row, 0))]) for row in part]
                found.append(Grid(titles[table], ["parameters"], lines, notes[table]))
                continue
            heads = list(dict.fromkeys(row.network for row in part))
            runs = sorted({row.runs for row in part})
            cells = {(row.dynamics, row.model, row.network): row for row in part}
            lines = []
            for dynamics, model in dict.fromkeys((row.dynamics, row.model) for row in part):
                line = [cells.get((dynamics, model, network)) for network in heads]
                label = next(row.title for row in line if row is not None)
                if len(runs) > 1:
                    label += f" ({_count([row.runs for row in line if row is not None])})"
                digits = 3 if metric == "l1" else 2
                texts = [("", "") if row is None else (_number(row, digits), _paper(row, digits - 1)) for row in line]
                lines.append((dynamics, label, texts))
            spread = "" if runs[-1] < 2 else "mean ± standard deviation of "
            title = f"{titles[table]}: {METRICS[metric][0]}, {spread}{_count(runs)}; paper: 20 runs"
            summary = [*notes[table], *summarise(part)] if metric == "normalized_l1_percent" else []
            found.append(Grid(title, heads, lines, summary))
    return found


def _count(runs: Sequence[int]) -> str:
    low, high = min(runs), max(runs)
    return f"{low} run{'s' * (low != 1)}" if low == high else f"{low} to {high} runs"


def summarise(rows: Sequence[Row]) -> list[str]:
    """How the models that the paper has compare with it, and where another one with its recipe is before NDCN.

    ``rows`` are those of one table and one metric.
    """
    lines = []
    for title in dict.fromkeys(row.title for row in rows if row.mark):
        marks = [row for row in rows if row.title == title and row.mark]
        counts = {mark: sum(row.mark == mark for row in marks) for mark in MARKS}
        text = f"{title}: below the paper's mean in {counts['below']} of {len(marks)} cells, within one standard deviation above it in {counts['within']}"
        above = ", ".join(f"{row.dynamics}/{row.network}" for row in marks if row.mark == "above")
        lines.append(f"{text}, further above in {counts['above']}{f' ({above})' if above else ''}")
    first, total = 0, 0
    exceptions: list[str] = []
    for cell in dict.fromkeys((row.dynamics, row.network) for row in rows):
        means = {
            row.title: (row.model, row.mean)
            for row in rows
            if (row.dynamics, row.network) == cell and row.recipe == "paper" and row.mean is not None
        }
        own = next((mean for model, mean in means.values() if model == "ndcn"), None)
        if own is None or len(means) == 1:
            continue
        better = [
            f"{'/'.join(cell)} {title} ({mean:.2f} < {own:.2f})" for title, (_, mean) in means.items() if mean < own
        ]
        total, first, exceptions = total + 1, first + (not better), exceptions + better
    if total:
        text = f"Of all models with the published recipe, NDCN is first in {first} of {total} cells"
        lines.append(text + (f"; exceptions: {', '.join(exceptions)}" if exceptions else ""))
    return lines


UNTRAINED = ("persistence", "linear", "spline")


def _number(row: Row, digits: int) -> str:
    if row.mean is None:
        return f"failed ({row.failed})" if row.failed else "-"
    spread = f" ± {row.std:.{digits}f}" if row.runs > 1 and row.std is not None else ""
    failed = f" ({row.failed} failed)" if row.failed else ""
    mark = MARKS.get(row.mark, "") if row.metric != "parameters" else ""
    return f"{row.mean:.{digits}f}{spread}{failed}{' ' + mark if mark else ''}"


def _paper(row: Row, digits: int) -> str:
    if row.paper_mean is None:
        return ""
    if row.metric == "parameters":
        return f"{row.paper_mean:.0f}"
    digits = 3 if row.metric == "l1" else digits
    return f"{row.paper_mean:.{digits}f}" + ("" if row.paper_std is None else f" ± {row.paper_std:.{digits}f}")


def as_text(found: Sequence[Grid]) -> str:
    """Columns of text; the paper's figure below ours."""
    blocks = []
    for grid in found:
        lines = [["", "", *grid.heads]]
        previous = None
        for group, label, cells in grid.lines:
            lines.append([group if group != previous else "", label, *(ours for ours, _ in cells)])
            if any(paper for _, paper in cells):
                lines.append(["", "  paper", *(paper for _, paper in cells)])
            previous = group
        if not any(line[0] for line in lines):
            lines = [line[1:] for line in lines]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        body = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        legend = [LEGEND] if any(mark in text for text in body for mark in MARKS.values()) else []
        blocks.append("\n".join([grid.title, "", *body, *([""] if legend or grid.notes else []), *legend, *grid.notes]))
    return "\n\n\n".join(blocks)


def as_markdown(found: Sequence[Grid]) -> str:
    """Markdown tables; the paper's figure in brackets after ours."""
    blocks = []
    for grid in found:
        lines = [f"| dynamics | model | {' | '.join(grid.heads)} |", "|---" * (len(grid.heads) + 2) + "|"]
        for group, label, cells in grid.lines:
            texts = [f"{ours} ({paper})" if paper else ours for ours, paper in cells]
            lines.append(f"| {group} | {label} | {' | '.join(texts)} |")
        notes = "\n".join(f"- {note}" for note in grid.notes)
        blocks.append(
            "\n".join([f"**{grid.title}** (paper in brackets; {LEGEND})", "", *lines, *(["", notes] if notes else [])])
        )
    return "\n\n".join(blocks)


def as_latex(found: Sequence[Grid]) -> str:
    """Tables for LaTeX with the booktabs package; the paper's figure in brackets after ours."""
    blocks = []
    for grid in found:
        lines = []
        previous = None
        for group, label, cells in grid.lines:
            if previous is not None and group != previous:
                lines.append(r"\midrule")
            texts = [f"{ours} ({paper})" if paper else ours for ours, paper in cells]
            lines.append(
                " & ".join(_tex(text) for text in (group if group != previous else "", label, *texts)) + r" \\"
            )
            previous = group
        heads = " & ".join(_tex(head) for head in ("dynamics", "model", *grid.heads))
        blocks.append(
            "\n".join(
                [
                    *(f"% {note}" for note in grid.notes),
                    r"\begin{table}",
                    r"\centering",
                    f"\\caption{{{_tex(grid.title)}. In brackets the paper's.}}",
                    f"\\begin{{tabular}}{{ll{'r' * len(grid.heads)}}}",
                    r"\toprule",
                    heads + r" \\",
                    r"\midrule",
                    *lines,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(blocks)


TEX = {
    "%": r"\%",
    "_": r"\_",
    "±": r"$\pm$",
    "↓": r"$\downarrow$",
    "≈": r"$\approx$",
    "↑": r"$\uparrow$",
    "l1": r"$\ell_1$",
}


def _tex(text: str) -> str:
    for plain, written in TEX.items():
        text = text.replace(plain, written)
    return text


FORMATS: dict[str, Callable[[Sequence[Grid]], str]] = {"text": as_text, "markdown": as_markdown, "latex": as_latex}
