"""Does the graph help? Which field a classifier takes: by how classes meet along edges, and by validation accuracy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._support.wording import counted
from ..graph import Graph

AUTO = "auto"
# Above this the graph is taken to help, and only diffusion is trained: Cora, Citeseer and Pubmed have 0.6 to 0.8, the web graphs of
# Geom-GCN -0.3 to 0.1. Between the two, validation nodes decide.
CLEAR = 0.4
FEWEST = 10  # edges between labelled nodes, below which their classes say nothing: a share of ten has a standard error of 0.15
# The first is kept unless another is clearly better. The signed field has features alone and diffusion as parts, and takes what the
# training nodes ask for: choosing by a few validation nodes, which are right or wrong by chance, loses accuracy.
COMPARED = ("signed", "features", "diffusion")
# Standard errors by which another field must be better. On the unseen halves of the validation nodes of Texas and Wisconsin the choice
# got 86.7 and 84.2 % with 0, 86.9 and 84.5 with 1, 87.4 and 84.6 with 1.5 and with 2: benchmarks/choose_field.py.
CLEARLY = 1.5
WORDS = {"diffusion": "diffusion", "signed": "the signed field", "features": "features alone"}


@dataclass(frozen=True)
class FieldChoice:
    """Which field ``field="auto"`` took, and why.

    Attributes:
        field: "diffusion", "signed" or "features".
        assortativity: of the classes of neighbours among the labelled nodes (Newman): 1 if all edges join equal classes, 0 as by
            chance, negative if neighbours differ; None without such edges.
        edges: between labelled nodes.
        accuracy: on the validation nodes, of each field that was trained; empty if one alone was.
        similar: edges that were added between nodes of similar features.

    Example:
        >>> print(FieldChoice("features", -0.2, 120, {"signed": 0.7, "features": 0.85, "diffusion": 0.6}))
        The graph does not help: on the validation nodes features alone get 85.0 %, the signed field 70.0 %, diffusion 60.0 %. \
Features alone are used.
    """

    field: str
    assortativity: float | None = None
    edges: int = 0
    accuracy: Mapping[str, float] = dataclasses.field(default_factory=dict)
    similar: int = 0

    @property
    def helps(self) -> bool | None:
        """Whether the graph tells more than features alone; None where that was not compared."""
        return self.accuracy[self.field] > self.accuracy.get("features", 0.0) if self.accuracy else None

    def __str__(self) -> str:
        more = f" {counted(self.similar, 'edge')} between nodes of similar features were added." if self.similar else ""
        return self._verdict() + more

    def _verdict(self) -> str:
        if self.accuracy:
            best = sorted(self.accuracy, key=lambda name: (name != self.field, -self.accuracy[name]))
            found = ", ".join(
                f"{WORDS[name]} {'get ' * (k == 0 and name == 'features')}{'gets ' * (k == 0 and name != 'features')}"
                f"{100 * self.accuracy[name]:.1f} %"
                for k, name in enumerate(best)
            )
            verdict = {
                "features": ("The graph does not help", "Features alone are used."),
                "signed": ("Edges tell more where they may also repel", "The signed field is used."),
                "diffusion": ("The graph helps", "Diffusion is used."),
            }[self.field]
            if self.accuracy[self.field] < max(self.accuracy.values()):
                verdict = ("No other field is clearly better than the signed field", verdict[1])
            return f"{verdict[0]}: on the validation nodes {found}. {verdict[1]}"
        if self.assortativity is None or self.edges < FEWEST:
            return f"Diffusion is used: {counted(self.edges, 'edge')} between labelled nodes say too little about the graph."
        measured = f"assortativity {self.assortativity:.2f} on {counted(self.edges, 'edge')} between labelled nodes"
        if self.field == "diffusion":
            return f"Neighbours tend to be alike ({measured}): diffusion is used."
        what = "Neighbours tend to differ" if self.assortativity < 0 else "Neighbours are hardly more alike than others"
        return f"{what} ({measured}): the signed field is used; validation nodes could tell whether it helps."


def assortativity(graph: Graph, codes: torch.Tensor, nodes: torch.Tensor) -> tuple[float | None, int]:
    """r = (sum_k e_kk - sum_k a_k b_k) / (1 - sum_k a_k b_k) of the classes along edges between some nodes; how many edges.

    e_kl is the share of their weight that joins class k to class l, a and b its sums. None without edges, or with one class.
    M. E. J. Newman, Mixing patterns in networks, Phys. Rev. E 67 (2003).

    Args:
        graph: n nodes.
        codes: the classes, from 0, shape (n,).
        nodes: places of those whose class may be looked at.

    Example:
        >>> import ndcn, torch
        >>> square = ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        >>> assortativity(square, torch.tensor([0, 1, 0, 1]), torch.arange(4))
        (-1.0, 4)
    """
    known = np.zeros(graph.num_nodes, dtype=bool)
    known[nodes.cpu().numpy()] = True
    matrix = graph.to_scipy().tocoo()
    row, column = matrix.coords
    kept = known[row] & known[column] & (row != column)
    row, column, weight = row[kept], column[kept], matrix.data[kept]
    edges = len(row) if graph.directed else len(row) // 2
    y = codes.cpu().numpy()
    classes = int(y.max()) + 1
    mixing = np.zeros((classes, classes))
    np.add.at(mixing, (y[row], y[column]), weight)
    if mixing.sum() == 0:
        return None, edges
    mixing /= mixing.sum()
    chance = float(mixing.sum(axis=0) @ mixing.sum(axis=1))
    return (None if chance == 1 else float((mixing.trace() - chance) / (1 - chance))), edges


def clearly_better(right: torch.Tensor, than: torch.Tensor) -> bool:
    """w - l > 1.5 sqrt(w + l), w being the nodes that only one field gets right, l those that only the other does (McNemar).

    Args:
        right, than: which nodes each gets right, shape (m,), bool.

    Example:
        >>> import torch
        >>> than = torch.arange(50) < 30
        >>> clearly_better(torch.arange(50) < 32, than), clearly_better(torch.arange(50) < 40, than)
        (False, True)
    """
    won, lost = int((right & ~than).sum()), int((than & ~right).sum())
    return won - lost > CLEARLY * (won + lost) ** 0.5


def first_choice(graph: Graph, codes: torch.Tensor, nodes: torch.Tensor, validated: bool) -> FieldChoice | None:
    """The field if the classes along edges settle it, or if there is nothing to compare by; else None: compare.

    Args:
        graph, codes, nodes: as of ``assortativity``.
        validated: whether there are validation nodes to compare fields by.

    Example:
        >>> import ndcn, torch
        >>> club = ndcn.datasets.karate_club()
        >>> first_choice(club.graph, club.labels, torch.arange(34), validated=True).field
        'diffusion'
    """
    found, edges = assortativity(graph, codes, nodes)
    if found is not None and edges >= FEWEST and found >= CLEAR:
        return FieldChoice("diffusion", found, edges)
    if validated:
        return None
    told = found is not None and edges >= FEWEST
    return FieldChoice("signed" if told else "diffusion", found, edges)


def choice_of(about: Any) -> FieldChoice | None:
    """A choice as a file holds it.

    Raises:
        TypeError, ValueError: it is none.
    """
    if about is None:
        return None
    choice = FieldChoice(**about)
    if choice.field not in WORDS or not set(choice.accuracy) <= set(WORDS):
        raise ValueError(f"unknown field {choice.field!r}; known are {', '.join(WORDS)}")
    return choice
