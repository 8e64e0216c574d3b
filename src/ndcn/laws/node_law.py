"""NodeLaw: a law some of whose numbers have a value at each node, known by the nodes' names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import torch

from ..graph import Graph
from .law import Law
from .node_relation import Relation


class NodeLaw(Law):
    """Values of nodes by their names, and how much they spread.

    Nodes of another graph that are not among them have the mean; so have all nodes of a graph without names that has another number
    of nodes.
    """

    node_values: torch.Tensor  # (n, q)
    spread: torch.Tensor  # (q,)
    nodes: Sequence[Hashable]
    relations: tuple[Relation, ...]

    def _set_values(self, values: Any, spread: Any, nodes: Sequence[Hashable] | None, count: int) -> None:
        """Take values (n, count), their spread (by default theirs) and names (by default 0 to n - 1).

        Raises:
            ValueError: a number is missing or not finite.
        """
        numbers = torch.as_tensor(values, dtype=torch.float64)
        if numbers.dim() != 2 or numbers.shape[1] != count or not numbers.isfinite().all():
            raise ValueError(f"values of nodes must be finite and of shape (n, {count}), got {tuple(numbers.shape)}")
        wide = numbers.std(0) if spread is None else torch.as_tensor(spread, dtype=torch.float64)
        if wide.shape != (count,) or not (wide >= 0).all():
            raise ValueError(f"there is a spread of at least 0 for each of {count} numbers, got {wide.tolist()}")
        self.nodes = range(len(numbers)) if nodes is None else list(nodes)
        if len(self.nodes) != len(numbers):
            raise ValueError(f"there are values of {len(numbers)} nodes, but names of {len(self.nodes)}")
        self.register_buffer("node_values", numbers.clone())
        self.register_buffer("spread", wide.clone())

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of what varies, in order."""
        raise NotImplementedError  # each law of nodes that differ has its own

    def table(self) -> pd.DataFrame:
        """Values by node, one column for each number that varies."""
        return pd.DataFrame(self.node_values.cpu().numpy(), index=list(self.nodes), columns=list(self.labels))

    def _of_table(self, table: Any) -> tuple[torch.Tensor, list[Hashable]]:
        """Values and names of a table by node with a column for each of ``labels``.

        Raises:
            ValueError: a column is missing.
        """
        frame = pd.DataFrame(table)
        if missing := [label for label in self.labels if label not in frame.columns]:
            raise ValueError(
                f"values of nodes need the column {missing[0]!r}; the table has {', '.join(map(str, frame.columns))}"
            )
        return torch.tensor(frame[list(self.labels)].to_numpy(dtype=float)), list(frame.index)

    def _rows(self, graph: Graph) -> torch.Tensor:
        """Which of the nodes with values each node of a graph is, -1 for none."""
        plain = isinstance(self.nodes, range) or list(self.nodes) == list(range(len(self.nodes)))
        unnamed = isinstance(graph.nodes, range) or list(graph.nodes) == list(range(graph.num_nodes))
        if plain and unnamed:
            same = graph.num_nodes == len(self.nodes)
            return torch.arange(graph.num_nodes) if same else torch.full((graph.num_nodes,), -1)
        places = {_key(node): k for k, node in enumerate(self.nodes)}
        return torch.tensor([places.get(_key(node), -1) for node in graph.nodes])

    def _names_for_files(self) -> list[str | int]:
        """Names as files keep them."""
        return [node if isinstance(node, (str, int)) else str(node) for node in self.nodes]


def _key(node: Hashable) -> Hashable:
    """Names as files keep them: other things than texts and numbers as text."""
    return node if isinstance(node, (str, int)) else str(node)
