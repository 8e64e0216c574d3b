"""One HTML file with everything in it: no server, no network, nothing that runs but our own script."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import resources
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from ..plot import style
from .encode import script_json

SCRIPTS = (  # in this order
    "data", "state", "colour", "surface", "network", "chart", "timeline", "nodes", "sections", "downloads", "main",
)  # fmt: skip
STATE_COLOURS = 33


def page(content: dict[str, Any]) -> str:
    """The page with its content; a policy in it forbids every request, and every script but that of ndcn.

    Example:
        >>> page({"model": "ndcn", "graph": {"n": 3}}).startswith("<!doctype html>")
        True
    """
    folder = resources.files(__package__) / "assets"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    script = '"use strict";\n(() => {\n' + "\n".join(read(f"{name}.js") for name in SCRIPTS) + "\n})();\n"
    style = read("report.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {
        "POLICY": policy,
        "TITLE": html.escape(f"{content['model']} on {content['graph']['n']} nodes"),
        "STYLE": style,
        "CONTENT": script_json({**content, "colours": _state_colours()}),
        "SCRIPT": script,
    }
    text = read("report.html")
    first, *rest = text.split("{{")
    pieces = [first]
    for piece in rest:
        name, _, after = piece.partition("}}")
        pieces += [filled[name], after]
    return "".join(pieces)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _state_colours() -> list[str]:
    """Some colours of the map of states, between which the page interpolates."""
    return [to_hex(colormaps[style.STATE_MAP](k / (STATE_COLOURS - 1))) for k in range(STATE_COLOURS)]
