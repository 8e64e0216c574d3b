"""Writing files so that a reader never sees half of one, and saying what went wrong when it cannot be done."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from safetensors import SafetensorError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends well it takes the place of ``path``, else it goes.

    The temporary path does not exist yet; the block may make a file or a folder there. A file is flushed to disk before
    it is moved. An existing folder is replaced by the new one.
    """
    path = Path(os.path.abspath(path))
    parent = path.parent
    if not parent.is_dir():
        raise FileNotFoundError(f"there is no folder {parent} to write {path.name} into; make it first")
    with _explained(path):
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=parent))
    try:
        with _explained(path):
            new = scratch / path.name
            yield new
            _flush(new)
            _move(new, path, aside=scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write(path: Path, make: Callable[[Path], object]) -> None:
    """Write one file by ``make(temporary_path)`` and put it in place in one move."""
    with replacing(path) as new:
        new.touch()
        mode = new.stat().st_mode  # by the user's umask; some libraries write files that only the owner may read
        make(new)
        new.chmod(mode)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno, f"could not write {path}: {reason}; nothing was changed") from error
    except SafetensorError as error:  # what safetensors raises when the disk is full
        raise OSError(errno.EIO, f"could not write {path}: {error}; nothing was changed") from error


def _move(new: Path, path: Path, aside: Path) -> None:
    if not (path.is_dir() and new.is_dir()):
        os.replace(new, path)
        return
    os.rename(path, aside)  # a folder that is not empty cannot be replaced in one move
    try:
        os.rename(new, path)
    except BaseException:
        os.rename(aside, path)
        raise


def _flush(new: Path) -> None:
    for file in [new] if new.is_file() else new.rglob("*"):
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())
