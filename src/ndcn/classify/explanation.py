"""Which nodes the class of a node came from: exact shares of a linear diffusion."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse.csgraph import dijkstra

from .._support.threads import threads_for
from .._support.wording import counted, percent, some
from ..graph import Graph, place_of
from .network import DiffusionClassifier
from .node_data import SPLITS, UNKNOWN

if TYPE_CHECKING:
    from .classifier import NodeClassifier

SHOWN = 10  # rows in text
BLOCK = 256  # rows of g(Phi) at a time: 6 MB for 3000 nodes


@dataclass(frozen=True)
class Explanation:
    """log(p_c / p_r) = sum_j contribution_j + bias, for the likeliest class c of a node and the runner-up r.

    Attributes:
        node: its name.
        predicted, runner_up: the two likeliest classes, c and r.
        probability, runner_up_probability: p_c and p_r.
        log_odds: log(p_c / p_r).
        bias: the part of it that comes from no node: the difference of the classes' biases.
        table: a row for each node that the diffusion brings something from, the largest contribution first: ``node``; ``hops``,
            the least number of edges from there, those between nodes of similar features included; ``label``, None if not known; ``split``: "train", "validation", "test" or "";
            ``weight`` g_ij, how much of node j's initial state arrives (for several signs, the sum of the absolute values);
            ``contribution``; and ``share``, the contribution as a part of the sum of their absolute values.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=60).fit(
        ...     data.graph, data.features, data.labels, data.train_mask
        ... )
        >>> clf.explain(5).labelled.node.tolist()
        [0, 33]
    """

    node: Hashable
    predicted: Any
    runner_up: Any
    probability: float
    runner_up_probability: float
    log_odds: float
    bias: float
    table: pd.DataFrame

    @property
    def labelled(self) -> pd.DataFrame:
        """The rows of the nodes that were trained on."""
        return self.table[self.table.split == "train"].reset_index(drop=True)

    def by_split(self) -> dict[str, float]:
        """The sum of the contributions of the node itself, of others by what they were for, and the bias; they add up."""
        own = self.table.hops == 0
        sums = self.table[~own].groupby("split").contribution.sum()
        parts = {"itself": float(self.table[own].contribution.sum())}
        parts |= {name or "others": float(sums[name]) for name in (*SPLITS[1:], "") if name in sums.index}
        return {**parts, "bias": self.bias}

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int = SHOWN) -> str:
        """The verdict, where it came from, and the first rows of the table."""
        parts = ", ".join(f"{name} {value:+.3f}" for name, value in self.by_split().items())
        rows = self.table.head(top).assign(
            weight=lambda t: t.weight.map("{:.4f}".format),
            contribution=lambda t: t.contribution.map("{:+.4f}".format),
            share=lambda t: t.share.map(lambda part: percent(part, sign="+")),
            label=lambda t: t.label.map(lambda name: "" if name is None else name),
        )
        more = len(self.table) - len(rows)
        return (
            f"{self.node}: {self.predicted} ({percent(self.probability)}) rather than {self.runner_up} "
            f"({percent(self.runner_up_probability)})\nlog-odds {self.log_odds:+.3f} = {parts}\n{rows.to_string(index=False)}"
            + (f"\n... and {counted(more, 'other node')}" if more > 0 else "")
        )


def explained(classifier: NodeClassifier, node: Hashable) -> Explanation:
    """See ``NodeClassifier.explain``."""
    graph, model = classifier.flow_graph_, classifier.model_
    place = place_of(graph.nodes, node)
    if place is None:
        raise ValueError(f"the network has no node {node!r}; its nodes are {some(list(graph.nodes))}")
    check_linear(model)
    with threads_for(graph.num_nodes * model.encoder.out_features):
        start = start_of(classifier)
        weight = arriving(model, graph, [place])[:, 0]  # (p, n)
    temperature = classifier.probability_temperature_ or 1.0
    start, biases = start / temperature, model.decoder.bias.detach().cpu().double() / temperature
    logits = torch.einsum("pn,npc->c", weight, start) + biases
    likeliest, second = logits.argsort(descending=True)[:2].tolist()
    contribution = (weight.T * (start[..., likeliest] - start[..., second])).sum(dim=1).numpy()
    probabilities = logits.softmax(dim=0).tolist()
    names = [None if code == UNKNOWN else classifier.classes_[code] for code in classifier.codes_.tolist()]
    table = pd.DataFrame(
        {
            "node": list(graph.nodes),
            "hops": hops_to(graph, place),
            "label": pd.Series(names, dtype=object),
            "split": np.array(SPLITS)[classifier.split_.numpy()],
            "weight": (weight[0] if len(weight) == 1 else weight.abs().sum(dim=0)).numpy(),
            "contribution": contribution,
            "share": contribution / max(np.abs(contribution).sum(), np.finfo(float).tiny),
        }
    )
    table = table[table.weight != 0].sort_values("contribution", key=np.abs, ascending=False, kind="stable")
    return Explanation(
        node=graph.nodes[place],
        predicted=classifier.classes_[likeliest],
        runner_up=classifier.classes_[second],
        probability=probabilities[likeliest],
        runner_up_probability=probabilities[second],
        log_odds=float(logits[likeliest] - logits[second]),
        bias=float(biases[likeliest] - biases[second]),
        table=table.astype({"hops": int}).reset_index(drop=True),
    )


@dataclass(frozen=True)
class Explanations:
    """The nodes that count most for each of n nodes, in the order of their absolute contributions.

    Attributes:
        nodes, contributions: their places and contributions, shape (n, k).
        log_odds, bias: as of an ``Explanation``, shape (n,).
    """

    nodes: np.ndarray
    contributions: np.ndarray
    log_odds: np.ndarray
    bias: np.ndarray


def explanations(classifier: NodeClassifier, top: int) -> Explanations:
    """The ``top`` contributions to the class of every node, a block of rows of g(Phi) at a time.

    Raises:
        ValueError: the field is not linear.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=8, epochs=5)
        >>> explanations(clf.fit(data.graph, data.features, data.labels, data.train_mask), 3).nodes.shape
        (34, 3)
    """
    graph, model = classifier.flow_graph_, classifier.model_
    check_linear(model)
    temperature = classifier.probability_temperature_ or 1.0
    biases = model.decoder.bias.detach().cpu().double() / temperature
    start = start_of(classifier) / temperature
    blocks = []
    for places in torch.arange(graph.num_nodes).split(BLOCK):
        with threads_for(graph.num_nodes * len(places)):
            weight = arriving(model, graph, places.tolist())  # (p, r, n)
        logits = torch.einsum("prn,npc->rc", weight, start) + biases
        two, which = logits.topk(2, dim=1)
        margin = start[..., which[:, 0]] - start[..., which[:, 1]]  # (n, p, r)
        contribution = (weight * margin.permute(1, 2, 0)).sum(dim=0)
        most = contribution.abs().topk(top, dim=1).indices
        bias = biases[which[:, 0]] - biases[which[:, 1]]
        blocks.append((most, contribution.gather(1, most), two[:, 0] - two[:, 1], bias))
    return Explanations(*(torch.cat(parts).numpy() for parts in zip(*blocks, strict=True)))


def check_linear(model: DiffusionClassifier) -> None:
    """Refuse a network whose state at T is no sum over nodes.

    Raises:
        ValueError: what it is, and which is linear.
    """
    if not model.linear:
        raise ValueError(
            'only linear diffusion can be explained: its state is a sum over nodes. Fit with field="auto", "diffusion", '
            '"signed" or "features" and no solver, as by default; the field of preset="paper", a field of your own and a solver have no such sum'
        )


def start_of(classifier: NodeClassifier) -> torch.Tensor:
    """X(0) W_d of each of p signs, shape (n, p, c), float64."""
    with torch.no_grad():
        return classifier.model_.start(classifier._table(classifier.features_, classifier.recipe_)).cpu().double()


def arriving(model: DiffusionClassifier, graph: Graph, places: list[int]) -> torch.Tensor:
    """The rows of g_p(Phi) for some nodes, shape (p, len(places), n), float64: how much of each node's X(0) arrives there.

    The gradient of column k of sum_p g_p(Phi) Z_p at node ``places[k]`` by column k of Z_p: a series in the transpose of Phi.
    """
    device = model.decoder.weight.device
    with torch.inference_mode(False), torch.enable_grad():
        z = torch.zeros(graph.num_nodes, len(model.signs), len(places), dtype=torch.float64, device=device)
        z.requires_grad_()
        there = model.diffused(z, graph)[places, list(range(len(places)))].sum()
        (rows,) = torch.autograd.grad(there, z)
    return rows.permute(1, 2, 0).cpu()


def hops_to(graph: Graph, place: int) -> np.ndarray:
    """The least number of edges from each node to this one, in the direction in which they act; infinite where none lead."""
    return np.asarray(dijkstra(graph.to_scipy(), indices=place, unweighted=True))
