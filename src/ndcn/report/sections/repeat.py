"""How to repeat the fit: commands, settings, versions, fingerprints."""

from __future__ import annotations

from ..repeat import repetition, repetition_of_classifier
from ..section import Section

SECTION = Section("Reproduce it", "repeat.js", repetition)
OF_CLASSIFIER = Section("Reproduce it", "repeat.js", repetition_of_classifier)
