"""Equations fitted to shots: how exactly they are integrated, and when they explain what they were fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..laws import Equation
from .posterior import pseudo_inverse
from .shooting_fit import ShotFit, Shots, fit

# Residuals below so many times the rounding of snapshots are explained. True laws end near 1 or below (0.2 in the first example of
# docs/interaction.md), laws of another form beyond 10 000 (Trajectories of other simulators); near 1, a few snapshots that were rounded
# more would refuse a true law.
EXPLAINED_EXCESS = 5.0
# Smaller residuals along trajectories without noise are explained. Ten times ``EXPLAINED_EXCESS``, as errors of integration add up along them.
EXPLAINED_ROUNDING = 50.0
# A term without which residuals stay below so many times the rounding is not seen; stricter, so that what pruning leaves is explained.
UNSEEN_EXCESS = 2.0
# A fit above this weighted misfit is not worth going on with: a law that lets states stand still has a misfit near 1 (``shots_of``).
HOPEFUL_MISFIT = 0.25
# Weighted misfits below this are the rounding of float32, 6e-8, of states that move by a few percent: no term is kept to lower them.
MISFIT_OF_ROUNDING = 2e-6


@dataclass(frozen=True)
class Accuracy:
    """How exactly shots are integrated: the error allowed as a share of the largest state, and the steps at most."""

    precision: float
    most_steps: int


SCREENING = Accuracy(1e-5, 16)  # first fits: wrong candidates, which are most of them, need not be integrated better
COMPARING = Accuracy(1e-5, 32)  # no fit, only where a start is: it may need more steps than a fitted law
REFINING = Accuracy(1e-6, 32)
LAST_TRY = Accuracy(1e-6, 128)  # candidates that explain nothing exactly, so that errors of 1e-6 do not matter
EXACT = Accuracy(2e-8, 128)  # the rounding of snapshots, as ``observed`` takes it


@dataclass(frozen=True)
class FittedEquation:
    """An equation, fitted to some intervals."""

    fit: ShotFit
    equation: Equation

    def explains(self, excess: float = EXPLAINED_EXCESS) -> bool:
        """Whether every shot ends where the data are, to so many times their rounding."""
        return self.fit.lost == 0 and self.fit.excess < excess

    def score(self) -> float:
        """BIC of the shots: what is left open, and the number of parameters."""
        rest = math.log(self.fit.misfit**2 + MISFIT_OF_ROUNDING**2)
        return self.fit.count * rest + len(self.equation.parameters) * math.log(self.fit.count)

    def covariance(self) -> torch.Tensor:
        """Of the parameters, from the weighted residuals, (P, P)."""
        return self.fit.misfit**2 * pseudo_inverse(self.fit.normal)


@dataclass(frozen=True)
class EquationFitter:
    """Fits equations to shots; ``scale`` (d,) is the largest state of each feature."""

    scale: torch.Tensor

    def fitted(
        self,
        equation: Equation,
        shots: Sequence[Shots],
        iterations: int,
        accuracy: Accuracy = EXACT,
        enough: float = 1e-3,
    ) -> FittedEquation | None:
        """The equation with its best parameters on these shots; None if it cannot be integrated.

        No ``iterations`` only see how far the equation is off. The last one lowers the misfit by less than a share ``enough``: 0.1 % is
        well below what tells candidates apart.
        """
        tolerance = accuracy.precision * self.scale
        steps = accuracy.most_steps
        done = fit(equation, shots, iterations=iterations, tolerance=tolerance, most_steps=steps, enough=enough)
        if done is None or not math.isfinite(done.misfit):
            return None
        assert isinstance(done.model, Equation)
        return FittedEquation(done, done.model)
