"""What notebooks show of graphs, trajectories, datasets, models and results: small tables, in which names from files are text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .estimators import DynamicsRegressor
    from .graph import Graph
    from .tables import Dataset
    from .trajectory import Trajectory

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


def graph_html(graph: Graph) -> str:
    """Nodes, edges, degrees."""
    degrees = graph.degrees
    kind = ("directed" if graph.directed else "undirected") + ", weighted" * graph.weighted
    rows = [
        ("nodes", f"{graph.num_nodes:,} ({_some([str(name) for name in graph.nodes[:20]], graph.num_nodes)})"),
        ("edges", f"{graph.num_edges:,}, {kind}"),
        ("degree", f"{degrees.min():.4g} to {degrees.max():.4g}, mean {degrees.mean():.4g}"),
    ]
    return card("Graph", rows)


def trajectory_html(data: Trajectory) -> str:
    """Times, nodes, features with their ranges, and what is missing."""
    rows = [
        ("times", f"{len(data)}, from {data.times.min():.4g} to {data.times.max():.4g}"),
        ("graph", f"{data.graph.num_nodes:,} nodes, {data.graph.num_edges:,} edges"),
        *_ranges(data.features, [data.states]),
    ]
    if data.mask is not None:
        rows.append(("missing", f"{100 * (1 - data.mask.double().mean().item()):.3g} %"))
    return card("Trajectory", rows)


def dataset_html(data: Dataset) -> str:
    """Runs, dates, graph, features with their ranges over all runs, and what is missing."""
    run, graphs = (
        data.runs[0],
        "" if data.graphs is None else f"; {len(data.graphs)} graphs in turn, the last is described",
    )
    clock = [(float(one.times.min()), float(one.times.max())) for one in data.runs]
    first, last = min(a for a, _ in clock), max(b for _, b in clock)
    ends = [f"{first:.4g}", f"{last:.4g}"] if data.calendar is None else data.calendar.texts([first, last])
    many = f" in {len(data.runs)} runs" if len(data.runs) > 1 else ""
    rows = [
        ("times", f"{sum(len(one) for one in data.runs)}{many}, from {ends[0]} to {ends[1]}"),
        ("graph", f"{run.graph.num_nodes:,} nodes, {run.graph.num_edges:,} edges{graphs}"),
        *_ranges(run.features, [one.states for one in data.runs]),
    ]
    if data.calendar is not None:
        rows.insert(1, ("calendar", str(data.calendar)))
    hidden = sum(0 if one.mask is None else int((~one.mask).sum()) for one in data.runs)
    if hidden:
        rows.append(("missing", f"{100 * hidden / sum(one.states.numel() for one in data.runs):.3g} %"))
    more = "<code>.notes</code>, <code>.runs</code>, <code>ndcn.tables.inspect(data)</code>, <code>ndcn.plot.inspect(data)</code>"
    return card("Dataset", rows, more)


def _ranges(features: Sequence[str], states: Sequence[torch.Tensor]) -> list[tuple[str, str]]:
    """Smallest and largest value of the first features."""
    rows = []
    for k, name in enumerate(features[:10]):
        seen = torch.cat([x[..., k][x[..., k].isfinite()].double() for x in states])
        rows.append((name, f"{seen.min():.4g} to {seen.max():.4g}" if len(seen) else "never observed"))
    if len(features) > 10:
        rows.append(("...", f"{len(features)} features in all"))
    return rows


def regressor_html(model: DynamicsRegressor) -> str:
    """What was learned from what, and the law where there is one."""
    start, history = model.train_[0], model.history_
    name = model.model if isinstance(model.model, str) else type(model.model).__name__
    members = f"{len(model.models_)} members of " if len(model.models_) > 1 else ""
    rows = [
        ("model", f"{name}, {members}{sum(p.numel() for p in model.model_.parameters()):,} parameters"),
        ("trained on", f"{len(start.times)} snapshots of {start.graph.num_nodes:,} nodes, t = {start.times[0]:.4g} to "
                       f"{start.times[-1]:.4g}"),
        ("features", _some(list(start.features), len(start.features))),
        ("seed", str(model.seed)),
    ]  # fmt: skip
    if history.loss:
        rows.append(("loss", f"{history.loss[-1]:.4g} after {len(history.loss)} epochs in {history.seconds:.1f} s"))
    more = "<code>.predict(times)</code>, <code>.report(path, data)</code>"
    if hasattr(model, "learned_"):
        evidence = model.evidence_
        text = str(model.equations()) if evidence.form != "free" else evidence.reason
        more = f"<pre>{html.escape(text)}</pre>{more}"
    return card("DynamicsRegressor", rows, more)


def _some(names: Sequence[str], total: int) -> str:
    """The first names, as far as there is room."""
    text = ""
    for k, name in enumerate(names):
        longer = f"{text}, {name}" if k else name
        if len(longer) > LONGEST:
            return f"{longer[:LONGEST]} ..."
        text = longer
    return text if len(names) == total else f"{text}, ..."
