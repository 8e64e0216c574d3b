from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ndcn.report.encode import LEVELS, pack_integers, pack_rows, plain, script_json
from unpacking import unpack_integers, unpack_rows

NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32) | st.just(np.nan)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 40)), elements=NUMBERS))
def test_rows_come_back_within_half_a_step(rows: np.ndarray) -> None:
    again = unpack_rows(pack_rows(rows))
    assert (np.isnan(again) == np.isnan(rows)).all()
    for row, other in zip(rows, again, strict=True):
        known = row[np.isfinite(row)]
        if len(known):
            room = np.ptp(known) / LEVELS * 0.51 + 1e-7 * np.abs(known).max()
            assert np.abs(other[np.isfinite(row)] - known).max() <= room


def test_a_row_that_explodes_spoils_no_other() -> None:
    rows = np.stack([np.linspace(0, 1, 50), np.linspace(0, 1e25, 50)])
    assert np.abs(unpack_rows(pack_rows(rows))[0] - rows[0]).max() < 1e-5


def test_constant_rows_are_exact_and_infinities_are_missing() -> None:
    again = unpack_rows(pack_rows(np.array([[2.5, 2.5], [np.inf, 1.0], [np.nan, np.nan]])))
    assert again[0].tolist() == [2.5, 2.5]
    assert np.isnan(again[1, 0])
    assert again[1, 1] == 1.0
    assert np.isnan(again[2]).all()


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
