"""reconstruct: who acts on whom, and how, from time series alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import sparse

from .._support.checks import check_number, check_whole
from .._support.progress import Progress
from .._support.threads import one_thread
from ..data import Dataset, Trajectory
from ..graph import Graph
from ..identify import formula_names
from ..laws import Formula, Term
from .calibration import Calibration, bootstrap, foretold
from .engine import Found, found_links
from .paths import paths_of
from .result import LEAST_STORED, Reconstruction
from .trees import LAW, Opinion, second_opinion
from .verdict import Facts, noisy_process, verdict

MOST_CALIBRATED = 200  # nodes up to which the bootstrap takes less than a minute
FEWEST = 5  # snapshots of a run, for a path that can be told from its noise


def reconstruct(
    data: Any,
    prior: Graph | None = None,
    *,
    trust: float = 0.9,
    coupling: str | None = None,
    values: Sequence[float] = (),
    calibrate: bool | None = None,
    trees: bool | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Reconstruction:
    """Find the network and the law dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j) together, with a probability for each link.

    Args:
        data: a Trajectory, a list of them, or a Dataset; its graph names the nodes, and its edges are not used. Each node answers the
            inputs u of the runs by a coefficient of u and one of u x of its own.
        prior: a network that may be partly wrong. Its links are then true with probability ``trust``, and as many as are expected to be
            wrong are expected to be missing.
        trust: probability of the prior's links.
        coupling: the formula g, if it is known; else all of the library are compared by their evidence.
        values: the parameters of ``coupling``, in the order of their first mention; fitted by default.
        calibrate: whether to simulate networks drawn from the probabilities, to find them again, and to correct the probabilities by what
            was found; by default up to 200 nodes.
        trees: whether to ask regression trees too, which follow no law, and to rank links by whoever explains held-out runs best; by
            default where errors are too large for noise of the observations, so that the law may be another one.
        seed: of everything that is sampled.
        progress: whether to show what is done, on a terminal by default.

    Raises:
        TypeError: data or prior are of another kind.
        ValueError: there are too few snapshots or nodes, the prior has other nodes or no links, or ``coupling`` is none.

    Example:
        >>> import ndcn, numpy as np
        >>> graph = ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], directed=True)
        >>> start = np.random.default_rng(1).random((8, 4, 1))
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), graph, x0, np.linspace(0, 1, 15)) for x0 in start]
        >>> found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
        >>> found.graph() == graph
        True
    """
    runs = _runs(data)
    n = runs[0].graph.num_nodes
    check_number("trust", trust, "between 0 and 1", lambda value: 0 < value < 1)
    check_whole("seed", seed, 0)
    odds = None if prior is None else _prior_odds(prior, runs[0], trust)
    names = formula_names(runs[0].features)
    formula = None if coupling is None else _coupling(coupling, names, values)
    began = time.perf_counter()
    with one_thread(), Progress(1, 0, progress, "", "network") as bar:

        def told(what: str) -> None:
            bar.update(0, note=what)

        paths = paths_of(runs)
        term = None if formula is None else Term(formula, True, 0, tuple(values))
        found = _best_feature(paths, names, seed, odds, term, told, runs)
        calibration = opinion = None
        driven = bool(found.increments.driven)  # forests know nothing of inputs
        if trees or (trees is None and not driven and noisy_process(found.increments.rho, _noise_share(found, runs))):
            opinion = second_opinion(found, seed, odds, told)
        by_law = opinion is None or opinion.best == LAW
        if by_law and (calibrate or (calibrate is None and n <= MOST_CALIBRATED)):
            calibration = bootstrap(found, runs, seed, prior=odds, told=told)
    return _result(found, runs, prior, calibration, opinion, seed, time.perf_counter() - began)


def _noise_share(found: Found, runs: list[Trajectory]) -> float:
    """Noise of the observations in units of the states' standard deviation."""
    output = found.increments.output
    states = torch.cat([run.states.double().flatten(0, 1) for run in runs])
    return float(
        np.median(found.increments.paths.noise[:, output]) / (np.nanstd(states.numpy(), axis=0)[output] + 1e-300)
    )


def _best_feature(
    paths: Any, names: Sequence[str], seed: int, odds: Any, term: Term | None, told: Any, runs: Sequence[Trajectory]
) -> Found:
    """What the feature says whose rates show links most clearly."""
    found = []
    for k in range(len(names)):
        mine = None if term is None else replace(term, output=k)
        found.append(found_links(paths, names, k, seed, prior=odds, term=mine, told=told, runs=runs))
    return max(found, key=lambda one: one.gain)


def _coupling(text: str, names: Sequence[str], values: Sequence[float]) -> Formula:
    """A formula of g that depends on the neighbour's state."""
    formula = Formula(text, names)
    others = [
        one
        for one in formula.parameters
        if one.endswith(("_i", "_j")) or any(one.startswith(f"{name}_") for name in names)
    ]
    if others:
        own, other = f"{names[0]}_i", f"{names[0]}_j"
        raise ValueError(
            f"{others[0]} in {text!r} is no state: {own} is that of the node itself, {other} that of its neighbour"
        )
    if not formula.on_edges:
        raise ValueError(f"{text!r} does not depend on the neighbour's state, as {names[0]}_j - {names[0]}_i does")
    if len(values) not in (0, len(formula.parameters)):
        raise ValueError(
            f"{text!r} has the parameters {', '.join(formula.parameters) or '(none)'}; got {len(values)} values"
        )
    return formula


def _runs(data: Any) -> list[Trajectory]:
    runs = list(data.runs) if isinstance(data, Dataset) else [data] if isinstance(data, Trajectory) else data
    if not isinstance(runs, (list, tuple)) or not runs or not all(isinstance(run, Trajectory) for run in runs):
        raise TypeError(f"expected a Trajectory, a list of them, or a Dataset, got {type(data).__name__}")
    nodes = runs[0].graph.nodes
    if any(run.graph.nodes != nodes or run.features != runs[0].features for run in runs):
        raise ValueError("all runs must have the same nodes and features")
    if len({() if run.inputs is None else run.inputs.names for run in runs}) > 1:
        raise ValueError("all runs must have the same inputs, or none of them any")
    if len(nodes) < 3:
        raise ValueError(f"a network to be found has three nodes or more, got {len(nodes)}")
    long = [run for run in runs if len(run) >= FEWEST]
    if not long:
        raise ValueError(f"paths need runs of {FEWEST} snapshots or more; the longest has {max(map(len, runs))}")
    return long


def _prior_odds(prior: Any, run: Trajectory, trust: float) -> np.ndarray:
    """Log odds of each link, (n, n), from a network that may be partly wrong."""
    if not isinstance(prior, Graph):
        raise TypeError(f"prior must be an ndcn.Graph, got {type(prior).__name__}")
    if prior.nodes != run.graph.nodes:
        raise ValueError("prior must have the nodes of the data, in the same order")
    listed = prior.to_scipy().toarray() != 0
    n, count = len(listed), int(listed.sum())
    if not count:
        raise ValueError("prior has no links between nodes of the data; leave it out if no network is known")
    absent = max(n * (n - 1) - count, 1)
    density = min(max((1 - trust) * max(count, 1) / absent, 1e-6), 0.5)
    odds = np.full((n, n), np.log(density / (1 - density)))
    odds[listed] = np.log(trust / (1 - trust))
    return odds


def _unseen(runs: list[Trajectory]) -> tuple[str, ...]:
    """Nodes without any observation."""
    seen = np.any([run.states.isfinite().any(-1).any(0).numpy() for run in runs], axis=0)
    return tuple(str(node) for node, known in zip(runs[0].graph.nodes, seen, strict=True) if not known)


def _result(
    found: Found,
    runs: list[Trajectory],
    prior: Graph | None,
    calibration: Calibration | None,
    opinion: Opinion | None,
    seed: int,
    seconds: float,
) -> Reconstruction:
    p = found.dense(found.learned.probabilities)
    if calibration is not None:
        p = calibration(p)
        np.fill_diagonal(p, 0.0)
    if opinion is not None:
        p = opinion.ranked(p)
    aupr = foretold(p[~np.eye(len(p), dtype=bool)], seed)
    if calibration is not None:
        aupr = min(aupr, calibration.aupr)
    families: dict[str, float] = {}
    for one in found.families:
        families.setdefault(one.term.formula.text, one.evidence - found.families[0].evidence)
    listed = tuple(families.items())
    noise = found.learned.shared.noise
    facts = Facts(
        probabilities=p,
        aupr=aupr,
        gain=found.gain,
        margin=np.inf if len(listed) < 2 else -listed[1][1],
        rivals=(found.term.formula.text, listed[1][0] if len(listed) > 1 else ""),
        rho=found.increments.rho,
        noise=_noise_share(found, runs),
        spectrum=found.spectrum,
        visible=found.visible,
        runs=len(runs),
        misfit=(noise / noise.median()).numpy(),
        candidates=found.grams.m,
        prior=prior is not None,
        driver=found.increments.extra is not None,
        opinion=opinion,
        sure=found.sure,
        unseen=_unseen(runs),
        unchecked=calibration is None and len(p) > MOST_CALIBRATED,
    )
    kept = sparse.csr_array(np.where(p >= LEAST_STORED, p, 0.0))
    return Reconstruction(
        probabilities=kept,
        judgement=verdict(facts),
        families=listed or ((found.term.formula.text, 0.0),),
        calibration=calibration,
        opinion=opinion,
        aupr=aupr,
        prior=prior,
        nodes=tuple(runs[0].graph.nodes),
        feature=runs[0].features[found.increments.output],
        found=found,
        seconds=seconds,
    )
