"""The tables hold the numbers of the methods they name: order conditions up to order 5, and dense output."""

from __future__ import annotations

import numpy as np
import pytest

from ndcn.solve.methods.tableau import ADAPTIVE, DOPRI5, EULER, FIXED, TSIT5, Tableau

ALL = {**FIXED, **ADAPTIVE}


def square(tableau: Tableau) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(A, b, c) with the first stage written out."""
    s = len(tableau.b)
    a = np.zeros((s, s))
    for row, values in enumerate(tableau.a, start=1):
        a[row, : len(values)] = values
    return a, np.array(tableau.b), np.array((0.0, *tableau.c))


def conditions(a: np.ndarray, c: np.ndarray, order: int) -> list[tuple[np.ndarray, float]]:
    """All order conditions up to ``order``: (v, g) stands for b . v = 1/g (rooted trees; Hairer, Norsett, Wanner II.2)."""
    one = np.ones_like(c)
    trees = {
        1: [(one, 1)],
        2: [(c, 2)],
        3: [(c**2, 3), (a @ c, 6)],
        4: [(c**3, 4), (c * (a @ c), 8), (a @ c**2, 12), (a @ a @ c, 24)],
        5: [
            (c**4, 5),
            (c**2 * (a @ c), 10),
            ((a @ c) ** 2, 20),
            (c * (a @ c**2), 15),
            (a @ c**3, 20),
            (c * (a @ a @ c), 30),
            (a @ (c * (a @ c)), 40),
            (a @ a @ c**2, 60),
            (a @ a @ a @ c, 120),
        ],
    }
    return [condition for p in range(1, order + 1) for condition in trees[p]]


@pytest.mark.parametrize("name", ALL)
def test_rows_sum_to_their_nodes(name: str) -> None:
    a, _, c = square(ALL[name])
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_order_conditions_hold_and_not_one_more(name: str) -> None:
    tableau = ALL[name]
    a, b, c = square(tableau)
    for v, g in conditions(a, c, tableau.order):
        assert b @ v == pytest.approx(1 / g, abs=1e-14)
    if tableau.order < 5:
        assert any(abs(b @ v - 1 / g) > 1e-3 for v, g in conditions(a, c, tableau.order + 1))


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_embedded_method_has_order_4_but_not_5(name: str) -> None:
    tableau = ADAPTIVE[name]
    a, b, c = square(tableau)
    embedded = b - np.array(tableau.error)
    for v, g in conditions(a, c, 4):
        assert embedded @ v == pytest.approx(1 / g, abs=1e-13)
    assert any(abs(embedded @ v - 1 / g) > 1e-5 for v, g in conditions(a, c, 5))


@pytest.mark.parametrize("name", ADAPTIVE)
def test_dense_output_has_order_4_inside_the_step_and_meets_its_ends(name: str) -> None:
    tableau = ADAPTIVE[name]
    a, b, c = square(tableau)
    for s in (0.1, 0.37, 0.5, 0.9):
        weights = np.array(tableau.weights_at(s))
        for p in range(1, 5):
            known = len(conditions(a, c, p - 1)) if p > 1 else 0
            for v, g in conditions(a, c, p)[known:]:
                assert weights @ v == pytest.approx(s**p / g, abs=1e-12)
    assert tableau.weights_at(0.0) == [0.0] * 7
    np.testing.assert_allclose(tableau.weights_at(1.0), b, atol=1e-12)


def test_first_same_as_last() -> None:
    assert DOPRI5.last_is_next
    assert TSIT5.last_is_next
    assert not any(tableau.last_is_next for tableau in FIXED.values())
    assert EULER.dense is None
