"""Places to write to, checked before any work: nothing that is read is written over, and no folder of others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .files import check_replaceable, kind_of_place
from .plain_json import from_json

DATA_FORMAT = "ndcn-data"
DATA_FILES = ("data.json", "edges.parquet", "inputs.parquet", "states.parquet")


def check_not_read(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, by whatever name or link, or a file of a data folder that is one.

    Raises:
        ValueError: it is; or it is a device, a pipe or a socket.
    """
    check_replaceable(path)
    for read in inputs:
        inside = path.exists() and path.name in DATA_FILES and read.is_dir() and _same(path.parent, read)
        if inside or _same(path, read):
            raise ValueError(
                f"{path} is read by this command, and would be overwritten; choose another name to write to"
            )


def check_data_folder(folder: Path) -> None:
    """Refuse a folder that is there and is not ndcn data, or holds other files too: it is replaced as a whole; a ValueError."""
    if not folder.exists():
        return
    try:
        about = from_json((folder / "data.json").read_text()) if kind_of_place(folder / "data.json") is None else None
    except (OSError, ValueError):
        about = None
    if not isinstance(about, dict) or about.get("format") != DATA_FORMAT:
        raise ValueError(f"{folder} exists and is not ndcn data; choose another name or remove it")
    if others := sorted(set(os.listdir(folder)) - set(DATA_FILES)):
        raise ValueError(
            f"{folder} holds other files than ndcn data, which would be lost: {', '.join(others[:3])}; move them, or choose "
            "another name"
        )


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
