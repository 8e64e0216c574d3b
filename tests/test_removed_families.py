"""Without its true family in the library, a law is followed by the free form: no wrong formula is given for it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch


def _benchmark() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "interaction.py"
    spec = importlib.util.spec_from_file_location("benchmark_interaction", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCHMARK = _benchmark()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_every_law_has_a_family_to_remove() -> None:
    assert set(BENCHMARK.FAMILY) == {*BENCHMARK.PAPER, *BENCHMARK.FURTHER}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("law", BENCHMARK.FAMILY)
def test_the_free_form_takes_over(law: str) -> None:
    result = BENCHMARK.run({"row": "removed", "law": law, "network": "power_law", "seed": 0})
    assert result["form"] == "free", result["equation"]
    assert max(result["interpolation"], result["extrapolation"]) < 5  # percent
