"""The rule at one horizon: the combination, the simple guesses and persistence share the forecast by their past errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Panel
from . import combination
from .backtest import Backtest, mean_errors
from .simple import long_change

# Past error over persistence's, and over that of the best simple guess, up to which the combination is used as it is, and from which
# it is not used at all: errors that differ by 2 % are called equal (``result.SAME``); a tenth more than a guess is more than chance.
LOST = (0.98, 1.02)
BEATEN = (1.0, 1.1)
# Before it had 20 past errors to learn from the rule says little about what it does now, and it is judged by at least 5 forecasts that do
# not overlap. 10 and 3 were worse at the earlier origins of England, flu, wind and measles (mean ratio to the guess 0.95 for 0.90).
TAUGHT = 20
APART = 5.0
TIMES, POWER, PRIOR = (
    3.0,
    8.0,
    6.0,
)  # see ``node_trust``; 2, 8 and 2 are worse for measles 14 steps ahead, at its earlier origins


@dataclass(frozen=True)
class Online:
    """At one horizon, what the rule would have forecast at past origins, and what it forecasts with now.

    Args:
        origins: the past origins at which it can be judged, shape (Q,).
        said: its forecasts there, shape (Q, n).
        simple: those of the best simple guess at the time, the reference.
        weights: of the candidates now, shape (K,).
        guesses: weights of the simple guesses now, shape (K,).
        shares: of the combination, of the guesses and of persistence now, shape (3,).
        own: of each node now, how much of this it gets, and persistence the rest, shape (n,).
        judged: the past origins by which it is judged now, shape (J,).
        past: past errors there, in units of persistence's, of what is used now and of the reference; NaN where there was no past.
    """

    origins: np.ndarray
    said: np.ndarray
    simple: np.ndarray
    weights: np.ndarray
    guesses: np.ndarray
    shares: np.ndarray
    own: np.ndarray
    judged: np.ndarray
    past: tuple[float, float]

    @property
    def guess(self) -> int:
        """Position of the best simple guess now."""
        return int(self.guesses.argmax())

    @property
    def kept(self) -> str | int:
        """The word "combination", or the position of the simple guess that has most of the forecast where the combination has none."""
        if self.shares[0] > 0:
            return "combination"
        return self.guess if self.shares[1] >= self.shares[2] else 0

    def mixed(self, forecasts: np.ndarray) -> np.ndarray:
        """The forecast of now from those of all candidates, (K, n) to (n,); the first is persistence."""
        middle, around = (combination.middle(forecasts, weight) for weight in (self.weights, self.guesses))
        still = forecasts[0].astype(np.float64)
        said = _mixed(np.stack([middle, around, still]), self.shares)
        return self.own * said + (1 - self.own) * still


def online(panel: Panel, tested: Backtest, k: int) -> Online:
    """What the rule would have said at every past origin with what was known then, and what it says now.

    The combination, the simple guesses and persistence share the forecast by their past errors. Where what they gave lost to
    persistence or to the best simple guess, the combination has no part in it.
    """
    h, now = int(tested.horizons[k]), len(tested.origins) - 1
    places = [p for p in range(now + 1) if p == now or len(tested.known(k, p)) > 0]
    said = {p: tested.forecasts[:, p, k] for p in places}
    middle = np.stack([combination.middle(said[p], tested.weights(k, p)) for p in places])
    around = np.stack([combination.middle(said[p], tested.guesses(k, p)) for p in places])
    simple = np.stack([said[p][tested.guess(k, p)] for p in places])
    origins = tested.origins[places]
    three = np.stack([middle, around, panel.values[origins]])
    judged = origins + h < len(panel)
    past = origins[judged]
    errors, still = mean_errors(panel, past, h, three[:, judged]), mean_errors(panel, past, h, three[2, judged])
    reference = mean_errors(panel, past, h, simple[judged])

    late = np.array([len(tested.known(k, p)) >= TAUGHT for p in places])[judged]
    apart = min(1.0, combination.spacing(tested.origins) / h)  # forecasts that do not overlap, for each origin

    def known(o: int, error: np.ndarray, among: np.ndarray) -> float:
        """A discounted past error as it was known at origin o, at some of the past origins."""
        then = (past + h <= o) & among
        return _discounted(past[then], error[then], still[then])

    every = np.ones(len(past), dtype=bool)
    firm = np.array([((past + h <= o) & late).sum() * apart >= APART for o in origins])
    shares = np.zeros((len(places), 3))
    for p, o in enumerate(origins.tolist()):
        many = 3 if firm[p] else 2  # persistence takes part where there is enough to judge by
        shares[p, :many] = combination.shares(
            np.array([known(o, e, late if firm[p] else every) for e in errors[:many]])
        )
    for _ in range(2):  # what the first fall back leaves is judged as well: it must not have lost either
        mine = mean_errors(panel, past, h, _all_mixed(three, shares)[judged])
        for p in np.flatnonzero(firm).tolist():
            error, other = known(int(origins[p]), mine, late), known(int(origins[p]), reference, late)
            left = min(combination.trust(error, *LOST), combination.trust(error / max(other, 1e-12), *BEATEN))
            alone = combination.shares(np.array([known(int(origins[p]), e, late) for e in errors[1:]]))
            shares[p] = left * shares[p] + (1 - left) * np.append(0.0, alone)
    mixed = _all_mixed(three, shares)
    own = node_trust(panel, origins, h, mixed, judged)
    final = own * mixed + (1 - own) * three[2]
    used, among = shares[-1], late if firm[-1] else every
    kept = mean_errors(panel, past, h, final[judged]) if used[0] > 0 else errors[1 if used[1] >= used[2] else 2]
    error, other = (known(int(origins[-1]), e, among) for e in (kept, reference))
    now_weights = tested.weights(k, now), tested.guesses(k, now)
    return Online(past, final[judged], simple[judged], *now_weights, used, own[-1], past[among], (error, other))


def node_trust(panel: Panel, origins: np.ndarray, h: int, said: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """How much of the forecasts ``said`` each node gets at each origin, and persistence the rest: shape (O, n).

    1 / (1 + (e_i / 3 s_i)^8) with the discounted past errors e_i of ``said`` and s_i of persistence at the node. A node that never
    changes does not follow the weekdays of the others. What is known of a node is little, so that s_i has 6 / m of the mean size
    of its changes so far on top, where m past forecasts do not overlap.
    """
    past = origins[judged]
    truth, seen = panel.values[past + h], panel.observed[past + h]
    mine, still = (np.where(seen, np.abs(x - truth), 0.0) for x in (np.nan_to_num(said[judged]), panel.values[past]))
    mean = long_change(panel, origins, h)
    out = np.ones(said.shape)
    for p, o in enumerate(origins):
        then = np.flatnonzero(past + h <= o)
        if not len(then):
            continue
        weight = combination.DISCOUNT ** combination.ages(past[then])[:, None] * seen[then]
        prior = PRIOR * mean[p] * max(1.0, h / combination.spacing(past))  # of sums, not of means
        e, s = (weight * mine[then]).sum(axis=0), (weight * still[then]).sum(axis=0) + prior
        ratio = np.divide(e, TIMES * s, out=np.where(e > 1e-9 * np.abs(panel.values[o]), np.inf, 0.0), where=s > 0)
        out[p] = 1.0 / (1.0 + np.minimum(ratio, 1e6) ** POWER)
    return out


def _mixed(forecasts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The mean of forecasts (C, n), weighted by shares (C,), of those that there are."""
    there = np.isfinite(forecasts) * shares[:, None]
    total = there.sum(axis=0)
    mean = (there * np.nan_to_num(forecasts)).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, forecasts[-1])


def _all_mixed(forecasts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The same at every origin: (C, O, n) and (O, C) to (O, n)."""
    return np.stack([_mixed(forecasts[:, p], shares[p]) for p in range(len(shares))])


def _discounted(origins: np.ndarray, errors: np.ndarray, still: np.ndarray) -> float:
    """Discounted mean error in units of persistence's; NaN where there was no past."""
    if not len(origins):
        return float("nan")
    return float(combination.past_errors(errors[None], combination.ages(origins), still)[0])
