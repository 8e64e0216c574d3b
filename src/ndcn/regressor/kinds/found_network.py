"""Laws on a network that was found: their intervals and errors carry the doubt about its links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ..._support.warn import warn
from ...data import Dataset, Trajectory
from ...graph import Graph, csr_of_parts
from ...identify import FoundLaw, Interaction
from ...laws import ClosedForm
from ...reconstruction import Reconstruction, coefficients
from ..kind import Data

NAME = "law.network"  # of tensors in files: the links of all samples one after the other
Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class NetworkSamples:
    """Networks drawn from the probabilities of links, one for each posterior sample of the law.

    Attributes:
        graph: the network on which the law was found; on others links are not in doubt.
        samples: the networks drawn.
    """

    graph: Graph
    samples: tuple[Graph, ...]

    def for_query(self, graph: Graph) -> tuple[Graph, ...]:
        """A network for each posterior sample: those drawn, or ``graph`` itself where it is another one."""
        return self.samples if graph == self.graph else (graph,) * len(self.samples)

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a file holds of them."""
        every = [one.to_scipy().tocsr() for one in self.samples]
        return {
            f"{NAME}.indptr": torch.stack([torch.from_numpy(one.indptr.astype(np.int64)) for one in every]),
            f"{NAME}.indices": torch.cat([torch.from_numpy(one.indices.astype(np.int64)) for one in every]),
            f"{NAME}.weights": torch.cat([torch.from_numpy(one.data.astype(np.float64)) for one in every]),
        }

    @classmethod
    def restored(cls, tensors: Tensors, graph: Graph, count: int) -> NetworkSamples | None:
        """Those of a file, of a law with so many posterior samples; None if it holds none.

        Raises:
            ValueError: it holds no such networks.
        """
        if f"{NAME}.indptr" not in tensors:
            return None
        indptr, indices, weights = (tensors[f"{NAME}.{name}"].numpy() for name in ("indptr", "indices", "weights"))
        n = graph.num_nodes
        if indptr.shape != (count, n + 1) or (indptr[:, -1] < 0).any() or indptr[:, -1].sum() != len(indices):
            raise ValueError(f"it holds no network of {n} nodes for each of {count} posterior samples of the law")
        bounds = np.cumsum(indptr[:, -1])[:-1]
        parts = zip(np.split(weights, bounds), np.split(indices, bounds), indptr, strict=True)
        graphs = (csr_of_parts(*part, shape=(n, n)) for part in parts)
        return cls(graph, tuple(Graph(one, nodes=graph.nodes, directed=graph.directed) for one in graphs))


def on_network(data: Data, network: Reconstruction) -> Data:
    """The same data on the network that was found.

    Raises:
        ValueError: it has other nodes.
    """
    graph = network.graph()
    if isinstance(data, Dataset):
        return replace(data, runs=tuple(_moved(run, graph) for run in data.runs), graphs=None)
    return _moved(data, graph) if isinstance(data, Trajectory) else [_moved(run, graph) for run in data]


def _moved(run: Trajectory, graph: Graph) -> Trajectory:
    if run.graph.nodes != graph.nodes:
        raise ValueError("the network was found among other nodes than the data have; give both the same, in one order")
    return run.replaced(graph=graph)


def on_one_law(options: Interaction) -> Interaction:
    """The same options with one law of all nodes, unless the network was found beside a law with numbers of each node: wrong links look like
    nodes that differ."""
    differs = options.network.evidence["differs"]
    return replace(options, nodes="same") if options.nodes == "auto" and not differs else options


def with_networks(found: FoundLaw, network: Reconstruction, seed: int) -> tuple[FoundLaw, NetworkSamples]:
    """A law whose posterior samples belong to networks drawn from the probabilities.

    The coefficients of a formula are fitted anew on each network; what they differ by is added to the posterior samples and to the covariance.
    Other numbers of a law stay as they are.
    """
    if network.verdict == "not decidable":
        warn(f"the network is not decidable ({network.judgement.reasons[0]}): do not trust a law on it")
    graph = network.graph()
    samples = found.posterior_samples
    graphs = tuple(network.sample(seed + k) for k in range(len(samples)))
    law: Any = found.law
    if type(law) is ClosedForm and law.equation.terms and law.divided_by is None:
        count = len(law.equation.terms)
        base = coefficients(network.found, law.equation, graph)
        shifts = torch.stack([coefficients(network.found, law.equation, one) for one in graphs]) - base
        samples = samples.clone()
        samples[:, :count] += shifts
        covariance = found.covariance.clone()
        covariance[:count, :count] += shifts.T @ shifts / len(shifts)
        errors = covariance.diagonal().clamp(min=0).sqrt()
        found = replace(found, posterior_samples=samples, covariance=covariance, errors=errors)
    return found, NetworkSamples(graph, graphs)
