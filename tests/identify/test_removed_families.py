"""Without its true family in the library, a law is followed by the free form: no wrong formula is given for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from benchmark_files import benchmark

BENCHMARK = benchmark("interaction")


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
