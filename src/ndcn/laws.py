"""Known laws: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), and the paper's three."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from .field import Field, check_field
from .graph import Graph
from .solve import IntegrationError, Solver, integrate
from .threads import threads_for
from .trajectory import Trajectory, checked_state, checked_times


class Law(Field):
    """dx_i/dt = node(x_i) + sum_j A_ij edge(x_i, x_j): write one or both functions and get the rest.

    Both are called with whole batches and must work element by element along the first axis: ``node`` with the states
    of all nodes, shape (n, d); ``edge`` with the states at both ends of every edge, (edges, d) each; both return the
    shape they were given. The cost is O(edges).

    Example:
        >>> import ndcn, torch
        >>> class Toggle(ndcn.laws.Law):
        ...     def node(self, x): return -x
        ...     def edge(self, x_i, x_j): return torch.tanh(x_j - x_i)
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(Toggle(), graph, torch.rand(9, 2), torch.linspace(0, 1, 5))
        >>> data.states.shape
        torch.Size([5, 9, 2])
    """

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i), for all nodes at once; 0 unless you write it."""
        return torch.zeros_like(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j), the effect of j on i, for all edges at once; 0 unless you write it."""
        return torch.zeros_like(x_i)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """node(x_i) + sum_j A_ij edge(x_i, x_j)."""
        rate = self.node(x)
        if self._keeps("edge", Law):
            return rate
        i, j = graph.edge_index(x.device)
        x_i = x.index_select(-2, i)
        messages = self.edge(x_i, x.index_select(-2, j))
        if messages.shape != x_i.shape:
            raise ValueError(
                f"{type(self).__name__}.edge returned shape {tuple(messages.shape)} for {len(i)} edges with states of "
                f"shape {tuple(x_i.shape)}; it must return the shape it was given"
            )
        return rate + graph.aggregate(messages)

    def _keeps(self, function: str, known: type[Law]) -> bool:
        """Whether ``node`` or ``edge`` is still the one that ``known`` wrote, so that its own fast forward holds."""
        return getattr(getattr(self, function), "__func__", None) is getattr(known, function)

    def _set(self, **values: Any) -> None:
        """Keep parameters: a number, one number per node (n,), or (n, d); an nn.Parameter can be learned."""
        for name, value in values.items():
            if isinstance(value, nn.Parameter):
                self.register_parameter(name, value)
                continue
            tensor = torch.as_tensor(value, dtype=torch.float64)
            if not tensor.isfinite().all():
                raise ValueError(f"{type(self).__name__}: {name} must be finite, got {value}")
            self.register_buffer(name, tensor)

    def _value(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x, shaped to multiply states of shape (n, d)."""
        value: torch.Tensor = getattr(self, name).to(x.device, x.dtype)
        if value.dim() == 0:
            return value
        if value.shape[0] != x.shape[-2]:
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, "
                f"but the graph has {x.shape[-2]}"
            )
        return value.unsqueeze(1) if value.dim() == 1 else value

    def _number(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x for ``edge``, which sees edges and does not know which nodes they join."""
        value: torch.Tensor = getattr(self, name)
        if value.dim():
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, which edge(x_i, x_j) cannot "
                "tell apart; per-node parameters need the law's own forward: call the law itself as law(t, x, graph) "
                f"without a node or edge of your own, or give {name} as a number"
            )
        return value.to(x.device, x.dtype)

    def extra_repr(self) -> str:
        """The parameters, for printing."""
        values = {**dict(self.named_parameters(recurse=False)), **dict(self.named_buffers(recurse=False))}
        return ", ".join(f"{k}={v.item():g}" if v.dim() == 0 else f"{k}={tuple(v.shape)}" for k, v in values.items())


class Heat(Law):
    """Heat diffusion: dx_i/dt = -k_i sum_j A_ij (x_i - x_j).

    Args:
        k: conductivity, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.Heat()(torch.tensor(0.0), torch.tensor([[1.0], [0.0]]), path)
        tensor([[-1.],
                [ 1.]])
    """

    def __init__(self, k: Any = 1.0) -> None:
        super().__init__()
        self._set(k=k)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """k (x_j - x_i)."""
        return self._number("k", x_i) * (x_j - x_i)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """-k L x, by one sparse product."""
        from .operators import laplacian

        if not (self._keeps("node", Heat) and self._keeps("edge", Heat)):
            return super().forward(t, x, graph)
        return -self._value("k", x) * (laplacian(graph) @ x)


class Mutualistic(Law):
    """Mutualism among species: dx_i/dt = b + x_i (1 - x_i/k) (x_i/c - 1) + sum_j A_ij x_i x_j / (d + e x_i + h x_j).

    The defaults are the paper's. Its published code exchanged e and h: ``Mutualistic(e=0.1, h=0.9)`` is what its tables
    were made with. Every parameter is a number or one for each node (h belongs to the acting node j, the others to i).

    Example:
        >>> import ndcn
        >>> ndcn.laws.Mutualistic()
        Mutualistic(b=0.1, k=5, c=1, d=5, e=0.9, h=0.1)
    """

    def __init__(self, b: Any = 0.1, k: Any = 5.0, c: Any = 1.0, d: Any = 5.0, e: Any = 0.9, h: Any = 0.1) -> None:
        super().__init__()
        self._set(b=b, k=k, c=c, d=d, e=e, h=h)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """b + x (1 - x/k) (x/c - 1)."""
        b, k, c = (self._value(name, x) for name in "bkc")
        return b + x * (1 - x / k) * (x / c - 1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """x_i x_j / (d + e x_i + h x_j)."""
        d, e, h = (self._number(name, x_i) for name in "deh")
        return x_i * x_j / (d + e * x_i + h * x_j)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The law; what belongs to one end of an edge is computed per node before it is taken to the edges."""
        if not self._keeps("edge", Mutualistic):
            return super().forward(t, x, graph)
        i, j = graph.edge_index(x.device)
        own = self._value("d", x) + self._value("e", x) * x
        other = self._value("h", x) * x
        message = x.index_select(-2, j) / (own.index_select(-2, i) + other.index_select(-2, j))
        return self.node(x) + x * graph.aggregate(message)


class Gene(Law):
    """Gene regulation (Michaelis-Menten): dx_i/dt = -b_i x_i^f + sum_j A_ij x_j^h / (x_j^h + 1).

    Args:
        b: degradation, a number or one for each node.
        f: 1 for degradation, 2 for dimerisation.
        h: Hill coefficient.

    Example:
        >>> import ndcn
        >>> ndcn.laws.Gene()
        Gene(b=1, f=1, h=2)
    """

    def __init__(self, b: Any = 1.0, f: Any = 1.0, h: Any = 2.0) -> None:
        super().__init__()
        self._set(b=b, f=f, h=h)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """-b x^f."""
        return -self._value("b", x) * _power(x, self._value("f", x))

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """x_j^h / (x_j^h + 1)."""
        return _hill(x_j, self._number("h", x_j))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The law, by one sparse product."""
        if not self._keeps("edge", Gene):
            return super().forward(t, x, graph)
        return self.node(x) + graph.adjacency @ _hill(x, self._value("h", x))


NAMED: dict[str, type[Law]] = {"heat": Heat, "mutualistic": Mutualistic, "gene": Gene}


def initial_state(graph: Graph, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The paper's initial state: three warm blocks on the square layout, 25, 20 and 17, and 0 elsewhere.

    Node i lies at row i // N, column i % N of an N x N square, N = ceil(sqrt(n)).

    Returns:
        shape (n, 1).

    Example:
        >>> import ndcn
        >>> x0 = ndcn.laws.initial_state(ndcn.networks.grid(400))
        >>> x0.shape, x0.max().item()
        (torch.Size([400, 1]), 25.0)
    """
    n = graph.num_nodes
    side = math.isqrt(n - 1) + 1
    square = torch.zeros(side, side, dtype=dtype)

    def cells(low: float, high: float) -> slice:
        return slice(int(low * side), int(high * side))

    square[cells(0.05, 0.25), cells(0.05, 0.25)] = 25
    square[cells(0.45, 0.75), cells(0.45, 0.75)] = 20
    square[cells(0.05, 0.25), cells(0.35, 0.65)] = 17
    return square.reshape(-1)[:n].reshape(n, 1)


def simulate(
    field: nn.Module,
    graph: Graph,
    x0: Any,
    times: Any,
    *,
    solver: Solver | None = None,
    t0: float = 0.0,
) -> Trajectory:
    """Solve dX/dt = field(t, X, graph) from X(t0) = x0 and return the states at ``times``.

    Args:
        field: a law, or any nn.Module that is called as field(t, x, graph).
        graph: the graph.
        x0: the state at t0, shape (n, d) or (n,).
        times: in increasing order, from t0 on, shape (T,).
        solver: by default DOPRI5 in float64 with rtol = 1e-8 and an atol of 1e-8 times the size of x0, so that states in
            any unit are solved equally well; the result has the dtype of x0. atol is one number for all features: the
            size is that of the smallest one (its largest |x0|; features that start at 0 do not count, and 1 if all
            do), but atol is not below 1e-13 of the largest. Features that differ by more than 1e5 in size are better
            brought to one scale. For stiff laws use ``Solver("bdf")``.
        t0: the time of x0.

    Returns:
        A Trajectory; how the solver fared is in its ``statistics``.

    Raises:
        IntegrationError: the solution explodes, the solver cannot go on, or the dtype of x0 cannot hold the solution.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.power_law(100, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Gene(), graph, ndcn.laws.initial_state(graph), [0.0, 1.0, 2.0])
        >>> data
        Trajectory(3 snapshots of 100 nodes, 1 feature, t = 0 .. 2)
        >>> data.statistics.rejected_steps >= 0
        True
    """
    x = checked_state(x0, graph)
    start = x.detach().double()
    check_field(field, graph, start, t0)
    times = checked_times(times, ordered=True)
    solver = solver or Solver("dopri5", rtol=1e-8, atol=_atol(start))
    with torch.no_grad(), threads_for(start.numel()):
        solution = integrate(field, graph, start, times, solver=solver, t0=t0)
    states = solution.states.to(x.dtype)
    if not states.isfinite().all():  # the solver's own states are finite, or it would have said so
        time = times[int((~states.isfinite()).nonzero()[0, 0])].item()
        name = str(x.dtype).removeprefix("torch.")
        raise IntegrationError(
            f"the solution at t = {time:g} is larger than {name} can hold ({torch.finfo(x.dtype).max:.2g}); "
            "use float64 (x0.double()) or stop earlier",
            time=time,
        )
    return Trajectory(times=times, states=states, graph=graph, statistics=solution.statistics)


def _atol(x0: torch.Tensor) -> float:
    """1e-8 of the smallest feature of x0 that is not 0, within what float64 can resolve next to the largest."""
    sizes = x0.abs().amax(0)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 1e-8
    return max(1e-8 * sizes.min().item(), 1e-13 * sizes.max().item(), torch.finfo(torch.float64).tiny)


def _hill(x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    raised = _power(x, h)
    return raised / (raised + 1)


def _power(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    if exponent.dim() == 0 and not exponent.requires_grad:
        value = exponent.item()
        if value == 1:
            return x
        if value == 2:
            return x * x
    return torch.pow(x, exponent)
