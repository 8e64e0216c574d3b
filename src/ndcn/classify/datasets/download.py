"""Fetching files once, into a cache folder, and only if they are what they should be."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..._support.files import write

TIMEOUT = 30.0  # seconds without an answer
ATTEMPTS = 3
LARGEST = 200 * 2**20  # bytes; no file of these data sets comes near
CHUNK = 2**16


def cache_folder() -> Path:
    """Where downloaded data are kept: the folder that NDCN_DATA names, else ~/.cache/ndcn."""
    named = os.environ.get("NDCN_DATA")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "ndcn"


def sha256(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def fetch(names: list[str], url: str, folder: Path, check: Callable[[str, bytes], None], progress: bool | None) -> None:
    """Download ``url/name`` to ``folder/name`` for each name; a file appears there whole and checked, or not at all.

    Raises:
        ConnectionError: the server cannot be reached, or does not have the file. The message says what to put where.
        ValueError: ``url`` is neither http nor https, or ``check`` refuses a file.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"data come over http or https, got {url!r}")
    url = url.rstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    with _shown(len(names), progress) as advance:
        for name in names:
            try:
                content = _get(f"{url}/{name}")
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                raise ConnectionError(
                    f"could not download {url}/{name}: {reason}. Without a network, fetch these files elsewhere and put them "
                    f"into {folder.resolve()}: {', '.join(names)}"
                ) from error
            check(name, content)
            write(folder / name, partial(Path.write_bytes, data=content))
            advance(name)


def _get(address: str) -> bytes:
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                parts, size = [], 0
                while part := answer.read(CHUNK):
                    parts.append(part)
                    size += len(part)
                    if size > LARGEST:
                        raise ConnectionError(f"it is larger than {LARGEST >> 20} MiB, which it should not be")
                expected = answer.headers.get("Content-Length")
                if expected is not None and size != int(expected):
                    raise ConnectionError(f"the connection ended after {size} of {expected} bytes")
                return b"".join(parts)
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == ATTEMPTS - 1:
                raise
        except (OSError, HTTPException):
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


@contextmanager
def _shown(total: int, show: bool | None) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error: if asked for, or, with None, on a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda name: None
        return
    columns = (
        TextColumn("downloading"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} files {task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)
