"""What notebooks show of graphs, trajectories, models and results: small tables, in which names from files are text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .estimators import DynamicsRegressor
    from .graph import Graph
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
    ]
    for k, name in enumerate(data.features[:10]):
        seen = data.states[:, :, k][data.states[:, :, k].isfinite()].double()
        rows.append((name, f"{seen.min():.4g} to {seen.max():.4g}" if len(seen) else "never observed"))
    if len(data.features) > 10:
        rows.append(("...", f"{len(data.features)} features in all"))
    if data.mask is not None:
        rows.append(("missing", f"{100 * (1 - data.mask.double().mean().item()):.3g} %"))
    return card("Trajectory", rows)


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
