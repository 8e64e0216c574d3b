"""The nodes whose class is least certain."""

from __future__ import annotations

from ..section import Section

# Nothing of its own: the probabilities are part of every page of a classifier.
SECTION = Section("Least certain nodes", "unsure.js", lambda page: {})
