"""A progress bar for people: epoch, loss and time left, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Shows training on standard error; silent when that is not a terminal, unless asked for.

    Args:
        total: epochs in all.
        done: epochs done already.
        show: True or False, or None to show on a terminal only.
        unit: what is counted.
    """

    def __init__(self, total: int, done: int, show: bool | None, unit: str = "epochs") -> None:
        self.total, self.done, self.unit = total, done, unit
        self.show = sys.stderr.isatty() if show is None else show
        self.bar: Any = None
        self.drawn = 0.0

    def __enter__(self) -> Progress:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self.bar = Bar(
                TextColumn("training"),
                BarColumn(),
                TextColumn(f"{{task.completed}}/{{task.total}} {self.unit}"),
                TextColumn("loss {task.fields[loss]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.task = self.bar.add_task("training", total=self.total, completed=self.done, loss="-")
        return self

    def update(self, done: int, loss: float) -> None:
        """Say how far it is; drawn ten times a second at most."""
        if self.bar is not None and (done == self.total or time.monotonic() - self.drawn > 0.1):
            self.drawn = time.monotonic()
            self.bar.update(self.task, completed=done, loss=f"{loss:.4g}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
