"""DrivenProblem: a trajectory with inputs, to be fitted as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from ..data import Inputs
from ..laws import Equation, Model
from .driven_shots import DrivenShots, fine_enough, joined, rate, slopes
from .input_quadrature import Pieces, pieces_of
from .observations import Observations
from .shooting_fit import shots_of
from .tape import PlainTape, Step, Tape
from .trajectory_problem import TrajectoryProblem, problem_of

STRAIGHT = 0.02  # of the range of an input: bends of less are far below what noisy data tell of its effect


@dataclass(frozen=True)
class DrivenProblem(TrajectoryProblem):
    """One trajectory, with its inputs in pieces between which they neither jump nor bend."""

    pieces: Pieces | None = None

    def followed(self, model: Model) -> torch.Tensor | None:
        """The states of the model from the initial one on, (T, n, d); None if they explode."""
        return self._rolled(model)

    def recorded(self, model: Model) -> Tape | None:
        """The same with the tape of its derivatives."""
        visited: list[torch.Tensor] = []
        states = self._rolled(model, visited)
        if states is None:
            return None
        network, d = self.data.network, self.x0.shape[1]
        jacobians: list[tuple[sparse.csr_array, sparse.csc_array]] = []
        columns: list[np.ndarray] = []
        assert isinstance(model, Equation)
        for some in torch.cat(visited).split(network.together()):
            found = slopes(model, some, network, d)
            jacobians += network.jacobians(found.own, found.edges)
            columns += list(found.columns.flatten(1, -2).numpy())
        tape, stage = PlainTape(states), 0
        for lengths in self._steps():
            taken = []
            for h in lengths:
                J, JT = zip(*jacobians[stage : stage + 4], strict=True)
                taken.append(Step(h, J, JT, tuple(columns[stage : stage + 4])))
                stage += 4
            tape.steps.append(taken)
        return tape

    def _steps(self) -> list[list[float]]:
        assert self.pieces is not None
        return [[h for h in row if h > 0] for row in self.pieces.lengths.tolist()]

    def _rolled(self, model: Model, visited: list[torch.Tensor] | None = None) -> torch.Tensor | None:
        assert isinstance(model, Equation)
        assert self.pieces is not None
        network, x = self.data.network, self.x0.unsqueeze(0)
        out = [self.x0]
        for k, lengths in enumerate(self._steps()):
            for m, h in enumerate(lengths):
                a, b = self.pieces.first[k : k + 1, m], self.pieces.last[k : k + 1, m]
                middle = (a + b) / 2
                k1 = rate(model, x, a, network)
                x2 = x + h / 2 * k1
                k2 = rate(model, x2, middle, network)
                x3 = x + h / 2 * k2
                k3 = rate(model, x3, middle, network)
                x4 = x + h * k3
                k4 = rate(model, x4, b, network)
                if visited is not None:
                    visited += [joined(x, a), joined(x2, middle), joined(x3, middle), joined(x4, b)]
                x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            if not x.isfinite().all():
                return None
            out.append(x[0])
        return torch.stack(out)


def driven_problems(
    data: list[Observations], inputs: list[Inputs], equation: Equation, tolerance: torch.Tensor
) -> list[DrivenProblem]:
    """Problems with the steps that the equation needs along the data."""
    out: list[DrivenProblem] = []
    for one, driven in zip(data, inputs, strict=True):
        every = torch.arange(len(one.spans))
        fine = fine_enough(
            equation, DrivenShots(shots_of(one, every), pieces_of(driven, one.times, straight=STRAIGHT)), tolerance
        )
        plain = problem_of(one, [1] * len(one.spans))
        out.append(
            DrivenProblem(one, plain.steps, plain.x0, plain.guess, plain.error, plain.bounds, pieces=fine.pieces)
        )
    return out
