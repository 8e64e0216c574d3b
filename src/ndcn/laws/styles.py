"""How equations look: as plain text, and in LaTeX."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from .formula import Formula, parsed

GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega",
)
_FUNCTIONS = {
    "exp": "e^{%s}",
    "sqrt": r"\sqrt{%s}",
    "abs": r"\left|%s\right|",
    "log1p": r"\log\left(1 + %s\right)",
    "atan": r"\arctan\left(%s\right)",
    **{name: rf"\{name}\left(%s\right)" for name in ("log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
}


class Text:
    """How equations look as plain text."""

    neighbours = "sum_j A_ij "
    bracket = ("[", "]")
    comma = ",  "
    known = "known law"
    index = "_"

    def rate(self, feature: str) -> str:
        """What an equation is about."""
        return f"d{feature}_i/dt"

    def number(self, text: str) -> str:
        """A number that is written out."""
        return text

    def name(self, text: str) -> str:
        """A name of a parameter or state."""
        return text

    def words(self, text: str) -> str:
        """Plain words."""
        return text

    def formula(self, formula: Formula, names: Mapping[str, str]) -> str:
        """A formula that is summed, in parentheses if it is a sum itself."""
        text = self.times("", formula, names)
        return text.strip() or "1"

    def times(self, number: str, formula: Formula, names: Mapping[str, str]) -> str:
        """A coefficient and a formula."""
        tree = parsed(formula.text).body
        text = re.sub(r"\b[^\W\d]\w*", lambda found: names.get(found[0], found[0]), ast.unparse(tree))
        for wide, narrow in ((" ** ", "^"), (" * ", "*"), (" / ", "/")):
            text = text.replace(wide, narrow)
        if text == "1":
            return number
        if text.startswith("1/") and number:
            return number + text[1:]
        return f"{number} ({text})" if _is_sum(tree) or text[0].isdigit() else f"{number} {text}"


class Latex(Text):
    """How they look in LaTeX."""

    neighbours = r"\sum_j A_{ij}\, "
    bracket = (r"\left[", r"\right]")
    comma = r", \quad "
    known = r"\text{known law}"
    index = r"\_"

    def rate(self, feature: str) -> str:
        """As a fraction."""
        return rf"\frac{{d{latex_name(f'{feature}_i')}}}{{dt}}"

    def number(self, text: str) -> str:
        """With powers of ten."""
        return latex_number(text)

    def words(self, text: str) -> str:
        """Upright."""
        return rf"\text{{{text}}}"

    def name(self, text: str) -> str:
        """Greek and subscripts where it says so."""
        return latex_name(text)

    def formula(self, formula: Formula, names: Mapping[str, str]) -> str:
        """A formula that is summed, in parentheses if it is a sum itself."""
        return _latex(parsed(formula.text).body, {name: latex_name(shown) for name, shown in names.items()}, 2)

    def times(self, number: str, formula: Formula, names: Mapping[str, str]) -> str:
        """A coefficient and a formula."""
        tree = parsed(formula.text).body
        if isinstance(tree, ast.Constant) and tree.value == 1:
            return number
        text = _latex(tree, {name: latex_name(shown) for name, shown in names.items()}, 2)
        return rf"{number} \cdot {text}" if text[0].isdigit() else rf"{number}\, {text}"


TEXT = Text()
LATEX = Latex()


def short(number: str) -> str:
    """1e-07 as 1e-7."""
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].strip('+')}{found[2]}", number)


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) or (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)))


def latex_number(text: str) -> str:
    """A number as text with its exponent as a power of ten."""
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \times 10^{{{exponent}}}" if exponent else mantissa


def latex_name(name: str) -> str:
    r"""A name in LaTeX: what follows a _ is an index, Greek letters are known, other words are upright.

    Example:
        >>> print(latex_name("x_i"), latex_name("alpha_12"), latex_name("prey_i"), latex_name("x_1_i"))
        x_i \alpha_{12} \mathrm{prey}_i x_{1,i}
    """
    head, *indices = name.split("_")
    index = ",".join(part for part in indices if part)
    shown = rf"\{head}" if head in GREEK else head if len(head) <= 1 else rf"\mathrm{{{head}}}"
    return shown if not index else f"{shown}_{index}" if len(index) == 1 else f"{shown}_{{{index}}}"


def _latex(node: ast.expr, names: Mapping[str, str], level: int = 0) -> str:
    """A formula in LaTeX, in parentheses if it binds less than ``level``: sums 1, products 2, powers 3, functions 4."""
    own = 5
    if isinstance(node, ast.Constant):
        text = latex_number(short(str(node.value)))
    elif isinstance(node, ast.Name):
        text = names[node.id]
    elif isinstance(node, ast.UnaryOp):
        own = 1
        text = ("-" if isinstance(node.op, ast.USub) else "") + _latex(node.operand, names, 2)
    elif isinstance(node, ast.BinOp):
        own, text = _latex_operation(node, names)
    else:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        own = 4
        shown = _FUNCTIONS.get(node.func.id, rf"\operatorname{{{node.func.id}}}\left(%s\right)")
        text = shown % _latex(node.args[0], names)
    return text if own >= level else rf"\left({text}\right)"


def _latex_operation(node: ast.BinOp, names: Mapping[str, str]) -> tuple[int, str]:
    """How tightly a sum, product, fraction or power binds, and its text."""
    if isinstance(node.op, ast.Div):
        return 4, rf"\frac{{{_latex(node.left, names)}}}{{{_latex(node.right, names)}}}"
    if isinstance(node.op, ast.Pow):
        exponent = _latex(node.right, names)
        base = _latex(node.left, names, 5)
        return 3, f"{base}^{exponent}" if len(exponent) == 1 else f"{base}^{{{exponent}}}"
    if isinstance(node.op, ast.Mult):
        left = _latex(node.left, names, 2)
        right = _latex(node.right, names, 2)
        return 2, rf"{left} \cdot {right}" if right[0].isdigit() else f"{left} {right}"
    minus = isinstance(node.op, ast.Sub)
    right = _latex(node.right, names, 2 if minus or isinstance(node.right, ast.UnaryOp) else 1)
    return 1, f"{_latex(node.left, names, 1)} {'-' if minus else '+'} {right}"
