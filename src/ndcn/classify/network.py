"""The network that classifies nodes: features, diffused over continuous time, read out at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from ..graph import Graph
from ..solve import DOPRI5, IntegrationError, Solver, integrate
from .diffusion import LinearDiffusion
from .features import FeatureTable, kept_entries

PUBLISHED = "published"
# The error of a step by Shampine's weights (1986), which torchdiffeq takes in place of Dormand and Prince's own.
SHAMPINE = (1951 / 21600, 0.0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


class DiffusionClassifier(nn.Module):
    """X(0) = s(F W_e + b_e); dX/dt = f(t, X, G) on [0, T]; class probabilities softmax(X(T) W_d + b_d).

    Where f is ``LinearDiffusion`` and there is no solver, X(T) is exact but for 1e-5, by a series in Phi. That is linear in
    X(0), so that X(0) W_d can be diffused instead: as many columns as there are classes. If the field has several signs, X has a
    part for each: X(T) = [X_1(T), ..., X_p(T)], each from the same X(0).

    With m members there are m such networks side by side, each with ``hidden`` columns of X and rows of W_d; they share b_d. The
    mean of their logits is again such a network, of m h columns: after training, ``merge`` makes it that.

    Args:
        features: d, columns of F.
        hidden: h, columns of X.
        classes: c.
        field: f.
        T: the terminal time, > 0.
        learn_T: whether T is a parameter; it stays positive.
        activation: s: "relu" or "tanh".
        solver: how to integrate f; "published" for the paper's (see ``published_dopri5``); None for the exact series.
        dropout, hidden_dropout, row_dropout: while training, the probability of dropping an entry of F, an entry of X(0), a
            whole row of X(0).
        members: m.

    Shapes:
        ``forward(table, graph, passes)`` returns logits (passes, n, c), or while training those of each member, (passes m, n, c);
        the passes differ by what is dropped.

    Raises:
        ValueError: no solver for a field that needs one.

    Example:
        >>> import ndcn, torch
        >>> from ndcn.classify.features import FeatureTable
        >>> from ndcn.classify.diffusion import DiffusionOperator, LinearDiffusion
        >>> data = ndcn.datasets.karate_club()
        >>> field = LinearDiffusion(DiffusionOperator(0.5))
        >>> model = ndcn.models.DiffusionClassifier(34, 8, 2, field, T=2.0)
        >>> model(FeatureTable(data.features), data.graph).shape
        torch.Size([1, 34, 2])
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        field: nn.Module,
        T: float,
        *,
        learn_T: bool = False,
        activation: str = "relu",
        solver: Solver | str | None = None,
        dropout: float = 0.0,
        hidden_dropout: float = 0.0,
        row_dropout: float = 0.0,
        members: int = 1,
    ) -> None:
        super().__init__()
        if members > 1 and solver is not None:
            raise ValueError(
                "several members are trained side by side where the solution is a series, not with a solver"
            )
        if solver is None and not isinstance(field, LinearDiffusion):
            raise ValueError("only LinearDiffusion has a solution without steps: give a solver for this field")
        if solver is not None and isinstance(field, LinearDiffusion) and field.source != 0:
            raise ValueError("diffusion with a source is solved by its series: drop the solver, or use source=0")
        if learn_T and solver is not None:
            raise ValueError("T can be learned where the solution is a series, not with a solver")
        self.signs = field.signs if isinstance(field, LinearDiffusion) and solver is None else (1,)
        self.members = members
        self.encoder = nn.Linear(features, hidden * members)
        self.decoder = nn.Linear(hidden * members * len(self.signs), classes)
        self.field, self.solver, self.activation = field, solver, activation
        self.dropout, self.hidden_dropout, self.row_dropout = dropout, hidden_dropout, row_dropout
        self.fixed_T = None if learn_T else float(T)
        if learn_T:
            self.log_T = nn.Parameter(torch.tensor(math.log(T)))
        self.generator: torch.Generator | None = None  # of what is dropped

    @property
    def T(self) -> float:
        """The terminal time as it is now."""
        return self.log_T.detach().exp().item() if self.fixed_T is None else self.fixed_T

    def forward(self, table: FeatureTable, graph: Graph, passes: int = 1) -> torch.Tensor:
        """Logits, shape (passes, n, c), or of each member while training, shape (passes m, n, c)."""
        weight = self.encoder.weight.T.contiguous()
        if self.solver is None:
            runs = passes * self.members
            start = self._starts(table, weight, passes, self._readout()).unflatten(1, (runs, len(self.signs), -1))
            end = self._read(start.transpose(1, 2).flatten(2), graph)
            logits = end.unflatten(1, (runs, -1)).transpose(0, 1) + self.decoder.bias
            return logits if self.training or self.members == 1 else logits.unflatten(0, (passes, -1)).mean(dim=1)
        ends = [self._flow(self._starts(table, weight, 1, None), graph) for _ in range(passes)]
        return self.decoder(torch.stack(ends))

    def state(self, table: FeatureTable, graph: Graph) -> torch.Tensor:
        """X(T), shape (n, h), or (n, p h) for p signs; in training, with entries and rows dropped."""
        start = self._starts(table, self.encoder.weight.T.contiguous(), 1, None)
        return torch.cat([self._flow(start, graph, sign) for sign in self.signs], dim=1)

    def start(self, table: FeatureTable) -> torch.Tensor:
        """X(0) W_d of each part, shape (n, p, c): what is diffused in the place of X(0)."""
        start = self._starts(table, self.encoder.weight.T.contiguous(), 1, self._readout())
        return start.unflatten(1, (len(self.signs), -1))

    @torch.no_grad()
    def merge(self) -> None:
        """Make the members one network, whose logits are the mean of theirs: W_d / m."""
        self.decoder.weight /= self.members
        self.members = 1

    @property
    def linear(self) -> bool:
        """Whether X(T) is linear in X(0), as a series in Phi."""
        return self.solver is None and isinstance(self.field, LinearDiffusion)

    @property
    def diffuses(self) -> bool:
        """Whether X(T) depends on the graph and on T: not if features alone decide."""
        return any(self.signs)

    def diffused(self, start: torch.Tensor, graph: Graph, T: float | None = None) -> torch.Tensor:
        """sum_p g_p(Phi) ``start[:, p]``, shape (n, k), at the model's T or at another, for a ``linear`` network and any k."""
        return self._read(start, graph, None if T is None else torch.tensor(T, dtype=torch.float64))

    def _readout(self) -> torch.Tensor:
        """W_d of each member, its parts below each other, shape (m, p c, h)."""
        blocks = self.decoder.weight.unflatten(1, (len(self.signs), self.members, -1))  # (c, p, m, h)
        return blocks.permute(2, 1, 0, 3).flatten(1, 2)

    def _read(self, start: torch.Tensor, graph: Graph, time: torch.Tensor | None = None) -> torch.Tensor:
        """The sum of the parts (n, p, k) at T, shape (n, k)."""
        ends = [self._flow(start[:, k].contiguous(), graph, sign, time) for k, sign in enumerate(self.signs)]
        return torch.stack(ends).sum(dim=0) if len(ends) > 1 else ends[0]

    def _starts(
        self, table: FeatureTable, weight: torch.Tensor, passes: int, readout: torch.Tensor | None
    ) -> torch.Tensor:
        """X(0), or X(0) W_d of each member, of each pass side by side: (n, passes * width). What is dropped differs between them."""
        columns = []
        for _ in range(passes):
            rows = None
            if self.training and self.row_dropout > 0:
                stay = kept_entries((table.shape[0],), self.row_dropout, self.generator, weight.device)
                rows = stay.nonzero().flatten()
            entry = table.times(weight, self.dropout if self.training else 0.0, self.generator, rows)
            x = ACTIVATIONS[self.activation](entry + self.encoder.bias)
            if self.training and self.hidden_dropout > 0:
                stay = kept_entries(tuple(x.shape), self.hidden_dropout, self.generator, x.device)
                x = x * stay.to(x.dtype).div_(1 - self.hidden_dropout)
            if readout is not None:
                parts = zip(x.chunk(self.members, dim=1), readout, strict=True)
                x = torch.cat([part @ own.T for part, own in parts], dim=1)
            if rows is not None:
                x = x.new_zeros(table.shape[0], x.shape[1]).index_copy(0, rows, x / (1 - self.row_dropout))
            columns.append(x)
        return torch.cat(columns, dim=1) if passes > 1 else columns[0]

    def _flow(self, x0: torch.Tensor, graph: Graph, sign: int = 1, time: torch.Tensor | None = None) -> torch.Tensor:
        if self.solver is None:
            assert isinstance(self.field, LinearDiffusion)
            if time is None:
                time = self.log_T.exp() if self.fixed_T is None else torch.tensor(self.fixed_T, dtype=torch.float64)
            return self.field.state(x0, time, graph, sign=sign)
        if isinstance(self.solver, Solver):
            return integrate(self.field, graph, x0, [self.T], solver=self.solver).states[-1]
        return published_dopri5(self.field, graph, x0, self.T)


def published_dopri5(
    field: nn.Module, graph: Graph, x0: torch.Tensor, T: float, *, rtol: float = 0.1, atol: float = 0.1
) -> torch.Tensor:
    """X(T) as the paper's classification code computes it, which is far from the solution of dX/dt = f(t, X, G).

    DOPRI5 with tolerances so loose that the second step goes far beyond T (from 0.6 to 6.8 for T = 1.2 on Cora); the state at T
    comes from the quartic between the ends of that step, and is about 150 % off. Steps are chosen as torchdiffeq does:
    the first by Hairer's rule with order 4, then at most 10 times and at least 0.2 times the last. Gradients go through the
    lengths of the steps, as they did in the torchdiffeq of that time: without them (torchdiffeq 0.2.5 leaves some out) the
    same training ends at 71 to 79 % on Cora. The published code asks for 16 times in [0, T]; that does not change the steps, so only
    T is computed.

    Raises:
        IntegrationError: the state becomes NaN or infinite.
    """
    zero = x0.new_zeros(())
    t, x, k = zero, x0, field(zero, x0, graph)
    h = _published_first_step(field, graph, x0, k, rtol, atol)
    while True:
        stages = [k]
        new = x
        for c, row in zip(DOPRI5.c, DOPRI5.a, strict=True):
            new = x + h * _combined(row, stages)
            stages.append(field(t + c * h, new, graph))
        with torch.no_grad():
            size = _published_error(x, new, stages, h, rtol, atol)
        if not size.isfinite():
            raise IntegrationError(f"the state became NaN or infinite after t = {t.item():g}", time=t.item())
        if size <= 1 and t + h >= T:
            assert DOPRI5.dense is not None
            s = (T - t) / h  # x(t + s h) = x + h sum_m s^m sum_i p_im k_i
            for m, column in enumerate(zip(*DOPRI5.dense, strict=True)):
                x = x + h * s ** (m + 1) * _combined(column, stages)
            return x
        factor, least = 0.9 * size.clamp_min(1e-30) ** -0.2, 1.0 if size < 1 else 0.2
        if least < factor < 10:  # at the ends the next step does not depend on the error
            factor = 0.9 * _published_error(x, new, stages, h, rtol, atol) ** -0.2
        if size <= 1:
            t, x, k = t + h, new, stages[-1]
        h = h * factor.clamp(least, 10.0)


def _published_error(
    x: torch.Tensor, new: torch.Tensor, stages: Sequence[torch.Tensor], h: torch.Tensor, rtol: float, atol: float
) -> torch.Tensor:
    error = h * _combined([b - other for b, other in zip(DOPRI5.b, SHAMPINE, strict=True)], stages)
    return _rms(error / (atol + rtol * torch.maximum(x.abs(), new.abs())))


def _published_first_step(
    field: nn.Module, graph: Graph, x0: torch.Tensor, k: torch.Tensor, rtol: float, atol: float
) -> torch.Tensor:
    allowed = atol + rtol * x0.abs()
    size, slope = _rms(x0 / allowed), _rms(k / allowed)
    guess = x0.new_tensor(1e-6) if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    bend = _rms((field(guess, x0 + guess * k, graph) - k) / allowed) / guess
    steepest = torch.maximum(slope, bend)
    if steepest <= 1e-15:
        return (guess * 1e-3).clamp_min(1e-6)
    return torch.minimum(100 * guess, (0.01 / steepest) ** 0.2)


def _rms(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean().sqrt()


def _combined(weights: Sequence[float], stages: Sequence[torch.Tensor]) -> torch.Tensor:
    """sum_i w_i k_i."""
    total = weights[0] * stages[0]
    for w, k in zip(weights[1:], stages[1:], strict=False):
        total = torch.add(total, k, alpha=w) if w else total
    return total
