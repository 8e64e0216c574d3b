"""Public names that are loaded when first used, and modules that go by a second name."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

Places = Mapping[str, str]


class LazyModule:
    """A module that is imported when one of its names is first used, so that start-up does not pay for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import networkx as networkx
    import sympy as sympy
else:
    networkx, sympy = LazyModule("networkx"), LazyModule("sympy")


def attached(package: str, names: Places, namespaces: Mapping[str, Places]) -> tuple[Callable[[str], Any], list[str]]:
    """``__getattr__`` and ``__all__`` of a package whose names live elsewhere.

    Args:
        package: its name.
        names: public name to "module" (the module itself) or "module:name".
        namespaces: name of a module that only gathers names, to these names and their places.
    """

    def load(name: str) -> Any:
        if name in namespaces:
            value: Any = _Namespace(f"{package}.{name}", namespaces[name])
        elif name in names:
            module, _, attribute = names[name].partition(":")
            value = importlib.import_module(module)
            value = getattr(value, attribute) if attribute else value
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    modules = [name for name, place in names.items() if ":" not in place and f"{package}.{name}" != place]
    sys.meta_path.append(_Alias(package, [*modules, *namespaces], load))
    return load, sorted([*names, *namespaces])


class _Namespace(ModuleType):
    """A module whose names are looked up where they live when they are first used."""

    def __init__(self, name: str, places: Places) -> None:
        super().__init__(name, f"{name.rpartition('.')[2].capitalize()}: {', '.join(places)}.")
        self.__all__ = sorted(places)
        self._places = places

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._places:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(self._places[name]), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return self.__all__


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets ``import package.name`` find modules that live elsewhere."""

    def __init__(self, package: str, names: list[str], load: Callable[[str], Any]) -> None:
        self.package, self.names, self.load = package, names, load

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for the names that are ours."""
        package, _, name = fullname.rpartition(".")
        ours = package == self.package and name in self.names
        return importlib.machinery.ModuleSpec(fullname, self) if ours else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A stand-in that import replaces by the module itself."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in the place of the stand-in."""
        sys.modules[module.__name__] = self.load(module.__name__.rpartition(".")[2])
