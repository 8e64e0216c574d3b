"""Law, curve and loadings of one unknown driver, fitted together along a whole trajectory.

dx_i/dt = f_i(x) + b_i u(t) with u = sum_k c_k B_k(t), cubic B-splines: Gauss-Newton over the coefficients of f, c, b and the initial states, with
derivatives by the linearised equation. There are m + K + 2n columns, so it is meant for up to ``MOST_NODES`` nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.interpolate import BSpline

from ..laws import Equation
from .clock import in_time, time_is_over
from .driven_shots import joined, rate, slopes
from .observations import Observations

MOST_NODES = 500
STEPS = 4  # of Runge-Kutta for each interval between snapshots, at least
LONGEST = 0.5  # step, in units of the fastest relaxation
MOST_STEPS = 40
LEAST = 1e-4  # squared residual, in units of the noise, below which a fit is as good as any
ITERATIONS = 15
ENOUGH = 1e-4  # relative gain of an iteration, below which it is the last
SURE_Z = 8.0  # terms that no other fit need tell to be there
SHARES = (0.2, 0.35, 0.5, 0.8)  # of the number of snapshots: how many values a curve may have


@dataclass(frozen=True)
class Refined:
    """A law with its driver, fitted along a trajectory.

    Attributes:
        equation: its last term is the driver, with the coefficient 1.
        curve: u(t).
        loadings: b, with a mean square of 1.
        x0: initial states, (n,).
        states: at the snapshots, (T, n).
        values: K.
        chi2: sum of squared residuals in units of the noise.
        parameters: numbers that were fitted, but for the initial states.
        errors: of the loadings.
        z: of the coefficients of the law, over their standard errors.
        count: observations.
    """

    equation: Equation
    curve: Callable[[np.ndarray], np.ndarray]
    loadings: np.ndarray
    x0: np.ndarray
    states: np.ndarray
    values: int
    chi2: float
    parameters: int
    errors: np.ndarray
    z: np.ndarray
    count: int

    @property
    def bic(self) -> float:
        """With the noise that the residuals show."""
        return self.count * math.log(max(self.chi2 / self.count, LEAST)) + self.parameters * math.log(self.count)


@dataclass(frozen=True)
class _State:
    beta: np.ndarray
    c: np.ndarray
    b: np.ndarray
    x0: np.ndarray


def refined(
    one: Observations,
    equation: Equation,
    curve: np.ndarray,
    loadings: np.ndarray,
    x0: np.ndarray,
    values: int | None = None,
) -> Refined | None:
    """The fit from a first guess, with as many values of the curve as BIC asks for and without terms whose loss it welcomes.

    Args:
        one: what was seen.
        equation: its last term is the driver.
        curve: values at the snapshots.
        loadings, x0: of all nodes, (n,).
        values: K, if it is known.
    """
    T = len(one.times)
    best: Refined | None = None
    for K in in_time([max(4, round(share * T)) for share in SHARES] if values is None else [values]):
        task = _Task(one, equation, K)
        found = task.fitted(task.started(curve, loadings, x0))
        if found is not None and (best is None or found.bic < best.bic):
            best, kept = found, task
        elif best is not None:
            break
    if best is None:
        return None
    while len(best.equation.terms) > 2 and not time_is_over():
        weak = [k for k in np.argsort(best.z) if best.z[k] < SURE_Z][:2]
        tried = [found for k in weak if (found := kept.without(best, int(k))) is not None and found.bic < best.bic]
        if not tried:
            break
        best = min(tried, key=lambda each: each.bic)
        kept = _Task(one, best.equation, kept.K)
    return best


class _Task:
    """One equation, with K values of the curve."""

    def __init__(self, one: Observations, equation: Equation, K: int) -> None:
        self.one, self.equation, self.K = one, equation, K
        t = one.times.numpy()
        inner = np.linspace(t[0], t[-1], K - 2)[1:-1]
        self.knots = np.concatenate([[t[0]] * 4, inner, [t[-1]] * 4])
        self.y = one.states[..., 0].numpy()
        self.weight = 1 / one.measured.at(one.level)[..., 0].numpy()
        start = joined(one.level, torch.zeros_like(one.level))
        fastest = float(slopes(equation, start, one.network, 1).own.abs().max())
        longest = float(one.spans.max())
        self.substeps = int(min(MOST_STEPS, max(STEPS, math.ceil(longest * fastest / LONGEST))))

    def basis(self, at: np.ndarray) -> np.ndarray:
        """Values of all B-splines, (len(at), K)."""
        inside = np.clip(at, self.knots[0], self.knots[-1])
        return np.asarray(BSpline.design_matrix(inside, self.knots, 3).toarray())

    def started(self, curve: np.ndarray, loadings: np.ndarray, x0: np.ndarray) -> _State:
        c = np.linalg.lstsq(self.basis(self.one.times.numpy()), curve, rcond=1e-3)[0]
        return _State(self.equation.coefficients.numpy()[:-1].copy(), c, loadings.copy(), x0.copy())

    def without(self, found: Refined, k: int) -> Refined | None:
        """The fit without a term."""
        kept = [j for j in range(len(found.equation.terms)) if j != k]
        model = found.equation
        fewer = replace(model, terms=tuple(model.terms[j] for j in kept), coefficients=model.coefficients[kept])
        task = _Task(self.one, fewer, self.K)
        return task.fitted(task.started(found.curve(self.one.times.numpy()), found.loadings, found.x0))

    def fitted(self, state: _State) -> Refined | None:
        now = self._followed(state)
        if now is None:
            return None
        chi2, damping = self._chi2(now[0]), 1e-3
        for _ in range(ITERATIONS):
            J, r = self._derivatives(state, now), self._residuals(now[0])
            H, g = J.T @ J, J.T @ r
            gained = 0.0
            while damping < 1e8 and not time_is_over():
                step = np.linalg.lstsq(H + damping * np.diag(np.diag(H)) + 1e-9 * np.eye(len(H)), g, rcond=None)[0]
                moved = self._moved(state, step)
                tried = self._followed(moved)
                after = math.inf if tried is None else self._chi2(tried[0])
                if tried is not None and after < chi2:
                    gained, state, now, chi2, damping = (chi2 - after) / chi2, moved, tried, after, damping / 10
                    break
                damping *= 10
            if gained < ENOUGH:
                break
        m = len(state.beta)
        J = self._derivatives(state, now)
        spread = np.linalg.pinv(J.T @ J, rcond=1e-12, hermitian=True) * max(chi2 / self.y.size, 1e-12)
        errors = np.sqrt(np.maximum(np.diag(spread), 1e-300))
        coefficients = torch.from_numpy(np.append(state.beta, 1.0))
        scale = math.sqrt(float(np.mean(state.b**2))) * (1.0 if state.b.mean() >= 0 else -1.0)
        c = state.c * scale
        return Refined(
            replace(self.equation, coefficients=coefficients),
            lambda at: self.basis(at) @ c,
            state.b / scale,
            state.x0,
            now[0],
            self.K,
            chi2,
            m + self.K + len(state.b) - 1,
            errors[m + self.K : m + self.K + len(state.b)] / abs(scale),
            np.abs(state.beta) / errors[:m],
            self.y.size,
        )

    def _moved(self, state: _State, step: np.ndarray) -> _State:
        m, K, n = len(state.beta), self.K, len(state.b)
        moved = _State(
            state.beta + step[:m],
            state.c + step[m : m + K],
            state.b + step[m + K : m + K + n],
            state.x0 + step[m + K + n :],
        )
        scale = math.sqrt(float(np.mean(moved.b**2))) or 1.0
        return replace(moved, b=moved.b / scale, c=moved.c * scale)

    def _residuals(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(((self.y - states) * self.weight).ravel())

    def _chi2(self, states: np.ndarray) -> float:
        return float(np.square(self._residuals(states)).sum())

    def _stages(self, k: int) -> tuple[float, np.ndarray]:
        """The length of steps between snapshots k and k + 1, and the splines at the ends and the middles of all, (2 steps + 1, K)."""
        t0, span = float(self.one.times[k]), float(self.one.spans[k])
        return span / self.substeps, self.basis(t0 + span * np.linspace(0, 1, 2 * self.substeps + 1))

    def _followed(self, state: _State) -> tuple[np.ndarray, list[torch.Tensor]] | None:
        """States at the snapshots, (T, n), and all stages with the driver beside them; None if they explode."""
        model = replace(self.equation, coefficients=torch.from_numpy(np.append(state.beta, 1.0)))
        network = self.one.network
        b = torch.from_numpy(state.b).reshape(1, -1, 1)
        x = torch.from_numpy(state.x0).reshape(1, -1, 1)
        bound = 1e3 * float(np.abs(self.y).max())
        out, visited = [state.x0], []
        for k in range(len(self.one.spans)):
            h, values = self._stages(k)
            u = values @ state.c
            for m in range(self.substeps):
                first, middle, last = (b * float(v) for v in u[2 * m : 2 * m + 3])
                k1 = rate(model, x, first, network)
                x2 = x + h / 2 * k1
                k2 = rate(model, x2, middle, network)
                x3 = x + h / 2 * k2
                k3 = rate(model, x3, middle, network)
                x4 = x + h * k3
                k4 = rate(model, x4, last, network)
                visited += [joined(x, first), joined(x2, middle), joined(x3, middle), joined(x4, last)]
                x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            if not bool((x.abs() < bound).all()):
                return None
            out.append(x[0, :, 0].numpy())
        return np.stack(out), visited

    def _derivatives(self, state: _State, now: tuple[np.ndarray, list[torch.Tensor]]) -> np.ndarray:
        """Of the residuals' predictions by all parameters, (T n, m + K + 2n)."""
        model = replace(self.equation, coefficients=torch.from_numpy(np.append(state.beta, 1.0)))
        network, n, m, K = self.one.network, len(state.b), len(state.beta), self.K
        jacobians, columns = [], []
        for some in torch.cat(now[1]).split(network.together()):
            found = slopes(model, some, network, 1)
            jacobians += [J for J, _ in network.jacobians(found.own, found.edges)]
            columns += list(found.columns.flatten(1, -2).numpy()[..., :m])
        S = np.zeros((n, m + K + 2 * n))
        S[:, m + K + n :] = np.eye(n)
        out = [S]
        diagonal = np.arange(n)

        def source(stage: int, value: np.ndarray) -> np.ndarray:
            F = np.zeros_like(S)
            F[:, :m] = columns[stage]
            F[:, m : m + K] = np.outer(state.b, value)
            F[diagonal, m + K + diagonal] = float(value @ state.c)
            return F

        stage = 0
        for k in range(len(self.one.spans)):
            h, values = self._stages(k)
            for p in range(self.substeps):
                k1 = jacobians[stage] @ S + source(stage, values[2 * p])
                k2 = jacobians[stage + 1] @ (S + h / 2 * k1) + source(stage + 1, values[2 * p + 1])
                k3 = jacobians[stage + 2] @ (S + h / 2 * k2) + source(stage + 2, values[2 * p + 1])
                k4 = jacobians[stage + 3] @ (S + h * k3) + source(stage + 3, values[2 * p + 2])
                S = S + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                stage += 4
            out.append(S)
        return np.concatenate([each * w[:, None] for each, w in zip(out, self.weight, strict=True)])
