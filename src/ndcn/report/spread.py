"""How sure a model is of its prediction: the spread of an ensemble, or of laws that are as likely as the one found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .._support.threads import threads_for
from ..data import Trajectory
from ..regressor import predict_piecewise
from ..solve import IntegrationError, Solver, integrate

if TYPE_CHECKING:
    from ..regressor import DynamicsRegressor, LearnedLaw

STEPS = 400  # of the solver for each law: one that needs more is left out
FAILURES = 2  # laws that may be left out


def with_spread(
    estimator: DynamicsRegressor, times: torch.Tensor, x0: torch.Tensor | None
) -> tuple[Trajectory, torch.Tensor | None, str | None]:
    """Prediction, its standard deviation (T, n, d) where the model knows one, and why not where it should.

    It differs from ``predict(..., return_std=True)`` in that it gives up soon: a page must be written in seconds.

    Raises:
        IntegrationError: the prediction itself explodes.
    """
    graphs = estimator.graphs_
    if graphs is not None and len(graphs) > 1:
        several = len(estimator.models_) > 1 or hasattr(estimator, "learned_")
        why = "The spread is not shown: it is not known for predictions that go from graph to graph."
        return predict_piecewise(estimator, times, graphs, x0=x0), None, why if several else None
    if len(estimator.models_) > 1:
        mean, deviation = estimator.predict(times, x0=x0, return_std=True)
        return mean, deviation.states.double().cpu(), None
    mean = estimator.predict(times, x0=x0)
    if not hasattr(estimator, "learned_"):
        return mean, None, None
    spread = _of_laws(estimator.learned_, estimator, times, x0)
    note = "The spread is not shown: laws that are as likely as the one found cannot be followed so far."
    return mean, spread, note if spread is None else None


def _of_laws(
    learned: LearnedLaw, estimator: DynamicsRegressor, times: torch.Tensor, x0: torch.Tensor | None
) -> torch.Tensor | None:
    start, every, failed = estimator.train_[0], [], 0
    first = start.x0 if x0 is None else x0
    solver = Solver("dopri5", rtol=1e-6, atol=1e-8 * max(float(first.double().abs().max()), 1e-300), max_steps=STEPS)
    firsts = learned.start_draws if x0 is None else None
    with torch.no_grad(), threads_for(start.graph.num_nodes):
        for k, law in enumerate(learned.drawn()):
            own = first if firsts is None else firsts[0][k]
            try:
                found = integrate(law, start.graph, own.double(), times.clamp(min=start.t0), solver=solver, t0=start.t0)
            except IntegrationError:
                failed += 1
                if failed > FAILURES:
                    return None
                continue
            every.append(found.states)
    return torch.stack(every).std(dim=0) if len(every) > 1 else None
