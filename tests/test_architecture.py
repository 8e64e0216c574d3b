"""The house: every file in a room, rooms in layers, and docs/architecture.md as it is."""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

import pytest

from ndcn._support import registries
from ndcn._support.registry import Registry, found_at
from places import ROOT

SRC = ROOT / "src" / "ndcn"
FILES = sorted(SRC.rglob("*.py"))
LAYERS = configparser.ConfigParser()
LAYERS.read(ROOT / ".importlinter")
ORDER = LAYERS["importlinter:contract:layers"]["layers"].split()
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def place(path: Path) -> str:
    return str(path.relative_to(SRC))


def test_the_root_holds_packages_only() -> None:
    loose = {
        p.name for p in SRC.iterdir() if p.name != "__pycache__" and not (p.is_dir() and (p / "__init__.py").exists())
    }
    assert loose == {"__init__.py", "__main__.py", "py.typed"}
    assert {p.name for p in SRC.iterdir() if p.is_dir() and p.name != "__pycache__"} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=place)
def test_no_file_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=place)
def test_no_function_is_too_long(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 60, f"{place(path)}: {node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=place)
def test_other_packages_are_imported_by_their_name_alone(path: Path) -> None:
    """``from ..graph import Graph``, not ``from ..graph.graph import Graph``; _support has no face of its own."""
    parts = path.relative_to(SRC).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.level < len(parts) or len(parts) == 1:
            continue
        package, *inner = (node.module or "").split(".")
        if package and package not in (parts[0], "_support"):
            assert not inner, f"{place(path)}:{node.lineno} reaches into {node.module}"


def private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def members(package: str) -> set[str]:
    """Private methods and attributes of the classes of a package."""
    found = set()
    for path in (SRC / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                found |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return {name for name in found if private(name)}


def test_private_names_stay_in_their_package() -> None:
    own = {package: members(package) for package in ORDER}
    for path in FILES:
        package = path.relative_to(SRC).parts[0]
        others = set().union(*(names for name, names in own.items() if name != package)) - own.get(package, set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                for name in (one.name for one in node.names):
                    assert not private(name) or name == "_support", f"{place(path)}:{node.lineno} imports {name}"
            if not isinstance(node, ast.Attribute) or node.attr not in others:
                continue
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                raise AssertionError(f"{place(path)}:{node.lineno} uses {ast.unparse(node)}")


def test_the_page_shows_the_layers_as_they_are() -> None:
    shown = re.findall(r"^    ([a-z_]+)(?:, ([a-z_]+))?  +\S", PAGE, re.MULTILINE)
    assert [name for row in shown for name in row if name] == ORDER


def test_every_path_on_the_page_exists() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_*.]*|[a-z_]+/)`", PAGE)
    assert len(named) > 10
    for name in named:
        assert list(SRC.glob(name.rstrip("/"))) or list(ROOT.glob(name.rstrip("/"))), (
            f"docs/architecture.md names {name}"
        )


def test_every_name_in_capitals_stands_where_its_row_says() -> None:
    """`NAME` of `file`, `NAME` and `NAME` of `file`, or a registry."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    found = 0
    for row in rows:
        of_files = r"((?:`[A-Z_]+`(?: and | or )?)+) of `([a-z_/]+\.py)`"
        named = [(n, SRC / file) for names, file in re.findall(of_files, row) for n in re.findall(r"[A-Z_]+", names)]
        others = re.sub(of_files, "", row)
        named += [(name, SRC / "_support" / "registries.py") for name in re.findall(r"`([A-Z_]+)`", others)]
        for name, file in named:
            assert re.search(rf"^{name}\b.* = ", file.read_text(), re.MULTILINE), f"{place(file)} has no {name}: {row}"
        found += len(named)
    assert found > 15


REGISTRIES = {name: value for name, value in vars(registries).items() if isinstance(value, Registry)}


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_registered_name_leads_somewhere(registry: str) -> None:
    assert list(REGISTRIES[registry])
    for name in REGISTRIES[registry]:
        assert REGISTRIES[registry][name] is not None


@pytest.mark.parametrize("path", FILES, ids=place)
def test_places_are_named_in_the_registries_alone(path: Path) -> None:
    """An import by a string is seen by no linter, so all of them stand in ``_support/registries.py``."""
    if path.name in ("registry.py", "registries.py") and path.parent.name == "_support":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not re.fullmatch(r"ndcn(\.\w+)*:\w+", node.value), f"{place(path)}:{node.lineno} names {node.value}"
        if isinstance(node, ast.Name):
            assert node.id != "found_at", f"{place(path)}:{node.lineno} calls found_at"


def test_places_are_found_by_name() -> None:
    assert found_at("ndcn.graph:Graph").__name__ == "Graph"
