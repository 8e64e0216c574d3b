"""What a notebook shows of a fitted regressor."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from .._support.html import card, first_names

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor


def regressor_html(model: DynamicsRegressor) -> str:
    """What was learned from what, and the law where there is one."""
    start, history = model.train_[0], model.history_
    members = f"{len(model.models_)} members of " if len(model.models_) > 1 else ""
    window = f"t = {start.times[0]:.4g} to {start.times[-1]:.4g}"
    rows = [
        ("model", f"{model.title_}, {members}{sum(p.numel() for p in model.model_.parameters()):,} parameters"),
        ("trained on", f"{len(start.times)} snapshots of {start.graph.num_nodes:,} nodes, {window}"),
        ("features", first_names(list(start.features), len(start.features))),
        ("seed", str(model.seed)),
    ]
    if history.loss:
        rows.append(("loss", f"{history.loss[-1]:.4g} after {len(history.loss)} epochs in {history.seconds:.1f} s"))
    more = "<code>.predict(times)</code>, <code>.report(path, data)</code>"
    if model.fitted_.can.law:
        evidence = model.evidence_
        text = str(model.equations()) if evidence.form != "free" else evidence.reason
        more = f"<pre>{html.escape(text)}</pre>{more}"
    return card("DynamicsRegressor", rows, more)
