"""Can these data tell the network? The verdict, its reasons, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._support.wording import counted
from .trees import FOREST, LAW, Opinion

DECIDED, IN_PART, NOT_DECIDABLE = "decided", "decided in part", "not decidable"
# Foretold area under precision over recall below which ranks are of little use: relaxing single trajectories have .1 to .5, several
# trajectories .9 and more.
LEAST_AUPR = 0.65
LEAST_GAIN = 10.0  # log evidence, in nats, for a claim: odds of 20,000 to 1
# Nats a node that links must gain: the best of some twenty families, with numbers in common, gained 1.5 on independent nodes
# (tests/reconstruction/test_reconstruct.py), true links 10 and more.
LEAST_GAIN_OF_NODE = 3.0
LEAST_SURE = 0.8  # share of a node's expected links that must be sure
SURE = 0.9  # probability of a sure link
PROCESS_NOISE = 1.0  # in units of the noise of observations
ODD = 5.0  # times the median row's noise, or a fifth of it: another law, or links that follow noise
CLEAN = 1e-3  # noise below this share of the states: what is left are errors of the path, not of the data
# Share of the nodes in whose number of directions links must be able to show before their absence is believed: single relaxing trajectories
# of 50 nodes have 4 to 8 directions above noise, several trajectories 21 and more.
LEAST_VISIBLE = 0.25
# Share of the nodes in whose number of directions links must show before they are believed without a network to start from: relaxing single
# trajectories have 0 to .16, 10 runs with 5 % noise .18, and more than .4 where links are found. Below it a law that follows noise foretells what it likes
# (heat, 12 nodes, one run of 15 snapshots: 1 direction, area foretold .73, true .42, with a wrong coupling by 157 nats).
LEAST_DIRECTIONS = 0.1
FEW_LINKS = 0.5  # expected links of all nodes below which there are none


@dataclass(frozen=True)
class Verdict:
    """What the data can tell.

    Attributes:
        answer: "decided", "decided in part" or "not decidable".
        reasons: why, in sentences.
        helps: what would help, in sentences.
        undecided: nodes whose incoming links the data do not tell, by index.
        law: whether the family of the coupling is told apart from others.
    """

    answer: str
    reasons: tuple[str, ...]
    helps: tuple[str, ...]
    undecided: tuple[int, ...]
    law: bool

    def __str__(self) -> str:
        return self.answer


@dataclass(frozen=True)
class Facts:
    """What the verdict is made of: see ``engine.Found`` and ``calibration``."""

    probabilities: np.ndarray
    aupr: float
    gain: float
    margin: float
    rivals: tuple[str, str]
    rho: float
    noise: float  # of observations, as a share of the states' standard deviation
    spectrum: int
    visible: int  # directions in which a link of some weight would show
    runs: int
    misfit: np.ndarray  # of each row, in units of the median row's
    candidates: int  # of each row, which are all nodes or those that were chosen
    driver: bool = False  # whether a driver in common to all nodes was found
    prior: bool = False  # whether a network was given
    opinion: Opinion | None = None  # of regression trees, where they were asked
    unchecked: bool = False  # whether there are too many nodes to check probabilities by simulation unless asked to
    unseen: tuple[str, ...] = ()  # nodes that were never observed
    sure: float = (
        np.inf
    )  # that the coupling is not one of similar shape, by simulations: 1 or more to tell; infinite if there was none


def noisy_process(rho: float, noise: float) -> bool:
    """Whether errors of increments are too large for noise of the observations, which is this share of the states' standard deviation."""
    return rho >= PROCESS_NOISE and noise > CLEAN


def _reservations(facts: Facts) -> list[str]:
    """What has to be said of the data whatever the verdict is."""
    reasons = []
    if facts.unseen:
        who = counted(len(facts.unseen), "node")
        reasons.append(
            f"{who} never observed ({', '.join(facts.unseen[:3])}{', ...' if len(facts.unseen) > 3 else ''}): nodes that follow what is not seen may be "
            "given links from others instead"
        )
    if facts.driver:
        reasons.append("a driver in common to all nodes explains more than links do; links are what it leaves open")
    if noisy_process(facts.rho, facts.noise):
        reasons.append(
            f"errors of increments are {facts.rho:g} times what noise of the observations would leave: the process itself is noisy, or the "
            "law is another one; the probabilities say less than they seem to"
        )
    return reasons


def verdict(facts: Facts) -> Verdict:
    """Judge."""
    p = facts.probabilities
    n = len(p)
    reasons, helps = _reservations(facts), []
    doubtful = facts.sure < 1 if np.isfinite(facts.sure) else facts.margin < LEAST_GAIN
    if facts.opinion is not None and facts.opinion.best != LAW:
        reasons.insert(0, _by_trees(facts.opinion))
        return Verdict(NOT_DECIDABLE, tuple(reasons), tuple(_helps(facts)), tuple(range(n)), False)
    if facts.opinion is not None and not facts.opinion.errors[LAW] < 1:
        reasons.insert(
            0, "neither a law of the library nor regression trees explain anything of runs that were held out"
        )
        return Verdict(NOT_DECIDABLE, tuple(reasons), tuple(_helps(facts)), tuple(range(n)), False)
    if facts.gain < max(LEAST_GAIN, LEAST_GAIN_OF_NODE * n) or p.sum() < FEW_LINKS:
        why = f"each node's own past explains the data (log evidence for links {facts.gain:.0f})"
        if facts.driver:
            why = "a driver in common to all nodes and each node's own past explain the data, or one more driver would"
        if facts.visible < LEAST_VISIBLE * facts.candidates:
            reasons.insert(
                0,
                f"no sign of links, but they would not show: {why}, and states differ in {facts.visible} directions of {facts.candidates} nodes",
            )
            return Verdict(NOT_DECIDABLE, tuple(reasons), tuple(_helps(facts)), tuple(range(n)), False)
        reasons.insert(0, f"no links: {why}")
        helps.append("if you expect links, observe the nodes away from equilibrium and from each other")
        return Verdict(DECIDED, tuple(reasons), tuple(helps), (), False)
    if facts.aupr < LEAST_AUPR or (not facts.prior and facts.spectrum < LEAST_DIRECTIONS * facts.candidates):
        reasons.insert(0, _not_told(facts))
        helps += _helps(facts)
        return Verdict(NOT_DECIDABLE, tuple(reasons), tuple(helps), tuple(range(n)), False)
    sure = np.where(p > SURE, p, 0).sum(1) + 0.5
    off = ((facts.misfit > ODD) | (facts.misfit < 1 / ODD)) & (facts.noise > CLEAN)
    open_rows = np.flatnonzero((sure / (p.sum(1) + 0.5) < LEAST_SURE) | off)
    if doubtful:
        reasons.append(_rivals(facts))
    if len(open_rows):
        helps += _helps(facts)
    share = len(open_rows) / n
    if share > 0.9:
        answer = NOT_DECIDABLE
        reasons.insert(0, "hardly any node's incoming links are sure")
    elif share > 0:
        answer = IN_PART
        reasons.insert(0, f"the incoming links of {len(open_rows)} of {n} nodes are not sure")
    else:
        answer = DECIDED
        reasons.insert(0, f"the foretold area under precision over recall is {facts.aupr:.2f}")
    if facts.unchecked:
        reasons.append(
            "probabilities were not checked by simulations, which take long for so many nodes; calibrate=True makes them"
        )
    claimed = not doubtful and answer != NOT_DECIDABLE
    return Verdict(answer, tuple(reasons), tuple(helps), tuple(open_rows.tolist()), claimed)


def _rivals(facts: Facts) -> str:
    one, other = facts.rivals
    if np.isfinite(facts.sure):
        return f"the couplings {one} and {other} cannot be told apart: with noise as it is, data simulated under either look like these"
    return f"the coupling {one} is hardly more likely than {other} (by {facts.margin:.1f} nats)"


def _not_told(facts: Facts) -> str:
    directions = f"states differ in {counted(facts.spectrum, 'direction')} above noise, of {facts.candidates} nodes"
    if facts.aupr < LEAST_AUPR:
        foretold = f"the foretold area under precision over recall is {facts.aupr:.2f}"
        return f"links can be ranked little better than by chance: {foretold}, and {directions}"
    return f"different networks explain the data equally well: {directions}"


def _by_trees(opinion: Opinion) -> str:
    by = "them" if opinion.best == FOREST else "the mean of both ranks"
    return (
        f"no law of the library explains runs that were held out as well as regression trees do (mean squared errors {opinion.errors[LAW]:.2f} and "
        f"{opinion.errors[FOREST]:.2f} of the variance of rates): links are ranked by {by}, and probabilities are not calibrated"
    )


def _helps(facts: Facts) -> list[str]:
    out = []
    if facts.runs < 30:
        more = "several runs" if facts.runs == 1 else "more runs"
        out.append(f"{more} from other initial states: nodes that relax together cannot be told apart")
    out.append("perturb the nodes that are not decided, and those that may act on them, one after the other")
    if facts.noise > 0.005:
        out.append(f"less noise: it is {100 * facts.noise:.2g} % of the states' standard deviation now")
    return out
