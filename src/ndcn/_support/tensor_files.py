"""Tensors and a JSON text in one safetensors file, with a checksum over both."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .files import check_readable, write

TEXT = "ndcn"  # key of the metadata; there is one, for several are written in no certain order
WRITES = {"model": "`ndcn fit` writes models, as model.ndcn"}  # where a file of the right kind comes from
SEAL = re.compile(r'\{"sha256": "([0-9a-f]{64})", ')  # how the text of a file with a checksum begins


def write_tensors(path: Path, text: str, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write a text, a JSON object with entries, and tensors; the file appears in one move."""
    own = {name: value.clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}  # no views
    sealed = f'{{"sha256": "{_checksum(text, own)}", {text[1:]}'
    write(path, lambda new: save_file(own, new, metadata={TEXT: sealed}))


def read_text(path: Path, what: str) -> str:
    """The text of a file alone; "{}" if it has none. ``what`` the file is to be is for messages.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no file, or no safetensors file.
    """
    return _read(path, what, tensors=False)[0]


def read_tensors(path: Path, what: str) -> tuple[str, dict[str, torch.Tensor]]:
    """The text and the tensors of a file; both are what was written if it has a checksum, as files since 0.3 have.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no file, no safetensors file, or its content does not match its checksum.
    """
    return _read(path, what, tensors=True)


def _read(path: Path, what: str, *, tensors: bool) -> tuple[str, dict[str, torch.Tensor]]:
    check_readable(path, f"{what} file")
    try:
        with open(path, "rb") as begun:
            if (first := begun.read(9)) and first[8:] != b"{":  # the header's length in 8 bytes, then its JSON
                raise ValueError(f"it does not begin as one; {WRITES.get(what, 'name another file')}")
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(TEXT, "{}")
            if not tensors:
                return text, {}
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dict
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path} is not an ndcn {what}, or is damaged: {error}") from error
    seal = SEAL.match(text)
    if seal is not None and seal[1] != _checksum("{" + text[seal.end() :], found):
        raise ValueError(
            f"{path} is damaged: its content does not match its checksum; copy it again from where it came, or make it anew"
        )
    return text, found


def _checksum(text: str, tensors: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, value in sorted(tensors.items()):
        digest.update(repr((name, str(value.dtype), tuple(value.shape))).encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
