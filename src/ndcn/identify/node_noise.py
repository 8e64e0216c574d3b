"""A law whose nodes differ, fitted again with the noise that it shows itself."""

from __future__ import annotations

from dataclasses import replace

import torch

from .clock import in_time
from .data_smoothing import Noise
from .node_fit import NodeFit, fit_nodes_along
from .residual_noise import likely_noise


def with_own_noise(fitted: NodeFit, *, rounds: int = 2, iterations: int = 8) -> NodeFit:
    """Fitted again with the noise that its own residuals show; itself if that diverges."""
    for _ in in_time(range(rounds)):
        ready = []
        share = (
            1 - min(0.9, fitted.freedom / max(fitted.count, 1))
        ) ** -0.5  # residuals are smaller than noise by what was fitted
        for problem in fitted.problems:
            states = fitted.states(problem)
            if states is None:
                return fitted
            one = problem.data
            additive, part = one.measured.additive.clone(), one.measured.share.clone()
            for a in range(states.shape[-1]):
                seen = one.seen[1:, :, a]
                if bool(seen.any()):
                    level = states[1:, :, a][seen]
                    additive[a], part[a] = likely_noise(level, share * (one.states[1:, :, a][seen] - level))
            noise = Noise(additive, part)
            error = torch.where(one.seen[0], noise.at(problem.guess), problem.error)
            ready.append(replace(problem, data=replace(one, measured=noise), error=error))
        again = fit_nodes_along(
            fitted.model,
            fitted.deviations,
            ready,
            fitted.spread,
            iterations=iterations,
            design=fitted.design,
            prior=fitted.prior,
        )
        if again is None:
            return fitted
        fitted = again
    return fitted
