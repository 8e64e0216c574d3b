"""One version, in every file that states it."""

from __future__ import annotations

import re
from pathlib import Path

import ndcn

ROOT = Path(__file__).parent.parent


def first(pattern: str, file: str) -> str:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{file} has no version"
    return found[1]


def test_every_file_states_the_same_version() -> None:
    assert first(r'^version = "(.+)"$', "pyproject.toml") == ndcn.__version__
    assert first(r"^version: (.+)$", "CITATION.cff") == ndcn.__version__
    assert first(r"^## (\d\S*) \(\d{4}-\d\d-\d\d\)$", "CHANGELOG.md") == ndcn.__version__


def test_the_citation_has_the_date_of_the_release() -> None:
    assert first(r"^date-released: (.+)$", "CITATION.cff") == first(r"^## \d\S* \((.+)\)$", "CHANGELOG.md")


def test_the_licence_and_the_lowest_networkx_are_declared() -> None:
    """The licence as PEP 639 says, and ``node_link_graph(edges=...)`` came with networkx 3.4."""
    text = (ROOT / "pyproject.toml").read_text()
    assert '\nlicense = "MIT"\n' in text
    assert "License ::" not in text
    assert '"networkx>=3.4"' in text
    assert 'requires = ["setuptools>=77"]' in text
