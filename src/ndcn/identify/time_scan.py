"""Which function of time may act, and how: a scan of seasons, steps and a trend by the weak form, couplings ranked with each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from ..laws import Equation, Formula, Term, term_values
from .candidates import LOW_PRICE, complexity, is_polynomial
from .input_search import times_text
from .observations import Observations, integrals
from .search import WEIGHTINGS
from .weak_form import OVERFLOW, SINGULAR, stretches

KINDS = ("season", "trend", "step")
PERIODS = 46  # evenly spread in frequency, so that neighbours differ by a third of a turn over the window: no season lies between two of them
SHORTEST = 4.0  # typical intervals between snapshots: a shorter season is not seen well
EDGE = 0.04  # of the window: a step nearer to its ends than this cannot be told from a wrong initial state
MOST_ROWS = 20_000  # (interval, node) pairs: the scan only says where to look
TURN = 2 * math.pi


@dataclass(frozen=True, eq=False)
class TimeGuess:
    """An equation with a function of time, worth fitting."""

    kind: str
    way: str  # what it multiplies: "1", the name of a feature, or "coupling"
    number: float  # the period, or the time of the step; of a trend 0
    equation: Equation
    log_rest: float


@dataclass
class TimeScan:
    """Normal equations of the weak form, interval by interval: those with any function of time are sums of them.

    A function of time counts in each interval with its mean there, which is exact where the rates are constant.

    Args:
        data: trajectories with their paths.
        terms: the library, in the features alone.
        names: of features in formulas.
        time: the name of time in formulas.
        step: that of a step.
    """

    data: Sequence[Observations]
    terms: Sequence[Term]
    names: tuple[str, ...]
    time: str
    step: str

    def __post_init__(self) -> None:
        self.first = np.concatenate([one.times[:-1].numpy() for one in self.data])
        self.last = np.concatenate([one.times[1:].numpy() for one in self.data])
        begin, end = self.first.min(), self.last.max()
        self.window = (float(begin), float(end))
        self.d = self.data[0].states.shape[2]
        self.plain = [
            [t for t in self.terms if t.output == a and (t.coupling or is_polynomial(t))] for a in range(self.d)
        ]
        self._grams = {(a, power): self._gram(a, power) for a in range(self.d) for power in WEIGHTINGS}

    def numbers(self, kind: str) -> np.ndarray:
        """Periods or step times to scan."""
        begin, end = self.window
        if kind == "trend":
            return np.zeros(1)
        if kind == "step":
            inside = np.unique(self.last)
            room = EDGE * (end - begin)
            return inside[(inside > begin + room) & (inside < end - room)]
        shortest = SHORTEST * float(np.median(self.last - self.first))
        slowest = 1 / (end - begin)
        return 1 / np.linspace(slowest, max(1 / shortest, 2 * slowest), PERIODS)

    def guesses(self, kind: str, most: int) -> list[TimeGuess]:
        """The best equations with one function of time of this kind: the best of each way to act, then those with other couplings."""
        found: dict[tuple, TimeGuess] = {}
        for a in range(self.d):
            for power in WEIGHTINGS:
                for guess in self._scanned(kind, a, power, most):
                    key = (a, guess.way, guess.equation.families)
                    if key not in found or guess.log_rest < found[key].log_rest:
                        found[key] = guess
        ranked = sorted(found.values(), key=lambda one: one.log_rest)
        first = list({one.way: one for one in reversed(ranked)}.values())
        first.sort(key=lambda one: one.log_rest)
        return [*first, *(one for one in ranked if one not in first)][:most]

    def bare(self) -> Equation:
        """The best equation without time, of polynomials and one coupling for each feature."""
        parts = [self._plain_part(a, WEIGHTINGS[0]) for a in range(self.d)]
        return self._equation([pair for part in parts for pair in part])

    # -- one rate ------------------------------------------------------------------------------------------------

    def _scanned(self, kind: str, a: int, power: float, most: int) -> list[TimeGuess]:
        gram, moment, square = self._grams[a, power]
        numbers = self.numbers(kind)
        if not len(numbers):
            return []
        u = np.stack([self._values(kind, number) for number in numbers])  # (q, r, K)
        options: list[tuple[float, str, float, list[int], int]] = []
        for support, coupling in self._supports(a):
            for way, w in self._ways(a, coupling):
                rest = _rests(gram, moment, square, support, w, u)
                best = int(np.argmin(rest))
                price = LOW_PRICE * (0 if coupling is None else complexity(self.plain[a][coupling]))
                options.append((math.log(rest[best]) + price, way, float(numbers[best]), support, w))
        options.sort(key=lambda one: one[0])
        chosen: dict[tuple, tuple[float, str, float, list[int], int]] = {}
        for one in options:
            families = tuple(self.plain[a][k].family for k in one[3] if self.plain[a][k].coupling)
            chosen.setdefault((one[1], families), one)
        few: dict[str, int] = {}
        kept: list[tuple[float, str, float, list[int], int]] = []
        for one in chosen.values():
            few[one[1]] = few.get(one[1], 0) + 1
            if len(kept) < most or few[one[1]] == 1:
                kept.append(one)
        return [self._guess(kind, a, power, *one) for one in kept]

    def _guess(
        self, kind: str, a: int, power: float, score: float, way: str, number: float, support: list[int], w: int
    ) -> TimeGuess:
        """With its number refined between those scanned."""
        gram, moment, square = self._grams[a, power]
        numbers = np.sort(self.numbers(kind))

        def rest(value: float) -> float:
            return float(_rests(gram, moment, square, support, w, self._values(kind, value)[None])[0])

        if len(numbers) > 2:
            k = int(np.searchsorted(numbers, number))
            bounds = numbers[max(0, k - 1)], numbers[min(len(numbers) - 1, k + 1)]
            refined = minimize_scalar(rest, bounds=bounds, method="bounded", options={"xatol": 1e-4 * number})
            number = float(refined.x) if refined.fun < rest(number) else number
        c = _solution(gram, moment, support, w, self._values(kind, number))
        pairs = [(self.plain[a][k], float(v)) for k, v in zip(support, c, strict=False)]
        pairs += [self._timed(kind, self.plain[a][w], number, c[len(support) :])]
        for other in range(self.d):
            if other != a:
                pairs += self._plain_part(other, power)
        return TimeGuess(kind, way, number, self._equation(pairs), score)

    def _timed(self, kind: str, of: Term, number: float, c: np.ndarray) -> tuple[Term, float]:
        """The term of a function of time, and its coefficient."""
        names = (*self.names, self.clock_name(kind))
        if kind == "season":
            wave = f"sin(omega*{self.time} + phi)"
            size, phase = float(np.hypot(*c)), float(np.arctan2(c[1], c[0]))
            text = times_text(wave, of.formula.text)
            inner = {"omega": TURN / number, "phi": phase} | dict(zip(of.formula.parameters, of.values, strict=True))
            formula = Formula(text, names)
            return Term(formula, of.coupling, of.output, tuple(inner[name] for name in formula.parameters)), size
        text = times_text(self.clock_name(kind), of.formula.text)
        scale = 1.0 if kind == "step" else 1 / (self.window[1] - self.window[0])
        return Term(Formula(text, names), of.coupling, of.output, of.values), float(c[0]) * scale

    def clock_name(self, kind: str) -> str:
        """The name of what stands for time in formulas."""
        return self.step if kind == "step" else self.time

    def _equation(self, pairs: Sequence[tuple[Term, float]]) -> Equation:
        last = next((t.formula.features[-1:] for t, _ in pairs if len(t.formula.features) > self.d), ())
        names = (*self.names, *last)
        terms = tuple(Term(Formula(t.formula.text, names), t.coupling, t.output, t.values) for t, _ in pairs)
        return Equation(terms, torch.tensor([c for _, c in pairs], dtype=torch.float64), len(names))

    def _plain_part(self, a: int, power: float) -> list[tuple[Term, float]]:
        """Terms without time of one rate."""
        gram, moment, square = self._grams[a, power]
        nothing = np.zeros((1, 1, len(self.first)))
        best = min(
            self._supports(a), key=lambda one: float(_rests(gram, moment, square, one[0], one[0][0], nothing)[0])
        )
        c = _solution(gram, moment, best[0], best[0][0], nothing[0])
        return [(self.plain[a][k], float(v)) for k, v in zip(best[0], c, strict=False)]

    def _supports(self, a: int) -> list[tuple[list[int], int | None]]:
        """All polynomials with each coupling or none."""
        base = [k for k, t in enumerate(self.plain[a]) if not t.coupling]
        return [(base, None)] + [([*base, k], k) for k, t in enumerate(self.plain[a]) if t.coupling]

    def _ways(self, a: int, coupling: int | None) -> list[tuple[str, int]]:
        """What a function of time may multiply: 1, a feature, the coupling."""
        plain = {t.formula.text: k for k, t in enumerate(self.plain[a]) if not t.coupling}
        out = [(text, plain[text]) for text in ("1", *self.names) if text in plain]
        return out + ([] if coupling is None else [("coupling", coupling)])

    def _values(self, kind: str, number: float) -> np.ndarray:
        """Means of functions of time over each interval, (r, K): sine and cosine, the share of the window, or the step."""
        a, b = self.first, self.last
        if kind == "trend":
            return (((a + b) / 2) / (self.window[1] - self.window[0]))[None]
        if kind == "step":
            return np.clip((b - number) / (b - a), 0.0, 1.0)[None]
        w = TURN / number
        size = np.sinc(w * (b - a) / TURN)  # sin(h) / h, h = w (b - a) / 2
        return np.stack([np.sin(w * (a + b) / 2) * size, np.cos(w * (a + b) / 2) * size])

    def _gram(self, a: int, power: float) -> tuple[np.ndarray, np.ndarray, float]:
        """W_k^T W_k, W_k^T y_k of each interval k, and y^T y."""
        grams, moments, total = [], [], 0.0
        for one in self.data:
            every = torch.arange(len(one.spans))
            inner = one.inner[every]
            flat, shape = inner.reshape(-1, *inner.shape[2:]), inner.shape[:3]
            cache: dict[str, torch.Tensor] = {}
            rows = stretches(one, every, a, power)
            n = shape[2] if one.counted is None else one.counted
            nodes = slice(None, n, max(1, len(every) * n // MOST_ROWS))
            weight = np.zeros((len(every), n))
            weight[rows.first, rows.node] = rows.weight
            y = (one.level[1:, :n, a] - one.level[:-1, :n, a]).numpy() * weight
            columns = [
                integrals(term_values(term, flat, one.network, cache).reshape(shape), one.spans).numpy()[:, :n] * weight
                for term in self.plain[a]
            ]
            W, y = np.stack(columns, axis=-1)[:, nodes], y[:, nodes]
            W[~(np.abs(W) < OVERFLOW)] = 0.0
            grams.append(np.swapaxes(W, 1, 2) @ W)
            moments.append((np.swapaxes(W, 1, 2) @ y[..., None])[..., 0])
            total += float((y**2).sum())
        return np.concatenate(grams), np.concatenate(moments), total


def _system(
    gram: np.ndarray, moment: np.ndarray, support: list[int], w: int, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Normal equations of some terms and of functions of time u (q, r, K) times term w, (q, s + r, s + r) and (q, s + r)."""
    q, r, _ = u.shape
    s = len(support)
    A, b = np.empty((q, s + r, s + r)), np.empty((q, s + r))
    A[:, :s, :s] = gram[:, support][:, :, support].sum(0)
    A[:, s:, :s] = u @ gram[:, w][:, support]
    A[:, :s, s:] = np.swapaxes(A[:, s:, :s], 1, 2)
    A[:, s:, s:] = (u * gram[:, w, w]) @ np.swapaxes(u, 1, 2)
    b[:, :s] = moment[:, support].sum(0)
    b[:, s:] = u @ moment[:, w]
    return A, b


def _rests(
    gram: np.ndarray, moment: np.ndarray, square: float, support: list[int], w: int, u: np.ndarray
) -> np.ndarray:
    """The share of the increments that is left open, (q,)."""
    A, b = _system(gram, moment, support, w, u)
    unit = np.sqrt(np.maximum(np.einsum("kii->ki", A), 1e-300))
    scaled = A / (unit[:, :, None] * unit[:, None, :]) + SINGULAR * np.eye(A.shape[1])
    c = np.linalg.solve(scaled, (b / unit)[..., None])[..., 0] / unit
    explained = 2 * (c * b).sum(1) - np.einsum("ki,kij,kj->k", c, A, c)
    return np.maximum(1 - explained / max(square, 1e-300), 1e-15)


def _solution(gram: np.ndarray, moment: np.ndarray, support: list[int], w: int, u: np.ndarray) -> np.ndarray:
    """The coefficients for one u (r, K)."""
    A, b = _system(gram, moment, support, w, u[None])
    unit = np.sqrt(np.maximum(np.diagonal(A[0]), 1e-300))
    scaled = A[0] / np.outer(unit, unit) + SINGULAR * np.eye(len(unit))
    return np.asarray(np.linalg.solve(scaled, b[0] / unit) / unit)
