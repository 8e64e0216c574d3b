"""docs/reference.md has every public name, once."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import ndcn

PAGE = (Path(__file__).parent.parent / "docs" / "reference.md").read_text()
SHOWN = re.findall(r"^::: (\S+)", PAGE, re.MULTILINE)
MODULES = sorted({name for name in ndcn.__all__ if isinstance(getattr(ndcn, name), ModuleType)} | {"forecast"})


def shown(module: str, name: str) -> bool:
    return f"ndcn.{module}" in SHOWN or f"ndcn.{module}.{name}" in SHOWN or f"ndcn.{name}" in SHOWN


@pytest.mark.parametrize("name", [name for name in ndcn.__all__ if name not in MODULES])
def test_every_name_of_the_package_is_there(name: str) -> None:
    module = getattr(ndcn, name).__module__
    assert f"ndcn.{name}" in SHOWN or module in SHOWN or module.rpartition(".")[0] in SHOWN


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_its_modules_is_there(module: str) -> None:
    found = importlib.import_module(f"ndcn.{module}")
    names = getattr(found, "__all__", None) or [
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == found.__name__
    ]
    assert names
    assert [name for name in names if not shown(module, name)] == []


def test_nothing_is_there_twice() -> None:
    assert sorted(set(SHOWN)) == sorted(SHOWN)


@pytest.mark.parametrize("target", SHOWN)
def test_what_is_shown_exists(target: str) -> None:
    head, _, last = target.rpartition(".")
    try:
        importlib.import_module(target)
    except ImportError:
        assert hasattr(importlib.import_module(head), last)
