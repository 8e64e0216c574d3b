"""How to repeat the fit: commands, settings, versions, fingerprints."""

from __future__ import annotations

from ..repeat import repetition
from ..section import Section

SECTION = Section("Reproduce it", "repeat.js", repetition)
