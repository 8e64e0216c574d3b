"""docs/reference.md has every public name."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any

import pytest

import ndcn
from places import ROOT

PAGE = (ROOT / "docs" / "reference.md").read_text()
SHOWN = re.findall(r"^::: (\S+)", PAGE, re.MULTILINE)
MODULES = sorted(name for name in ndcn.__all__ if isinstance(getattr(ndcn, name), ModuleType))


def found(target: str) -> Any:
    """What a line of the page names."""
    head, _, last = target.rpartition(".")
    try:
        return importlib.import_module(target)
    except ImportError:
        return getattr(importlib.import_module(head), last)


def names_of(module: ModuleType) -> list[str]:
    """What a module offers: what it says, else what it defines."""
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return list(getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")])


def all_shown() -> list[Any]:
    """Everything on the page, and all that is offered by modules that are on it."""
    things = [found(target) for target in SHOWN]
    modules = [thing for thing in things if isinstance(thing, ModuleType)]
    return [*things, *(getattr(module, name) for module in modules for name in names_of(module))]


@pytest.mark.parametrize("name", [name for name in ndcn.__all__ if name not in MODULES])
def test_every_name_of_the_package_is_there(name: str) -> None:
    assert any(getattr(ndcn, name) is thing for thing in all_shown())


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_its_modules_is_there(module: str) -> None:
    place, shown = getattr(ndcn, module), all_shown()
    names = names_of(place)
    assert names
    assert [name for name in names if not any(getattr(place, name) is thing for thing in shown)] == []


def test_nothing_is_there_twice() -> None:
    assert sorted(set(SHOWN)) == sorted(SHOWN)


@pytest.mark.parametrize("target", SHOWN)
def test_what_is_shown_exists(target: str) -> None:
    assert found(target) is not None
