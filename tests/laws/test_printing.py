"""Equations as text, LaTeX, sympy and rows; f and g on a grid."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sympy
import torch
from hypothesis import given, strategies as st
from matplotlib.mathtext import MathTextParser

from ndcn import laws
from ndcn.identify.functions import functions_of
from ndcn.identify.library import COUPLING, SELF
from ndcn.laws import Equation, Term
from ndcn.laws.closed_form import ClosedForm
from ndcn.laws.formula import FUNCTIONS, Formula
from ndcn.laws.printing import Coefficient, Equations, Inner, with_error
from ndcn.laws.styles import latex_name

VW = ("v", "w")


def term(text: str, coupling: bool, values: tuple[float, ...] = (), output: int = 0, features=("x",)) -> Term:
    return Term(Formula(text, features), coupling, output, values)


def equations(coefficients: list[float], terms: list[Term], errors: list[float] | None = None) -> Equations:
    features = terms[0].formula.features if terms else ("x",)
    covariance = None if errors is None else np.diag(np.square(errors))
    return Equations(Equation(tuple(terms), torch.tensor(coefficients).double(), len(features)), features, covariance)


def neuron() -> Equations:
    terms = [
        term("v", False, features=VW),
        term("v^3", False, features=VW),
        term("v_j - v_i", True, features=VW),
        term("v", False, output=1, features=VW),
        term("w_j/(k + w_j)", True, (0.5,), 1, VW),
    ]
    return equations([1.0, -1 / 3, 0.1, 0.08, -2.0], terms, [0.001, 0.002, 0.03, 0.004, 0.5, 0.06])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.0, 0.0002, "1.0000(2)"),
        (1.0, 0.00012, "1.00000(12)"),
        (1.02345, 0.0149, "1.023(15)"),
        (1.02345, 0.0996, "1.02(10)"),
        (123.4, 4.0, "123(4)"),
        (123.4, 1.2, "123.4(12)"),
        (123.4, 45.0, "1.2(4)e2"),
        (0.001, 5.0, "0(5)"),
        (3.2109e-7, 2e-9, "3.21(2)e-7"),
        (4.5678e9, 1e6, "4.5678(10)e9"),
        (2.0, 1e-14, "2.000000(1)"),
        (0.0, 0.03, "0.00(3)"),
        (0.3, math.nan, "0.3"),
        (0.3, math.inf, "0.3(?)"),
        (1e-7, math.nan, "1e-7"),
        (2.5e12, 0.0, "2.5e12"),
    ],
)
def test_numbers_with_errors(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_what_is_printed_is_the_number_and_its_error(value: float, error: float) -> None:
    text, _, exponent = with_error(value, error).partition("e")
    mantissa, digits = text[:-1].split("(")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    shown = float(mantissa) * 10.0 ** int(exponent or 0)
    assert abs(shown - value) <= 0.5001 * unit
    if int(digits) > 1:
        assert abs(int(digits) * unit - error) <= 0.25 * error
    else:
        assert error <= unit * 1.5
    assert sum(c.isdigit() for c in mantissa.lstrip("0.")) <= 8


def test_the_text_of_one_feature() -> None:
    found = equations(
        [-1.0, 1.0], [term("x", False), term("x_j^2/(K^2 + x_j^2)", True, (1.0,))], [0.0002, 0.0003, 0.0004]
    )
    assert str(found) == "dx_i/dt = -1.0000(2) x_i + sum_j A_ij 1.0000(3) x_j^2/(K^2 + x_j^2),  K = 1.0000(4)"
    assert repr(found) == str(found)


def test_signs_brackets_and_constants() -> None:
    def text(coefficients: list[float], *terms: Term) -> str:
        return str(equations(coefficients, list(terms))).removeprefix("dx_i/dt = ")

    heat, product = term("x_j - x_i", True), term("x_i*x_j", True)
    assert text([-0.5], heat) == "-sum_j A_ij 0.5 (x_j - x_i)"
    assert text([2, -0.5], term("1", False), product) == "2 - sum_j A_ij 0.5 x_i*x_j"
    assert text([-2, 0.5, -0.5], term("1", False), product, heat) == ("-2 + sum_j A_ij [0.5 x_i*x_j - 0.5 (x_j - x_i)]")
    assert text([0.5, -1, -2], product, term("x", False), term("x**2", False)) == (
        "-1 x_i - 2 x_i^2 + sum_j A_ij 0.5 x_i*x_j"
    )
    assert text([3], term("1", True)) == "sum_j A_ij 3"
    assert text([3], term("2*x", False)) == "3 (2*x_i)"
    assert text([3], term("1/(1 + exp(-a*(x_j - m)))", True, (2.0, -1.0))) == (
        "sum_j A_ij 3/(1 + exp(-a*(x_j - m))),  a = 2, m = -1"
    )
    assert text([]) == "0"


def test_several_features_have_a_line_each_with_their_own_parameters() -> None:
    assert str(neuron()).splitlines() == [
        "dv_i/dt = 1.0000(10) v_i - 0.333(2) v_i^3 + sum_j A_ij 0.10(3) (v_j - v_i)",
        "dw_i/dt = 0.080(4) v_i - sum_j A_ij 2.0(5) w_j/(k + w_j),  k = 0.50(6)",
    ]


def test_parameters_of_the_same_name_are_numbered() -> None:
    terms = [term("x_j/(K + x_j)", True, (1.0,)), term("x_i*x_j^h/(K + x_j)", True, (2.0, 3.0))]
    found = equations([1.0, 1.0], terms)
    assert str(found).endswith("[1 x_j/(K_1 + x_j) + 1 x_i*x_j^h/(K_2 + x_j)],  K_1 = 1, h = 2, K_2 = 3")
    taken = [term("K_1*x", False, (5.0,)), term("K*x^2", False, (6.0,)), term("K*x^3", False, (7.0,))]
    assert str(equations([1.0, 1.0, 1.0], taken)).endswith("K_1 = 5, K_2 = 6, K_3 = 7")


def test_latex() -> None:
    found = equations(
        [-1.0, 1.0], [term("x", False), term("x_j^2/(K^2 + x_j^2)", True, (1.0,))], [0.0002, 0.0003, 2e-9]
    )
    assert found.latex() == (
        r"\frac{dx_i}{dt} = -1.0000(2)\, x_i + \sum_j A_{ij}\, 1.0000(3)\, \frac{x_j^2}{K^2 + x_j^2}"
        r", \quad K = 1.000000(1)"
    )
    assert found._repr_latex_() == f"$${found.latex()}$$"
    first, second = neuron().latex().splitlines()
    assert first.startswith(r"\frac{dv_i}{dt} = ")
    assert second.endswith(r"- \sum_j A_{ij}\, 2.0(5)\, \frac{w_j}{k + w_j}, \quad k = 0.50(6)")
    assert neuron()._repr_latex_() == f"$${first}$$\n$${second}$$"
    small = equations([3e-9, 1.0], [term("x_j", True), term("2*x_j", True)]).latex()
    assert small.endswith(r"\sum_j A_{ij}\, \left[3 \times 10^{-9}\, x_j + 1 \cdot 2 x_j\right]")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("x_j - x_i", r"\left(x_j - x_i\right)"),
        ("(x_j - x_i)^2*x", r"\left(x_j - x_i\right)^2 x_i"),
        ("x_i - (x_j - 1)", r"\left(x_i - \left(x_j - 1\right)\right)"),
        ("x_i - (x_j*2)", r"\left(x_i - x_j \cdot 2\right)"),
        ("x*(-x_j)", r"x_i \left(-x_j\right)"),
        ("x + -x_j", r"\left(x_i + \left(-x_j\right)\right)"),
        ("exp(-x)", "e^{-x_i}"),
        ("exp(x)^2", r"\left(e^{x_i}\right)^2"),
        ("(x/2)^alpha", r"\left(\frac{x_i}{2}\right)^{\alpha}"),
        ("(x^2)^3", r"\left(x_i^2\right)^3"),
        ("x^(2^x)", "x_i^{2^{x_i}}"),
        ("sqrt(abs(x))", r"\sqrt{\left|x_i\right|}"),
        ("log1p(x)", r"\log\left(1 + x_i\right)"),
        ("relu(x)*atan(x)", r"\operatorname{relu}\left(x_i\right) \arctan\left(x_i\right)"),
        ("x*0.5e-7", r"x_i \cdot 5 \times 10^{-8}"),
    ],
)
def test_formulas_in_latex(text: str, latex: str) -> None:
    formula = Formula(text)
    shown = equations([1.0], [term(text, formula.on_edges, (1.0,) * len(formula.parameters))]).latex()
    right = shown.partition(" = ")[2].removeprefix(r"\sum_j A_{ij}\, ").removeprefix(r"1\, ")
    assert right.partition(r", \quad")[0] == latex


@pytest.mark.parametrize("text", [*SELF, *COUPLING, *(f"{name}(x_j)" for name in FUNCTIONS)])
def test_latex_can_be_set(text: str) -> None:
    values = tuple(1.5 for _ in Formula(text).parameters)
    latex = equations([-1.5e-9], [term(text, True, values)], [1e-10, *(0.1 for _ in values)]).latex()
    MathTextParser("path").parse(f"${latex}$")


def test_names_in_latex() -> None:
    assert [latex_name(name) for name in ("K", "K_1", "K_12", "beta", "Omega_i", "prey_j")] == [
        "K",
        "K_1",
        "K_{12}",
        r"\beta",
        r"\Omega_i",
        r"\mathrm{prey}_j",
    ]


@pytest.mark.parametrize("text", [*SELF, *COUPLING])
def test_the_printed_text_is_the_formula(text: str) -> None:
    formula = Formula(text)
    values = [0.7 + 0.2 * k for k in range(len(formula.parameters))]
    shown = str(equations([1.0], [term(text, formula.on_edges, tuple(values))]))
    body = shown.partition(" = ")[2].removeprefix("sum_j A_ij ").partition(",  ")[0]
    again = Formula(body.removeprefix("1 ") if "/" not in body[:2] else body)
    x_i, x_j = (torch.rand(5, 1, generator=torch.Generator().manual_seed(k)).double() for k in (0, 1))
    assert again.parameters == formula.parameters
    torch.testing.assert_close(again(x_i, x_j, values), formula(x_i, x_j, values))


def test_sympy_is_the_law() -> None:
    found = neuron()
    law = ClosedForm(found.equation, VW)
    x = torch.tensor([[0.4, 0.9], [1.7, 0.3]], dtype=torch.float64)
    numbers = dict(zip(sympy.symbols("v_i w_i v_j w_j"), x.flatten().tolist(), strict=True))
    assert list(found.sympy()) == ["v", "w"]
    for k, (f, g) in enumerate(found.sympy().values()):
        assert float(f.subs(numbers)) == pytest.approx(law.node(x[:1])[0, k].item())
        assert float(g.subs(numbers)) == pytest.approx(law.edge(x[:1], x[1:])[0, k].item())
    f, g = equations([-1.0], [term("x", False)]).sympy()["x"]
    assert (f, g) == (-1.0 * sympy.Symbol("x_i"), 0)


def test_rows() -> None:
    found = neuron()
    assert found.coefficients[4] == Coefficient("w_j/(k + w_j)", True, "w", -2.0, pytest.approx(0.5))
    assert found.parameters == [Inner("k", "w_j/(k + w_j)", True, "w", 0.5, pytest.approx(0.06))]
    table = pd.DataFrame(found.coefficients)
    assert list(table) == ["term", "coupling", "feature", "value", "standard_error"]
    assert table.feature.tolist() == list("vvvww")
    unknown = equations([1.0], [term("K*x", False, (2.0,))])
    assert math.isnan(unknown.coefficients[0].standard_error)
    assert math.isnan(unknown.parameters[0].standard_error)


def test_errors_belong_to_their_parameters() -> None:
    terms = [term("x^h", False, (2.0,)), term("x", False), term("x_j/(K + x_j)", True, (3.0,))]
    found = equations([1.0, 1.0, 1.0], terms, [0.2, 0.3, 0.4, 0.5, 0.6])
    assert [row.standard_error for row in found.coefficients] == pytest.approx([0.2, 0.3, 0.4])
    assert [(row.name, row.value, row.standard_error) for row in found.parameters] == [
        ("h", 2.0, pytest.approx(0.5)),
        ("K", 3.0, pytest.approx(0.6)),
    ]


def test_a_covariance_that_is_none() -> None:
    one = Equation((term("x", False),), torch.ones(1))
    with pytest.raises(ValueError, match=r"covariance of shape \(1, 1\), got \(2, 2\)"):
        Equations(one, covariance=torch.eye(2))
    with pytest.raises(ValueError, match="negative"):
        Equations(one, covariance=-torch.eye(1))
    assert str(Equations(one, covariance=torch.full((1, 1), math.nan))) == "dx_i/dt = 1 x_i"


def test_functions_on_a_grid() -> None:
    law = laws.Mutualistic()
    seen = torch.rand(4, 30, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
    seen[0, 0, 0] = math.nan
    found = functions_of(law.node, law.edge, [], seen, points=11)
    assert found.features == ("x",)
    assert found.x.shape == found.density.shape == (1, 11)
    values = seen[seen.isfinite()]
    np.testing.assert_allclose(found.x[0, [0, -1]], [values.min(), values.max()])
    x = torch.from_numpy(found.x[0]).unsqueeze(1)
    np.testing.assert_allclose(found.f[0], law.node(x))
    for k, m in ((0, 10), (7, 2)):
        np.testing.assert_allclose(found.g[0, k, m], law.edge(x[[k]], x[[m]])[0])
    assert not found.f_std.any()
    assert not found.g_std.any()
    nearest = (values.unsqueeze(1) - x[:, 0]).abs().argmin(1)
    share = torch.bincount(nearest, minlength=11) / len(values)
    np.testing.assert_allclose(found.density[0] * (found.x[0, 1] - found.x[0, 0]), share)


def test_functions_of_several_features() -> None:
    law = laws.FitzHughNagumo()
    seen = torch.randn(101, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = functions_of(law.node, law.edge, [], seen, points=5, features=law.features)
    assert (found.features, found.f.shape, found.g.shape) == (VW, (2, 5, 2), (2, 5, 5, 2))
    median = seen.median(0).values
    np.testing.assert_allclose(found.median, median)
    at = torch.stack([median[0], torch.tensor(found.x[1, 3])])
    np.testing.assert_allclose(found.f[1, 3], law.node(at.unsqueeze(0))[0])
    low, high = (
        torch.stack([torch.tensor(found.x[0, 0]), median[1]]),
        torch.stack([torch.tensor(found.x[0, 4]), median[1]]),
    )
    np.testing.assert_allclose(found.g[0, 0, 4], law.edge(low.unsqueeze(0), high.unsqueeze(0))[0])
    assert functions_of(law.node, law.edge, [], seen, points=2).features == ("x1", "x2")


def test_the_spread_of_samples() -> None:
    law, seen = laws.Heat(k=2.0), torch.tensor([[0.0], [1.0], [2.0]])
    samples = [laws.Heat(k=k) for k in (1.0, 2.0, 3.0)]
    found = functions_of(law.node, law.edge, samples, seen, points=3)
    np.testing.assert_allclose(found.g_std[0, :, :, 0], np.abs(np.subtract.outer([0, 1, 2], [0, 1, 2])))
    assert not found.f_std.any()
    assert not functions_of(law.node, law.edge, samples[:1], seen).g_std.any()


def test_states_that_make_no_grid() -> None:
    law = laws.Heat()
    still = functions_of(law.node, law.edge, [], torch.full((5, 1), 2.0), points=3)
    assert still.x.tolist() == [[1.0, 2.0, 3.0]]
    assert still.density.tolist() == [[0.0, 1.0, 0.0]]
    assert functions_of(law.node, law.edge, [], torch.zeros(5, 1), points=3).x.tolist() == [[-0.5, 0.0, 0.5]]
    with pytest.raises(ValueError, match="no states"):
        functions_of(law.node, law.edge, [], torch.full((5, 1), math.nan))
    with pytest.raises(ValueError, match="at least 2 points"):
        functions_of(law.node, law.edge, [], torch.rand(5, 1), points=1)
    with pytest.raises(ValueError, match="2 features, got the names"):
        functions_of(law.node, law.edge, [], torch.rand(5, 2), features=["x"])
