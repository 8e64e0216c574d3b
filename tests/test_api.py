"""The public surface: every name is there, documented, and loaded no sooner than needed."""

from __future__ import annotations

import inspect

import pytest

import ndcn


@pytest.mark.parametrize("name", ndcn.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(ndcn, name)
    assert inspect.getdoc(value)
    assert name in dir(ndcn)


@pytest.mark.parametrize("name", [n for n in ndcn.__all__ if not inspect.ismodule(getattr(ndcn, n))])
def test_functions_and_classes_show_an_example(name: str) -> None:
    value = getattr(ndcn, name)
    if inspect.isclass(value) and (issubclass(value, (Exception, tuple)) or name in ("Solution", "Statistics")):
        return  # what comes back, not what is called
    assert ">>> " in value.__doc__


MODULES = ["fields", "laws", "metrics", "models", "networks", "operators", "sampling"]


@pytest.mark.parametrize("module", MODULES)
def test_what_the_modules_offer_is_documented_with_an_example(module: str) -> None:
    place = getattr(ndcn, module)
    own = [name for name, value in vars(place).items() if getattr(value, "__module__", "") == place.__name__]
    names = [name for name in getattr(place, "__all__", own) if not name.startswith("_")]
    assert names
    for name in names:
        value = getattr(place, name)
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, tuple)):
            assert ">>> " in (value.__doc__ or ""), f"{module}.{name} has no example"


def test_all_is_sorted_and_has_no_name_twice() -> None:
    assert len(set(ndcn.__all__)) == len(ndcn.__all__)
    assert ndcn.__all__ == sorted(ndcn.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ndcn' has no attribute 'regression'"):
        _ = ndcn.regression
    with pytest.raises(ImportError):
        exec("from ndcn import regression")


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert ndcn.__version__ == version("ndcn")
