"""Errors over time and over nodes, and scores beside those of baselines."""

from __future__ import annotations

from typing import Any

from ..section import PageContext, Section


def part(page: PageContext) -> dict[str, Any] | None:
    """Nothing of its own: the scores are part of every page that has data, because its first lines show them too."""
    return None if page.scores is None else {}


SECTION = Section("Errors", "errors.js", part)
