"""Trajectories that were written by Euler steps: x[k + 1] = x[k] + h f(x[k]), exactly, where no continuous law is exact.

Increments are h times the rate at the state before, so that coefficients are found by least squares: of all nodes, or, where
nodes differ, of each node for what varies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..laws import Equation, NodeClosedForm, NodeEquation, Term, law_of
from .candidates import is_polynomial
from .clock import in_time
from .equation_fit import EXPLAINED_EXCESS, UNSEEN_EXCESS
from .node_weak_form import node_form
from .observations import Observations, some_states
from .posterior import POSTERIOR_SAMPLES
from .result import Evidence, FoundLaw
from .search import LARGE, Search

REGULAR = 1e-6  # share by which gaps between snapshots may differ
ITERATIONS = 12  # of Gauss-Newton; coefficients are found in one or two, as terms of a node are nearly alike, parameters inside in a few more
COUPLINGS_TRIED = 6
FEWEST_ROWS = 3  # snapshots for each number of a node
HALVINGS = 4
CONVERGED = 1e-3  # times the rounding


@dataclass(frozen=True)
class MapFit:
    """x[k + 1] = x[k] + step f(x[k]), with numbers that may vary among nodes."""

    model: NodeEquation
    deviations: torch.Tensor  # (n, q)
    step: float
    excess: float  # residuals in units of the rounding, root mean square
    covariance: np.ndarray  # of the parameters in common, or of means, (P, P)
    errors: np.ndarray  # of values of nodes, (n, q)

    @property
    def values(self) -> torch.Tensor:
        """Of each node, (n, q)."""
        return self.model.parameters[list(self.model.varying)] + self.deviations

    @property
    def explains(self) -> bool:
        """Whether every snapshot follows from the one before, to a few times its rounding."""
        return self.excess < EXPLAINED_EXCESS


def step_of(data: Sequence[Observations]) -> float | None:
    """The gap between snapshots; None if it is not the same everywhere."""
    gaps = torch.cat([one.spans for one in data])
    typical = float(gaps.median())
    return typical if bool((gaps - typical).abs().max() < REGULAR * typical) else None


def euler_map(
    data: Sequence[Observations], terms: Sequence[Term], features: tuple[str, ...], *, differ: bool
) -> MapFit | None:
    """The map that explains all snapshots to rounding, the same at all nodes or, if they may ``differ``, with numbers of nodes."""
    step = step_of(data)
    if step is None or any(one.gaps or one.level.shape[1] > LARGE for one in data):
        return None
    left = [replace(one, inner=one.level[:-1, None].expand(-1, one.inner[:1].shape[1], -1, -1)) for one in data]
    exact = []
    for equation in in_time(Search(left, terms).guesses()):
        found = _fitted(NodeEquation(equation, (), features), None, data, step)
        if found is not None and found.explains:
            exact.append(_plain(found, data))
    if exact:
        return min(exact, key=lambda one: len(one.model.parameters))
    if not differ or any(one.level.shape[1] != data[0].level.shape[1] for one in data):
        return None
    parts = [_of_nodes(left, data, terms, features, step, output) for output in range(len(features))]
    if any(part is None for part in parts):
        return None
    return _together([part for part in parts if part is not None], data, step)


def _of_nodes(
    left: Sequence[Observations],
    data: Sequence[Observations],
    terms: Sequence[Term],
    features: tuple[str, ...],
    step: float,
    output: int,
) -> MapFit | None:
    """The rate of one feature: polynomials with coefficients of each node and one coupling, then as plain as can be."""
    form = node_form(left, terms, output, noisy=False)
    own = [form.terms[k] for k in form.polynomials]
    if sum(len(one.spans) for one in data) < FEWEST_ROWS * (len(own) + 1):
        return None
    gain = form.gains(own=True)
    families: dict[tuple[str, bool, int], Term] = {}
    for k in np.argsort(-gain):
        if gain[k] > 0 and len(families) < COUPLINGS_TRIED:
            families.setdefault(form.terms[k].family, form.terms[k])
    plain = sorted(families.values(), key=lambda term: (len(term.values), not is_polynomial(term)))
    n = data[0].level.shape[1]
    for varies in (False, True):
        for term in in_time([None, *plain]):
            members = (*own, *([] if term is None else [term]))
            equation = Equation(members, torch.zeros(len(members), dtype=torch.float64), len(features))
            varying = tuple(range(len(own) + (varies and term is not None)))
            model = NodeEquation(equation, varying, features)
            found = _fitted(model, torch.zeros(n, len(varying), dtype=torch.float64), data, step, output)
            if found is not None and found.explains:
                return _plain(found, data, output)
    return None


def _rows(
    model: NodeEquation, u: torch.Tensor, data: Sequence[Observations], step: float, output: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of rates by the numbers of each node (n, rows, P), and what rates miss (n, rows), in units of the rounding."""
    columns, rest = [], []
    for one in data:
        d = one.level.shape[2]
        kept = range(d) if output is None else [output]
        x = one.level[:-1]
        wide = torch.cat([x, u.expand(len(x), *u.shape)], dim=-1).contiguous()
        kernel = model.kernel(one.network)
        if kernel is not None:
            rate, _, _, by = kernel.slopes(wide.numpy())
        else:
            slopes = model.slopes(wide, one.network)
            rate, by = slopes.rate.numpy(), slopes.columns.numpy()
        weight = (step / (one.noise[1:].square() + one.noise[:-1].square()).sqrt()).numpy()
        miss = (one.level.diff(dim=0).numpy() / step - rate[..., :d]) * weight
        part = by[:, :, :d] * weight[..., None]
        n = part.shape[1]
        columns.append(part[:, :, kept].transpose(1, 0, 2, 3).reshape(n, -1, part.shape[-1]))
        rest.append(miss[:, :, kept].transpose(1, 0, 2).reshape(n, -1))
    return np.concatenate(columns, 1), np.concatenate(rest, 1)


def _fitted(
    model: NodeEquation, u: torch.Tensor | None, data: Sequence[Observations], step: float, output: int | None = None
) -> MapFit | None:
    """Least squares of numbers in common and those of nodes, by Gauss-Newton; None if a term is not finite."""
    n = data[0].level.shape[1]
    u = torch.zeros(n, 0, dtype=torch.float64) if u is None else u
    with np.errstate(all="ignore"):
        W, r = _rows(model, u, data, step, output)
        excess = _size(r)
        for _ in range(ITERATIONS):
            if not (np.isfinite(W).all() and np.isfinite(r).all()):
                return None
            common, own, _, _ = _solved(W, r, model.varying)
            length, better = 1.0, False
            for _ in range(HALVINGS):
                trial = model.with_parameters(model.parameters + torch.from_numpy(length * common))
                moved = u + torch.from_numpy(length * own)
                other = _rows(trial, moved, data, step, output)
                if _size(other[1]) < excess:
                    better = True
                    break
                length /= 4
            if not better:
                break
            model, u, (W, r) = trial, moved, other
            before, excess = excess, _size(r)
            if excess > 0.9 * before or excess < CONVERGED:
                break
    shift = torch.zeros(len(model.parameters), dtype=torch.float64)
    if model.varying:
        middle = u.mean(0)
        shift[list(model.varying)] = middle
        model, u = model.with_parameters(model.parameters + shift), u - middle
    _, _, covariance, errors = _solved(W, r, model.varying)
    unit = max(1.0, excess)
    return MapFit(model, u, step, excess, covariance * unit**2, errors * unit)


def _size(r: np.ndarray) -> float:
    value = float(np.sqrt(np.square(r).mean()))
    return value if np.isfinite(value) else np.inf


def _solved(
    W: np.ndarray, r: np.ndarray, varying: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """By how much numbers in common (P,), 0 for those that vary, and those of nodes (n, q) move, and how sure both are."""
    n, _, P = W.shape
    size = np.sqrt(np.maximum(np.square(W).sum((0, 1)), 1e-300))
    W = W / size
    V, C = list(varying), [k for k in range(P) if k not in varying]
    turned = W.transpose(0, 2, 1)
    G, b = turned @ W, (turned @ r[..., None])[..., 0]
    inverse = np.linalg.pinv(G[:, V][:, :, V], rcond=1e-13, hermitian=True) if V else np.zeros((n, 0, 0))
    cross = inverse @ G[:, V][:, :, C]
    H = G[:, C][:, :, C].sum(0) - np.einsum("nvc,nvk->ck", G[:, V][:, :, C], cross)
    h = b[:, C].sum(0) - np.einsum("nvc,nv->c", cross, b[:, V])
    held = np.linalg.pinv(H, rcond=1e-13, hermitian=True)
    move = held @ h
    own = np.einsum("nvk,nk->nv", inverse, b[:, V]) - cross @ move
    common = np.zeros(P)
    common[C] = move / size[C]
    covariance = np.zeros((P, P))
    covariance[np.ix_(C, C)] = held / np.outer(size[C], size[C])
    variance = np.einsum("nvv->nv", inverse) + np.einsum("nvc,ck,nvk->nv", cross, held, cross)
    errors = np.sqrt(np.maximum(variance, 0.0)) / size[V]
    for m, k in enumerate(V):  # the mean of the nodes' values
        covariance[k, k] = float(np.square(errors[:, m]).sum()) / n**2
    return common, own / size[V], covariance, errors


def _plain(found: MapFit, data: Sequence[Observations], output: int | None = None) -> MapFit:
    """Without the numbers that snapshots do not need: terms first, then those that need not vary."""
    while True:
        better = None
        for model, u in _plainer(found):
            trial = _fitted(model, u, data, found.step, output)
            if trial is not None and trial.excess < max(UNSEEN_EXCESS, 1.2 * found.excess):
                better = trial
                break
        if better is None:
            return found
        found = better


def _plainer(found: MapFit) -> Iterator[tuple[NodeEquation, torch.Tensor]]:
    """The same with one term or one number of nodes less, the least needed first."""
    model, u = found.model, found.deviations
    equation = model.equation
    count = len(equation.terms)
    first = count
    places = []
    for k, term in enumerate(equation.terms):
        places.append([k, *range(first, first + len(term.values))])
        first += len(term.values)
    error = np.sqrt(np.maximum(found.covariance.diagonal(), 1e-300))
    z = model.parameters.abs().numpy() / error
    for k in sorted(range(count), key=lambda k: z[k]):
        if count == 1:
            break
        left = [place for place in range(len(model.parameters)) if place not in places[k]]
        kept = [m for m in range(count) if m != k]
        terms = tuple(equation.terms[m] for m in kept)
        shorter = replace(equation, terms=terms, coefficients=equation.coefficients[kept])
        varying = tuple(left.index(place) for place in model.varying if place in left)
        columns = [m for m, place in enumerate(model.varying) if place in left]
        yield replace(model, equation=shorter, varying=varying), u[:, columns]
    for place in model.varying:
        columns = [m for m, other in enumerate(model.varying) if other != place]
        yield replace(model, varying=tuple(other for other in model.varying if other != place)), u[:, columns]


def _together(parts: Sequence[MapFit], data: Sequence[Observations], step: float) -> MapFit | None:
    """One law of the rates of all features."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].model
    terms = tuple(term for part in parts for term in part.model.equation.terms)
    coefficients = torch.cat([part.model.equation.coefficients for part in parts])
    counts = [len(part.model.equation.terms) for part in parts]
    inner = [len(part.model.parameters) - count for part, count in zip(parts, counts, strict=True)]
    varying, u = [], []
    for m, part in enumerate(parts):
        for k, place in enumerate(part.model.varying):
            own = counts[m] > place
            before = sum(counts[:m]) if own else sum(counts) - counts[m] + sum(inner[:m])
            varying.append((place + before, part.deviations[:, k]))
    varying.sort(key=lambda pair: pair[0])
    u = [deviations for _, deviations in varying]
    n = len(parts[0].deviations)
    model = NodeEquation(
        Equation(terms, coefficients, len(first.features)), tuple(k for k, _ in varying), first.features
    )
    return _fitted(model, torch.stack(u, 1) if u else torch.zeros(n, 0, dtype=torch.float64), data, step)


def found_map(
    found: MapFit, data: Sequence[Observations], features: tuple[str, ...], nodes: Sequence[Hashable], seed: int
) -> FoundLaw:
    """The law of the map with its errors, posterior samples and evidence."""
    equation, varying = found.model.equation, found.model.varying
    covariance = torch.from_numpy(found.covariance)
    errors = covariance.diagonal().clamp(min=0).sqrt()
    generator = torch.Generator().manual_seed(seed)
    spread = torch.from_numpy(np.concatenate([errors.numpy(), found.errors.T.reshape(-1)]))
    middle = torch.cat([equation.parameters, found.values.T.reshape(-1)])
    samples = middle + spread * torch.randn(POSTERIOR_SAMPLES, len(middle), generator=generator, dtype=torch.float64)
    law = (
        NodeClosedForm(equation, varying, found.values, None, nodes, features)
        if varying
        else law_of(equation, features, None)
    )
    law.map_step = found.step
    what = (
        f"{' and '.join(law.labels)} {'varies' if len(varying) == 1 else 'vary'} among nodes; "
        if isinstance(law, NodeClosedForm)
        else ""
    )
    reason = (
        f"{what}an Euler map with step {found.step:g}, x(t + {found.step:g}) = x(t) + {found.step:g} dx/dt, explains every snapshot from the "
        f"one before to {found.excess:.2g} times the rounding, and no continuous law of the library does"
    )
    noise = tuple(data[0].measured.share.tolist())
    evidence = Evidence("closed", reason, noise, found.excess, None, str(equation), True)
    initial = [one.states[0] for one in data]
    return FoundLaw(law, covariance, spread, samples, initial, None, evidence, some_states(data))
