"""Exceptions as one line on standard error and an exit code; no other module of the command line does that."""

from __future__ import annotations

import sqlite3
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from .suggestions import suggested

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


def note(text: str) -> None:
    """Print a line on standard error, apart from the output of the command."""
    typer.echo(text, err=True)


def notes(lines: Iterable[str]) -> None:
    """Print what the user has to know, a line each, on standard error."""
    for line in lines:
        note(f"note: {line}")


def _ended(reason: object, code: int) -> typer.Exit:
    if isinstance(reason, OSError) and reason.strerror:
        reason = f"{reason.strerror}: {reason.filename}" if reason.filename else reason.strerror
    note("error: " + " ".join(line.strip() for line in str(reason).splitlines() if line.strip()))
    return typer.Exit(code)


def _note_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, (RuntimeWarning, UserWarning)):
        print(f"note: {message}", file=sys.stderr)
