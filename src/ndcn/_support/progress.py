"""A progress bar for people: how far, the loss if there is one, and the time left; on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn


class Progress:
    """Shows on standard error how many of ``total`` units are done; with ``show=None``, only if that is a terminal.

    ``width`` is that of the bar; ``estimate`` says whether to show the time left as it is judged by what is done.
    """

    def __init__(
        self,
        total: int,
        done: int,
        show: bool | None,
        unit: str = "epochs",
        name: str = "training",
        *,
        width: int = 40,
        estimate: bool = True,
    ) -> None:
        self.total, self.done, self.unit, self.name = total, done, unit, name
        self.width, self.estimate = width, estimate
        self.show = sys.stderr.isatty() if show is None else show
        self.bar: Any = None
        self.drawn = 0.0

    def __enter__(self) -> Progress:
        if self.show:
            self.bar = Bar(
                TextColumn(self.name),
                BarColumn(self.width),
                TextColumn(f"{{task.completed}}/{{task.total}} {self.unit}"),
                TextColumn("{task.fields[note]}"),
                *([TimeRemainingColumn()] if self.estimate else []),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=self.total, completed=self.done, note="")
        return self

    def update(self, done: int, loss: float | None = None, note: str = "") -> None:
        """Say how far it is; drawn ten times a second at most."""
        if self.bar is not None and (done == self.total or time.monotonic() - self.drawn > 0.1):
            self.drawn = time.monotonic()
            self.bar.update(self.task, completed=done, note=note if loss is None else f"loss {loss:.4g}")

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()
