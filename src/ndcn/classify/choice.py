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
# From here on neighbours are likely to be alike, and diffusion for a short time comes first: on random block graphs of assortativity 0.2 to
# 0.4 it got 57 to 83 % where the signed field got 51 to 82 (docs/classification.md).
LIKELY = 0.15
# What is compared: "consistent" is the signed field, trained to say the same of unlabelled nodes whatever is dropped. The first is kept unless
# another is clearly better. The signed field has features alone and diffusion as parts, and takes what the training nodes ask for: choosing
# by a few validation nodes, which are right or wrong by chance, loses accuracy.
COMPARED = ("signed", "consistent", "features", "diffusion")
# Share of nodes to train on from which "consistent" is not tried: with half of the nodes it costs 6 to 10 points on Texas and Wisconsin,
# whose validation nodes are too few to tell; with a tenth it gains up to 25 on random block graphs.
RARE = 0.4
# Standard errors by which another field must be better. On the unseen halves of the validation nodes of Texas and Wisconsin the choice
# got 86.7 and 84.2 % with 0, 86.9 and 84.5 with 1, 87.4 and 84.6 with 1.5 and with 2: benchmarks/choose_field.py.
CLEARLY = 1.5
WORDS = {
    "diffusion": "diffusion",
    "signed": "the signed field",
    "consistent": "the signed field with consistency",
    "features": "features alone",
}


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
        taken: which of ``accuracy`` was taken, where that is not the field's name.
        clear: whether it is clearly better than features alone on the validation nodes.

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
    taken: str = ""
    clear: bool = True

    @property
    def helps(self) -> bool | None:
        """Whether the graph tells more than features alone; None where that was not compared, or is not clear."""
        if not self.accuracy:
            return None
        return False if self.field == "features" else True if self.clear else None

    @property
    def short(self) -> bool:
        """Whether diffusion for a short time suits it: neighbours are alike, but not clearly."""
        r = _told(self.assortativity, self.edges)
        return self.field == "diffusion" and r is not None and r < CLEAR

    def __str__(self) -> str:
        more = f" {counted(self.similar, 'edge')} between nodes of similar features were added." if self.similar else ""
        return self._verdict() + more

    def _verdict(self) -> str:
        if self.accuracy:
            taken = self.taken or self.field
            best = sorted(self.accuracy, key=lambda name: (name != taken, -self.accuracy[name]))
            found = ", ".join(
                f"{WORDS[name]} {'get ' * (k == 0 and name == 'features')}{'gets ' * (k == 0 and name != 'features')}"
                f"{100 * self.accuracy[name]:.1f} %"
                for k, name in enumerate(best)
            )
            verdict = {
                "features": "The graph does not help",
                "signed": "The graph helps where edges may also repel",
                "diffusion": "The graph helps",
            }[self.field]
            if not self.clear and self.field != "features":
                verdict = "It is not clear whether the graph helps"
            used = f"{WORDS[taken][0].upper()}{WORDS[taken][1:]} {'are' if taken == 'features' else 'is'} used"
            if self.accuracy[taken] < max(self.accuracy.values()):
                used += ": no other is clearly better"
            return f"{verdict}: on the validation nodes {found}. {used}."
        if self.field == "features":
            return "The graph has no edges: features alone are used."
        if self.assortativity is None or self.edges < FEWEST:
            return f"Diffusion is used: {counted(self.edges, 'edge')} between labelled nodes say too little about the graph."
        measured = f"assortativity {self.assortativity:.2f} on {counted(self.edges, 'edge')} between labelled nodes"
        if self.field == "diffusion":
            how = "are somewhat" if self.short else "tend to be"
            return f"Neighbours {how} alike ({measured}): diffusion is used{' for a short time' * self.short}."
        # r has a standard error of about 1 / sqrt(edges) where classes are spread by chance
        differ = self.assortativity < -2 / self.edges**0.5
        what = "Neighbours tend to differ" if differ else "Neighbours are hardly more alike than others"
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


def _told(found: float | None, edges: int) -> float | None:
    """The assortativity, if enough edges tell it."""
    return found if edges >= FEWEST else None


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
    if graph.num_edges == 0:
        return FieldChoice("features")
    found, edges = assortativity(graph, codes, nodes)
    r = _told(found, edges)
    if r is not None and r >= CLEAR:
        return FieldChoice("diffusion", found, edges)
    if validated:
        return None
    return FieldChoice("signed" if r is not None and r < LIKELY else "diffusion", found, edges)


def candidates(found: float | None, edges: int, share: float) -> list[str]:
    """Those of ``COMPARED`` that are worth a training, the one to keep unless another is clearly better first.

    Args:
        found, edges: the assortativity.
        share: of all nodes, those to train on.

    Example:
        >>> candidates(-0.2, 100, 0.5), candidates(0.3, 100, 0.1)[0]
        (['signed', 'features', 'diffusion'], 'diffusion')
    """
    r = _told(found, edges)
    first = "diffusion" if r is not None and r >= LIKELY else "signed"
    return [first, *(name for name in COMPARED if name != first and (name != "consistent" or share < RARE))]


def choice_of(about: Any) -> FieldChoice | None:
    """A choice as a file holds it.

    Raises:
        TypeError, ValueError: it is none.
    """
    if about is None:
        return None
    choice = FieldChoice(**about)
    known = {choice.field, choice.taken or choice.field, *choice.accuracy}
    if not known <= set(WORDS) or (choice.accuracy and (choice.taken or choice.field) not in choice.accuracy):
        raise ValueError(f"unknown field {choice.field!r}; known are {', '.join(WORDS)}")
    return choice
