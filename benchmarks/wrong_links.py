"""How many missing and wrong links of a given network data can tell at best.

    python benchmarks/wrong_links.py                             # six laws, 1 and 5 % noise
    python benchmarks/wrong_links.py --laws gene --noise 0.05

The observer of this bound knows the law with its numbers, the noise, and every link but those to one node, for each node in turn; initial states are not
known. A link changes the states of all nodes at all snapshots, to first order in its weight; what other initial states explain is taken off. Which
of the node's 99 links are there is then a linear regression, whose exact posterior with the right prior (links listed with trust 0.9, as many missing
as wrong ones) is sampled from the true links on. As many links are named as leave an expected tenth of them wrong, as
``Reconstruction.missing(fdr=0.1)`` does. Whoever has to find all rows and the law as well can hardly name more.

Data are those of the cases "wrong graph" of benchmarks/reconstruction.py: 10 runs of 20 snapshots of 100 nodes, 10 % of the links missing and as many
wrong ones.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import torch

import ndcn
from ndcn.reconstruction import average_precision
from ndcn.reconstruction.increments import Grams
from ndcn.reconstruction.learning import sampled
from ndcn.reconstruction.links import surest
from ndcn.reconstruction.slab import Rows, Shared
from reconstruction import CASES, LAWS, SIX, exact, spoiled

TRUST = 0.9
STEPS = 6  # of the methods of Runge and Kutta between two snapshots
JUMPS = 400  # of the sampler, in every row
SPREAD = 0.02  # of weights, which are 1, in the prior

Slopes = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def slopes(field: ndcn.laws.Law, A: torch.Tensor, x: torch.Tensor) -> Slopes:
    """dx/dt, (n,), its derivatives, (n, n), and g(x_i, x_j), (n, n)."""
    n = len(x)
    own = x.clone().requires_grad_(True)
    x_i = x.repeat_interleave(n).requires_grad_(True)
    x_j = x.repeat(n).requires_grad_(True)
    f = field.node(own.unsqueeze(1)).squeeze(1) + 0 * own
    g = (field.edge(x_i.unsqueeze(1), x_j.unsqueeze(1)).squeeze(1) + 0 * (x_i + x_j)).view(n, n)
    of_i, of_j = (part.view(n, n) for part in torch.autograd.grad((A * g).sum(), (x_i, x_j), retain_graph=True))
    of_own = torch.autograd.grad(f.sum(), own)[0]
    return (f + (A * g).sum(1)).detach(), of_j + torch.diag(of_i.sum(1) + of_own), g.detach()


def interval(field: ndcn.laws.Law, A: torch.Tensor, x: torch.Tensor, gap: float) -> Slopes:
    """States at the end of an interval, (n,), and their derivatives: with respect to those at its beginning, (n, n), and to the weights, (n, n n)."""
    n, h = len(x), gap / STEPS
    grid = []
    here = slopes(field, A, x)
    for _ in range(STEPS):
        k2 = slopes(field, A, x + h / 2 * here[0])[0]
        middle = slopes(field, A, x + h / 2 * k2)
        k4 = slopes(field, A, x + h * middle[0])[0]
        x = x + h / 6 * (here[0] + 2 * k2 + 2 * middle[0] + k4)
        there = slopes(field, A, x)
        grid.append((here, middle, there))
        here = there
    late, gain = torch.eye(n, dtype=x.dtype), torch.zeros(n, n, n, dtype=x.dtype)
    for one in reversed(grid):  # with propagators from the times of a step to the end of the interval; Simpson's rule
        mid = late @ propagator(one[1][1], one[2][1], h / 2)
        early = late @ propagator(one[0][1], one[2][1], h, one[1][1])
        for share, P, (_, _, g) in ((1, early, one[0]), (4, mid, one[1]), (1, late, one[2])):
            gain += share * h / 6 * P.unsqueeze(2) * g
        late = early
    return x, late, gain.view(n, n * n)


def propagator(J1: torch.Tensor, J2: torch.Tensor, h: float, middle: torch.Tensor | None = None) -> torch.Tensor:
    """That of dv/dt = J v over a step from J1 to J2."""
    one = torch.eye(len(J1), dtype=J1.dtype)
    Jm = (J1 + J2) / 2 if middle is None else middle
    k2 = Jm @ (one + h / 2 * J1)
    k3 = Jm @ (one + h / 2 * k2)
    return one + h / 6 * (J1 + 2 * k2 + 2 * k3 + J2 @ (one + h * k3))


def rows_of(law: str, case: dict, seed: int) -> tuple[Grams, np.ndarray]:
    """The regressions of all rows, in units of the noise, and the true network."""
    clean, times, A, field, sigma, rng = exact(law, case, seed)
    n = len(A)
    W = torch.from_numpy(A)
    G, b = torch.zeros(n, n, n, dtype=torch.float64), torch.zeros(n, n, dtype=torch.float64)
    for states in clean:
        x = torch.from_numpy(states[0, :, 0]).double()
        starts, weights = [torch.eye(n, dtype=torch.float64)], [torch.zeros(n, n * n, dtype=torch.float64)]
        for gap in np.diff(times):
            x, P, gain = interval(field, W, x, float(gap))
            starts.append(P @ starts[-1])
            weights.append(P @ weights[-1] + gain)
        q = torch.linalg.qr(torch.cat(starts))[0]
        S = torch.cat(weights) / sigma
        S = (S - q @ (q.T @ S)).view(-1, n, n).transpose(0, 1)  # (i, states, j)
        G += S.mT @ S
        b += (S.mT @ torch.from_numpy(rng.normal(size=S.shape[1]))).view(n, n)
    b += (G @ W.unsqueeze(2)).squeeze(2)
    every = np.tile(np.arange(n), (n, 1))
    return Grams(G, b, torch.zeros(n, dtype=torch.float64), 1, np.arange(n), every, (1.0, np.zeros(0))), A


def named(law: str, noise: float, seed: int) -> dict[str, float]:
    """Share of the missing, and of the spurious links that are named, and of those named the wrong ones."""
    case = CASES[f"wrong graph {noise:g}"]
    grams, A = rows_of(law, case, seed)
    listed = spoiled(A, case["wrong"], seed) != 0
    off = ~np.eye(len(A), dtype=bool)
    density = (1 - TRUST) * listed.sum() / (off.sum() - listed.sum())
    odds = np.where(listed, math.log(TRUST / (1 - TRUST)), math.log(density / (1 - density)))
    none = torch.zeros(0, dtype=torch.float64)
    shared = Shared(torch.from_numpy(odds), 1.0, SPREAD, none, none, torch.ones(len(A), dtype=torch.float64))
    rows = Rows(grams, shared, torch.from_numpy(A != 0), torch.Generator().manual_seed(seed))
    p = sampled(rows, JUMPS, burn=JUMPS // 4).probabilities.numpy()
    out = {"aupr": average_precision((A != 0)[off], p[off])}
    for what, asked, wrong in (("missing", ~listed & off, 1 - p), ("spurious", listed, p)):
        there = (A != 0)[asked] if what == "missing" else (A == 0)[asked]
        order = np.argsort(wrong[asked], kind="stable")
        claimed = order[surest(1 - wrong[asked][order], 0.5, 0.1)]
        right = there[claimed].sum()
        out |= {what: right / there.sum(), f"{what} fdr": 1 - right / max(1, len(claimed))}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="*", default=SIX, choices=list(LAWS))
    parser.add_argument("--noise", nargs="*", type=float, default=(0.01, 0.05), choices=(0.01, 0.05))
    parser.add_argument("--first", type=int, default=90, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    print(
        "| noise | law | AUPR | missing named | of them wrong | spurious named | of them wrong |\n|---|---|---|---|---|---|---|"
    )
    for noise in args.noise:
        for law in args.laws:
            rows = [named(law, noise, seed) for seed in range(args.first, args.first + args.seeds)]
            keys = ("aupr", "missing", "missing fdr", "spurious", "spurious fdr")
            means = " | ".join(f"{np.mean([row[key] for row in rows]):.3f}" for key in keys)
            print(f"| {noise:g} | {law} | {means} |", flush=True)


if __name__ == "__main__":
    main()
