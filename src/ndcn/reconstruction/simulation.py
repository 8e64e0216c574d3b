"""Data as a law that was found would give them: the same runs with the same noise, on a network of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..data import Inputs, Trajectory
from ..graph import Graph
from ..laws import ClosedForm, Equation, Formula, Term
from ..solve import IntegrationError, Solver, integrate
from .increments import Increments
from .paths import Paths, paths_of

LARGEST = 1e6  # times the observed states: beyond it a simulated network has exploded
# Share of the range of observed states by which simulated ones may leave it before the law is held at its border: it is known there only, and couplings
# with quotients have poles (mutualistic, 30 runs, 5 % noise: one node in its pole took 200 of 210 s).
BEYOND = 0.25
MOST_STEPS = 50  # of the solver between two snapshots, on average: smooth runs take one or two


@dataclass(frozen=True)
class Simulated:
    """A law: its coupling, and the coefficients of f and of inputs of each node, (n, q), as columns of ``increments`` have them."""

    increments: Increments
    term: Term
    coefficients: torch.Tensor


class _Rates(torch.nn.Module):
    """f_i(x_i) + sum_j W_ij g(x_i, x_j) for the output, f with each node's coefficients; other features follow their paths."""

    def __init__(self, law: Simulated, weights: np.ndarray) -> None:
        super().__init__()
        increments, theta = law.increments, law.coefficients
        names = increments.names
        count = len(increments.formulas)
        self.driven = increments.driven
        self.inputs: Inputs | None = None
        self.theta, self.answers = theta[:, :count], theta[:, count : count + len(self.driven)]
        self.formulas = increments.formulas
        term = Term(Formula(law.term.formula.text, names), True, 0, law.term.values)
        self.coupling = ClosedForm(Equation((term,), torch.ones(1, dtype=torch.float64), len(names)), names)
        self.network = Graph.from_dense(weights, directed=True)
        seen = increments.states.flatten(0, 1)
        low, high = seen.amin(0), seen.amax(0)
        self.low, self.high = low - BEYOND * (high - low), high + BEYOND * (high - low)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """dx/dt; beyond the observed states, where f and g may have poles, it is that at their border."""
        x = torch.clamp(x, self.low, self.high)
        own = sum(c * formula(x) for c, formula in zip(self.theta.T, self.formulas, strict=True))
        rate = self.coupling(t, x, self.network) + torch.as_tensor(own).unsqueeze(1)
        if self.inputs is not None and self.driven:
            u = self.inputs.at(t)
            for (name, times), answer in zip(self.driven, self.answers.T, strict=True):
                rate = rate + (answer * u[name] * (x[:, 0] if times else 1.0)).unsqueeze(1)
        return rate


def simulated(
    law: Simulated, weights: np.ndarray, runs: Sequence[Trajectory], generator: np.random.Generator
) -> Paths | None:
    """Paths through noisy simulations from the first states of the runs; those that cannot be followed are left out, and None if these are half of
    them, or if there are several features."""
    paths = law.increments.paths
    if paths.features > 1:
        return None
    field = _Rates(law, weights)
    graph = runs[0].graph
    limit = LARGEST * max(float(np.abs(piece.observed).max()) for piece in paths.pieces)
    firsts = {piece.run: piece.path[0] for piece in reversed(paths.pieces)}
    out = []
    for k, run in enumerate(runs):
        if k not in firsts:
            continue
        start, field.inputs = torch.from_numpy(firsts[k]), run.inputs
        try:
            steps = MOST_STEPS * len(run.times)
            atol = 1e-6 * float(np.abs(firsts[k]).max() + 1e-12)
            solver = Solver("dopri5", rtol=1e-5, atol=atol, max_steps=steps)
            states = integrate(
                field, graph, start, run.times.double(), solver=solver, t0=float(run.times[0])
            ).states.numpy()
        except IntegrationError:
            continue
        if not np.isfinite(states).all() or np.abs(states).max() > limit:
            continue
        noisy = states + paths.noise * generator.normal(size=states.shape)
        out.append(Trajectory(times=run.times, states=noisy, graph=graph, mask=run.mask, inputs=run.inputs))
    return paths_of(out) if len(out) > 0.5 * len(firsts) else None
