"""Increments of states between snapshots as regressions: one row of the network for each node."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..identify import input_weights
from ..laws import Formula, Term
from .paths import GAUSS, Paths

SELF_DEGREE = 3  # of the polynomial f: the highest of the laws in ``ndcn.laws``


@dataclass(frozen=True)
class Grams:
    """Regressions y_i = X_i w_i + Z_i theta_i + e of B rows by their inner products.

    Attributes:
        G: of the m + q columns of (X, Z), (B, m + q, m + q).
        b: of columns and y, (B, m + q).
        yy: of y, (B,).
        count: observations of a row.
        rows: which node each row is, (B,).
        candidates: which node each of the m columns is, (B, m).
        scales: by which the columns X, and each of the q columns Z, were divided.
    """

    G: torch.Tensor
    b: torch.Tensor
    yy: torch.Tensor
    count: int
    rows: np.ndarray
    candidates: np.ndarray
    scales: tuple[float, np.ndarray]

    @property
    def m(self) -> int:
        """Candidates of a row."""
        return self.candidates.shape[1]

    def part(self, chosen: np.ndarray) -> Grams:
        """Some of the rows."""
        pick = torch.from_numpy(chosen)
        return Grams(
            self.G[pick],
            self.b[pick],
            self.yy[pick],
            self.count,
            self.rows[chosen],
            self.candidates[chosen],
            self.scales,
        )


def self_formulas(features: Sequence[str]) -> list[str]:
    """Monomials of the features up to degree three, which f is made of.

    Example:
        >>> self_formulas(["x"]), len(self_formulas(["v", "w"]))
        (['1', 'x', 'x*x', 'x*x*x'], 10)
    """
    out = ["1"]
    for degree in range(1, SELF_DEGREE + 1):
        out += ["*".join(c) for c in itertools.combinations_with_replacement(features, degree)]
    return out


class Increments:
    """Whitened increments of one feature: their errors are observation noise of both ends and, rho times as much, noise of the process.

    An increment x(t_k+1) - x(t_k) has the errors D e, and what the path misses: their covariance is D D' + rho diag(gap / mean gap), the same
    for all nodes up to a factor. ``profile`` is by how much more or less each increment has of the latter, (N,).

    Z holds the monomials of f, ``formulas``, and after them u and u x of each input that changes, ``driven``: nodes answer inputs by
    coefficients of their own.
    """

    def __init__(
        self, paths: Paths, features: Sequence[str], output: int, rho: float, profile: np.ndarray | None = None
    ) -> None:
        self.paths, self.names, self.output, self.rho = paths, tuple(features), output, rho
        self.profile = np.ones(sum(len(piece.times) - 1 for piece in paths.pieces)) if profile is None else profile
        self.states = torch.from_numpy(paths.inner())  # (Q, n, d)
        self.weights = torch.from_numpy(np.concatenate([piece.weights for piece in paths.pieces]))
        self.sizes = [len(piece.times) - 1 for piece in paths.pieces]
        self.whiteners = self._whiteners()
        raw = np.concatenate([np.diff(piece.observed[..., output], axis=0) for piece in paths.pieces])
        self.raw = torch.from_numpy(raw)
        self.y = self.whitened(self.raw)  # (N, n)
        self.formulas = [Formula(text, self.names) for text in self_formulas(self.names)]
        Z = torch.stack([self.integrated(formula(self.states)) for formula in self.formulas], dim=-1)
        self.driven, driven = self._of_inputs()
        self.Z = self.whitened(torch.cat([Z, driven], dim=-1))  # (N, n, q)
        self.extra: torch.Tensor | None = None  # whitened columns in common to all nodes, (N, r): a driver

    @property
    def count(self) -> int:
        """N, the increments of a node."""
        return len(self.y)

    def _of_inputs(self) -> tuple[tuple[tuple[str, bool], ...], torch.Tensor]:
        """Name of the input, and whether times the state, of each further column; the columns, integrals over the intervals, (N, n, 2 inputs)."""
        pieces, n = self.paths.pieces, self.paths.nodes
        drivers = [one for piece in pieces if piece.inputs is not None for one in piece.inputs.drivers]
        names = list(dict.fromkeys(one.name for one in drivers if not one.constant))
        columns = []
        for piece in pieces:
            inner = torch.from_numpy(piece.inner[..., self.output]).view(-1, GAUSS, n)
            each = []
            if piece.inputs is not None:
                known = input_weights(piece.inputs, torch.from_numpy(piece.times))
                each = [part for a in names for part in (known[a].sum(1).expand(-1, n), (known[a] * inner).sum(1))]
            columns.append(torch.stack(each, dim=-1) if each else inner.new_empty(len(inner), n, 0))
        return tuple((name, times) for name in names for times in (False, True)), torch.cat(columns)

    def _whiteners(self) -> list[torch.Tensor]:
        known: dict[bytes, torch.Tensor] = {}
        out = []
        mean = float(np.mean(np.concatenate([np.diff(piece.times) for piece in self.paths.pieces])))
        for piece, profile in zip(self.paths.pieces, np.split(self.profile, np.cumsum(self.sizes)[:-1]), strict=True):
            gaps = np.diff(piece.times)
            key = gaps.tobytes() + profile.tobytes()
            if key not in known:
                D = np.diff(np.eye(len(gaps) + 1), axis=0)
                C = D @ D.T + self.rho * np.diag(profile * gaps / mean)
                lower = torch.linalg.cholesky(torch.from_numpy(C))
                known[key] = torch.linalg.inv(lower)
            out.append(known[key])
        return out

    def log_determinant(self) -> float:
        """Of the whitening, for likelihoods that are compared between several rho."""
        return float(sum(w.diagonal().log().sum() for w in self.whiteners))

    def integrated(self, values: torch.Tensor) -> torch.Tensor:
        """Integrals over the intervals of values at the Gauss points, (Q, ...) to (N, ...)."""
        weighted = values * self.weights.view(-1, *[1] * (values.dim() - 1))
        return weighted.view(len(values) // GAUSS, GAUSS, *values.shape[1:]).sum(1)

    def whitened(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the increments, (N, ...), with errors that are independent."""
        flat = values.flatten(1) if values.dim() > 1 else values.unsqueeze(1)
        if len(set(self.sizes)) == 1 and all(w is self.whiteners[0] for w in self.whiteners):
            out = torch.matmul(self.whiteners[0], flat.view(len(self.sizes), self.sizes[0], flat.shape[1]))
            return out.reshape(values.shape)
        parts = [w @ part for w, part in zip(self.whiteners, flat.split(self.sizes), strict=True)]
        return torch.cat(parts).reshape(values.shape)

    def unwhitened(self, values: torch.Tensor) -> torch.Tensor:
        """The inverse of ``whitened`` for (N, n)."""
        parts = zip(self.whiteners, values.split(self.sizes), strict=True)
        return torch.cat([torch.linalg.solve_triangular(w, part, upper=False) for w, part in parts])

    def residuals(self, term: Term, rows: np.ndarray, links: np.ndarray) -> torch.Tensor:
        """What least squares with these links, (B, n) of bool, leave open of whitened increments, (N, B)."""
        out = []
        for i, mine in zip(rows.tolist(), links, strict=True):
            X = self.columns(term, i, torch.from_numpy(np.flatnonzero(mine)))
            Z = self.Z[:, i] if self.extra is None else torch.cat([self.Z[:, i], self.extra], dim=1)
            both = torch.cat([X, Z], dim=1)
            both = both / both.square().mean(0).sqrt().clamp(min=1e-300)
            q, _ = torch.linalg.qr(both)
            out.append(self.y[:, i] - q @ (q.T @ self.y[:, i]))
        return torch.stack(out, dim=1)

    def columns(self, term: Term, i: int, candidates: torch.Tensor | None = None) -> torch.Tensor:
        """Whitened integrals of g(x_i, x_j) along the paths, (N, m); that of the node itself is 0."""
        others = self.states if candidates is None else self.states[:, candidates]
        own = self.states[:, i : i + 1].expand_as(others)
        X = self.whitened(self.integrated(term.formula(own, others, term.values)))
        X[:, i if candidates is None else candidates == i] = 0.0
        return X

    def grams(self, term: Term, rows: np.ndarray, candidates: np.ndarray | None = None) -> Grams:
        """The regressions of some rows; candidates (B, m) name the columns of each, all nodes by default."""
        n, m = self.paths.nodes, self.paths.nodes if candidates is None else candidates.shape[1]
        q = self.Z.shape[2] + (0 if self.extra is None else self.extra.shape[1])
        G = torch.empty(len(rows), m + q, m + q, dtype=torch.float64)
        b = torch.empty(len(rows), m + q, dtype=torch.float64)
        z_scale = np.sqrt(self.Z.square().mean((0, 1)).numpy()) + 1e-300
        if self.extra is not None:
            z_scale = np.concatenate([z_scale, np.sqrt(self.extra.square().mean(0).numpy()) + 1e-300])
        for k, i in enumerate(rows.tolist()):
            X = self.columns(term, i, None if candidates is None else torch.from_numpy(candidates[k]))
            Z = self.Z[:, i] if self.extra is None else torch.cat([self.Z[:, i], self.extra], dim=1)
            both = torch.cat([X, Z / torch.from_numpy(z_scale)], dim=1)
            G[k], b[k] = both.T @ both, both.T @ self.y[:, i]
        squares = G.diagonal(dim1=1, dim2=2)[:, :m]
        x_scale = float((squares.sum() / (squares > 0).sum().clamp(min=1) / self.count).sqrt()) or 1.0
        G[:, :m] /= x_scale
        G[:, :, :m] /= x_scale
        b[:, :m] /= x_scale
        pick = torch.from_numpy(rows)
        known = np.tile(np.arange(n), (len(rows), 1)) if candidates is None else candidates
        return Grams(G, b, self.y[:, pick].square().sum(0), self.count, rows, known, (x_scale, z_scale))
