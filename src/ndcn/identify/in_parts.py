"""A network that several processes share: its trajectory as observed, each process explaining its own nodes."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..data import Trajectory
from ..graph import PartGraph
from ..laws import PartNetwork
from .data_smoothing import Noise
from .decimals import ROUNDING_ERROR
from .interaction import Interaction
from .node_sample import LaterPath
from .observations import (
    FLOAT64_ROUNDING,
    LEAST_ROUNDING,
    NOISY_ABOVE,
    UNIT,
    Observations,
    gauss_nodes,
    roughness_of,
    rounding_of,
)


def observed_in_parts(trajectories: Sequence[Trajectory], what: Interaction) -> list[Observations]:
    """The trajectory of own nodes and of the halo, whose states are exchanged once; all processes call it.

    Raises:
        ValueError: what is asked for, or noise, gaps or rounding of the data, needs the whole network in one process.
    """
    (trajectory,) = trajectories if len(trajectories) == 1 else (None,)
    if trajectory is None or not isinstance(trajectory.graph, PartGraph):
        raise ValueError("laws of a network in parts are found from one trajectory: fit the longest")
    graph, world = trajectory.graph, trajectory.graph.world
    asked = [
        (what.form == "free", 'the free form (form="free")'),
        (what.nodes == "differ", 'nodes that differ (nodes="differ")'),
        (what.known is not None, "what a known law leaves open (known=)"),
        (trajectory.inputs is not None, "laws with inputs"),
    ]
    if refused := [name for wanted, name in asked if wanted]:
        raise ValueError(
            f"{refused[0]} needs the whole network in one process: fit it on data that were not cut, or drop it; in parts a closed form is found, "
            "the same at every node"
        )
    rough, step = float(world.highest(torch.tensor(roughness_of(trajectory)))), -world.highest(-rounding_of(trajectory))
    if trouble := _trouble(world.everywhere(trajectory.mask is None), rough, step):
        raise ValueError(
            f"{trouble}, and whole trajectories are fitted in one process only: fit them on data that were not cut, or on part of the network"
        )
    states = graph.halo.extended(trajectory.states.detach().cpu().double())
    scale = world.highest(states.abs().amax(dim=(0, 1))).clamp(min=1e-300)
    eps = max(torch.finfo(trajectory.states.dtype).eps, FLOAT64_ROUNDING)
    rounding = Noise(LEAST_ROUNDING * scale, torch.full_like(scale, eps))
    unit, times = UNIT * scale, trajectory.times.double()
    network, path = PartNetwork(graph), LaterPath(times, states, unit, gauss_nodes())
    seen = torch.ones((), dtype=torch.bool).expand(states.shape)
    noise = rounding.at(states)
    return [Observations(network, times, states, seen, states, path, noise, unit, rounding, counted=graph.num_nodes)]


def _trouble(complete: bool, rough: float, step: torch.Tensor) -> str | None:
    """Why the snapshots are not known exactly; None if they are."""
    if not complete:
        return "some entries are missing"
    if bool((step > 0).any()):
        return f"states are written to multiples of {float(step.max()) / ROUNDING_ERROR:.6g}"
    if rough >= NOISY_ABOVE:
        return f"states carry noise, or change faster than the snapshots show: they miss curves through their neighbours in time by {100 * rough:.2g} %"
    return None
