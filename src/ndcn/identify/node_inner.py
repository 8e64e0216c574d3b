"""Which parameter inside a coupling may vary among nodes, as K in x_j^2/(K_i^2 + x_j^2): by the weak form, linear in its deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from ..laws import Equation, NodeEquation, Term
from .mixed_model import MixedFit
from .node_weak_form import NodeForm, node_form
from .observations import Observations

FOLLOWED = 2  # of the laws with such a parameter, the likeliest
FARTHEST = 3.0  # times: as far from its grid a parameter begins at most


def inner_starts(
    data: Sequence[Observations], form: NodeForm, feature: int, features: tuple[str, ...], *, noisy: bool
) -> Iterator[tuple[NodeEquation, torch.Tensor, np.ndarray]]:
    """Laws of one feature in which a parameter inside the coupling varies, the likeliest first: starts of fits."""
    terms = [form.terms[k] for k in form.polynomials]
    base = len(terms)
    terms += _likeliest(form)
    places = [(k, m) for k in range(base, len(terms)) for m in range(len(terms[k].values))]
    if not places:
        return
    small = node_form(data, terms, feature, noisy=noisy, slopes=places)
    fits: list[MixedFit] = []
    for column, (k, _) in enumerate(places, start=len(terms)):
        fit = small.grams.fitted((*range(base), k, column), (column,))
        fits.append(small.stepwise(fit, (k, column)))
    found: set[tuple] = set()
    for fit in sorted(fits, key=lambda one: one.score):
        column = next(m for m in fit.members if m >= len(terms))
        k, m = places[column - len(terms)]
        if len(found) < FOLLOWED and column in fit.varying and (terms[k].family, m) not in found:
            found.add((terms[k].family, m))
            yield _start(terms, fit, column, k, m, features)


def _likeliest(form: NodeForm) -> list[Term]:
    """Of each family of couplings with parameters those that explain most, with polynomials in common or of each node."""
    chosen: dict[tuple, Term] = {}
    for own in (False, True):
        gain = form.gains(own=own)
        for k in np.argsort(-gain):
            term = form.terms[k]
            if gain[k] > 0 and term.values:
                chosen.setdefault((term.family, own), term)
    return list({(term.family, term.values): term for term in chosen.values()}.values())


def _start(
    terms: Sequence[Term], fit: MixedFit, column: int, k: int, m: int, features: tuple[str, ...]
) -> tuple[NodeEquation, torch.Tensor, np.ndarray]:
    """The law in which what the column of a derivative explains is a parameter that is moved, and varies."""
    means = dict(zip(fit.members, fit.means, strict=True))
    members = [one for one in fit.members if one != column]
    scale = means[k] or 1.0
    old = terms[k].values[m]
    far = max(abs(old), 1e-9) * (1 - 1 / FARTHEST)
    new = old + float(np.clip(means[column] / scale, -far, FARTHEST * far))
    moved = replace(terms[k], values=(*terms[k].values[:m], new, *terms[k].values[m + 1 :]))
    own = tuple(moved if one == k else terms[one] for one in members)
    equation = Equation(own, torch.tensor([means[one] for one in members], dtype=torch.float64), len(features))
    first = len(members) + sum(len(terms[one].values) for one in members[: members.index(k)])
    place = {**{one: members.index(one) for one in members}, column: first + m}
    order = sorted(fit.varying, key=lambda one: place[one])
    which = [fit.varying.index(one) for one in order]
    unit = np.array([scale if one == column else 1.0 for one in order])
    varying = tuple(place[one] for one in order)
    return (
        NodeEquation(equation, varying, features),
        torch.from_numpy(fit.deviations[:, which] / unit),
        fit.spreads[which] / np.abs(unit),
    )
