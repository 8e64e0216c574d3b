"""Files of a fit: the model, its checkpoints beside it, and a model that is not finished."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .guard import note

if TYPE_CHECKING:
    from ..classify import NodeBaseline, NodeClassifier, NodeDataset, NodeRun


@dataclass(frozen=True)
class Files:
    """Where a fit of one or several members writes; an unfinished model never takes the place of one that was there."""

    out: Path
    members: int

    @property
    def checkpoint(self) -> Path:
        """Of one model; of several, the beginning of the name of each."""
        return self.out.with_name(self.out.name + ".checkpoint")

    @property
    def checkpoints(self) -> list[Path]:
        """One for each member."""
        return [self.checkpoint] if self.members == 1 else [Path(f"{self.checkpoint}.{k}") for k in range(self.members)]

    @property
    def kept(self) -> list[Path]:
        """The checkpoints that are there; a fit that compares several fields has one for each."""
        return [
            path
            for first in self.checkpoints
            for path in (first, *sorted(first.parent.glob(f"{first.name}.*")))
            if path.is_file()
        ]

    @cached_property
    def unfinished(self) -> Path:
        """Where a model goes that was interrupted or failed."""
        return self.out.with_name(self.out.name + ".partial") if self.out.exists() else self.out

    @property
    def unchanged(self) -> str:
        """What became of a model that was there before, for messages."""
        return "" if self.unfinished == self.out else f"; {self.out} is as it was"

    def found(self, resume: bool) -> bool:
        """Whether an earlier run left a checkpoint; without ``resume`` a note says that it will be overwritten."""
        there = self.kept
        if there and not resume:
            note(f"note: {there[0]} is from an earlier run and will be overwritten; --resume would continue from it")
        return bool(there)

    def say_stopped(self) -> None:
        """Say what is left of a fit whose weights are not kept."""
        kept = self.kept
        left = f"; {kept[0]} is kept: continue with --resume" if kept else ""
        note(f"stopped: {self.out} {'is as it was' if self.out.exists() else 'was not written'}{left}")

    def remove_checkpoints(self) -> None:
        """Once the model is written, nothing else is needed."""
        for path in (*self.kept, self.out.with_name(self.out.name + ".partial")):
            path.unlink(missing_ok=True)


def unfinished_table(out: Path) -> Path:
    """Where a table goes that is not of all runs: beside one that was there, and of the same format."""
    return out.with_name(f"{out.stem}.partial{out.suffix}") if out.exists() else out


def fit_nodes(
    estimators: list[NodeClassifier | NodeBaseline],
    data: NodeDataset,
    validated: bool,
    jobs: int | None,
    files: Files | None,
    resume: bool,
) -> list[NodeRun]:
    """Fit all, or those that finish before Ctrl-C, if any; checkpoints lie beside the model to be saved."""
    from ..classify import RunsInterrupted, repeat

    if files is not None:
        for estimator, path in zip(estimators, files.checkpoints, strict=True):
            estimator.set_params(checkpoint=path)
        files.found(resume)
    try:
        return repeat(estimators, data, validated, jobs, resume=resume)
    except RunsInterrupted as error:
        return error.finished
    except KeyboardInterrupt:
        if files is not None:
            files.say_stopped()
        raise
