"""FreeForm: a learned law whose f and g are splines."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..graph import Graph
from .free import Basis
from .law import Law
from .splines import Splines, product


class FreeForm(Law):
    """dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), f and g sums of cubic splines.

    f(x) = sum_b f_b(x_b) + sum_{b<c} f_bc(x_b, x_c); g = sum_b [p_b(x_ib) + q_b(x_jb) + u_b(x_jb - x_ib)] +
    sum_bc B(x_ib)' C_bc B(x_jc). Outside the states seen in training every spline goes on as a straight line, and products
    to first order, so that nothing grows faster than one.

    Args:
        basis: the splines.
        coefficients: shape (d, basis.size).
        names: of the features.

    Example:
        >>> import torch
        >>> from ndcn.laws.free import basis_for
        >>> basis = basis_for(torch.rand(50, 1), torch.rand(50, 1))
        >>> law = FreeForm(basis, torch.zeros(1, basis.size), ("x",))
        >>> law.node(torch.ones(3, 1)).shape
        torch.Size([3, 1])
    """

    coefficients: torch.Tensor

    def __init__(self, basis: Basis, coefficients: torch.Tensor, names: tuple[str, ...]) -> None:
        super().__init__()
        self.basis = basis
        self.names = tuple(names)
        self.register_buffer("coefficients", coefficients.detach().double().clone())
        self.features = self.names

    def _parts(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Coefficients of each part, (m, d)."""
        c = self.coefficients.to(x)
        return {name: c[..., where].mT for name, where in self.basis.blocks.items()}

    def several(self, parameters: torch.Tensor) -> FreeForm:
        """Laws with these coefficients, (R, d * basis.size), side by side: their states and rates are (R, n, d)."""
        shape = (len(parameters), len(self.names), self.basis.size)
        return FreeForm(self.basis, parameters.reshape(shape), self.names)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x)."""
        parts = self._parts(x)
        d = len(self.names)
        out = torch.zeros_like(x)
        for b in range(d):
            out = out + self.basis.single[b].curve(x[..., b], parts[f"f{b}"])
        few = [s.parts(x[..., b]) for b, s in enumerate(self.basis.few)]
        for b, c in self.basis.pairs:
            out = out + product(few[b], few[c]) @ parts[f"f{b}{c}"]
        return out

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j)."""
        parts = self._parts(x_i)
        d = len(self.names)
        out = torch.zeros_like(x_i)
        for b in range(d):
            splines = self.basis.single[b]
            gap = self.basis.gap[b]
            out = out + splines.curve(x_i[..., b], parts[f"p{b}"]) + splines.curve(x_j[..., b], parts[f"q{b}"])
            out = out + gap.curve(x_j[..., b] - x_i[..., b], parts[f"u{b}"])
        mine = [s.parts(x_i[..., b]) for b, s in enumerate(self.basis.few)]
        other = [s.parts(x_j[..., b]) for b, s in enumerate(self.basis.few)]
        for b in range(d):
            for c in range(d):
                out = out + product(mine[b], other[c]) @ parts[f"c{b}{c}"]
        return out

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The law; what belongs to one end of an edge is computed per node, and only differences edge by edge."""
        parts = self._parts(x)
        d = len(self.names)
        few = [s.parts(x[..., b]) for b, s in enumerate(self.basis.few)]
        curves = [
            self.basis.single[b].curve(x[..., b], torch.cat([parts[f"{kind}{b}"] for kind in "fpq"], dim=-1))
            for b in range(d)
        ]
        f, p, q = torch.stack(curves).sum(0).split(d, dim=-1)
        one = torch.ones_like(x[..., :1])
        degrees, others, *sums = (graph.adjacency @ torch.cat([one, q, *few], dim=-1)).split(
            [1, d, *(v.shape[-1] for v in few)], dim=-1
        )
        out = f + degrees.detach() * p + others
        i, j = graph.edge_index(x.device)
        for b in range(d):
            gaps = x[..., b].index_select(-1, j) - x[..., b].index_select(-1, i)
            out = out + graph.aggregate(self.basis.gap[b].curve(gaps, parts[f"u{b}"]))
            for c in range(d):
                out = out + product(few[b], sums[c]) @ parts[f"c{b}{c}"]
        for b, c in self.basis.pairs:
            out = out + product(few[b], few[c]) @ parts[f"f{b}{c}"]
        return out

    def description(self) -> dict[str, Any]:
        """Knots, coefficients and names, as plain numbers and text."""
        knots = {kind: [list(s.knots) for s in getattr(self.basis, kind)] for kind in ("single", "few", "gap")}
        return {"kind": "free", "names": list(self.names), "knots": knots, "coefficients": self.coefficients.tolist()}

    @classmethod
    def from_description(cls, about: dict[str, Any]) -> FreeForm:
        """The law that ``description`` describes.

        Raises:
            ValueError: it describes none.
        """
        try:
            kinds = [tuple(Splines(k) for k in about["knots"][kind]) for kind in ("single", "few", "gap")]
            coefficients = torch.tensor(about["coefficients"], dtype=torch.float64)
            law = cls(Basis(*kinds), coefficients, tuple(str(n) for n in about["names"]))
            if coefficients.shape != (len(law.names), law.basis.size):
                raise ValueError(f"it has coefficients of shape {tuple(coefficients.shape)}")
            knots = [k for kind in kinds for splines in kind for k in splines.knots]
            if not (coefficients.isfinite().all() and all(map(math.isfinite, knots))):
                raise ValueError("it has knots or coefficients that are not finite")
            if len(set(law.names)) < len(law.names):
                raise ValueError(f"it has features of the same name, {', '.join(law.names)}")
        except (KeyError, TypeError, IndexError, OverflowError, RuntimeError) as error:
            raise ValueError(f"this does not describe a law of splines: {error!r}") from error
        return law
