"""The page of a reconstruction: verdict, law, pictures and links, as plain HTML without scripts."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from .. import plot
from .._support.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from ..reconstruction import Reconstruction

MOST = 500  # links in the table
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd}"
    "figure{display:inline-block;margin:0 1rem 1rem 0}code{background:#f4f1ea;padding:.1rem .3rem}"
)


def network_page(found: Reconstruction) -> str:
    """The page as text.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 6) for k in range(6)], directed=True)
        >>> starts, times = np.random.default_rng(0).random((6, 6, 1)), np.linspace(0, 1, 12)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in starts]
        >>> "<h1>" in network_page(ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False))
        True
    """
    pictures = [
        (plot.found_network(found), "Links; doubtful ones are dashed, nodes that are not decided orange."),
        (plot.link_probabilities(found), "Probability that node j acts on node i."),
    ]
    if found.calibration is not None:
        pictures.append(
            (plot.link_calibration(found), "Calibration: networks drawn from the probabilities, found again.")
        )
    tables = [("Links", found.table())]
    if found.prior is not None:
        named = (("missing in the given network", found.missing()), ("wrong in the given network", found.spurious()))
        tables = [*((f"{counted(len(table), 'link')} {title}", table) for title, table in named), *tables]
    law = "" if found.law is None else f"<h2>Law</h2><p><code>{html.escape(found.law.extra_repr())}</code></p>"
    families = "".join(
        f"<tr><td><code>{html.escape(text)}</code></td><td>{gap:.1f}</td></tr>" for text, gap in found.families[:8]
    )
    judged = found.judgement
    answers = "".join(
        f"<tr><td><code>{html.escape(text)}</code></td><td>{mean:.3g}</td><td>{spread:.2g}</td></tr>"
        for text, (mean, spread) in found.evidence["inputs"].items()
    )
    sentences = "".join(f"<li>{html.escape(text)}</li>" for text in judged.reasons)
    helps = "".join(f"<li>{html.escape(text)}</li>" for text in judged.helps)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Network: {html.escape(found.verdict)}</title>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
        f"<style>{STYLE}</style></head><body><h1>Who acts on whom: {html.escape(found.verdict)}</h1><ul>{sentences}</ul>"
        + (f"<h2>What would help</h2><ul>{helps}</ul>" if helps else "")
        + law
        + "".join(_figure(ax, text) for ax, text in pictures)
        + f"<h2>Couplings by evidence</h2><table><tr><th>g</th><th>nats below the best</th></tr>{families}</table>"
        + (
            f"<h2>Inputs</h2><table><tr><th>term</th><th>mean over nodes</th><th>spread</th></tr>{answers}</table>"
            * bool(answers)
        )
        + "".join(_table(title, table) for title, table in tables)
        + "</body></html>"
    )


def _table(title: str, table: pd.DataFrame) -> str:
    shown = table.head(MOST)
    heads = "".join(f"<th>{html.escape(str(name))}</th>" for name in shown.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_text(value))}</td>" for value in row) + "</tr>"
        for row in shown.itertuples(index=False)
    )
    return f"<h2>{html.escape(title)}</h2><table><tr>{heads}</tr>{rows}</table>"


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _figure(ax: Axes, text: str) -> str:
    raw = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(raw, format="png", dpi=110, bbox_inches="tight")
    data = base64.b64encode(raw.getvalue()).decode()
    return f"<figure><img alt='{html.escape(text)}' src='data:image/png;base64,{data}'><figcaption>{html.escape(text)}</figcaption></figure>"
