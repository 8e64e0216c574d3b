"""Writing files so that a reader never sees half of one, and saying what went wrong when it cannot be done."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from safetensors import SafetensorError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

FRESH = 60.0  # seconds in which a scratch folder is never taken for left over: its writer may be about to lock it
ABANDONED = 86_400.0  # the same where locks do not tell who is alive
OLD = "old"  # the place in a scratch folder for what is replaced
_KINDS = {
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends well it takes the place of ``path``, else it goes.

    The temporary path does not exist yet; the block may make a file or a folder there. Files are flushed to disk before
    they are moved, and so is the folder they are moved into. An existing folder is exchanged with the new one in one step
    where the system can do that (Linux). Symbolic links are followed: what they lead to is replaced.
    """
    path = followed(path)
    parent = path.parent
    if not parent.is_dir():
        raise FileNotFoundError(f"there is no folder {parent} to write {path.name} into; make it first")
    check_replaceable(path)
    with _explained(path):
        restore(path)
        scratch = Path(tempfile.mkdtemp(prefix=_prefix(path), dir=parent))
    held = _locked(scratch)
    try:
        with _explained(path):
            new = scratch / path.name
            yield new
            _flush(new)
            _move(new, path, aside=scratch / OLD)
            _flush_folder(parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if held is not None:
            os.close(held)


def write(path: Path, make: Callable[[Path], object]) -> None:
    """Write one file by ``make(temporary_path)`` and put it in place in one move."""
    with replacing(path) as new:
        new.touch()
        mode = new.stat().st_mode  # by the user's umask; some libraries write files that only the owner may read
        make(new)
        new.chmod(mode)


def followed(path: Path) -> Path:
    """The absolute path that symbolic links lead to, whether or not something is there."""
    real = Path(os.path.realpath(path))
    if real.is_symlink():  # a circle of links leads nowhere
        raise OSError(errno.ELOOP, f"could not write {path}: its symbolic links lead back to themselves")
    return real


def check_replaceable(path: Path) -> None:
    """Refuse to write to a device, a pipe or a socket, whose place a file must not take; a ValueError."""
    kind = kind_of_place(path)
    if kind not in (None, "a folder"):
        raise ValueError(f"{path} is {kind}, not a file; give the name of a file to write")


def check_readable(path: Path, what: str) -> None:
    """Refuse to read ``what`` from anything but a file: a pipe may never end, and a folder has no content.

    Raises:
        FileNotFoundError: there is nothing of this name.
        ValueError: it is a folder, a pipe, a socket or a device.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no {what} {path}")
    if (kind := kind_of_place(path)) is not None:
        raise ValueError(f"{path} is {kind}, not a {what}; give the name of a file")


def kind_of_place(path: Path) -> str | None:
    """What is at a path in words, links followed; None for a file or nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    return _KINDS.get(stat.S_IFMT(mode))


def restore(path: Path) -> None:
    """Undo what killed writes of ``path`` left: put a folder back that was moved aside, remove scratch folders.

    Only folders that ``replacing`` made are touched, and none of a writer that is at work.
    """
    with contextlib.suppress(OSError):  # what cannot be cleaned does no harm
        for scratch in _left_over(path):
            if (scratch / OLD).exists() and not path.exists():
                os.rename(scratch / OLD, path)
            shutil.rmtree(scratch, ignore_errors=True)


def _prefix(path: Path) -> str:
    return f".ndcn-{path.name[:40]}-"  # long names stay below what file systems take


def _left_over(path: Path) -> list[Path]:
    """Scratch folders of writes of this path whose writer is gone."""
    name = re.compile(re.escape(_prefix(path)) + r"[a-z0-9_]{8}")
    with os.scandir(path.parent) as entries:
        found = [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
    return [one for one in found if set(os.listdir(one)) <= {path.name, OLD} and _is_abandoned(one)]


def _is_abandoned(scratch: Path) -> bool:
    age = time.time() - scratch.stat().st_mtime
    if fcntl is None:
        return age > ABANDONED
    if age < FRESH and not (scratch / OLD).exists():  # what is moved aside has been locked before
        return False
    held = _locked(scratch)
    if held is None:
        return False
    os.close(held)
    return True


def _locked(scratch: Path) -> int | None:
    """A lock on a scratch folder, which ends with its process; None where another has it, or there are no locks."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):
        handle = os.open(scratch, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError:
            os.close(handle)
    return None


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
    if _exchanged(new, path):
        return
    # a folder that is not empty cannot be replaced in one move; after a kill in between ``restore`` puts it back
    os.rename(path, aside)
    try:
        os.rename(new, path)
    except BaseException:
        os.rename(aside, path)
        raise


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two names were exchanged in one step, which Linux and most of its file systems can."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE, linux/fcntl.h and linux/fs.h
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return False
    done: bool = renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0
    return done


def _flush(new: Path) -> None:
    for file in [new] if new.is_file() else new.rglob("*"):
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())
    if new.is_dir():
        _flush_folder(new)


def _flush_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders, and some file systems flush none
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
