"""The paper's NDCN and its three ablations, each a composition of parts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ..graph import Operator, signed_laplacian
from ..solve import Solver
from .fields import Activation, DiffusionField, GraphField, NodeField
from .graph_ode import GraphODE
from .input_layer import InputLayer


def ndcn(
    features: int = 1,
    *,
    hidden: int = 20,
    operator: Operator = signed_laplacian,
    activation: Activation = torch.relu,
    knots: Sequence[float] | None = None,
    solver: Solver | None = None,
    inputs: InputLayer | None = None,
) -> GraphODE:
    """X_h(0) = tanh(X W_e + b_e) W_0 + b_0; dX_h/dt = ReLU(Phi X_h W + b); X = X_h W_d + b_d.

    With ``inputs``, an ``InputLayer`` for u(t), dX_h/dt = ReLU(Phi X_h W + u V + b).

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.models.ndcn().parameters())
        901
    """
    field = GraphField(hidden, operator=operator, activation=activation, knots=knots, inputs=inputs)
    return GraphODE(encoder_of(features, hidden), field, nn.Linear(hidden, features), solver)


def no_encode(
    features: int = 1,
    *,
    operator: Operator = signed_laplacian,
    activation: Activation = torch.relu,
    knots: Sequence[float] | None = None,
    solver: Solver | None = None,
    inputs: InputLayer | None = None,
) -> GraphODE:
    """dX/dt = ReLU(Phi X W + b) in the original space, with a linear decoder as in the published code.

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.models.no_encode().parameters())
        4
    """
    field = GraphField(features, operator=operator, activation=activation, knots=knots, inputs=inputs)
    return GraphODE(nn.Identity(), field, nn.Linear(features, features), solver)


def no_graph(
    features: int = 1,
    *,
    hidden: int = 20,
    activation: Activation = torch.relu,
    solver: Solver | None = None,
    inputs: InputLayer | None = None,
) -> GraphODE:
    """dX_h/dt = ReLU(X_h W + b): NDCN in which no node sees another.

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.models.no_graph().parameters())
        901
    """
    field = NodeField(hidden, activation=activation, inputs=inputs)
    return GraphODE(encoder_of(features, hidden), field, nn.Linear(hidden, features), solver)


def no_control(
    features: int = 1,
    *,
    hidden: int = 20,
    operator: Operator = signed_laplacian,
    activation: Activation = torch.relu,
    solver: Solver | None = None,
) -> GraphODE:
    """dX_h/dt = ReLU(Phi X_h): NDCN whose dynamics have nothing to learn.

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.models.no_control().parameters())
        481
    """
    field = DiffusionField(operator=operator, activation=activation)
    return GraphODE(encoder_of(features, hidden), field, nn.Linear(hidden, features), solver)


def encoder_of(features: int, hidden: int) -> nn.Module:
    """X -> tanh(X W_e + b_e) W_0 + b_0."""
    return nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
