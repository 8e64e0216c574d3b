"""The training loop: full-batch Adam with progress, early stop, checkpoints and exact resumption."""

from __future__ import annotations

import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from .._support.progress import Progress
from .._support.threads import threads_for
from ..graph import Graph
from ..neural import TemporalGNN
from ..solve import IntegrationError
from .checkpoint import load_checkpoint, save_checkpoint
from .objective import Objective, Target


class TrainingError(RuntimeError):
    """Training could not go on; the model keeps its last good weights.

    Attributes:
        fitted: what was learned until then, where a model with good weights is left.
    """

    fitted: Any = None


@dataclass(frozen=True)
class Problem:
    """One trajectory in the model's own units: start from x0 at t0, compare at ``times`` with ``target``.

    A temporal GNN learns one step ahead instead: it is shown true snapshots, in ``spread`` as it wants them, and what it
    predicts for the next ones, all or those in ``rows``, is compared.
    """

    graph: Graph
    x0: torch.Tensor
    t0: float
    times: torch.Tensor
    target: Target
    spread: torch.Tensor | None = None
    rows: torch.Tensor | None = None

    def loss(self, model: nn.Module, objective: Objective) -> torch.Tensor:
        """The objective of the model's prediction."""
        if self.spread is not None and isinstance(model, TemporalGNN):
            ahead = model.one_step_ahead(self.spread)
            return objective.loss(ahead if self.rows is None else ahead[self.rows], self.target)
        return objective.loss(model(self.x0, self.times, self.graph, self.t0), self.target)


@dataclass(frozen=True)
class Plan:
    """How to train. ``patience`` counts epochs without a better validation loss; ``seed`` is that of random layers."""

    epochs: int
    learning_rate: float
    weight_decay: float
    schedule: str
    seed: int = 0
    clip_norm: float | None = None
    patience: int | None = None
    checkpoint: Path | None = None
    fingerprint: str = ""
    progress: bool | None = None

    def learning_rate_at(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        return 0.5 * self.learning_rate * (1 + math.cos(math.pi * epoch / self.epochs))


@dataclass
class History:
    """What happened: training loss of every epoch, (epoch, validation loss) pairs, why it stopped, and how long it took.

    ``stopped`` is "finished", "early", "interrupted" or "failed".
    """

    loss: list[float] = field(default_factory=list)
    validation: list[tuple[int, float]] = field(default_factory=list)
    stopped: str = "finished"
    seconds: float = 0.0


HIDDEN = 20  # features of a hidden state, as far as the number of threads is concerned
VALIDATE_EVERY = 10  # epochs
SAVE_EVERY = 20.0  # seconds between checkpoints


def train(
    model: nn.Module,
    problems: Sequence[Problem],
    validation: Sequence[Problem],
    objective: Objective,
    plan: Plan,
    history: History,
    *,
    resume: bool = False,
) -> None:
    """Minimise the mean objective over the problems; the model ends with the last, or the best validated, weights.

    What was held out for validation is judged by the running loss: the terminal one is defined at the last time only.

    The model is changed in place, and what happens is written into ``history``. Ctrl-C ends after the current epoch with
    the best weights so far; a second Ctrl-C interrupts at once.

    Raises:
        TrainingError: the loss became NaN or infinite; the model has the last weights that gave a finite one.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise TrainingError("the model has no parameters that could be learned")
    optimizer = torch.optim.Adam(
        parameters,
        lr=plan.learning_rate,
        weight_decay=plan.weight_decay,
        fused=all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters),
    )
    tensors = [*parameters, *model.buffers()]
    run = _Run(model, parameters, tensors, optimizer, history, _copy(tensors), _copy(tensors))
    if resume and plan.checkpoint is not None and plan.checkpoint.exists():
        load_checkpoint(plan.checkpoint, plan.fingerprint, run)
    with (
        _interruptible() as interrupted,
        Progress(plan.epochs, len(run.history.loss), plan.progress) as bar,
        torch.random.fork_rng(devices=[]),
        threads_for(max(p.x0.shape[0] for p in problems) * HIDDEN),
    ):
        model.train()
        try:
            _loop(run, problems, validation, objective, plan, interrupted, bar)
        finally:
            model.eval()


@dataclass
class _Run:
    """All that changes while training; a checkpoint holds exactly this."""

    model: nn.Module
    parameters: list[nn.Parameter]
    tensors: list[torch.Tensor]  # the parameters, then the model's buffers
    optimizer: torch.optim.Adam
    history: History
    good: list[torch.Tensor]
    best: list[torch.Tensor]
    best_loss: float = math.inf
    best_epoch: int = 0


def _loop(
    run: _Run,
    problems: Sequence[Problem],
    validation: Sequence[Problem],
    objective: Objective,
    plan: Plan,
    interrupted: Callable[[], bool],
    bar: Progress,
) -> None:
    history = run.history
    began = time.monotonic() - history.seconds
    saved = time.monotonic()
    judge = replace(objective, terminal=None) if validation else objective
    on_cpu = all(p.device.type == "cpu" for p in run.parameters)
    reseed = torch.default_generator.manual_seed if on_cpu else torch.manual_seed  # the latter takes half a millisecond
    for epoch in range(len(history.loss), plan.epochs):
        if history.validation and plan.patience is not None and epoch - run.best_epoch >= plan.patience:
            history.stopped = "early"
            break
        reseed(plan.seed + epoch)  # the same in a resumed run
        for group in run.optimizer.param_groups:
            group["lr"] = plan.learning_rate_at(epoch)
        run.optimizer.zero_grad()
        value, reason = _backward(run.model, problems, objective)
        if not math.isfinite(value):
            raise _failure(run, f"the loss became {value}", epoch, plan, reason)
        _copy_into(run.good, run.tensors)
        if not validation and value < run.best_loss:
            run.best_loss, run.best_epoch = value, epoch
            _copy_into(run.best, run.tensors)
        if plan.clip_norm is not None:
            nn.utils.clip_grad_norm_(run.parameters, plan.clip_norm)
        run.optimizer.step()
        history.loss.append(value)
        if validation and ((epoch + 1) % VALIDATE_EVERY == 0 or epoch + 1 == plan.epochs):
            _validate(run, validation, judge, epoch + 1)
        now = time.monotonic()
        history.seconds = now - began
        bar.update(epoch + 1, value)
        stop = interrupted() and epoch + 1 < plan.epochs
        if plan.checkpoint is not None and (stop or epoch + 1 == plan.epochs or now - saved > SAVE_EVERY):
            save_checkpoint(plan.checkpoint, plan.fingerprint, run)
            saved = now
        if stop:
            history.stopped = "interrupted"
            break
    kept = len(history.loss)
    if math.isfinite(run.best_loss) and (validation or history.stopped == "interrupted"):
        _restore(run.tensors, run.best)
        kept = run.best_epoch
    if not all(p.isfinite().all() for p in run.parameters):  # a finite loss can have a gradient that is not
        raise _failure(run, "the weights became NaN or infinite", kept - 1, plan)
    if history.stopped == "interrupted":
        warnings.warn(
            f"interrupted after {len(history.loss)} of {plan.epochs} epochs: the best weights so far, of epoch {kept}, "
            "are kept",
            RuntimeWarning,
            stacklevel=4,
        )


def _failure(run: _Run, what: str, epoch: int, plan: Plan, reason: str = "") -> TrainingError:
    _restore(run.tensors, run.good)
    run.history.stopped = "failed"
    return TrainingError(
        f"{what} in epoch {epoch + 1} of {plan.epochs}{reason}; the weights of epoch {epoch} are kept. "
        "Try a smaller learning_rate, clip_norm=1.0, or a smaller step_size of the solver"
    )


def _backward(model: nn.Module, problems: Sequence[Problem], objective: Objective) -> tuple[float, str]:
    """Add up the gradient of the mean loss; one problem's graph of computation is held at a time."""
    total = 0.0
    try:
        for problem in problems:
            loss = problem.loss(model, objective) / len(problems)
            loss.backward()
            total += loss.item()
    except IntegrationError as error:
        return math.nan, f" ({error})"
    return total, ""


@torch.no_grad()
def _validate(run: _Run, validation: Sequence[Problem], objective: Objective, epoch: int) -> None:
    run.model.eval()
    try:
        value = sum(problem.loss(run.model, objective).item() for problem in validation) / len(validation)
    except IntegrationError:
        value = math.inf
    run.model.train()
    run.history.validation.append((epoch, value))
    if value < run.best_loss:
        run.best_loss, run.best_epoch = value, epoch
        _copy_into(run.best, run.tensors)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question that can be asked between epochs."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _copy(parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [p.detach().clone() for p in parameters]


def _copy_into(kept: Sequence[torch.Tensor], parameters: Sequence[torch.Tensor]) -> None:
    torch._foreach_copy_(list(kept), [p.detach() for p in parameters])


@torch.no_grad()
def _restore(parameters: Sequence[torch.Tensor], kept: Sequence[torch.Tensor]) -> None:
    for p, k in zip(parameters, kept, strict=True):
        p.copy_(k)
