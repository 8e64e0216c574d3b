"""LearnedLaw: what identification found, ready to be asked, read and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..._support.threads import threads_for
from ..._support.warn import warn
from ...graph import Graph
from ...identify import Estimates, Evidence, FoundLaw, Functions, functions_of
from ...laws import ClosedForm, Corrected, Equation, Equations, FreeForm, FreeModel, Law, LawODE, law_of
from ...solve import IntegrationError, Solver
from ..query import Prediction, Query


class NoLawError(ValueError, AttributeError):
    """The model has no law to read; an AttributeError too, so that ``hasattr`` and ``dir`` work."""


SMALL = 20_000  # nodes and edges: the laws that are as likely are followed side by side on graphs with fewer
MARGIN = 0.05  # of the range of states seen, within which functions are taken to be known


@dataclass(frozen=True)
class LearnedLaw:
    """A law with what is known of its errors.

    Attributes:
        law: with the parameters found; of a law known in part, the known part and its correction.
        covariance: of the parameters found.
        draws: parameters that are as likely, (draws, P).
        start_draws: first states that belong to them, for each trajectory; None if those are known.
        evidence: why this law.
        states: some of those seen in training, (N, d).
    """

    law: Law
    covariance: torch.Tensor
    draws: torch.Tensor
    start_draws: list[torch.Tensor] | None
    evidence: Evidence
    states: torch.Tensor

    @classmethod
    def of(cls, found: FoundLaw) -> LearnedLaw:
        """What was found, as a law."""
        return cls(
            found.law,
            found.covariance,
            found.posterior_samples,
            found.initial_state_samples,
            found.evidence,
            found.states,
        )

    @property
    def known(self) -> Law | None:
        """What was known of the law."""
        return self.law.known if isinstance(self.law, Corrected) else None

    @property
    def found(self) -> Law:
        """What was found of the law: all of it, or what the known part left open."""
        return self.law.correction if isinstance(self.law, Corrected) else self.law

    @property
    def _model(self) -> Equation | FreeModel:
        found = self.found
        if isinstance(found, ClosedForm):
            return found.equation
        assert isinstance(found, FreeForm)
        return FreeModel(found.basis, found.coefficients)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.law.features or ("x",))

    def drawn(self) -> Sequence[Law]:
        """Laws that are as likely as this one."""
        model = self._model
        return [law_of(model.with_parameters(values), self._names, self.known) for values in self.draws]

    def predict(self, query: Query, features: tuple[str, ...], spread: bool) -> Prediction:
        """The states asked for; with ``spread`` also their standard deviation.

        Raises:
            IntegrationError: the law, or with ``spread`` all but one of its posterior samples, explodes.
        """
        begin, graph = query.t0, query.one_graph
        times = query.times.clamp(min=begin)
        with threads_for(graph.num_nodes):
            states, solver = LawODE(self.law).followed(query.x0, times, graph, begin)
            self._warn(states, query)
            mean = query.answer(states, features)
            if not spread:
                return Prediction(mean)
            starts = self.start_draws[0] if query.from_history and self.start_draws is not None else None
            x0 = query.x0.double().expand(len(self.draws), *query.x0.shape) if starts is None else starts
            every = self._as_likely(x0, times, graph, begin, solver)
        if len(every) < 2:
            raise IntegrationError("posterior samples diverge before this time: predict less far", time=begin)
        if len(every) < len(self.draws) / 2:
            warn(
                f"only {len(every)} of {len(self.draws)} posterior samples could be integrated so far: intervals are too narrow; "
                "predict less far or fit with more snapshots"
            )
        return Prediction(mean, query.answer(torch.stack(every).std(dim=0), features))

    def _as_likely(
        self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float, solver: Solver
    ) -> list[torch.Tensor]:
        """States of laws that are as likely, without those far out: small ones side by side, if none is."""
        side_by_side = self._side_by_side()
        small = graph.num_nodes + graph.num_edges < SMALL
        if side_by_side is not None and small and solver.method == "dopri5":
            try:
                return list(LawODE(side_by_side).by(solver, x0, times, graph, t0).unbind(1))
            except IntegrationError:
                pass  # one that is far out stops them all
        every = []
        for law, start in zip(self.drawn(), x0, strict=True):
            try:
                every.append(LawODE(law).by(solver, start, times, graph, t0))
            except IntegrationError:
                continue  # the others say how wide the band is
        return every

    def _side_by_side(self) -> Law | None:
        """All that are as likely as one law of states (draws, n, d); None with a known part, which takes states (n, d)."""
        return self.law.several(self.draws) if isinstance(self.law, (ClosedForm, FreeForm)) else None

    def _warn(self, states: torch.Tensor, query: Query) -> None:
        """Splines know nothing of states that were not seen."""
        if isinstance(self.found, ClosedForm):
            return
        low, high = self.states.amin(0), self.states.amax(0)
        room = MARGIN * (high - low) + 1e-12
        outside = ((states < low - room) | (states > high + room)).any(dim=-1).any(dim=-1)
        if outside.any():
            first = query.times[outside].min().item()
            warn(
                f"from t = {first:g} on the prediction leaves the range of states seen in training "
                f"({', '.join(f'{a:.3g} to {b:.3g}' for a, b in zip(low.tolist(), high.tolist(), strict=True))}), where the "
                "learned functions are straight lines: trust it less there"
            )

    def equations(self) -> Equations | Estimates:
        """The equation that was found with standard errors."""
        found = self.found
        if not isinstance(found, ClosedForm):
            raise ValueError(
                f"there is no closed form: {self.evidence.reason}. functions() has f and g on a grid, and "
                "plot.interaction draws them"
            )
        return Equations(found.equation, self._names, self.covariance, corrects=self.known is not None)

    def description(self) -> dict[str, Any]:
        """What of it is not a tensor, for JSON."""
        assert isinstance(self.law, (ClosedForm, Corrected, FreeForm))
        return self.law.description()

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a file holds of it besides its description, errors and posterior samples."""
        return {}

    def functions(self, points: int) -> Functions:
        """f and g that were found, on a grid over the states seen."""
        model, found = self._model, self.found
        drawn = [law_of(model.with_parameters(values), self._names) for values in self.draws]
        return functions_of(found.node, found.edge, drawn, self.states, points, self._names)
