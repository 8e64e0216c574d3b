"""Laws with inputs, of time or given, as they are told: their errors, evidence, and what speaks against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..laws import DrivenForm, Equation
from .doubts import doubt_of_fit
from .driven_shots import DrivenFit
from .observations import Observations, some_states
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, standard_errors
from .residual_noise import residuals_are_noise, reweighted
from .result import Evidence, FoundLaw
from .stretches import doubt_in_noise
from .trajectory_fit import TrajectoryFit, fit_trajectories, posterior_samples

FINAL_ITERATIONS = 20
CG = 15  # steps of conjugate gradients for initial states, of which noise leaves little to find


def law_of_shots(law: DrivenForm, data: Sequence[Observations], found: DrivenFit, reason: str, seed: int) -> FoundLaw:
    """A law that explains every snapshot from the one before, with its errors; the initial states are the first snapshots."""
    variance = (found.misfit / min(1.0, max(found.excess, 1e-12))) ** 2
    covariance = variance * pseudo_inverse(found.normal)
    samples = normal_samples(law.equation.parameters, covariance, seed)
    evidence = _evidence(reason, data, found.excess, law.equation, True)
    initial = [one.states[0] for one in data]
    return FoundLaw(law, covariance, standard_errors(covariance), samples, initial, None, evidence, some_states(data))


def law_along(
    best: TrajectoryFit,
    data: Sequence[Observations],
    law_of: Callable[[Equation], DrivenForm],
    what: str,
    than: str,
    seed: int,
) -> FoundLaw:
    """The law of a fit along whole trajectories, fitted to the end with the noise that its residuals show, and its errors.

    It is doubted as a law of the states alone is: by what its residuals have in common, on stretches that it was not fitted to, and where the data
    leave its numbers open.
    """
    final = fit_trajectories(best.model, best.problems, iterations=FINAL_ITERATIONS, cg=CG) or best
    left, told = final.excess, residuals_are_noise(final)
    final = reweighted(final, cg=CG)
    left, doubt = (final.excess, None) if told else (left, f"leaves residuals of {left:.3g} times the noise")
    changes = sum(len(one.spans) * one.states[0].numel() for one in data)
    doubt = doubt or doubt_in_noise(final) or doubt_of_fit(changes, final.normal)
    assert isinstance(final.model, Equation)
    law = law_of(final.model)
    samples, initial_samples = posterior_samples(final, POSTERIOR_SAMPLES, seed, cg=CG)
    covariance = final.covariance()
    reason = f"{what} leaves residuals of {left:.2f} times the noise, and {than}"
    evidence = _evidence(reason, data, final.excess, law.equation, doubt is None)
    initial = [problem.x0 for problem in final.problems]
    return FoundLaw(
        law,
        covariance,
        standard_errors(covariance),
        samples,
        initial,
        initial_samples,
        evidence,
        some_states(data),
        doubt=doubt,
    )


def _evidence(
    reason: str, data: Sequence[Observations], excess: float, equation: Equation, explained: bool
) -> Evidence:
    noise = tuple(data[0].measured.share.tolist())
    return Evidence("closed", reason, noise, excess, None, str(equation), explained)
