"""LearnedLaw: what identification found, ready to be asked, read and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..._support.threads import threads_for
from ..._support.warn import warn
from ...data import Inputs, time_text
from ...graph import Graph
from ...identify import Estimates, Evidence, FoundLaw, Functions, functions_of
from ...laws import ClosedForm, Corrected, DrivenForm, Equations, FreeForm, Law, LawODE
from ...solve import IntegrationError, Solver
from ..query import Prediction, Query
from .found_network import NetworkSamples


class NoLawError(ValueError, AttributeError):
    """The model has no law to read; an AttributeError too, so that ``hasattr`` and ``dir`` work."""


SMALL = 20_000  # nodes and edges: posterior samples are integrated side by side on graphs with fewer
MARGIN = 0.05  # of the range of states seen, within which functions are taken to be known


@dataclass(frozen=True)
class LearnedLaw:
    """A law as a formula or as splines, alone or beside a known one, with what is known of its errors and of the network."""

    found: FoundLaw
    networks: NetworkSamples | None = None  # where the network was found, those that go with posterior samples

    @property
    def law(self) -> Law:
        """The law with its numbers."""
        return self.found.law

    @property
    def evidence(self) -> Evidence:
        """Why this law."""
        return self.found.evidence

    @property
    def learned(self) -> Law:
        """What was learned of the law: all of it, or what the known part left open."""
        return self.law.correction if isinstance(self.law, Corrected) else self.law

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.law.features or ("x",))

    def posterior_samples(self) -> Sequence[Law]:
        """The law with parameters drawn from their posterior."""
        assert isinstance(self.law, (ClosedForm, Corrected, FreeForm))
        return [self.law.with_parameters(values) for values in self.found.posterior_samples]

    def predict(self, query: Query, features: tuple[str, ...], spread: bool) -> Prediction:
        """The states asked for; with ``spread`` also their standard deviation.

        Raises:
            IntegrationError: the law, or with ``spread`` all but one of its posterior samples, explodes.
        """
        begin, graph = query.t0, query.one_graph
        times = query.times.clamp(min=begin)
        count = len(self.found.posterior_samples)
        with threads_for(graph.num_nodes + graph.num_edges):
            states, solver = LawODE(self.law, query.inputs).followed(query.x0, times, graph, begin)
            self._warn(states, query)
            mean = query.answer(states, features)
            if not spread:
                return Prediction(mean)
            x0 = query.x0.double().expand(count, *query.x0.shape)
            if query.from_history and self.found.initial_state_samples is not None:
                x0 = self.found.initial_state_samples[0]
            every = self._sampled(x0, times, graph, begin, solver, query.inputs)
        if len(every) < 2:
            raise IntegrationError("posterior samples diverge before this time: predict less far", time=begin)
        if len(every) < count / 2:
            warn(
                f"only {len(every)} of {count} posterior samples could be integrated so far: intervals are too narrow; "
                "predict less far or fit with more snapshots"
            )
        return Prediction(mean, query.answer(torch.stack(every).std(dim=0), features))

    def _sampled(
        self,
        x0: torch.Tensor,
        times: torch.Tensor,
        graph: Graph,
        t0: float,
        solver: Solver,
        inputs: Inputs | None = None,
    ) -> list[torch.Tensor]:
        """States of posterior samples, without those far out: on small graphs side by side, if none is."""
        side_by_side = None if self.networks is not None else self._side_by_side()
        graphs = [graph] * len(x0) if self.networks is None else self.networks.for_query(graph)
        small = not graph.in_parts and graph.num_nodes + graph.num_edges < SMALL
        if side_by_side is not None and small and solver.method == "dopri5":
            try:
                return list(LawODE(side_by_side, inputs).by(solver, x0, times, graph, t0).unbind(1))
            except IntegrationError:
                pass  # one that is far out stops them all
        every = []
        for law, start, network in zip(self.posterior_samples(), x0, graphs, strict=True):
            try:
                every.append(LawODE(law, inputs).by(solver, start, times, network, t0))
            except IntegrationError:
                continue  # the others say how wide the band is
        return every

    def _side_by_side(self) -> Law | None:
        """All posterior samples as one law of states (samples, n, d); None with a known part, which takes states (n, d)."""
        samples = self.found.posterior_samples
        return self.law.several(samples) if isinstance(self.law, (ClosedForm, FreeForm)) else None

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """Splines know nothing of states that were not seen."""
        if isinstance(self.learned, ClosedForm):
            return
        low, high = self.found.states.amin(0), self.found.states.amax(0)
        room = MARGIN * (high - low) + 1e-12
        outside = ((states < low - room) | (states > high + room)).any(dim=-1).any(dim=-1)
        if outside.any():
            first = query.times[outside].min().item()
            warn(
                f"from {time_text(first, query.calendar)} on the prediction leaves the range of states seen in training "
                f"({', '.join(f'{a:.3g} to {b:.3g}' for a, b in zip(low.tolist(), high.tolist(), strict=True))}), where the "
                "learned functions are straight lines: trust it less there"
            )

    def equations(self) -> Equations | Estimates:
        """The equation that was found with standard errors."""
        learned = self.learned
        if not isinstance(learned, ClosedForm):
            raise ValueError(
                f"there is no closed form: {self.evidence.reason}. functions() has f and g on a grid, and "
                "plot.interaction draws them"
            )
        if isinstance(learned, DrivenForm):
            return learned.equations(self.found.covariance)
        return Equations(
            learned.equation,
            self._names,
            self.found.covariance,
            corrects=learned is not self.law,
            step=learned.map_step,
            divided_by=learned.divided_by,
        )

    def functions(self, points: int) -> Functions:
        """f and g that were found, on a grid over the states seen."""
        learned = self.learned
        assert isinstance(learned, (ClosedForm, FreeForm))
        samples = [learned.with_parameters(values) for values in self.found.posterior_samples]
        return functions_of(learned.node, learned.edge, samples, self.found.states, points, self._names)

    def node_values(self) -> Any:
        """A table of what varies among nodes; None where nodes are alike."""
        return None

    def with_node_values(self, table: Any) -> LearnedLaw:
        """The same with other values of nodes."""
        raise ValueError("the law that was found is the same at every node, so that it takes no values of nodes")

    # Files ------------------------------------------------------------------------------------------------------

    def description(self) -> dict[str, Any]:
        """What of it is not a tensor, for JSON."""
        assert isinstance(self.law, (ClosedForm, Corrected, FreeForm))
        return self.law.description()

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a file holds of it besides its description and evidence."""
        found = self.found
        tensors = {"law.covariance": found.covariance, "law.draws": found.posterior_samples, "law.states": found.states}
        samples = enumerate(found.initial_state_samples or [])
        tensors |= {f"law.start_draws.{k}": some for k, some in samples}
        return tensors if self.networks is None else tensors | self.networks.tensors()
