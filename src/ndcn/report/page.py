"""One HTML file with everything in it: no server, no network, nothing that runs but our own script."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from graphlib import TopologicalSorter
from importlib import resources
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from ..plot import style
from .encode import script_json

ASSETS = resources.files(__package__) / "assets"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const |let |function |async function |class )", re.MULTILINE)
STATE_COLOURS = 33


def page(content: dict[str, Any]) -> str:
    """The page with its content; a policy in it forbids every request, and every script but that of ndcn.

    Example:
        >>> page({"model": "ndcn", "graph": {"n": 3}}).startswith("<!doctype html>")
        True
    """
    script = joined(scripts())
    style = _read("report.css")
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
    text = _read("report.html")
    first, *rest = text.split("{{")
    pieces = [first]
    for piece in rest:
        name, _, after = piece.partition("}}")
        pieces += [filled[name], after]
    return "".join(pieces)


def scripts() -> dict[str, str]:
    """The page's modules by name, `main` and all that it imports, as they are written."""
    found: dict[str, str] = {}
    wanted = ["main"]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _read(f"{name}.js")
            wanted += IMPORT.findall(found[name])
    return found


def joined(modules: dict[str, str]) -> str:
    """Modules as one script in one function, each after those it imports; a cycle is refused.

    A page opened from disk cannot load modules, so that their import and export statements are taken out.

    Example:
        >>> two = {"main": 'import { a } from "./word.js";\\nalert(a);\\n', "word": 'export const a = "hello";\\n'}
        >>> print(joined(two))
        "use strict";
        (() => {
        const a = "hello";
        alert(a);
        })();
    """
    order = TopologicalSorter({name: IMPORT.findall(text) for name, text in modules.items()}).static_order()
    bodies = [EXPORT.sub("", IMPORT.sub("", modules[name])) for name in order]
    return '"use strict";\n(() => {\n' + "".join(bodies) + "})();\n"


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _state_colours() -> list[str]:
    """Some colours of the map of states, between which the page interpolates."""
    return [to_hex(colormaps[style.STATE_MAP](k / (STATE_COLOURS - 1))) for k in range(STATE_COLOURS)]
