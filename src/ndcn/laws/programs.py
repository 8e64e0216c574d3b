"""Equations as instructions for the compiled kernel: what is of a neighbour alone, of both ends of an edge, and of the node itself."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch

from ..solve import FormulaArrays, LawKernel, ProgramArrays
from .formula import Formula, number_of
from .network import Network
from .terms import Term, separated, values_of

# In the order of law_program.h.
_OPS = (
    *("add", "sub", "mul", "div", "neg", "pow", "powi", "square", "cube"),
    *(
        "exp",
        "log",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "atan",
        "sigmoid",
        "abs",
        "sign",
        "relu",
    ),
)
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}

# An input, a parameter or an instruction by its number, or a constant by its value.
Operand: TypeAlias = tuple[str, float]
# One product of a sum over neighbours: its factor of the node itself, its sign, the kind of sum and its number.
Part: TypeAlias = tuple[Formula | None, float, str, int]


class _Builder:
    """Instructions; the same one is never there twice."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.instructions: dict[tuple[str, Operand, Operand], Operand] = {}
        self.outputs: list[Operand] = []

    def do(self, op: str, a: Operand, b: Operand | None = None) -> Operand:
        """The result of an operation."""
        return self.instructions.setdefault((op, a, b or a), ("register", len(self.instructions)))

    def put(self, value: Operand) -> int:
        """The number of an output, a new one if need be."""
        if value not in self.outputs:
            self.outputs.append(value)
        return self.outputs.index(value)

    def formula(self, formula: Formula, states: Mapping[str, Operand], parameters: Mapping[str, int]) -> Operand:
        """A formula, given its states, as x_i and x_j of each feature, and the numbers of its parameters."""
        return self._node(formula.tree.body, formula, states, parameters)

    def _node(
        self, node: ast.expr, formula: Formula, states: Mapping[str, Operand], parameters: Mapping[str, int]
    ) -> Operand:
        value = number_of(node)
        if value is not None:
            return "constant", value
        if isinstance(node, ast.Name):
            if node.id in parameters:
                return "parameter", parameters[node.id]
            end, k = formula.states[node.id]
            return states[f"{end}{k}"]
        inner = functools.partial(self._node, formula=formula, states=states, parameters=parameters)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return self.do(node.func.id, inner(node.args[0]))
        if isinstance(node, ast.UnaryOp):
            operand = inner(node.operand)
            return self.do("neg", operand) if isinstance(node.op, ast.USub) else operand
        assert isinstance(node, ast.BinOp)
        left = inner(node.left)
        if not isinstance(node.op, ast.Pow):
            return self.do(_BINARY[type(node.op)], left, inner(node.right))
        exponent = number_of(node.right)
        if exponent == 1:
            return left
        if exponent in (2, 3):
            return self.do("square" if exponent == 2 else "cube", left)
        return self.do("pow" if exponent is None or exponent % 1 else "powi", left, inner(node.right))

    def needed(self) -> list[set[int]]:
        """The parameters that each output depends on."""
        by: list[set[int]] = []  # of each instruction; its operands come before it

        def of(operand: Operand) -> set[int]:
            kind, k = operand
            return {int(k)} if kind == "parameter" else by[int(k)] if kind == "register" else set()

        for _, a, b in self.instructions:
            by.append(of(a) | of(b))
        return [of(value) for value in self.outputs]

    @property
    def constants(self) -> list[float]:
        """In the order in which they come."""
        operands = [operand for _, a, b in self.instructions for operand in (a, b)]
        return [value for kind, value in (*operands, *self.outputs) if kind == "constant"]

    def arrays(self, parameters: int, constants: Sequence[float]) -> ProgramArrays:
        """For the library, with the constants of all programs."""
        scalars = parameters + len(constants)

        def register(operand: Operand) -> int:
            kind, k = operand
            first = {
                "input": 0,
                "parameter": self.inputs,
                "constant": self.inputs + parameters,
                "register": self.inputs + scalars,
            }
            return first[kind] + (constants.index(k) if kind == "constant" else int(k))

        code = [(_OPS.index(op), register(a), register(b)) for op, a, b in self.instructions]
        outputs = np.array([register(value) for value in self.outputs], dtype=np.int32)
        return ProgramArrays(self.inputs, scalars, np.array(code, dtype=np.int32).reshape(-1, 3), outputs)


@functools.lru_cache(maxsize=4096)
def programs(terms: tuple[tuple[Formula, bool, int], ...], d: int) -> FormulaArrays:
    """sum_k c_k term_k for terms (formula, whether it is a coupling, feature in whose rate it is); parameters as ``Equation`` has them."""
    pre, edge, post = _Builder(d), _Builder(2 * d), _Builder(0)
    own: dict[str, Operand] = {f"x_i{k}": ("input", k) for k in range(d)}
    other: dict[str, Operand] = {f"x_j{k}": ("input", k) for k in range(d)}
    both = own | {f"x_j{k}": ("input", d + k) for k in range(d)}
    first = len(terms)
    # Of each term what it adds: a formula of the node, or sums over neighbours; and its parameters.
    parts: list[tuple[Formula | None, list[list[Part]]]] = []
    names: list[dict[str, int]] = []

    def summed(formula: Formula, mine: dict[str, int]) -> list[Part]:
        products = separated(formula)
        if products is None:
            return [(None, 1.0, "edge", edge.put(edge.formula(formula, both, mine)))]
        sums = [
            ("degree", 0) if factor.text == "1" else ("pre", pre.put(pre.formula(factor, other | own, mine)))
            for _, _, factor in products
        ]
        return [(factor, sign, *where) for (sign, factor, _), where in zip(products, sums, strict=True)]

    for formula, coupling, _ in terms:
        mine = {name: first + k for k, name in enumerate(formula.parameters)}
        first += len(mine)
        names.append(mine)
        if formula.around is not None:
            parts.append((formula.around[0], [summed(inside, mine) for inside in formula.around[1]]))
        else:
            parts.append((None, [summed(formula, mine)]) if coupling else (formula, []))
    post.inputs = d + 1 + len(pre.outputs) + len(edge.outputs)
    places = {"degree": d, "pre": d + 1, "edge": d + 1 + len(pre.outputs)}

    def total(sums: list[Part], mine: dict[str, int]) -> Operand:
        value: Operand | None = None
        for factor, sign, kind, number in sums:
            part: Operand = ("input", places[kind] + number)
            if factor is not None and factor.text != "1":
                part = post.do("mul", post.formula(factor, own, mine), part)
            if sign != 1:
                part = post.do("mul", ("constant", sign), part)
            value = part if value is None else post.do("add", value, part)
        assert value is not None
        return value

    totals: list[Operand] = [("constant", 0.0)] * d
    for k, ((_, _, output), mine) in enumerate(zip(terms, names, strict=True)):
        outside, sums = parts[k]
        values = [total(one, mine) for one in sums]
        if outside is None:
            (term,) = values
        else:
            term = post.formula(outside, own | {f"x_i{d + m}": value for m, value in enumerate(values)}, mine)
        weighted = post.do("mul", ("parameter", k), term)
        empty = totals[output] == ("constant", 0.0)
        totals[output] = weighted if empty else post.do("add", totals[output], weighted)
    post.outputs = totals
    constants = list(dict.fromkeys(pre.constants + edge.constants + post.constants))
    made_pre, made_edge, made_post = (builder.arrays(first, constants) for builder in (pre, edge, post))
    by = (_by(pre, first), _by(edge, first))
    return FormulaArrays(d, first, made_pre, made_edge, made_post, *by, tuple(constants))


def _by(builder: _Builder, parameters: int) -> np.ndarray:
    out = np.zeros((len(builder.outputs), parameters), dtype=np.uint8)
    for row, needed in zip(out, builder.needed(), strict=True):
        row[sorted(needed)] = 1
    return out


def equation_program(terms: Sequence[Term], d: int) -> FormulaArrays:
    """The instructions of an equation with these terms, whatever their numbers are; kept from call to call."""
    return programs(tuple((term.formula, term.coupling, term.output) for term in terms), d)


def term_values(
    term: Term, x: torch.Tensor, network: Network, cache: dict[str, torch.Tensor] | None = None
) -> torch.Tensor:
    """``values_of``, in C where that is there."""
    if network.arrays is None:
        return values_of(term, x, network, cache)
    d = x.shape[-1]
    arrays = programs(((term.formula, term.coupling, 0),), d)
    kernel = LawKernel(arrays.law(np.array([1.0, *term.values])), network.arrays)
    return torch.from_numpy(kernel.rate(x.numpy()))[..., 0]
