"""Errors over time and over nodes, and scores beside those of baselines."""

from __future__ import annotations

from ..section import Section

# Nothing of its own: the scores are part of every page that has data, because its first lines show them too.
SECTION = Section("Errors", "errors.js", lambda page: None if page.scores is None else {})
