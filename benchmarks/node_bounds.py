"""How well nodes that differ can be known: `python benchmarks/node_bounds.py [laws ...] [--nodes 100] [--seeds 5] [--noise 0.01 0.05]`.

Data are those of the rows "differ" and "inner" of real_systems.py. "bound" is the held-out error, normalised l1, that an estimator has on
average that is told the formula, the noise, the mean of the values of nodes and how much they spread: the inverse of the Fisher information of initial states,
values of nodes and numbers in common, with the spread as what is known of values before, carried to the held-out snapshots to first
order (the Bayesian Cramer-Rao bound). "told" is the error of one fit along whole trajectories that starts from the true numbers and is told the formula, but not
the spread: what is left to a search. r is the correlation of values with the true ones, of the bound sqrt(1 - error variance / variance of
the values). Errors are the larger of those between and after the snapshots, as real_systems.py has them.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np
import torch

import ndcn
from ndcn.identify.data_smoothing import Noise
from ndcn.identify.node_fit import fit_nodes_along, node_problems
from ndcn.identify.node_paths import recorded
from ndcn.identify.observations import Observations, largest, observed
from ndcn.laws import Equation, Formula, NodeEquation, Term
from real_systems import noisy_parts, truth

# Of each law its terms, numbers that are in common, and which vary (by place) with their sign in the formula.
FORMS: dict[str, tuple[tuple[tuple[str, bool, float, tuple[float, ...]], ...], tuple[tuple[int, float], ...]]] = {
    "gene": ((("x", False, -1.0, ()), ("x_j^2/(K^2 + x_j^2)", True, 1.0, (1.0,))), ((0, -1.0),)),
    "kuramoto": ((("1", False, 0.0, ()), ("sin(x_j - x_i)", True, 0.5, ())), ((0, 1.0),)),
    "heat": ((("x_j - x_i", True, 1.0, ()),), ((0, 1.0),)),
    "sis": ((("x", False, -0.75, ()), ("(1 - x_i)*x_j", True, 0.4, ())), ((0, -1.0),)),
    "lotka_volterra": (
        (("x", False, 1.0, ()), ("x^2", False, -1.0, ()), ("x_i*x_j", True, -0.2, ())),
        ((0, 1.0), (1, -1.0)),
    ),
    "hill": ((("x", False, -1.0, ()), ("x_j^2/(K^2 + x_j^2)", True, 1.0, (1.25,))), ((2, 1.0),)),
}
TOLERANCE = 1e-7  # of the largest state: steps that leave derivatives exact enough


@dataclass(frozen=True)
class Known:
    """The truth as a model, on all snapshots of which some are seen."""

    model: NodeEquation
    u: torch.Tensor
    data: Observations
    held: tuple[np.ndarray, np.ndarray]  # places of the snapshots between and after


def known(name: str, n: int, seed: int, noise: float) -> Known:
    """The true law with deviations of nodes from their mean, and its noise."""
    row = "inner" if name == "hill" else "differ"
    law, values = truth(row, name, n, seed)
    assert values is not None
    whole, parts, train = noisy_parts(row, name, law, n, seed, noise)
    terms, varying = FORMS[name]
    made = tuple(Term(Formula(text), coupling, values=inner) for text, coupling, _, inner in terms)
    equation = Equation(made, torch.tensor([c for _, _, c, _ in terms], dtype=torch.float64))
    signed = values * torch.tensor([sign for _, sign in varying], dtype=torch.float64)
    numbers = equation.parameters.clone()
    places = [place for place, _ in varying]
    numbers[places] = signed.mean(0)
    times = whole.times.double()
    seen = torch.isin(times, train.times.double())
    states = whole.states.double().clone()
    states[seen] = train.states.double()
    one = observed(ndcn.Trajectory(times=times, states=whole.states.double(), graph=whole.graph), noisy=False)
    size = float(parts.train.states.std()) if name == "kuramoto" else 0.0
    additive, share = (noise * size, 0.0) if name == "kuramoto" else (0.0, noise)
    measured = Noise(torch.tensor([additive]).double(), torch.tensor([share]).double())
    mask = seen[:, None, None].expand(states.shape).clone()
    data = replace(one, states=states, seen=mask, measured=measured)
    held = [
        np.flatnonzero(torch.isin(times, part.times.double()).numpy())
        for part in (parts.interpolation, parts.extrapolation)
    ]
    return Known(
        NodeEquation(equation.with_parameters(numbers), tuple(places)),
        signed - signed.mean(0),
        data,
        (held[0], held[1]),
    )


def errors(true: np.ndarray, off: np.ndarray, held: tuple[np.ndarray, np.ndarray]) -> float:
    """The larger normalised l1 of both parts, percent, of |errors| (T, n)."""
    return max(100 * float(off[k].sum() / np.abs(true[k]).sum()) for k in held)


def bound(case: Known) -> tuple[float, float]:
    """Held-out error and r that the data allow on average."""
    model, u, one = case.model, case.u, case.data
    problems = node_problems([one], model, u, TOLERANCE * largest([one]))
    assert problems is not None
    problem = replace(problems[0], x0=one.level[0])
    path = recorded(model, problem, u)
    assert path is not None
    n, q = u.shape
    sigma = problem.sigma(path.states).squeeze(-1).numpy()
    size = n + n * q + len(model.parameters)
    F = np.zeros((size, size))
    F[np.arange(n), np.arange(n)] = sigma[0] ** -2
    F[np.arange(n, n + n * q), np.arange(n, n + n * q)] = np.tile(u.std(0).numpy() ** -2, n)
    rows = [np.eye(n, size)]
    for k, D in enumerate(path.derivatives(), start=1):
        rows.append(np.array(D))
        if bool(one.seen[k].all()):
            R = rows[k] / sigma[k][:, None]
            F += R.T @ R
    scale = np.sqrt(F.diagonal())
    factor = np.linalg.cholesky(F / np.outer(scale, scale) + 1e-14 * np.eye(size))
    off = np.zeros(path.states.shape[:2])
    for k in np.concatenate(case.held):
        half = np.linalg.solve(factor, (rows[k] / scale).T)
        off[k] = math.sqrt(2 / math.pi) * np.sqrt(np.square(half).sum(0))  # mean |error| of a normal distribution
    C = np.linalg.inv(F / np.outer(scale, scale) + 1e-14 * np.eye(size)) / np.outer(scale, scale)
    rs = []
    for m, place in enumerate(model.varying):
        own, mean = n + np.arange(n) * q + m, n + n * q + place
        variance = C[own, own] + C[mean, mean] + 2 * C[own, mean]
        rs.append(math.sqrt(max(0.0, 1 - float(variance.mean()) / float(u[:, m].var()))))
    return errors(path.states.squeeze(-1).numpy(), off, case.held), min(rs)


def told(case: Known) -> tuple[float, float]:
    """Held-out error and r of a fit that is told the formula and starts from the truth."""
    one = case.data
    problems = node_problems([one], case.model, case.u, 1e-5 * largest([one]))
    assert problems is not None
    fit = fit_nodes_along(case.model, case.u, problems, case.u.std(0).numpy(), iterations=30)
    assert fit is not None
    states = fit.states(fit.problems[0])
    assert states is not None
    true = one.level.squeeze(-1).numpy()
    rs = [np.corrcoef(fit.values[:, m], case.u[:, m])[0, 1] for m in range(case.u.shape[1])]
    return errors(true, np.abs(states.squeeze(-1).numpy() - true), case.held), float(min(rs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("laws", nargs="*", help=f"which of {', '.join(FORMS)}; all by default")
    parser.add_argument("--nodes", type=int, nargs="+", default=[100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=90)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.05])
    given = parser.parse_args()
    if wrong := [name for name in given.laws if name not in FORMS]:
        parser.error(f"no law {wrong[0]!r}: choose from {', '.join(FORMS)}")
    torch.set_num_threads(1)
    print(
        "| law | nodes | noise | bound: error, mean / worst, % | told: error, mean / worst, % | bound: r, least | told: r, least |"
    )
    print("|---" * 7 + "|")
    for name in given.laws or list(FORMS):
        for n in given.nodes:
            for noise in given.noise:
                cases = [known(name, n, seed, noise) for seed in range(given.first, given.first + given.seeds)]
                least, fits = [bound(case) for case in cases], [told(case) for case in cases]
                both = [
                    (np.mean([e for e, _ in some]), max(e for e, _ in some), min(r for _, r in some))
                    for some in (least, fits)
                ]
                (a, b, r), (c, d, s) = both
                print(
                    f"| {name} | {n} | {100 * noise:g} % | {a:.3g} / {b:.3g} | {c:.3g} / {d:.3g} | {r:.4f} | {s:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
