"""A law whose f and g are splines: what the search fits, what a field follows, and what files hold."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..graph import Graph
from ..solve import LawArrays, LawKernel
from .basis import Basis
from .law import Law
from .model import Model, Slopes
from .network import Network, graph_arrays
from .splines import Splines, product

MOST_KNOTS = 1000  # of a spline in a file: its pieces take memory that grows with the square


@dataclass(frozen=True)
class FreeModel:
    """dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j) with splines: their coefficients (d, size), and all ways to compute with them.

    As an ``Equation`` does, it serves the search as a ``Model``, on a ``Network`` and with a ``base`` without parameters to be found, and a law
    as a field on a ``Graph``, there also with coefficients (R, d, size) of R laws side by side. Splines become cubics once for all rates of
    a model; a field, whose coefficients are often used once, evaluates them as they are.
    """

    basis: Basis
    coefficients: torch.Tensor
    base: Model | None = None

    @property
    def parameters(self) -> torch.Tensor:
        """All coefficients in one vector."""
        return self.coefficients.reshape(-1)

    def with_parameters(self, values: torch.Tensor) -> FreeModel:
        """The same splines with other coefficients."""
        return replace(self, coefficients=values.reshape(self.coefficients.shape).clone())

    def _part(self, name: str) -> torch.Tensor:
        """Coefficients of one part, (..., m, d)."""
        return self.coefficients[..., self.basis.blocks[name]].mT

    @functools.cached_property
    def _curves(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """For each feature f, p and q side by side, and u, as cubics."""
        out = []
        for b, (single, gap) in enumerate(zip(self.basis.single, self.basis.gap, strict=True)):
            own = torch.cat([self._part(f"{name}{b}") for name in "fpq"], dim=1)
            out.append((single.cubics(own), gap.cubics(self._part(f"u{b}"))))
        return out

    # As a model -------------------------------------------------------------------------------------------------

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """dx/dt at states (K, n, d)."""
        d = x.shape[-1]
        out = torch.zeros_like(x) if self.base is None else self.base.rate(x, network)
        degrees = network.degrees[:, None]
        few = [s.parts(x[..., b]) for b, s in enumerate(self.basis.few)]
        sums = [network.neighbours(v) for v in few]
        for b, (own, gap) in enumerate(self._curves):
            f, p, q = self.basis.single[b].along(x[..., b], own).split(d, dim=-1)
            out = out + f + degrees * p + network.neighbours(q)
            differences = x[..., b].index_select(1, network.j) - x[..., b].index_select(1, network.i)
            out = out + network.gathered(self.basis.gap[b].along(differences, gap))
        for b, c in self.basis.pairs:
            out = out + product(few[b], few[c]) @ self._part(f"f{b}{c}")
        for b, c in itertools.product(range(d), repeat=2):
            out = out + product(few[b], sums[c]) @ self._part(f"c{b}{c}")
        return out

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """dx/dt and its derivatives at states (K, n, d)."""
        K, n, d = x.shape
        basis = self.basis
        shared = basis.columns(x, network)
        rate = shared @ self.coefficients.T
        own = x.new_zeros(K, n, d, d)
        edges = x.new_zeros(K, len(network.i), d, d)
        degrees = network.degrees[:, None]
        few = [(s.parts(x[..., b]), s.parts(x[..., b], slope=True)) for b, s in enumerate(basis.few)]
        sums = [network.neighbours(v) for v, _ in few]
        for b, (curves, gap) in enumerate(self._curves):
            f, p, q = basis.single[b].along(x[..., b], curves, slope=True).split(d, dim=-1)
            own[..., b] += f + degrees * p
            edges[..., b] += q.index_select(1, network.j)
            differences = x[..., b].index_select(1, network.j) - x[..., b].index_select(1, network.i)
            u = basis.gap[b].along(differences, gap, slope=True)
            own[..., b] -= network.gathered(u)
            edges[..., b] += u
        for b, c in basis.pairs:
            part = self._part(f"f{b}{c}")
            own[..., b] += product(few[b][1], few[c][0]) @ part
            own[..., c] += product(few[b][0], few[c][1]) @ part
        for b, c in itertools.product(range(d), repeat=2):
            part = self._part(f"c{b}{c}")
            own[..., b] += product(few[b][1], sums[c]) @ part
            table = part.reshape(basis.few[b].size, basis.few[c].size, d)
            for sign, mine, other in zip((1, -1), few[b][0].chunk(2, -1), few[c][1].chunk(2, -1), strict=True):
                if mine.any() and other.any():
                    half = torch.einsum("knr,rsd->knsd", mine, table).index_select(1, network.i)
                    edges[..., c] += sign * torch.einsum("kesd,kes->ked", half, other.index_select(1, network.j))
        columns = x.new_zeros(K, n, d, d, basis.size)
        for a in range(d):
            columns[:, :, a, a] = shared
        return Slopes(rate, own, edges, columns.flatten(-2)).on(self.base, x, network)

    @functools.cached_property
    def _arrays(self) -> LawArrays:
        d = len(self.coefficients)
        curves = [cubics for pair in self._curves for cubics in pair]
        pairs = [self._part(f"f{b}{c}") for b, c in self.basis.pairs]
        every = [self._part(f"c{b}{c}") for b, c in itertools.product(range(d), repeat=2)]
        return self.basis.arrays.law(torch.cat([part.reshape(-1) for part in (*curves, *pairs, *every)]).numpy())

    def __getstate__(self) -> dict[str, Any]:
        """All but what holds addresses, for copies and other processes."""
        return {name: value for name, value in vars(self).items() if name != "_arrays"}

    def kernel(self, network: Network) -> LawKernel | None:
        """The same in C; None beside a base, or where there is no compiled kernel."""
        if self.base is not None or network.arrays is None or not self.basis.arrays.small_enough:
            return None
        return LawKernel(self._arrays, network.arrays)

    # As a field ---------------------------------------------------------------------------------------------------

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x)."""
        d = x.shape[-1]
        out = torch.zeros_like(x)
        for b in range(d):
            out = out + self.basis.single[b].curve(x[..., b], self._part(f"f{b}"))
        few = [s.parts(x[..., b]) for b, s in enumerate(self.basis.few)]
        for b, c in self.basis.pairs:
            out = out + product(few[b], few[c]) @ self._part(f"f{b}{c}")
        return out

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j)."""
        d = x_i.shape[-1]
        out = torch.zeros_like(x_i)
        for b in range(d):
            splines = self.basis.single[b]
            out = out + splines.curve(x_i[..., b], self._part(f"p{b}"))
            out = out + splines.curve(x_j[..., b], self._part(f"q{b}"))
            out = out + self.basis.gap[b].curve(x_j[..., b] - x_i[..., b], self._part(f"u{b}"))
        mine = [s.parts(x_i[..., b]) for b, s in enumerate(self.basis.few)]
        other = [s.parts(x_j[..., b]) for b, s in enumerate(self.basis.few)]
        for b, c in itertools.product(range(d), repeat=2):
            out = out + product(mine[b], other[c]) @ self._part(f"c{b}{c}")
        return out

    def field(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The rate; what belongs to one end of an edge is computed per node, and only differences edge by edge."""
        d = x.shape[-1]
        few = [s.parts(x[..., b]) for b, s in enumerate(self.basis.few)]
        parts = [torch.cat([self._part(f"{kind}{b}") for kind in "fpq"], dim=-1) for b in range(d)]
        curves = [self.basis.single[b].curve(x[..., b], parts[b]) for b in range(d)]
        f, p, q = torch.stack(curves).sum(0).split(d, dim=-1)
        columns = [torch.ones_like(x[..., :1]), q, *few]
        sizes = [v.shape[-1] for v in columns]
        degrees, others, *sums = (graph.adjacency @ torch.cat(columns, dim=-1)).split(sizes, dim=-1)
        out = f + degrees.detach() * p + others
        i, j = graph.edge_index(x.device)
        for b in range(d):
            gaps = x[..., b].index_select(-1, j) - x[..., b].index_select(-1, i)
            out = out + graph.aggregate(self.basis.gap[b].curve(gaps, self._part(f"u{b}")))
            for c in range(d):
                out = out + product(few[b], sums[c]) @ self._part(f"c{b}{c}")
        for b, c in self.basis.pairs:
            out = out + product(few[b], few[c]) @ self._part(f"f{b}{c}")
        return out


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
        >>> from ndcn.laws import basis_for
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

    def _model(self, x: torch.Tensor) -> FreeModel:
        return FreeModel(self.basis, self.coefficients.to(x))

    def with_parameters(self, parameters: torch.Tensor) -> FreeForm:
        """The same law with other coefficients, (d * basis.size,)."""
        return FreeForm(self.basis, parameters.reshape(self.coefficients.shape), self.names)

    def several(self, parameters: torch.Tensor) -> FreeForm:
        """Laws with these coefficients, (R, d * basis.size), side by side: their states and rates are (R, n, d)."""
        shape = (len(parameters), len(self.names), self.basis.size)
        return FreeForm(self.basis, parameters.reshape(shape), self.names)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x)."""
        return self._model(x).node(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j)."""
        return self._model(x_i).edge(x_i, x_j)

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law; what belongs to one end of an edge is computed per node, and only differences edge by edge."""
        return self._model(x).field(x, graph)

    def law_kernel(self, graph: Graph, features: int) -> LawKernel | None:
        """The law in C."""
        arrays = graph_arrays(graph)
        plain = self.coefficients.dim() == 2 and self.coefficients.device.type == "cpu" and type(self) is FreeForm
        if arrays is None or not plain or features != len(self.names) or not self.basis.arrays.small_enough:
            return None
        return LawKernel(FreeModel(self.basis, self.coefficients.double())._arrays, arrays)

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
            if any(len(knots) > MOST_KNOTS for kind in about["knots"].values() for knots in kind):
                raise ValueError(f"it has splines of more than {MOST_KNOTS} knots; a search makes 21 at most")
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
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
            raise ValueError(f"this does not describe a law of splines: {error!r}") from error
        return law
