"""How to repeat the fit: commands, settings, versions, fingerprints."""

from __future__ import annotations

from typing import Any

from ..repeat import repetition
from ..section import PageContext, Section


def part(page: PageContext) -> dict[str, Any]:
    """Settings, versions, fingerprints and commands, all as text."""
    return repetition(page.estimator, page.frames, page.model_name, page.data_words, two_files=page.shown.two_files)


SECTION = Section("Reproduce it", "repeat.js", part)
