"""Formulas in x_i and x_j as text: read without running anything, computed by torch, printed by sympy."""

from __future__ import annotations

import ast
import functools
import keyword
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .._support.lazy import sympy

FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    name: getattr(torch, name)
    for name in re.findall(r"\w+", "exp log log1p sqrt sin cos tan sinh cosh tanh atan sigmoid abs sign relu")
}
SUM = "sum"  # over neighbours, with the weights of the edges
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SIGNS = (ast.USub, ast.UAdd)
_LONGEST = 10_000  # characters; files may hold anything
_DEEPEST = 100  # levels, one for each sign or operation
_HIGHEST = 1000  # power: sympy works with exact numbers, and 9^9^9 has 370 million digits


def plain_names(features: Sequence[str]) -> bool:
    """Whether features of these names can stand in formulas, each as x, x_i and x_j.

    Example:
        >>> plain_names(["v", "w"]), plain_names(["temp in C"]), plain_names(["exp"]), plain_names(["x", "x_i"])
        (True, False, False, False)
    """
    forms = {form for name in features for form in (name, f"{name}_i", f"{name}_j")}
    words = all(
        name.isidentifier() and not keyword.iskeyword(name) and name not in (*FUNCTIONS, SUM) for name in features
    )
    return bool(features) and words and len(forms) == 3 * len(features)


class Formula:
    """One term of a law, as text: ``"x_i*x_j/(1 + b*x_i)"``.

    ``x_i`` is the state of the node itself (``x`` is the same), ``x_j`` that of a neighbour; of several features each
    goes by its name, as ``v_i`` and ``w_j``. Every other name is a parameter to be found. ``^`` and ``**`` are powers.
    A function of sums over neighbours has these as ``sum(...)``: ``"tanh(a*sum(x_j))"`` is tanh(a sum_j A_ij x_j).

    Args:
        text: the formula; known functions are exp, log, log1p, sqrt, sin, cos, tan, sinh, cosh, tanh, atan, sigmoid,
            abs, sign and relu.
        features: the names of the features.

    Attributes:
        parameters: names of the parameters, in the order of their first mention.
        on_edges: whether it is a term of g(x_i, x_j), summed over neighbours, rather than of f(x_i).
        around: of a function of sums, that function, with the sums as further features, and what is summed; else None.

    Raises:
        ValueError: the text is no formula, or holds anything that is not part of one.

    Example:
        >>> hill = Formula("x_j^2/(K^2 + x_j^2)")
        >>> hill.parameters, hill.on_edges
        (('K',), True)
        >>> x = torch.tensor([[1.0], [2.0]])
        >>> hill(x, x, [torch.tensor(2.0)])
        tensor([0.2000, 0.5000])
    """

    def __init__(self, text: str, features: Sequence[str] = ("x",)) -> None:
        self.text = str(text)
        self.features = tuple(features)
        tree = parsed(self.text)
        names = _names(tree)
        states: dict[str, tuple[str, int]] = {}
        for k, name in enumerate(self.features):
            states |= {name: ("x_i", k), f"{name}_i": ("x_i", k), f"{name}_j": ("x_j", k)}
        self.parameters = tuple(dict.fromkeys(n for n in names if n not in states))
        self.around = _around(tree, self.features)
        outside = names if self.around is None else _names(parsed(self.around[0].text))
        self.on_edges = any(states.get(name, ("", 0))[0] == "x_j" for name in outside)
        self.of_itself = any(states.get(name, ("", 0))[0] == "x_i" for name in outside)
        if self.on_edges and self.around is not None:
            raise ValueError(f"in {self.text!r} the state of a neighbour stands outside of sum(...)")
        self.tree = tree
        self.states = states  # x_i or x_j and the feature, for each name of a state
        self._function = _compiled(tree, states, self.parameters) if self.around is None else None

    def __call__(
        self, x_i: torch.Tensor, x_j: torch.Tensor | None = None, values: Sequence[torch.Tensor | float] = ()
    ) -> torch.Tensor:
        """Its values, shape (...), at states of shape (..., d).

        Raises:
            ValueError: it is a function of sums over neighbours, which two states do not tell; compute ``around``.
        """
        if self._function is None:
            raise ValueError(
                f"{self.text!r} is a function of sums over neighbours: it has no value at two states alone"
            )
        # as tensors 1/0 and 10^400 are infinite; as Python's numbers they would raise errors
        numbers = [v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float64) for v in values]
        out = self._function(x_i, x_j, numbers)
        return out if isinstance(out, torch.Tensor) and out.dim() else x_i.new_ones(x_i.shape[:-1]) * out

    def sympy(self, names: Mapping[str, Any] | None = None) -> Any:
        """As a sympy expression; ``names`` puts other symbols or numbers in the place of names."""
        tree = parsed(self.text)
        known = {name: sympy.Symbol(name, real=True) for name in _names(tree)}
        return _to_sympy(tree.body, known | {name: sympy.sympify(v, strict=True) for name, v in (names or {}).items()})

    def separated(self) -> list[tuple[float, Formula, Formula]] | None:
        """The formula as sum_r c_r a_r(x_i) b_r(x_j), if its form shows it; sums over neighbours are then cheap."""
        try:
            parts = _products(parsed(self.text).body, 1.0)
            return None if parts is None else [(sign, *self._ends(factors)) for sign, factors in parts]
        except ValueError:  # a factor of both ends; or, written out, a formula at the limit of depth is beyond it
            return None

    def _ends(self, factors: list[tuple[ast.expr, bool]]) -> tuple[Formula, Formula]:
        """The factors of the node itself and those of its neighbour; ValueError if one is of both."""
        texts: tuple[list[str], list[str]] = ([], [])
        for node, upside in factors:
            text = ast.unparse(node)
            piece = Formula(f"({text})" if upside else f"(1/({text}))", self.features)
            if piece.on_edges and piece.of_itself:
                raise ValueError(f"{text} is of both ends of an edge")
            texts[piece.on_edges].append(piece.text)
        own, other = (Formula("*".join(some) or "1", self.features) for some in texts)
        return own, other

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and (self.text, self.features) == (other.text, other.features)

    def __hash__(self) -> int:
        return hash((self.text, self.features))

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula, (self.text, self.features)


@functools.lru_cache(maxsize=4096)
def parsed(text: str) -> ast.Expression:
    """The syntax tree of a formula, in which nothing is but numbers, names, known functions and arithmetic."""
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:40]!r}... has {len(text)} characters; a formula has at most {_LONGEST}")
    try:
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not a formula: {error}") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in (*FUNCTIONS, SUM):
                raise ValueError(
                    f"{text!r} calls something unknown; known functions are {', '.join(FUNCTIONS)}, and sum"
                )
            if len(node.args) != 1 or node.keywords:
                raise ValueError(f"in {text!r} {node.func.id} takes one argument")
            if node.func.id == SUM and any(inner is not node and _is_sum(inner) for inner in ast.walk(node)):
                raise ValueError(f"{text!r} has a sum over neighbours inside another")
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
                raise ValueError(f"{text!r} holds {node.value!r}, which is not a real number")
        elif not isinstance(node, (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, *_SIGNS, *_OPERATIONS)):
            raise ValueError(f"{text!r} holds more than arithmetic, names and known functions")
        elif isinstance(node, ast.Name) and node.id in (*FUNCTIONS, SUM) and id(node) not in called:
            raise ValueError(f"in {text!r} {node.id} is a function and needs an argument: {node.id}(x)")
    try:
        _check(tree.body, 0, 1.0)
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"{text!r} cannot be computed: {error}") from None
    return tree


def _check(node: ast.expr, depth: int, power: float) -> None:
    """Raise an error for what is nested too deeply, raised too high, or a number that is none, as 1/0."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep; give it as several terms")
    if isinstance(node, ast.Call):
        _check(node.args[0], depth + 1, power)
    elif isinstance(node, ast.UnaryOp):
        _check(node.operand, depth + 1, power)
    elif isinstance(node, ast.BinOp):
        _check(node.right, depth + 1, power)
        if isinstance(node.op, ast.Div) and number_of(node.right) == 0:
            raise ValueError("it divides by 0")
        raised = abs(number_of(node.right) or 1.0) if isinstance(node.op, ast.Pow) else 1.0
        if power * max(raised, 1.0) > _HIGHEST:
            raise ValueError(f"powers go up to {_HIGHEST}")
        _check(node.left, depth + 1, power * max(raised, 1.0))
    number_of(node)


def number_of(node: ast.expr) -> float | None:
    """The value of a part that holds numbers alone; ArithmeticError or ValueError if it has none, as 1/0, or is not finite."""
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, (int, float))  # parsed has seen to it
        value = float(node.value)
    elif isinstance(node, ast.UnaryOp):
        operand = number_of(node.operand)
        if operand is None:
            return None
        value = -operand if isinstance(node.op, ast.USub) else operand
    elif isinstance(node, ast.BinOp):
        left = number_of(node.left)
        right = number_of(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow):
            value = math.pow(left, right)
            if value == 0 and left != 0:
                raise ValueError(f"{left:g}^{right:g} is too small")
        else:
            value = _OPERATIONS[type(node.op)](left, right)
    else:
        return None
    if not math.isfinite(value):
        raise ValueError("a number in it is too large")
    return value


def _names(tree: ast.Expression) -> list[str]:
    """The names of states and parameters, in the order in which they are written."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in (*FUNCTIONS, SUM)]
    return [n.id for n in sorted(nodes, key=lambda n: (n.lineno, n.col_offset))]


def _is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == SUM


def _around(tree: ast.Expression, features: tuple[str, ...]) -> tuple[Formula, tuple[Formula, ...]] | None:
    """The function of sums, each a feature of its own there, and what is summed; None if there is no sum."""
    inside = list(dict.fromkeys(ast.unparse(node.args[0]) for node in ast.walk(tree) if _is_sum(node)))  # type: ignore[attr-defined]  # a call, as _is_sum has seen
    if not inside:
        return None

    class Sums(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if not _is_sum(node):
                return self.generic_visit(node)
            return ast.Name(f"{SUM}_{inside.index(ast.unparse(node.args[0]))}", ast.Load())

    outside = Sums().visit(ast.parse(ast.unparse(tree), mode="eval"))
    names = (*features, *(f"{SUM}_{k}" for k in range(len(inside))))
    return Formula(ast.unparse(outside), names), tuple(Formula(text, features) for text in inside)


def _compiled(
    tree: ast.Expression, states: Mapping[str, tuple[str, int]], parameters: Sequence[str]
) -> Callable[..., Any]:
    """The formula as a Python function of x_i, x_j and the parameters; the tree holds nothing but arithmetic."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id in FUNCTIONS:
                return node
            if node.id in states:
                state, k = states[node.id]
                return _python(f"{state}[..., {k}]")
            return _python(f"values[{parameters.index(node.id)}]")

        def visit_Call(self, node: ast.Call) -> ast.AST:
            # a function of parameters alone may be given plain numbers
            return ast.Call(node.func, [self.visit(a) for a in node.args], [])

        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            exponent = number_of(node.right) if isinstance(node.op, ast.Pow) else None
            if exponent in (2, 3):  # products are faster than powers, and have derivatives at 0
                return ast.Call(_python("_square" if exponent == 2 else "_cube"), [self.visit(node.left)], [])
            if isinstance(node.op, ast.Pow) and (exponent is None or exponent % 1):
                return ast.Call(_python("_power"), [self.visit(node.left), self.visit(node.right)], [])
            return self.generic_visit(node)

        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            assert isinstance(node.value, (int, float))  # parsed has seen to it
            return ast.Constant(float(node.value))  # whole numbers would grow without end

    clean = ast.parse(ast.unparse(tree), mode="eval")
    frame = _python("lambda x_i, x_j, values: 0")
    assert isinstance(frame, ast.Lambda)
    frame.body = Names().visit(clean).body
    code = ast.fix_missing_locations(ast.Expression(frame))
    helpers = {"__builtins__": {}, "_square": _square, "_cube": _cube, "_power": _power}
    scope = {**helpers, **{name: _lifted(function) for name, function in FUNCTIONS.items()}}
    function: Callable[..., Any] = eval(compile(code, "<formula>", "eval"), scope)
    return function


def _python(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _lifted(function: Callable[..., torch.Tensor]) -> Callable[[Any], torch.Tensor]:
    return lambda x: function(x if isinstance(x, torch.Tensor) else torch.tensor(float(x), dtype=torch.float64))


def _square(x: Any) -> Any:
    return x * x


def _cube(x: Any) -> Any:
    return x * x * x


def _power(x: Any, exponent: Any) -> Any:
    """x^h for any h; 0 for x < 0, where it is not real."""
    return (x.clamp(min=0) if isinstance(x, torch.Tensor) else max(x, 0.0)) ** exponent


def _products(node: ast.expr, sign: float) -> list[tuple[float, list[tuple[ast.expr, bool]]]] | None:
    """A sum of products: (sign, [(factor, whether it is above the fraction line)]) for each product."""
    if isinstance(node, ast.UnaryOp):
        return _products(node.operand, -sign if isinstance(node.op, ast.USub) else sign)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left = _products(node.left, sign)
        if left is None:  # without looking further: expanding sin(a + b + c + ...) would double the work with each part
            return None
        right = _products(node.right, -sign if isinstance(node.op, ast.Sub) else sign)
        return None if right is None else left + right
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left = _products(node.left, 1.0)
        right = None if left is None else _products(node.right, 1.0)
        if left is None or right is None or len(left) * len(right) > 16:
            return None
        return [(sign * a * b, one + two) for a, one in left for b, two in right]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        above = _products(node.left, 1.0)
        return None if above is None else [(sign * a, [*one, (node.right, False)]) for a, one in above]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("sin", "cos")
        and isinstance(node.args[0], ast.BinOp)
        and isinstance(node.args[0].op, (ast.Add, ast.Sub))
    ):
        a = ast.unparse(node.args[0].left)
        b = ast.unparse(node.args[0].right)
        flip, back = "-+" if isinstance(node.args[0].op, ast.Sub) else "+-"
        sine = f"sin({a})*cos({b}) {flip} cos({a})*sin({b})"
        cosine = f"cos({a})*cos({b}) {back} sin({a})*sin({b})"
        return _products(parsed(sine if node.func.id == "sin" else cosine).body, sign)
    return [(sign, [(node, True)])]


def _to_sympy(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return sympy.Integer(node.value) if isinstance(node.value, int) else sympy.Float(node.value)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        value = _to_sympy(node.operand, names)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_to_sympy(node.left, names), _to_sympy(node.right, names))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    argument = _to_sympy(node.args[0], names)
    name = node.func.id
    if name == SUM:
        return sympy.Function("sum_j")(argument)
    if name == "log1p":
        return sympy.log(1 + argument)
    if name == "sigmoid":
        return 1 / (1 + sympy.exp(-argument))
    if name == "relu":
        return sympy.Max(argument, 0)
    return getattr(sympy, {"abs": "Abs"}.get(name, name))(argument)
