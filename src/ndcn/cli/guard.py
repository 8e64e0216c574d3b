"""Exceptions as one line on standard error and an exit code; no other module of the command line does that."""

from __future__ import annotations

import shlex
import signal
import sqlite3
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from .._support.agreed import Agreed
from .suggestions import suggested

if TYPE_CHECKING:
    from ..data import Dataset

FAILED, BAD_INPUT = 1, 2
NO_MEMORY = "not enough memory; try fewer nodes or snapshots"


class Guarded(TyperGroup):
    """A group of commands whose failures end in ``error: ...`` on standard error and never in a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command under ``guarded``."""
        with guarded():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named first; a name that does not exist gets a suggestion."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            meant = " or ".join(repr(name) for name in suggested(args[0], self.list_commands(ctx)))
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {meant}?" if meant else ""))
        return super().resolve_command(ctx, args)


@contextmanager
def guarded() -> Iterator[None]:
    """Turn known exceptions into a message and an exit code, and warnings into notes.

    Exit code 1 is for failures during the work (training, integration, files that cannot be written, Ctrl-C), 2 for bad
    input (ValueError, TypeError, a missing file or extra).
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _note_warning
            yield
    except BrokenPipeError:
        raise  # the reader of our output has gone: typer ends quietly
    except (FileNotFoundError, NotADirectoryError, ModuleNotFoundError, ValueError, TypeError) as error:
        raise _ended(error, BAD_INPUT) from error
    except KeyboardInterrupt as error:
        raise _ended("interrupted", FAILED) from error
    except MemoryError as error:
        raise _ended(NO_MEMORY, FAILED) from error
    except sqlite3.Error as error:
        reason = f"the store of results cannot be used: {error}; keep a copy and try another --store"
        raise _ended(reason, FAILED) from error
    except OSError as error:
        raise _ended(error, FAILED) from error
    except RuntimeError as error:
        if "can't allocate memory" in str(error):  # what torch says on the CPU
            raise _ended(NO_MEMORY, FAILED) from error
        if type(error).__module__.partition(".")[0] != "ndcn":  # ours are TrainingError and IntegrationError
            raise
        raise _ended(error, FAILED) from error


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while what was done until the first is written and reported."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_silent = False


def silence() -> None:
    """Print errors alone from now on, and of these not what all processes raise: another process speaks."""
    global _silent
    _silent = True


def note(text: str) -> None:
    """Print a line on standard error, apart from the output of the command."""
    if not _silent or text.startswith("error"):
        typer.echo(text, err=True)


def notes(lines: Iterable[str]) -> None:
    """Print what the user has to know, a line each, on standard error."""
    for line in lines:
        note(f"note: {line}")


def data_notes(known: Dataset, words: Iterable[object], held_out: int = 0) -> None:
    """What was noticed in two files that were read: what cannot wait, then in one line how much more `ndcn inspect` shows.

    Args:
        known: what was read.
        words: the files, and the options that they were read with.
        held_out: outliers that the command holds out.
    """
    from .._support.wording import Urgent, counted

    urgent = [line for line in known.notes if isinstance(line, Urgent)]
    notes(urgent)
    rest = len(known.notes) - len(urgent)
    told = [f"{counted(rest, 'more note' if urgent else 'note')} on the data"] if rest else []
    told += [f"{counted(held_out, 'outlier')} held out"] if held_out else []
    if told:
        command = shlex.join(["ndcn", "inspect", *map(str, words)])
        note(f"note: {', '.join(told)}: `{command}` shows {'them' if rest + held_out > 1 else 'it'}")


def _ended(reason: object, code: int) -> typer.Exit:
    if _silent and isinstance(reason, Agreed):
        return typer.Exit(code)
    if isinstance(reason, OSError) and reason.strerror:
        reason = f"{reason.strerror}: {reason.filename}" if reason.filename else reason.strerror
    note("error: " + " ".join(line.strip() for line in str(reason).splitlines() if line.strip()))
    return typer.Exit(code)


def _note_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, (RuntimeWarning, UserWarning)) and not _silent:
        print(f"note: {message}", file=sys.stderr)
