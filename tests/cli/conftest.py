"""What tests of commands share: a folder to work in, and data and a model in another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from commands import run


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a model, made by the commands themselves."""
    base = tmp_path_factory.mktemp("made")
    run("simulate", "--nodes", 25, "--snapshots", 30, "--out", base / "data")
    run("fit", base / "data", "--epochs", 8, "--out", base / "model.ndcn")
    return base
