"""The training loop of all tasks: full-batch Adam with progress, early stop, checkpoints and exact resumption."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from .._support.progress import Progress
from .._support.threads import threads_for
from .._support.warn import warn
from ..solve import IntegrationError
from .adam import Adam
from .checkpoint import load_checkpoint, save_checkpoint
from .task import WORST, Rank, Task
from .together import anywhere, shared_file, speaks, summed


class TrainingError(RuntimeError):
    """Training could not continue; ``fitted`` is what was learned until then, where a model with good weights is left.

    ``steps`` made the weights that the model is left with: with 0 they are the initial ones, and nothing was learned.
    """

    fitted: Any = None
    steps: int = 0


class TrainingInterrupted(KeyboardInterrupt):
    """A second Ctrl-C ended training within an epoch; attributes as of ``TrainingError``."""

    fitted: Any = None
    steps: int = 0


class InterruptedWarning(RuntimeWarning):
    """Ctrl-C ended training after an epoch; the model has the best weights until then."""


@dataclass(frozen=True)
class Plan:
    """How to train. ``patience`` counts epochs, by the task's rule; its ``fingerprint`` identifies a checkpoint."""

    epochs: int
    learning_rate: float
    weight_decay: float = 0.0
    schedule: str = "constant"
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


SAVE_EVERY = 20.0  # seconds between checkpoints


class Run:
    """All that changes while training; a checkpoint holds exactly this."""

    def __init__(self, task: Task, plan: Plan, history: History) -> None:
        self.parameters = [p for p in task.model.parameters() if p.requires_grad]
        if not self.parameters:
            raise TrainingError("the model has no parameters that could be learned")
        can_fuse = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in self.parameters)
        self.optimizer = Adam(
            task.groups(plan.weight_decay), lr=plan.learning_rate, fused=True if task.fused and can_fuse else None
        )
        self.tensors: list[torch.Tensor] = [*self.parameters, *task.model.buffers()]
        self.generators = task.generators()
        self.history = history
        self.stopping = task.stopping(plan.patience)
        self.good = [p.detach().clone() for p in self.tensors]  # the last weights that gave a finite loss
        self.best = [p.detach().clone() for p in self.tensors]
        self.best_rank = WORST
        self.best_epoch = 0
        self.ranks: list[Rank] = []  # of the validated epochs

    def keep_if_best(self, rank: Rank, epoch: int) -> None:
        """Keep the weights, made by ``epoch`` steps, if their rank is the best so far."""
        if rank > self.best_rank:
            self.best_rank = rank
            self.best_epoch = epoch
            _copy_into(self.best, self.tensors)

    def fail(self, what: str, epoch: int, task: Task, plan: Plan, reason: str = "") -> TrainingError:
        """The error to raise in an epoch, counted from 0, after the last good weights were put back."""
        _copy_into(self.tensors, self.good)
        self.history.stopped = "failed"
        where = f"in epoch {epoch + 1} of {plan.epochs}{reason}"
        kept = f"the weights of epoch {epoch} are kept" if epoch else "nothing was learned"
        error = TrainingError(f"{what} {where}; {kept}. {task.advice}")
        error.steps = epoch
        return error


def train(task: Task, plan: Plan, history: History, *, resume: bool = False) -> None:
    """Minimise the loss of the task; the model ends with the last weights, or with the best if data are held out.

    The model is changed in place, and what happens is written into ``history``. Ctrl-C ends after the current epoch with
    the best weights so far; a second Ctrl-C interrupts at once.

    Raises:
        TrainingError: the loss became NaN or infinite; the model has the last weights that gave a finite one.
        TrainingInterrupted: Ctrl-C was pressed twice.
        ValueError: the checkpoint to resume from cannot be read, or belongs to other data or settings.
    """
    run = Run(task, plan, history)
    with threads_for(task.size), _interruptible() as interrupted:
        if resume and plan.checkpoint is not None:
            with shared_file(task.graph, plan.checkpoint) as found:
                if found is not None:
                    load_checkpoint(found, plan.fingerprint, run)
        task.model.train()
        try:
            shown = plan.progress if speaks(task.graph) else False
            with Progress(plan.epochs, len(history.loss), shown) as bar:
                _loop(run, task, plan, interrupted, bar)
        except TrainingInterrupted as error:
            history.stopped = "interrupted"
            error.steps = _choose_weights(run, task, plan)
            raise
        finally:
            task.model.eval()
    kept = _choose_weights(run, task, plan)
    if history.stopped == "interrupted":
        warn(
            f"interrupted after {len(history.loss)} of {plan.epochs} epochs: the best weights so far, of epoch {kept}, "
            "are kept",
            InterruptedWarning,
        )


def _loop(run: Run, task: Task, plan: Plan, interrupted: Callable[[], bool], bar: Progress) -> None:
    history = run.history
    began = time.monotonic() - history.seconds
    saved = time.monotonic()
    for epoch in range(len(history.loss), plan.epochs):
        if run.stopping.stops(epoch):
            history.stopped = "early"
            return
        last = epoch + 1 == plan.epochs
        with task.drawing(epoch):
            value = _step(run, task, plan, epoch)
            history.loss.append(value)
            if task.held_out and (last or (epoch + 1) % task.validate_every == 0):
                _validate(run, task, epoch + 1)
        now = time.monotonic()
        history.seconds = now - began
        bar.update(epoch + 1, value)
        stop = anywhere(task.graph, interrupted()) and not last
        if plan.checkpoint is not None and speaks(task.graph) and (stop or last or now - saved > SAVE_EVERY):
            save_checkpoint(plan.checkpoint, plan.fingerprint, run)
            saved = now
        if stop:
            history.stopped = "interrupted"
            return


def _step(run: Run, task: Task, plan: Plan, epoch: int) -> float:
    """One step of Adam; the loss before it."""
    for group in run.optimizer.param_groups:
        group["lr"] = plan.learning_rate_at(epoch)
    run.optimizer.zero_grad()
    value = 0.0
    reason = ""
    try:
        for loss in task.losses(epoch):
            loss.backward()
            value += loss.item()
    except IntegrationError as error:
        value = math.nan
        reason = f" ({error})"
    value = summed(task.graph, value, run.parameters)
    if not math.isfinite(value):
        raise run.fail(f"the loss became {value}", epoch, task, plan, reason)
    _copy_into(run.good, run.tensors)
    if not task.held_out:
        run.keep_if_best((-value,), epoch)
    if plan.clip_norm is not None:
        nn.utils.clip_grad_norm_(run.parameters, plan.clip_norm)
    run.optimizer.step()
    return value


@torch.no_grad()
def _validate(run: Run, task: Task, epoch: int) -> None:
    task.model.eval()
    loss, rank = task.score()
    task.model.train()
    run.history.validation.append((epoch, loss))
    run.ranks.append(rank)
    run.stopping.see(epoch, rank)
    run.keep_if_best(rank, epoch)


def _choose_weights(run: Run, task: Task, plan: Plan) -> int:
    """Put back the best weights if data were held out or training was interrupted; how many steps made the weights.

    The initial weights, which random layers may make look best, are never put back.
    """
    kept = len(run.history.loss)
    if run.best_epoch > 0 and (task.held_out or run.history.stopped == "interrupted"):
        _copy_into(run.tensors, run.best)
        kept = run.best_epoch
    if not all(p.isfinite().all() for p in run.parameters):  # a finite loss can have a gradient that is not
        raise run.fail("the weights became NaN or infinite", kept - 1, task, plan)
    return kept


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
            raise TrainingInterrupted
        asked = True

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


@torch.no_grad()
def _copy_into(tensors: list[torch.Tensor], values: list[torch.Tensor]) -> None:
    torch._foreach_copy_(tensors, values)
