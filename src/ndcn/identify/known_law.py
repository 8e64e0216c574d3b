"""KnownLaw: a law whose form is known and whose parameters are not, as a model that can be fitted."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from ..graph import Graph
from ..laws import Law, Network, Slopes
from ..solve import LawKernel


@dataclass(frozen=True)
class KnownLaw:
    """dx_i/dt = law(x_i, x_j; values), and dp_i/dt = 0 for parameters p_i of nodes, which are carried along as features.

    States are thus (x_1, ..., x_d, p_1, ..., p_q). The Jacobian is that of the law's own ``forward`` on a graph in which
    every node has a copy of each of its neighbours for itself: any law in which a node depends on itself and on the nodes
    that act on it can be differentiated, whichever way it computes.
    """

    law: Law  # with ``names`` and ``per_node`` unknown
    names: tuple[str, ...]  # parameters with one value for all nodes
    values: torch.Tensor  # of these, (P,)
    per_node: tuple[str, ...] = ()  # parameters with a value for each node
    batched: bool = True  # whether the law takes states of shape (K, n, d), not only (n, d)

    @property
    def parameters(self) -> torch.Tensor:
        """The values that all nodes have in common; if there are none, one number without effect."""
        return self.values if self.names else torch.zeros(1, dtype=torch.float64)

    def with_parameters(self, values: torch.Tensor) -> KnownLaw:
        """The same with other values."""
        return replace(self, values=values.clone()) if self.names else self

    def with_numbers(self, p: torch.Tensor | None = None) -> Law:
        """The law with its values, and p of shape (n, q) for the parameters of nodes."""
        common = {name: v.clone() for name, v in zip(self.names, self.values, strict=True)}
        mine = {} if p is None else {name: p[:, k].clone() for k, name in enumerate(self.per_node)}
        return self.law.with_values(**common, **mine)

    @functools.cached_property
    def _common(self) -> Law:
        return _numbered(self.law, dict(zip(self.names, self.values, strict=True)))

    @functools.cached_property
    def _usable(self) -> bool:
        return bool(self.values.isfinite().all())

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """dx/dt at states (K, n, d + q); NaN where a value of a parameter is none."""
        if not self._usable:
            return torch.full_like(x, torch.nan)
        if self.batched and not self.per_node:
            with torch.no_grad():
                return self._called(self._common, x, network.graph).to(x.dtype)
        state, p = self._split(x)
        if not p.isfinite().all():
            return torch.full_like(x, torch.nan)
        with torch.no_grad():
            if self.batched and bool((p == p[:1]).all()):
                out = self._called(self._with_nodes(p[0]), state, network.graph)
            else:
                every = zip(state, p, strict=True)
                out = torch.stack([self._called(self._with_nodes(b), a, network.graph) for a, b in every])
        return torch.cat([out, torch.zeros_like(p)], dim=-1)

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """dx/dt and its derivatives at states (K, n, d + q); where one is not finite it is 0."""
        K, n, D = x.shape
        d = D - len(self.per_node)
        graph, copies = network.star(K)
        state, p = (part.flatten(0, 1)[copies].detach() for part in self._split(x))
        of = [state.requires_grad_(True), *(column.clone().requires_grad_(True) for column in p.unbind(-1))]
        with torch.enable_grad():
            values = [v.detach().clone().requires_grad_(True) for v in self.values.unbind()]
            given = dict(zip((*self.names, *self.per_node), [*values, *of[1:]], strict=True))
            kept = {name: getattr(self.law, name) for name in self.law.parameter_names if name not in given}
            repeated = {name: value[copies % n].clone() for name, value in kept.items() if value.dim()}
            law = _numbered(self.law, {**given, **repeated})
            out = self._called(law, state, graph)[: K * n]
            rate = out.detach()
            rows = [self._row(out[:, a], of) for a in range(d)]
            columns = self._columns(out, values)
        by = torch.stack(rows, dim=1)  # of the rate of each of d features, by all D features of each copy
        own = x.new_zeros(K, n, D, D)
        edges = x.new_zeros(K, len(network.i), D, D)
        own[:, :, :d] = by[: K * n].reshape(K, n, d, D)
        edges[:, :, :d] = by[K * n :].reshape(K, -1, d, D) / network.weights[:, None, None]
        every = x.new_zeros(K, n, D, max(len(values), 1))
        every[:, :, :d, : len(values)] = columns.reshape(K, n, d, len(values))
        still = x.new_zeros(K, n, len(self.per_node))
        return Slopes(torch.cat([rate.reshape(K, n, d), still], dim=-1), own, edges, every)

    def kernel(self, network: Network) -> LawKernel | None:
        """None: a law's own ``forward`` is Python."""
        return None

    def _with_nodes(self, p: torch.Tensor) -> Law:
        return _numbered(self._common, dict(zip(self.per_node, p.unbind(-1), strict=True)))

    def _split(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        d = x.shape[-1] - len(self.per_node)
        return x[..., :d], x[..., d:]

    @staticmethod
    def _called(law: Law, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        rate: torch.Tensor = law(torch.zeros((), dtype=x.dtype), x, graph)
        return rate

    @staticmethod
    def _row(out: torch.Tensor, of: list[torch.Tensor]) -> torch.Tensor:
        """Derivatives by the features of each copy, (copies, D)."""
        grads: Sequence[torch.Tensor | None] = [None] * len(of)
        if out.requires_grad:
            grads = torch.autograd.grad(out.sum(), of, retain_graph=True, allow_unused=True)
        parts = [torch.zeros_like(v) if g is None else g for v, g in zip(of, grads, strict=True)]
        return _finite(torch.cat([part.reshape(len(part), -1) for part in parts], dim=1))

    @staticmethod
    def _columns(out: torch.Tensor, values: list[torch.Tensor]) -> torch.Tensor:
        """Derivatives by each value, (..., P): the transpose of the transposed product, which is linear in u."""
        columns = out.new_zeros(*out.shape, len(values))
        if values and out.requires_grad:
            u = torch.zeros_like(out, requires_grad=True)
            sums = torch.autograd.grad(out, values, u, create_graph=True, allow_unused=True)
            for k, total in enumerate(sums):
                if total is not None and total.requires_grad:
                    (column,) = torch.autograd.grad(total, u, retain_graph=True, allow_unused=True)
                    if column is not None:
                        columns[..., k] = column
        return _finite(columns)


def _numbered(law: Law, values: Mapping[str, torch.Tensor]) -> Law:
    """``with_values`` for one use: everything else is shared with the law, not copied."""
    made = copy.copy(law)
    made._buffers = {**law._buffers, **values}
    return made


def _finite(x: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)


def checked_law(law: Law, network: Network, x: torch.Tensor) -> KnownLaw:
    """The law, ready to be fitted with all its unknown values at 1, or to be corrected if there are none; x are some states (K, n, d).

    Raises:
        ValueError: some of its parameters are trained, or a node depends on more than itself and its neighbours.
    """
    name = type(law).__name__
    trained = [key for key, _ in law.named_parameters()]
    if trained and law.unknown:
        raise ValueError(
            f"{name}: {', '.join(law.unknown)} would be estimated and {', '.join(trained)} trained by gradient: give all that "
            "is to be found as None"
        )
    common = tuple(key for key in law.unknown if key not in law.unknown_per_node)
    model = KnownLaw(law, common, torch.ones(len(common), dtype=torch.float64), law.unknown_per_node)
    x = torch.cat([x[:2], x.new_ones(*x[:2].shape[:2], len(model.per_node))], dim=-1)
    single = replace(model, batched=False)
    expected = single.rate(x, network)
    if not _same(single.slopes(x, network).rate, expected):
        raise ValueError(
            f"{name}: at the same states of a node and its neighbours it gives different rates on another graph, so it "
            "cannot be fitted to data: write it as node(x_i) and edge(x_i, x_j), and keep parameters by _set"
        )
    try:
        return model if _same(model.rate(x, network), expected) else single
    except (RuntimeError, IndexError, ValueError):  # it was written for (n, d)
        return single


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))
