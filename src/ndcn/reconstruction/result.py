"""Reconstruction: links with probabilities, the law, and whether the data can tell them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._support.html import card
from .._support.registries import CALLS_UPWARDS
from ..graph import Graph
from ..laws import ClosedForm
from .calibration import Calibration
from .engine import Found
from .law import answers_to_inputs, law_of, own_terms, weight_unit
from .links import chosen, link_table, surest
from .trees import Opinion
from .verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

LEAST_STORED = 1e-9  # probability of a pair that is kept in the sparse matrix


@dataclass(frozen=True)
class Reconstruction:
    """A network that was found in data: what ``ndcn.reconstruct`` returns.

    Attributes:
        probabilities: scipy.sparse, (n, n): entry [i, j] is the probability that j acts on i; those below 1e-9 are left out.
        verdict: "decided", "decided in part" or "not decidable".
        judgement: the verdict with its reasons, what would help, and undecided nodes.
        families: couplings by log evidence, best first: formula and difference to the best.
        calibration: how probabilities were calibrated; None if they were not.
        opinion: what regression trees say, where they were asked; else None.
        aupr: foretold area under precision over recall.
        prior: the network that was given, or None.
        nodes: labels of the nodes.
        feature: the feature in whose rates the links are.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 8) for k in range(8)], num_nodes=8, directed=True)
        >>> start = np.random.default_rng(0).random((6, 8, 1))
        >>> times = np.linspace(0, 1, 15)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in start]
        >>> found = ndcn.reconstruct(runs, calibrate=False)
        >>> found.verdict, found.graph().num_edges
        ('decided', 8)
    """

    probabilities: sparse.csr_array
    judgement: Verdict
    families: tuple[tuple[str, float], ...]
    calibration: Calibration | None
    aupr: float
    prior: Graph | None
    nodes: tuple[Any, ...]
    feature: str
    found: Found
    seconds: float = 0.0
    opinion: Opinion | None = None

    @property
    def verdict(self) -> str:
        """ "decided", "decided in part" or "not decidable"."""
        return self.judgement.answer

    @property
    def undecided(self) -> tuple[Any, ...]:
        """Nodes whose incoming links the data do not tell."""
        return tuple(self.nodes[k] for k in self.judgement.undecided)

    @functools.cached_property
    def _dense(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities, weights and errors in units of the law, (n, n)."""
        unit, _ = weight_unit(self.found)
        scale = self.found.grams.scales[0] * unit
        weights, errors = (self.found.dense(v) / scale for v in (self.found.learned.weights, self.found.learned.errors))
        return self.probabilities.toarray(), weights, np.abs(errors)

    @property
    def weights(self) -> np.ndarray:
        """Posterior mean of A[i, j] if it is a link, (n, n); ``law`` is in the same units."""
        return self._dense[1]

    @property
    def unweighted(self) -> bool:
        """Whether all links have the same weight, up to errors."""
        return weight_unit(self.found)[1]

    def links(self, *, fdr: float | None = None, probability: float | None = None) -> np.ndarray:
        """Which pairs are links, (n, n) of bool; see ``graph``."""
        if fdr is not None and probability is not None:
            raise ValueError("give fdr or probability, not both")
        for name, value in (("fdr", fdr), ("probability", probability)):
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value!r}")
        return chosen(self._dense[0], fdr=fdr, probability=probability)

    def graph(self, *, fdr: float | None = None, probability: float | None = None) -> Graph:
        """The network: links of at least a probability, or as many as leave an expected share ``fdr`` of wrong ones.

        Args:
            fdr: false discovery rate; 0.1 by default.
            probability: keep links of at least this probability instead.

        Raises:
            ValueError: both are given, or one is not between 0 and 1.
        """
        links = self.links(fdr=fdr, probability=probability)
        weights = links.astype(float) if self.unweighted else np.where(links, self.weights, 0.0)
        return Graph(sparse.csr_array(weights), nodes=self.nodes, directed=True)

    def sample(self, seed: int = 0) -> Graph:
        """A network drawn from the probabilities: forecasts over several carry the doubt about links.

        Raises:
            ValueError: the seed is negative.
        """
        p, weights, errors = self._dense
        generator = np.random.default_rng(seed)
        drawn = generator.random(p.shape) < p
        values = drawn.astype(float) if self.unweighted else weights + errors * generator.normal(size=p.shape)
        return Graph(sparse.csr_array(np.where(drawn, values, 0.0)), nodes=self.nodes, directed=True)

    @functools.cached_property
    def _law(self) -> tuple[ClosedForm, dict[str, tuple[float, float]]]:
        links = self.links()
        return law_of(self.found, links, np.where(links, 1.0 if self.unweighted else self.weights, 0.0))

    @property
    def law(self) -> ClosedForm | None:
        """f and g with numbers in common to all nodes, on ``graph()``; None where the verdict is "not decidable"."""
        return None if self.verdict == "not decidable" else self._law[0]

    @property
    def evidence(self) -> dict[str, Any]:
        """Why: log evidence of links against none, families, margin, noise, terms that differ by node, coefficients with errors; of inputs u
        the mean over nodes and its spread of the coefficients of u and u x."""
        rho = self.found.increments.rho
        return {
            "gain": self.found.gain,
            "families": self.families,
            "margin": self.families[1][1] * -1 if len(self.families) > 1 else None,
            "rho": rho,
            "noise": float(np.median(self.found.increments.paths.noise)),
            "differs": own_terms(self.found),
            "inputs": answers_to_inputs(self.found),
            "coefficients": {} if self.law is None else self._law[1],
        }

    def table(self, probability: float = 0.05) -> pd.DataFrame:
        """Links of at least this probability, most probable first: source, target, probability, weight, error.

        With a prior network, all its links are there too, and a column ``listed`` tells them.
        """
        p, weights, errors = self._dense
        return link_table(p, weights, errors, list(self.nodes), self.prior, probability)

    def missing(self, probability: float = 0.5, *, fdr: float | None = None) -> pd.DataFrame:
        """Links that the prior network lacks and that are at least so probable, the surest first; or as many as leave an expected share ``fdr`` of wrong ones.

        Raises:
            ValueError: no prior network was given.
        """
        table = self._with_prior()
        mine = table[~table["listed"]]
        return mine[surest(mine["probability"].to_numpy(), probability, fdr)].reset_index(drop=True)

    def spurious(self, probability: float = 0.5, *, fdr: float | None = None) -> pd.DataFrame:
        """Links of the prior network that are absent with at least this probability, the surest first; or as many as leave an expected share ``fdr`` that
        are there.

        Raises:
            ValueError: no prior network was given.
        """
        table = self._with_prior()
        mine = table[table["listed"]].iloc[::-1]
        return mine[surest(1 - mine["probability"].to_numpy(), probability, fdr)].reset_index(drop=True)

    def _with_prior(self) -> pd.DataFrame:
        if self.prior is None:
            raise ValueError("no prior network was given: ndcn.reconstruct(data, prior=graph)")
        return self.table(1e-3)

    def report(self, path: str | Path) -> None:
        """Write a page about the network, its law and the verdict into one HTML file."""
        CALLS_UPWARDS["page of a reconstruction"](self, path)

    def __str__(self) -> str:
        judged = self.judgement
        lines = [f"{self.verdict}: {judged.reasons[0]}", *judged.reasons[1:]]
        count = int(self.links().sum())
        lines.append(f"{count} links among {len(self.nodes)} nodes at a false discovery rate of 10 %")
        if self.law is not None and count:
            lines.append(self.law.extra_repr())
            if self.evidence["differs"]:
                lines.append(f"coefficients that differ from node to node: {', '.join(self.evidence['differs'])}")
        for text, (mean, spread) in self.evidence["inputs"].items():
            lines.append(f"nodes answer {text} by {mean:.3g} on average, with a spread of {spread:.2g}")
        lines += [f"what would help: {one}" for one in judged.helps]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Reconstruction({self.verdict}, {int(self.links().sum())} links among {len(self.nodes)} nodes)"

    def _repr_html_(self) -> str:
        rows = [
            ("verdict", self.verdict),
            ("links", str(int(self.links().sum()))),
            ("why", " ".join(self.judgement.reasons)),
        ]
        law = self.law
        return card("Reconstruction", [*rows, *([] if law is None else [("law", law.extra_repr())])])
