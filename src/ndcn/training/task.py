"""What the training loop is given: a task, which has a loss and perhaps a score, and a rule that says when to stop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from ..graph import Graph

Rank = tuple[float, ...]
WORST: Rank = (-math.inf,)  # below every rank, however many parts it has


class Score(NamedTuple):
    """How good a model is on the data held out: a loss for the history, and a rank, of which the largest is the best."""

    loss: float
    rank: Rank


class Term(Protocol):
    """A term of the loss; a tensor is one."""

    def backward(self) -> None:
        """Add its gradients to those of the weights."""

    def item(self) -> float:
        """Its value."""


class ReadyTerm:
    """A term value / count whose gradients are known already: pairs of weights and gradients, not yet divided by count."""

    def __init__(self, value: float, pairs: list[tuple[torch.Tensor, torch.Tensor]], count: int) -> None:
        self.value, self.pairs, self.count = value, pairs, count

    def backward(self) -> None:
        """Add its gradients to those of the weights."""
        for weight, found in self.pairs:
            gradient = found if self.count == 1 else found / self.count
            weight.grad = gradient if weight.grad is None else weight.grad + gradient

    def item(self) -> float:
        """Its value."""
        return self.value / self.count


class Stopping(Protocol):
    """A rule that ends training early. A resumed run shows it all ranks so far again."""

    def see(self, epoch: int, rank: Rank) -> None:
        """Take note of the rank after an epoch, counted from 1."""

    def stops(self, done: int) -> bool:
        """Whether training ends after ``done`` epochs."""


class SinceBest:
    """Stop when the best rank is ``patience`` epochs old; never with None."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.best = WORST
        self.best_epoch = 0
        self.seen = False

    def see(self, epoch: int, rank: Rank) -> None:
        """Take note of the rank after an epoch."""
        self.seen = True
        if rank > self.best:
            self.best = rank
            self.best_epoch = epoch

    def stops(self, done: int) -> bool:
        """Whether the best rank is old enough."""
        return self.seen and self.patience is not None and done - self.best_epoch >= self.patience


class NothingAsGood:
    """Stop after ``patience`` epochs in a row in which no part of the rank was as good as its best; never with None."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.reached: Rank = ()
        self.waited = 0

    def see(self, epoch: int, rank: Rank) -> None:
        """Take note of the rank after an epoch."""
        reached = self.reached or (-math.inf,) * len(rank)
        as_good = any(new >= old for new, old in zip(rank, reached, strict=True))
        self.waited = 0 if as_good else self.waited + 1
        self.reached = tuple(max(new, old) for new, old in zip(rank, reached, strict=True))

    def stops(self, done: int) -> bool:
        """Whether it was waited for long enough."""
        return self.patience is not None and self.waited >= self.patience


class Task(ABC):
    """What is trained: a model, the loss of an epoch, and a score if data are held out."""

    model: nn.Module  # whose parameters are learned, in place
    size: int  # numbers in a hidden state, by which the number of threads is chosen
    held_out: bool  # whether there are data to score the model on
    validate_every = 1  # epochs from one score to the next
    fused = True  # whether Adam updates all parameters in one pass, whose last bits differ from the plain update's
    advice = "Try a smaller learning_rate"  # when the loss is no longer finite

    @abstractmethod
    def losses(self, epoch: int) -> Iterator[Term]:
        """The terms of the loss of an epoch, counted from 0; the computation of one is freed before the next is asked for.

        Raises:
            IntegrationError: the integration failed, which counts as a loss that is not finite.
        """

    @abstractmethod
    def score(self) -> Score:
        """How good the model is on the data held out; called in evaluation mode and without gradients."""

    @property
    def graph(self) -> Graph | None:
        """The graph whose nodes several processes may share; None where this process has all."""
        return None

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Parameter groups of Adam."""
        return [{"params": [p for p in self.model.parameters() if p.requires_grad], "weight_decay": weight_decay}]

    def stopping(self, patience: int | None) -> Stopping:
        """The rule that ends training early."""
        return SinceBest(patience)

    def drawing(self, epoch: int) -> AbstractContextManager[None]:
        """Where random layers of an epoch draw from, if there are any: in this context it is trained and scored."""
        return nullcontext()

    def generators(self) -> list[torch.Generator]:
        """Generators whose state goes on from epoch to epoch: checkpoints hold it."""
        return []
