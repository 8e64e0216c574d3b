"""What is computed on a whole graph in one process and on its parts in several, to be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

import ndcn
from ndcn import Graph, Solver, distributed, laws


def graphs() -> dict[str, Graph]:
    """Directed and undirected, with isolated nodes, loops and negative weights, and parts without links between them."""
    draw = np.random.default_rng(7)
    few = sparse.random_array((24, 24), density=0.12, rng=draw, format="csr")
    signed = few.copy()
    signed.data = draw.normal(size=len(signed.data))
    island = sparse.block_diag([ndcn.networks.grid(9).to_scipy()] * 3 + [sparse.csr_array((3, 3))], format="csr")
    return {
        "grid": ndcn.networks.grid(25),
        "directed": Graph(few, directed=True),
        "signed": Graph(signed, directed=True),
        "symmetric signed": Graph(signed + signed.T),
        "islands": Graph(island),
        "names": Graph.from_edges(
            [(chr(97 + k), chr(97 + (k * 3 + 1) % 20), 0.5 + k) for k in range(20)], directed=True
        ),
    }


class Tugs(laws.Law):
    """A law of one's own, edge by edge."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x_j - 0.5 * x_i)


class ByPlaces(nn.Module):
    """A field of one's own that takes the places of both ends of edges and divides by degrees."""

    def __init__(self) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.tensor(0.3, dtype=torch.float64))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        i, j = graph.edge_index(x.device)
        pull = x[j] / (1 + graph.degrees[j].abs()).unsqueeze(1) - x[i]
        return self.k * graph.aggregate(pull) - x**3


def fields() -> dict[str, Callable[[], nn.Module]]:
    return {
        "ndcn": lambda: ndcn.fields.GraphField(2).double(),
        "tanh": lambda: ndcn.fields.GraphField(2, activation=torch.tanh).double(),
        "laplacian": lambda: ndcn.fields.GraphField(2, operator=ndcn.operators.laplacian).double(),
        "no graph": lambda: ndcn.fields.NodeField(2).double(),
        "no control": lambda: ndcn.fields.DiffusionField(),
        "heat": lambda: laws.Heat(),
        "mutualistic": lambda: laws.Mutualistic(),
        "own law": Tugs,
        "places": ByPlaces,
        "sum": lambda: laws.Heat() + ndcn.fields.GraphField(2).double(),
    }


SOLVERS = {
    "euler": Solver("euler", step_size=0.05),
    "plain euler": Solver("euler", step_size=0.05, kernel="off"),
    "rk4": Solver("rk4", step_size=0.1, gradient="checkpoint"),
    "dopri5": Solver("dopri5"),
    "dopri5 checkpoint": Solver("dopri5", gradient="checkpoint"),
    "euler checkpoint": Solver("euler", step_size=0.05, gradient="checkpoint", segment=3),
}
PAIRS = [
    *((field, "euler") for field in ("ndcn", "laplacian", "no graph", "no control", "own law")),
    *((field, "dopri5") for field in ("tanh", "heat", "mutualistic", "places", "sum")),
    *(("ndcn", solver) for solver in SOLVERS if solver != "euler"),
]


def state_of(graph: Graph, total: int) -> torch.Tensor:
    """A state drawn for all nodes, of which a part takes its own."""
    whole = torch.from_numpy(np.random.default_rng(1).uniform(0.2, 1.0, size=(total, 2)))
    return graph.own_of(whole) if graph.in_parts else whole


def results(graph: Graph, total: int) -> dict[str, Any]:
    """States, gradients and losses of fields by solvers, at rank 0 of all nodes."""
    out: dict[str, Any] = {}
    for name, solver in PAIRS:
        torch.manual_seed(0)
        field = fields()[name]()
        x0 = state_of(graph, total).requires_grad_()
        solution = ndcn.integrate(field, graph, x0, [0.11, 0.3, 0.5], solver=SOLVERS[solver])
        loss = (solution.states**2).sum()
        loss.backward()
        assert x0.grad is not None
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in field.parameters()]
        flat = torch.cat([loss.detach().reshape(1), *(g.reshape(-1) for g in gradients)])
        key = f"{name} by {solver}"
        out[f"{key}: loss, gradients"] = graph.total(flat).tolist()
        both = torch.stack([solution.states[-1].detach(), x0.grad])
        whole = distributed.whole_states(both, graph)
        out[f"{key}: states"] = None if whole is None else whole.reshape(-1).tolist()
    return out


def operators(graph: Graph, total: int) -> dict[str, Any]:
    """Operators times a state."""
    out: dict[str, Any] = {}
    names = ["adjacency", "laplacian", "signed_laplacian", "kipf", "normalized_adjacency", "diffusion"]
    for name in names if not graph.has_negative_weights else names[:3]:
        x = state_of(graph, total)
        more = {"alpha": 0.3} if name == "diffusion" else {}
        product = getattr(ndcn.operators, name)(graph, **more) @ torch.stack([x, 2 * x])
        whole = distributed.whole_states(product, graph)
        out[name] = None if whole is None else whole.reshape(-1).tolist()
    own = graph.operator_of(lambda a: sparse.diags_array(1 / (1 + abs(a).sum(axis=1))) @ a)
    whole = distributed.whole_states(own @ state_of(graph, total), graph)
    out["own"] = None if whole is None else whole.reshape(-1).tolist()
    return out
