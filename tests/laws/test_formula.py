"""Formulas: what is refused, and that torch, sympy and the separated form compute the same."""

from __future__ import annotations

import math
import pickle
import time

import pytest
import torch
from hypothesis import given, strategies as st

from ndcn.identify.library import COUPLING, SELF
from ndcn.laws.formula import FUNCTIONS, Formula

X = torch.linspace(0.2, 2.0, 7, dtype=torch.float64).unsqueeze(1)

REFUSED = {
    "attribute": "x.real",
    "attribute of a number": "(1).__class__",
    "method": "x.numpy()",
    "import": "__import__('os')",
    "unknown function": "print(x)",
    "call of a call": "exp(x)(x)",
    "keyword": "exp(x=1)",
    "two arguments": "sin(x, x)",
    "starred": "sin(*x)",
    "function without argument": "x + exp",
    "lambda": "(lambda: 1)()",
    "lambda alone": "lambda: x",
    "text": "'x'",
    "text in a product": "x*'a'",
    "formatted text": "f'{x}'",
    "bytes": "b'x'",
    "subscript": "x[0]",
    "list": "[x]",
    "comprehension": "[y for y in x]",
    "comparison": "x < 1",
    "condition": "x if x else 1",
    "boolean": "True*x",
    "none": "None",
    "ellipsis": "...",
    "complex": "1j*x",
    "walrus": "(y := x)",
    "matrix product": "x @ x",
    "remainder": "x % 2",
    "bits": "~x",
    "two statements": "x; x",
    "two lines": "x\n+ 1",
    "nothing": "",
    "no end": "x +",
    "zero byte": "x\0",
    "half a character": "\ud800",
    "division by zero": "x/(1 - 1)",
    "infinite": "1e999*x",
    "huge whole number": "9" * 400,
    "more digits than Python reads": "9" * 5000,
    "not real": "(0 - 8)^0.5*x",
    "tower of powers": "9^9^9^9",
    "high power": "x^1001",
    "power of a power": "((2*x)^100)^100",
    "vanishing": "(1/2)^(10^300)*x",
    "long": "x" * 20_000,
    "long sum": "+".join(["x"] * 3000),
    "many signs": "-" * 3000 + "x",
    "many parentheses": "(" * 1000 + "x" + ")" * 1000,
    "deep": "sin(" * 110 + "x" + ")" * 110,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_formula_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError):
        Formula(text)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("text", ["x^2 + 1", "x**2 + 1", " x_i * x_i + 1", "(x)^(2) + 1", "+x*x - -1"])
def test_ways_to_write_the_same(text: str) -> None:
    torch.testing.assert_close(Formula(text)(X), X[:, 0] ** 2 + 1)


def test_parameters_are_in_the_order_of_their_first_mention() -> None:
    assert Formula("tanh(b*x) + a*b").parameters == ("b", "a")
    assert Formula("K*x^h/(1 + h*K*q)").parameters == ("K", "h", "q")


def test_features_by_name() -> None:
    formula = Formula("v_i*w_j + k*w", ("v", "w"))
    assert formula.parameters == ("k",)
    assert formula.on_edges
    assert formula.of_itself
    x_i, x_j = torch.tensor([[2.0, 3.0]]), torch.tensor([[5.0, 7.0]])
    assert formula(x_i, x_j, [10.0]).tolist() == [2 * 7 + 10 * 3]
    assert Formula("x_j*x", ("v",)).parameters == ("x_j", "x")  # no states here
    assert not Formula("1").on_edges


def test_shapes_and_types_follow_the_states() -> None:
    for text in ("1", "K", "exp(K)", "x", "K*x"):
        out = Formula(text)(torch.ones(2, 3, 1), None, [2.0] * ("K" in text))
        assert (out.shape, out.dtype) == ((2, 3), torch.float32), text


@pytest.mark.parametrize(("text", "expected"), [("x^-2", 0.25), ("x^4", 16.0), ("x^(0-3)", -0.125), ("x^3", -8.0)])
def test_whole_powers_of_negative_states(text: str, expected: float) -> None:
    assert Formula(text)(torch.tensor([[-2.0]])).item() == expected


def test_other_powers_of_negative_states_are_0() -> None:
    for text in ("x^0.5", "x^(1/2)", "x^h"):
        assert Formula(text)(torch.tensor([[-2.0]]), None, [0.5] * ("h" in text)).item() == 0.0


def test_parameters_that_leave_the_numbers_are_infinite_and_no_errors() -> None:
    assert Formula("x/K")(X, None, [0.0]).isinf().all()
    assert Formula("x*K^400")(X, None, [10.0]).isinf().all()


def test_formulas_compare_and_survive_pickling() -> None:
    one = Formula("x_j/(K + x_j)")
    assert pickle.loads(pickle.dumps(one)) == one
    assert len({one, Formula("x_j/(K + x_j)"), Formula("x_j/(K + x_j)", ("x", "y"))}) == 2
    assert repr(one) == "Formula('x_j/(K + x_j)')"


def numbers(formula: Formula) -> list[float]:
    return [0.7 + 0.4 * k for k in range(len(formula.parameters))]


@pytest.mark.parametrize("text", [*SELF, *COUPLING, *(f"{f}(x_j - a*x_i)" for f in FUNCTIONS), "-x^-1.5 + 2^x"])
def test_sympy_agrees_with_torch(text: str) -> None:
    formula = Formula(text)
    expression = formula.sympy(dict(zip(formula.parameters, numbers(formula), strict=True)))
    for own, other in ((0.3, 1.1), (0.9, 2.2)):
        x_i, x_j = (torch.tensor([[value]], dtype=torch.float64) for value in (own, other))
        got = formula(x_i, x_j, numbers(formula)).item()
        expected = float(expression.subs(free(expression, own, other)))
        assert got == pytest.approx(expected, rel=1e-12)


def free(expression: object, own: float, other: float) -> dict:
    values = {"x": own, "x_i": own, "x_j": other}
    return {symbol: values[symbol.name] for symbol in expression.free_symbols}


atoms = st.sampled_from(["x_i", "x_j", "x", "K", "a", "2", "0.5", "1"])


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    call = st.tuples(st.sampled_from(["sin", "cos", "tanh", "exp"]), inner).map(lambda p: f"{p[0]}({p[1]})")
    return st.one_of(pair, pair, call, inner.map(lambda t: f"-{t}"), inner.map(lambda t: f"({t})^2"))


formulas = st.recursive(atoms, deeper, max_leaves=8)


def evaluated(text: str) -> tuple[Formula, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, float]] | None:
    """A random formula at pairs of states, unless it is refused or too large or small to compare."""
    try:
        formula = Formula(text)
    except ValueError:  # as 1/(1 - 1)
        return None
    x_i, x_j = (torch.rand(9, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(k)) + 0.3 for k in (0, 1))
    values = {"K": 1.3, "a": 0.6}
    return formula, x_i, x_j, formula(x_i, x_j, [values[name] for name in formula.parameters]), values


@given(formulas)
def test_the_separated_form_is_the_formula(text: str) -> None:
    case = evaluated(text)
    parts = case[0].separated() if case else None
    if case is None or parts is None:
        return
    _, x_i, x_j, expected, values = case
    total, size = torch.zeros(9, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)
    for sign, own, other in parts:
        assert not own.on_edges
        assert not other.of_itself
        a = own(x_i, None, [values[name] for name in own.parameters])
        b = other(x_j, x_j, [values[name] for name in other.parameters])
        total, size = total + sign * a * b, size + (a * b).abs()
    kept = expected.isfinite() & (size < 1e6)
    assert ((total - expected).abs() <= 1e-9 * (1 + size))[kept].all()


@given(formulas)
def test_random_formulas_agree_with_sympy(text: str) -> None:
    case = evaluated(text)
    if case is None:
        return
    formula, x_i, x_j, expected, values = case
    expression = formula.sympy({name: values[name] for name in formula.parameters})
    value = complex(expression.subs(free(expression, x_i[0].item(), x_j[0].item())))
    if math.isfinite(abs(value)) and expected[0].isfinite() and abs(value) < 1e6:
        assert expected[0].item() == pytest.approx(value.real, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("text", ["x_j/(x_i + x_j)", "exp(x_j - x_i)", "tanh(a*(x_j - x_i))", "(x_i + x_j)^2"])
def test_what_cannot_be_separated(text: str) -> None:
    assert Formula(text).separated() is None


@pytest.mark.parametrize(
    ("text", "count"), [("x_j - x_i", 2), ("x_i*x_j/(K + x_j)", 1), ("sin(x_j - x_i)", 2), ("1", 1)]
)
def test_how_many_products_the_separated_form_has(text: str, count: int) -> None:
    assert len(Formula(text).separated() or []) == count


def test_separating_does_not_take_forever() -> None:
    start = time.process_time()
    assert Formula("sin(" + " + ".join(["x_i", "x_j"] * 30) + ")").separated() is None
    assert Formula("*".join(["x_i", "sin(x_j + x_i)"] * 20)).separated() is None
    assert Formula("+".join(["sin(x_j + x_i)"] * 95)).separated() is not None
    assert time.process_time() - start < 5


def test_a_formula_too_deep_to_be_written_out_is_not_separated() -> None:
    deep = "sin(" * 99 + "x" + ")" * 99
    assert Formula(f"x_j/x_i/{deep}").separated() is None
    assert Formula("x_j/x_i/sin(sin(x))").separated() is not None
