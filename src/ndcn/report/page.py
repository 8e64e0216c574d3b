"""One HTML file with everything in it: no server, no network, no script but that of ndcn."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from .._support.registries import CLASS_SECTIONS, SECTIONS
from .._support.registry import Registry
from ..plot import style
from .comparison import Comparison, comparison_card
from .encode import script_json
from .section import Section

ASSETS = resources.files(__package__) / "assets"
IMPORT = re.compile(r'^import \{[^}]*\} from "\.\.?/(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const |let |function |async function |class )", re.MULTILINE)
CARD = """<section class="card" id="{name}" aria-labelledby="{name}-title">
  <h2 id="{name}-title">{title}</h2>
</section>
"""
STATE_COLOURS = 33


@dataclass(frozen=True)
class PageKind:
    """A kind of page: its template and its first script in ``assets``, and the registry of its sections."""

    template: str
    root: str
    sections: Registry


DYNAMICS = PageKind("report.html", "main", SECTIONS)
CLASSES = PageKind("classifier.html", "classifier", CLASS_SECTIONS)


def page(content: dict[str, Any], comparison: Comparison | None = None, kind: PageKind = DYNAMICS) -> str:
    """The page with its content; a policy in it forbids every request, and every script but that of ndcn.

    Example:
        >>> page({"title": "Forecast of cases"}).startswith("<!doctype html>")
        True
    """
    sections = [name for name in kind.sections if content.get(name) is not None]
    script = joined(scripts(sections, kind), kind.root)
    style = _read("report.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {
        "POLICY": policy,
        "TITLE": html.escape(content["title"]),
        "STYLE": style,
        "COMPARISON": comparison_card(comparison),
        "SECTIONS": "\n".join(
            CARD.format(name=name, title=html.escape(kind.sections[name].title)) for name in sections
        ),
        "CONTENT": script_json({**content, "sections": sections, "colours": _state_colours()}),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _read(kind.template))


def scripts(sections: Iterable[str] | None = None, kind: PageKind = DYNAMICS) -> dict[str, str]:
    """The page's modules by name, as they are written: its root, the `sections/...`, and all that they import."""
    names = kind.sections if sections is None else sections
    found = {f"sections/{name}": _read_script(kind.sections[name]) for name in names}
    wanted = [kind.root, *(name for text in found.values() for name in IMPORT.findall(text))]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _read(f"{name}.js")
            wanted += IMPORT.findall(found[name])
    return found


def joined(modules: dict[str, str], root: str = "main") -> str:
    """Modules as one script in one function, each after those it imports; a cycle is refused.

    A page opened from disk cannot load modules, so that their import and export statements are taken out. A section is a
    block, so that its names are its own; the root comes after all of them.

    Example:
        >>> two = {"main": 'import { a } from "./word.js";\\nalert(a);\\n', "word": 'export const a = "hello";\\n'}
        >>> print(joined(two))
        "use strict";
        (() => {
        const a = "hello";
        alert(a);
        })();
    """
    sections = [name for name in modules if name.startswith("sections/")]
    before = {  # lists, not sets, so that the order is always the same
        name: [*IMPORT.findall(text), *(sections if name == root else ())] for name, text in modules.items()
    }
    bodies = []
    for name in TopologicalSorter(before).static_order():
        body = EXPORT.sub("", IMPORT.sub("", modules[name]))
        bodies.append(f"{{\n{body}}}\n" if name in sections else body)
    return '"use strict";\n(() => {\n' + "".join(bodies) + "})();\n"


def _read(name: str) -> str:
    return ASSETS.joinpath(name).read_text(encoding="utf-8")


def _read_script(section: Section) -> str:
    here = section.script if isinstance(section.script, Path) else ASSETS / "sections" / section.script
    return here.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _state_colours() -> list[str]:
    """Some colours of the map of states, between which the page interpolates."""
    return [to_hex(colormaps[style.STATE_MAP](k / (STATE_COLOURS - 1))) for k in range(STATE_COLOURS)]
