"""Splines: they add up to 1, go on as straight lines, and agree with scipy's inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.interpolate import BSpline

from ndcn.laws.splines import Splines, knots_for

KNOTS = {
    "even": [0.0, 1.0, 2.0, 3.0],
    "two": [-1.0, 2.0],
    "uneven": [-3.0, -2.9, 0.0, 0.01, 5.0],
    "large": [1e6, 2e6, 5e6],
}


def around(splines: Splines, count: int = 101) -> torch.Tensor:
    """Points inside and far outside the knots."""
    low, high = splines.knots[0], splines.knots[-1]
    return torch.linspace(low - (high - low), high + (high - low), count, dtype=torch.float64)


def coefficients(splines: Splines, r: int = 2) -> torch.Tensor:
    return torch.randn(splines.size, r, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture(params=list(KNOTS))
def splines(request: pytest.FixtureRequest) -> Splines:
    return Splines(KNOTS[request.param])


def test_they_add_up_to_one(splines: Splines) -> None:
    values = splines(around(splines))
    assert values.shape == (101, splines.size)
    torch.testing.assert_close(values.sum(-1), torch.ones(101, dtype=torch.float64))


def test_inside_they_are_those_of_scipy(splines: Splines) -> None:
    t = np.asarray(splines.knots)
    padded = np.concatenate([[t[0]] * 3, t, [t[-1]] * 3])
    x = np.linspace(t[0], t[-1], 50)
    expected = BSpline(padded, np.eye(splines.size), 3)(x)
    np.testing.assert_allclose(splines(torch.from_numpy(x)).numpy(), expected, atol=1e-12)
    assert (expected >= -1e-12).all()


def test_outside_they_are_straight_lines(splines: Splines) -> None:
    low, high = splines.knots[0], splines.knots[-1]
    width = high - low
    for edge, way in ((low, -1.0), (high, 1.0)):
        x = edge + way * width * torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64)
        first = splines(x).diff(dim=0)
        torch.testing.assert_close(first[1:], first[:-1], atol=1e-9, rtol=1e-9)


def test_value_and_slope_are_continuous(splines: Splines) -> None:
    width = splines.knots[-1] - splines.knots[0]
    near = 1e-9 * width
    for knot in splines.knots:
        x = torch.tensor([knot - near, knot, knot + near], dtype=torch.float64)
        value, slope = splines(x), splines(x, slope=True)
        size = float(slope.abs().max())
        assert float(value.diff(dim=0).abs().max()) < 10 * size * near + 1e-9
        # beside a knot the slope changes by the curvature, which is large where knots are close
        least = min(np.diff(splines.knots))
        assert float(slope.diff(dim=0).abs().max()) < 100 * near / least**2 + 1e-7 / width


def test_slopes_are_derivatives(splines: Splines) -> None:
    x = around(splines, 60)
    h = 1e-6 * min(np.diff(splines.knots))
    value, slope = splines(x), splines(x, slope=True)
    torch.testing.assert_close(value, splines(x))
    numerical = (splines(x + h) - splines(x - h)) / (2 * h)
    torch.testing.assert_close(slope * h, numerical * h, atol=1e-10, rtol=1e-4)


def test_curves_are_basis_times_coefficients(splines: Splines) -> None:
    x, c = around(splines).reshape(101, 1).expand(101, 3), coefficients(splines)
    value, slope = splines(x), splines(x, slope=True)
    torch.testing.assert_close(splines.curve(x, c), value @ c)
    torch.testing.assert_close(splines.along(x, splines.cubics(c), slope=True), slope @ c)
    assert splines.curve(x, c).shape == (101, 3, 2)


def test_gradients(splines: Splines) -> None:
    x = (around(splines, 15) + 0.0123 * (splines.knots[-1] - splines.knots[0])).requires_grad_(True)
    c = coefficients(splines)
    (found,) = torch.autograd.grad(splines.curve(x, c)[:, 0].sum(), x)
    torch.testing.assert_close(found, splines.along(x, splines.cubics(c), slope=True)[:, 0])
    (found,) = torch.autograd.grad((splines(x) @ c)[:, 0].sum(), x)
    torch.testing.assert_close(found, splines.along(x, splines.cubics(c), slope=True)[:, 0])


def test_lines_have_no_roughness(splines: Splines) -> None:
    line = 2 + 3 * splines.greville
    x = around(splines)
    torch.testing.assert_close(splines.curve(x, line.unsqueeze(1))[:, 0], 2 + 3 * x)
    unit = float(splines.roughness.abs().max()) * float(line.abs().max())
    assert float((splines.roughness @ line).abs().max()) < 1e-12 * unit
    assert float((splines.roughness @ splines.greville.square()).min()) > 0


def test_single_precision() -> None:
    splines = Splines(KNOTS["even"])
    assert splines(torch.tensor([0.5])).dtype == torch.float32
    assert splines.curve(torch.tensor([0.5]), coefficients(splines)).dtype == torch.float32


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), count=st.integers(2, 15))
def test_knots_span_the_values(values: list[float], count: int) -> None:
    knots = knots_for(np.array(values), count)
    assert 2 <= len(knots) <= count
    assert knots == sorted(set(knots))
    assert knots[0] <= min(values)
    assert knots[-1] >= max(values)
    at = torch.linspace(knots[0], knots[-1], 20, dtype=torch.float64)
    torch.testing.assert_close(Splines(knots)(at).sum(-1), torch.ones(20, dtype=torch.float64), atol=1e-6, rtol=0)


def test_values_that_are_all_the_same_get_knots() -> None:
    for value in (0.0, 5.0, -1e-9):
        knots = knots_for(np.full(10, value), 5)
        assert knots[0] < knots[-1]
        assert Splines(knots)(torch.full((1,), value, dtype=torch.float64)).isfinite().all()
