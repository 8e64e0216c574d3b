"""Functions of sums: dx_i/dt = f(x_i) + phi(sum_j A_ij g(x_i, x_j)), with phi and g to be found.

What is summed comes first: the weak form with phi a spline tells how much each g could explain at best. Then the families of phi
are compared for the best few, and the likeliest are searched as any other formula.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

from ..laws import Equation, Formula, Term, term_values
from .candidates import NONLINEAR_PRICE, is_polynomial
from .observations import Observations, integrals, spread_intervals
from .search import Search
from .weak_form import OVERFLOW, Stretches, stretches

# phi of a sum S: saturating, thresholds, and waves. Names of parameters are not those inside g, which has its own.
LINKS = (
    "tanh(beta*S)",
    "1/(1 + exp(-beta*(S - theta)))",
    "S/(sigma + S)",
    "S^2/(sigma^2 + S^2)",
    "S^eta/(sigma^eta + S^eta)",
    "sin(beta*S)",
    "relu(S - theta)",
    "exp(-beta*S)",
)
OF_NONNEGATIVE = ("S/(sigma + S)", "S^2/(sigma^2 + S^2)", "S^eta/(sigma^eta + S^eta)")
FACTORS = ("", "x*", "(1 - x)*")  # before phi
POWER = 0.5  # of the increment that rows of the weak form are divided by, as the first of ``WEIGHTINGS``
MOST_ROWS = 3000  # without noise; more tell no more: what a path misses, it misses everywhere
NOISY_ROWS = 8000  # with noise, which averages out
FEWEST_INTERVALS = 4
KNOTS = 6  # quantiles of the sums between which phi is a cubic: monotone families need few
SUMS_TRIED = 8  # kinds of sums, by what a spline of them leaves open
LINKS_TRIED = 20  # functions of them that are fitted to the weak form
GUESSES = 12  # formulas that are shot
PRICE = 0.2  # of a parameter, in logarithms of the variance left open, as ``HIGH_PRICE`` of other candidates
# Without noise, functions are looked into if a spline of some sum leaves open less than this share of what the best sum itself does.
NEARER = 0.5
LARGEST_SHARE = 100.0  # times the increments: larger functions are lines or constants, which self terms take back
EVALUATIONS = 30  # of a fit to the weak form, which shots refine
LEAST_SUM = -1e-3  # of the largest: sums below are negative, where half-saturations have poles


@dataclass(frozen=True)
class _Rows:
    """Increments of one feature over some intervals, and what self terms leave open of them."""

    data: Sequence[Observations]
    chosen: list[torch.Tensor]
    inner: list[torch.Tensor]  # states along the path, (K, 4, n, d)
    rows: list[Stretches]
    own: list[Term]  # self terms that every guess has
    own_columns: np.ndarray
    turned: np.ndarray  # an orthonormal basis of them
    step: np.ndarray  # increments, weighted

    @staticmethod
    def of(data: Sequence[Observations], own: list[Term], feature: int) -> _Rows:
        most = NOISY_ROWS if _noisy(data) else MOST_ROWS
        each = max(FEWEST_INTERVALS, most // (len(data) * data[0].level.shape[1]))
        chosen = [torch.arange(len(one.spans)) if one.gaps else spread_intervals(one, each) for one in data]
        inner = [one.inner[which] for one, which in zip(data, chosen, strict=True)]
        rows = [stretches(one, which, feature, POWER) for one, which in zip(data, chosen, strict=True)]
        step = np.concatenate([some.step * some.weight for some in rows])
        empty = np.zeros((len(step), 0))
        bare = _Rows(data, chosen, inner, rows, own, empty, empty, step)
        columns = np.stack([bare.column(bare.values(term)) for term in own], 1)
        return replace(bare, own_columns=columns, turned=np.linalg.qr(columns / _size(columns))[0])

    @property
    def noisy(self) -> bool:
        """Whether the path is a smooth one, not through the observations themselves."""
        return _noisy(self.data)

    def values(self, term: Term) -> list[torch.Tensor]:
        """A term along the path of each trajectory, (K, 4, n)."""
        return [
            term_values(term, x.flatten(0, 1), one.network).reshape(x.shape[:3])
            for x, one in zip(self.inner, self.data, strict=True)
        ]

    def column(self, values: Sequence[torch.Tensor]) -> np.ndarray:
        """Weighted integrals of values along the path; those too large are 0."""
        parts = [
            some.over(integrals(v, one.spans[which]).numpy()) * some.weight
            for v, one, which, some in zip(values, self.data, self.chosen, self.rows, strict=True)
        ]
        out = np.concatenate(parts)
        return np.where(np.abs(out) < OVERFLOW, out, 0.0)

    def left(self, columns: np.ndarray) -> np.ndarray:
        """What self terms and these columns leave open of the increments."""
        columns = columns / _size(columns)
        rest = columns - self.turned @ (self.turned.T @ columns)
        target = self.step - self.turned @ (self.turned.T @ self.step)
        out: np.ndarray = target - rest @ np.linalg.lstsq(rest, target, rcond=1e-10)[0]
        return out

    def share(self, columns: np.ndarray) -> float:
        """The share of the increments squared that is left open."""
        left = float(np.square(self.left(columns)).sum() / max(float(self.step @ self.step), 1e-300))
        return left if math.isfinite(left) else 1.0


def _noisy(data: Sequence[Observations]) -> bool:
    return not all(bool((one.level == one.states)[one.seen].all()) for one in data)


def _size(columns: np.ndarray) -> np.ndarray:
    return np.maximum(np.sqrt(np.square(columns).sum(0)), 1e-300)


class SumSearch(Search):
    """The search for a closed form whose coupling is a function of a sum over neighbours."""

    def guesses(self) -> list[Equation]:
        """Equations in which the coupling of each feature in turn is a function of a sum; of one feature, that of its rate."""
        return [equation for _, equation in self.ranked()]

    def ranked(self) -> list[tuple[float, Equation]]:
        """The same, each with the score by which they are ordered, less is better."""
        plain = super().guesses()[:1] if self.features > 1 else []
        found: list[tuple[float, Equation]] = []
        for feature in range(self.features):
            others = [
                (term, float(c))
                for one in plain
                for term, c in zip(one.terms, one.coefficients, strict=True)
                if term.output != feature
            ]
            found += [(score, self._equation([*others, *one])) for score, one in self._of_feature(feature)]
        found.sort(key=lambda pair: pair[0])
        known = {term.family for term in self.terms}
        for _, equation in found[:GUESSES]:
            self.terms += [t for t in equation.terms if t.formula.around is not None and t.family not in known]
        return found[:GUESSES]

    def _of_feature(self, feature: int) -> list[tuple[float, list[tuple[Term, float]]]]:
        """Sets of terms for the rate of one feature: all polynomials and one function of a sum."""
        terms = [t for t in self.terms if t.output == feature and t.formula.around is None]
        rows = _Rows.of(self.data, [t for t in terms if not t.coupling and is_polynomial(t)], feature)
        ranked = []
        plain = math.inf  # what sums themselves leave open
        for inside in terms:
            if inside.coupling and len(inside.values) < 2 and inside.formula.on_edges:
                sums = rows.values(inside)
                if all(bool(s.isfinite().all()) for s in sums):
                    splines = _splines(sums)
                    plain = min(plain, rows.share(rows.column(sums)[:, None]))
                    ranked += [
                        (_score(_spline_share(rows, splines, factor, feature), inside), k, inside, factor, sums)
                        for k, factor in enumerate(FACTORS)
                    ]
        if not ranked or (not rows.noisy and min(one[0] for one in ranked) > math.log(NEARER * plain)):
            return []
        ranked.sort(key=lambda one: one[0])
        best: dict[tuple, tuple[Term, str, list[torch.Tensor]]] = {}
        for _, _, inside, factor, sums in ranked:
            best.setdefault((inside.family, factor), (inside, factor, sums))
        starts = []
        for inside, factor, sums in list(best.values())[:SUMS_TRIED]:
            starts += [_best_start(rows, inside, factor, link, sums) for link in _links(sums)]
        starts.sort(key=lambda pair: pair[0])
        fitted = [_fitted(rows, term) for _, term in starts[:LINKS_TRIED]]
        found = [(score, *_with_coefficients(rows, term)) for score, term in fitted]
        return sorted(
            ((score, terms) for score, terms, share in found if share < LARGEST_SHARE), key=lambda pair: pair[0]
        )


def _splines(sums: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Cubic B-splines of the sums, (K, 4, n, m) for each trajectory."""
    every = torch.cat([s.reshape(-1) for s in sums]).numpy()
    low, high = every.min(), every.max()
    knots = np.unique(np.quantile(every, np.linspace(0, 1, KNOTS + 2)[1:-1]))
    knots = knots[(knots > low) & (knots < high)]
    high = high if high > low else low + 1.0
    at = np.concatenate([np.full(4, low), knots, np.full(4, high)])
    made = (BSpline.design_matrix(s.reshape(-1).numpy().clip(low, high), at, 3).toarray() for s in sums)
    return [torch.from_numpy(one).reshape(*s.shape, -1) for one, s in zip(made, sums, strict=True)]


def _spline_share(rows: _Rows, splines: Sequence[torch.Tensor], factor: str, feature: int) -> float:
    scale = [_factor(factor, x[..., feature]) for x in rows.inner]
    count = splines[0].shape[-1]
    columns = [rows.column([s[..., k] * c for s, c in zip(splines, scale, strict=True)]) for k in range(count)]
    return rows.share(np.stack(columns, 1))


def _factor(factor: str, x: torch.Tensor) -> torch.Tensor:
    return {"": torch.ones_like(x), "x*": x, "(1 - x)*": 1 - x}[factor]


def _links(sums: Sequence[torch.Tensor]) -> list[str]:
    """Families of phi that are defined for these sums."""
    least = min(float(s.min()) for s in sums)
    most = max(float(s.abs().max()) for s in sums)
    return [link for link in LINKS if least >= LEAST_SUM * most or link not in OF_NONNEGATIVE]


def _best_start(rows: _Rows, inside: Term, factor: str, link: str, sums: Sequence[torch.Tensor]) -> tuple[float, Term]:
    """The family of a function, with the parameters of a coarse grid that explain most, and its score."""
    features = inside.formula.features
    name = features[inside.output]
    text = (factor.replace("x", name) + link).replace("S", f"sum({inside.formula.text})")
    formula = Formula(text, features)
    assert formula.around is not None
    outside = formula.around[0]
    states = [torch.cat([x, s.unsqueeze(-1)], -1) for x, s in zip(rows.inner, sums, strict=True)]
    known = dict(zip(inside.formula.parameters, inside.values, strict=True))
    best = (math.inf, Term(formula, True, inside.output, ()))
    for start in _grid(outside.parameters, torch.cat([s.reshape(-1) for s in sums]).numpy()):
        values = known | start
        column = rows.column([outside(x, None, [values[p] for p in outside.parameters]) for x in states])
        term = Term(formula, True, inside.output, tuple(values[p] for p in formula.parameters))
        best = min(best, (_score(rows.share(column[:, None]), term), term), key=lambda pair: pair[0])
    return best


def _grid(names: Sequence[str], sums: np.ndarray) -> list[dict[str, float]]:
    """Starting values: functions that bend once to some times over the range of the sums, with thresholds inside it."""
    low, lower, middle, upper, high = np.quantile(sums, [0.02, 0.25, 0.5, 0.75, 0.98])
    spread = max(float(high - low), 1e-9)
    core = max(float(upper - lower), 0.05 * spread)  # sums of a few hubs are far from those of all others
    size = max(abs(float(low)), abs(float(high)), 1e-9)
    typical = max(abs(float(middle)), 0.05 * size)
    axes = {
        "beta": np.geomspace(2 / spread, 8 / core, 4) if "theta" in names else np.geomspace(0.5 / size, 4 / typical, 6),
        "theta": np.quantile(sums, [0.05, 0.25, 0.5, 0.75, 0.95]),
        "sigma": np.geomspace(0.2 * typical, 1.5 * size, 5),
        "eta": np.array([1.0, 2.5, 5.0]),
    }
    out: list[dict[str, float]] = [{}]
    for name in names:
        out = [{**one, name: float(value)} for one in out for value in axes[name]]
    return out


def _score(share: float, term: Term) -> float:
    """Less is better: what is left open, and a price for parameters and for functions inside the sum."""
    inside = (term.formula,) if term.formula.around is None else term.formula.around[1]
    plain = not any(one.parameters for one in inside) and all(is_polynomial(Term(one, True)) for one in inside)
    return math.log(max(share, 1e-15)) + PRICE * (len(term.values) + (0 if plain else NONLINEAR_PRICE))


def _fitted(rows: _Rows, term: Term) -> tuple[float, Term]:
    """The term with the parameters that explain most of the increments."""
    start = np.array(term.values)
    unit = np.maximum(np.abs(start), 1e-6)

    def left(values: np.ndarray) -> np.ndarray:
        here = replace(term, values=tuple((values * unit).tolist()))
        return rows.left(rows.column(rows.values(here))[:, None])

    try:
        found = least_squares(left, start / unit, max_nfev=EVALUATIONS)
    except (ValueError, np.linalg.LinAlgError):
        return math.inf, term
    best = replace(term, values=tuple((found.x * unit).tolist()))
    return _score(2 * found.cost / max(float(rows.step @ rows.step), 1e-300), best), best


def _with_coefficients(rows: _Rows, term: Term) -> tuple[list[tuple[Term, float]], float]:
    """All terms with their coefficients, and how large the last one is beside the increments."""
    columns = np.concatenate([rows.own_columns, rows.column(rows.values(term))[:, None]], 1)
    size = _size(columns)
    c = np.linalg.lstsq(columns / size, rows.step, rcond=1e-12)[0] / size
    share = abs(c[-1]) * size[-1] / max(float(np.sqrt(rows.step @ rows.step)), 1e-300)
    return list(zip([*rows.own, term], c.tolist(), strict=True)), float(share)
