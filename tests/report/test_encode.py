from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ndcn.report.encode import pack_exact, pack_integers, plain, script_json
from unpacking import unpack_exact, unpack_integers

ANY = st.floats() | st.integers(-(10**9), 10**9).map(lambda k: k / 100) | st.floats(width=32)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(0, 40)), elements=ANY))
def test_numbers_come_back_exactly_and_infinities_are_missing(numbers: np.ndarray) -> None:
    again = unpack_exact(pack_exact(numbers))
    assert np.array_equal(again, np.where(np.isinf(numbers), np.nan, numbers).reshape(-1), equal_nan=True)


@pytest.mark.parametrize(
    ("numbers", "kind", "size"),
    [
        ([0.0, 17.0, 2_000_000_000.0, np.nan], "decimal", 4),
        ([6.04, 0.000001, 1234.5], "decimal", 4),
        ([np.float32(1 / 3), 1e30], "double", 8),
        ([np.float32(1 / 3), np.float32(1e30)], "single", 4),
        ([1 / 3], "double", 8),
        ([np.nan], "decimal", 4),
    ],
)
def test_numbers_are_stored_as_short_as_they_can_be(numbers: list[float], kind: str, size: int) -> None:
    packed = pack_exact(np.array(numbers, dtype=np.float64))
    assert packed["kind"] == kind
    assert len(zlib.decompress(base64.b64decode(packed["data"]))) == size * len(numbers)


@pytest.mark.parametrize("values", [[], [0], [65535, 3], [65536, 0, 4_000_000_000]])
def test_integers_come_back(values: list[int]) -> None:
    assert unpack_integers(pack_integers(np.array(values, dtype=np.int64))).tolist() == values


@given(st.text())
def test_json_cannot_end_its_script(text: str) -> None:
    written = script_json({"name": text, "list": [text]})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written)["name"] == text


def test_numbers_for_json() -> None:
    assert plain(np.array([1.23456789, np.nan, np.inf]), 3) == [1.23, None, None]
    with pytest.raises(ValueError, match="JSON compliant"):
        script_json([float("nan")])
