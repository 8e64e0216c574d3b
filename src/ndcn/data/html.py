"""What a notebook shows of a trajectory and of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from .._support.html import card

if TYPE_CHECKING:
    from .dataset import Dataset
    from .trajectory import Trajectory


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
    run = data.runs[0]
    graphs = "" if data.graphs is None else f"; {len(data.graphs)} graphs in turn, the last is described"
    clock = torch.cat([one.times for one in data.runs])
    first, last = clock.min().item(), clock.max().item()
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
