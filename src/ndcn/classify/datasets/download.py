"""Fetching files once, into a cache folder, and only if they are what they should be."""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path

from ..._support.files import write
from ..._support.progress import Progress

TIMEOUT = 30.0  # seconds without an answer, after which a connection is given up
LONGEST = 900.0  # seconds for one file, all attempts together: 20 MB at 25 kB/s, whatever else the server sends
ATTEMPTS = 3  # for errors that may pass: a broken connection, a server that is busy
LARGEST = 200 * 2**20  # bytes: the files of Pubmed have 20 MB in all, and an answer without end must stop
CHUNK = 2**16  # bytes read at once


def cache_folder() -> Path:
    """Where downloaded data are kept: the folder that NDCN_DATA names, else ~/.cache/ndcn."""
    named = os.environ.get("NDCN_DATA")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "ndcn"


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
    with Progress(len(names), 0, progress, unit="files", name="downloading") as bar:
        for done, name in enumerate(names, start=1):
            try:
                content = _within(LONGEST, f"{url}/{name}")
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                raise ConnectionError(
                    f"could not download {url}/{name}: {reason}. Without a network, fetch these files elsewhere and put them "
                    f"into {folder.resolve()}: {', '.join(names)}"
                ) from error
            check(name, content)
            write(folder / name, partial(Path.write_bytes, data=content))
            bar.update(done)


def _within(seconds: float, address: str) -> bytes:
    """What ``_get`` returns or raises; a TimeoutError if that takes longer, however slowly the answer comes."""
    done: list[bytes | BaseException] = []
    given_up = threading.Event()

    def get() -> None:
        try:
            done.append(_get(address, given_up))
        except BaseException as error:  # raised again below
            done.append(error)

    worker = threading.Thread(target=get, daemon=True)  # which an end of the program does not wait for
    worker.start()
    worker.join(seconds)
    given_up.set()
    if not done:
        raise TimeoutError(f"it was not complete after {seconds:g} seconds")
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _get(address: str, given_up: threading.Event) -> bytes:
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                parts, size = [], 0
                while not given_up.is_set() and (part := answer.read1(CHUNK)):
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
