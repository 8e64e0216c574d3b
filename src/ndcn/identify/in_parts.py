"""A network that several processes share: its trajectory as observed, each process explaining its own nodes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from scipy import sparse

from .._support.agreed import Agreed
from ..data import Trajectory
from ..graph import Graph, PartGraph
from ..laws import PartNetwork
from .data_smoothing import Noise
from .decimals import ROUNDING_ERROR
from .interaction import Interaction
from .node_sample import SAMPLED, LaterPath
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


def observed_in_parts(trajectories: Sequence[Trajectory], what: Interaction) -> tuple[list[Observations], str | None]:
    """The trajectory of own nodes and of the halo, whose states are exchanged once; all processes call it.

    With it comes what to say of data that may be noisy if no formula explains them: clean ones may be sampled coarsely.

    Raises:
        ValueError: what is asked for, or gaps or rounding of the data, needs the whole network in one process.
    """
    (trajectory,) = trajectories if len(trajectories) == 1 else (None,)
    if trajectory is None or not isinstance(trajectory.graph, PartGraph):
        raise Agreed("laws of a network in parts are found from one trajectory: fit the longest")
    graph, world = trajectory.graph, trajectory.graph.world
    asked = [
        (what.form == "free", 'the free form (form="free")'),
        (what.nodes == "differ", 'nodes that differ (nodes="differ")'),
        (what.known is not None, "what a known law leaves open (known=)"),
        (trajectory.inputs is not None, "laws with inputs"),
    ]
    if refused := [name for wanted, name in asked if wanted]:
        raise Agreed(
            f"{refused[0]} needs the whole network in one process: fit it on data that were not cut, or drop it; in parts a closed form is found, "
            "the same at every node"
        )
    elsewhere = "whole trajectories are fitted in one process only: fit the data that were not cut"
    if not world.everywhere(trajectory.mask is None):
        raise Agreed(f"some entries are missing, and {elsewhere}")
    some = _sample(trajectory, graph)
    if bool((step := rounding_of(some)).any()):
        raise Agreed(f"states are written to multiples of {float(step.max()) / ROUNDING_ERROR:.6g}, and {elsewhere}")
    rough, doubt = roughness_of(some), None
    if rough >= NOISY_ABOVE:
        doubt = (
            "states carry noise, or change faster than the snapshots show (they miss curves through their neighbours in time by "
            f"{100 * rough:.2g} %); no formula explains them from one snapshot to the next, and {elsewhere}"
        )
    states = graph.halo.extended(trajectory.states.detach().cpu().double())
    scale = world.highest(states.abs().amax(dim=(0, 1))).clamp(min=1e-300)
    eps = max(torch.finfo(trajectory.states.dtype).eps, FLOAT64_ROUNDING)
    rounding = Noise(LEAST_ROUNDING * scale, torch.full_like(scale, eps))
    unit, times = UNIT * scale, trajectory.times.double()
    network, path = PartNetwork(graph), LaterPath(times, states, unit, gauss_nodes())
    seen = torch.ones((), dtype=torch.bool).expand(states.shape)
    noise = rounding.at(states)
    one = Observations(network, times, states, seen, states, path, noise, unit, rounding, counted=graph.num_nodes)
    return [one], doubt


def _sample(trajectory: Trajectory, graph: PartGraph) -> Trajectory:
    """About ``SAMPLED`` nodes of the whole network with all their snapshots, the same in all processes."""
    own, world = trajectory.states.shape[1], graph.world
    count = -(-SAMPLED * own // graph.num_nodes_total)
    width = int(world.highest(torch.tensor(min(count, own))))
    chosen = torch.arange(min(count, own)) * own // min(count, own)
    states = torch.full((len(trajectory), width, trajectory.num_features), torch.nan, dtype=trajectory.states.dtype)
    states[:, : len(chosen)] = trajectory.states[:, chosen].detach().cpu()
    every = torch.cat(list(world.gather(states)), dim=1)
    every = every[:, every.isfinite().all(dim=2).all(dim=0)]
    nodes = Graph(sparse.csr_array((every.shape[1], every.shape[1])))
    return Trajectory(times=trajectory.times, states=every, graph=nodes)
