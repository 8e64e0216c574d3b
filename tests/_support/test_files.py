"""Writing all or nothing."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ndcn._support import files
from ndcn._support.files import check_readable, replacing, restore, write


def _write_folder(path: Path, text: str) -> None:
    with replacing(path) as new:
        new.mkdir()
        (new / "inside").mkdir()
        (new / "inside" / "file").write_text(text)


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("one", "two"):
        write(path, lambda new, text=text: new.write_text(text))
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_written_and_replaced(tmp_path: Path) -> None:
    for text in ("one", "two"):
        _write_folder(tmp_path / "folder", text)
        assert (tmp_path / "folder" / "inside" / "file").read_text() == text
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_the_old_file_is_there_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as new:
        assert new.parent != path.parent
        assert not new.exists()
        new.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_relative_path_and_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_folder(tmp_path / "folder", "old")
    monkeypatch.chdir(tmp_path)
    write(Path("file"), lambda new: new.write_text("text"))
    assert (tmp_path / "file").read_text() == "text"
    monkeypatch.chdir(tmp_path / "folder")
    _write_folder(Path("."), "new")
    assert (tmp_path / "folder" / "inside" / "file").read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError("mistake"), KeyboardInterrupt()])
def test_a_failing_block_leaves_the_old_and_its_own_error(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(new: Path) -> None:
        new.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stage", ["mkdtemp", "fsync", "replace"])
def test_a_full_disk_at_any_stage_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile if stage == "mkdtemp" else os, stage, full)
    with pytest.raises(OSError, match=r"could not write .*file: No space left on device; nothing was changed"):
        write(path, lambda new: new.write_text("new"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_move_that_fails_puts_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    _write_folder(tmp_path / "folder", "old")
    rename, calls = os.rename, []

    def fails_once(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(files, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(os, "rename", fails_once)
    with pytest.raises(OSError, match="nothing was changed"):
        _write_folder(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "inside" / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_an_error_without_a_reason_is_told_by_its_text(tmp_path: Path) -> None:
    def fail(new: Path) -> None:
        raise OSError("the writer gave up")

    with pytest.raises(OSError, match=r"could not write .*: the writer gave up; nothing"):
        write(tmp_path / "file", fail)


def test_an_error_of_safetensors_is_one_of_writing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"could not write .*file: .*nothing was changed"):
        write(tmp_path / "file", lambda new: save_file({"weights": torch.ones(3)}, tmp_path / "absent" / "file"))
    assert not any(tmp_path.iterdir())


def test_a_file_has_the_permissions_that_a_plain_one_has(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()

    def private(new: Path) -> None:
        new.write_text("new")
        new.chmod(0o600)

    write(tmp_path / "file", private)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_does_not_replace_a_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    with pytest.raises(OSError, match="could not write"):
        write(tmp_path / "folder", lambda new: new.write_text("new"))
    with pytest.raises(OSError, match="could not write"):
        _write_folder(tmp_path / "file", "new")
    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "file").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("parent", ["absent", "file"])
def test_a_parent_that_is_no_folder(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=f"there is no folder .*{parent} to write new into; make it first"):
        write(tmp_path / parent / "new", lambda new: new.write_text("new"))


# Links, devices, kills, power ---------------------------------------------------------------------------------------


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    for name in ("disk", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "disk" / "model").write_text("old")
    link = tmp_path / "here" / "model"
    link.symlink_to(tmp_path / "disk" / "model")
    write(link, lambda new: new.write_text("new"))
    assert link.is_symlink()
    assert (tmp_path / "disk" / "model").read_text() == "new"
    (tmp_path / "here" / "next").symlink_to(tmp_path / "disk" / "next")  # nothing is there yet
    write(tmp_path / "here" / "next", lambda new: new.write_text("first"))
    assert (tmp_path / "disk" / "next").read_text() == "first"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="lead back to themselves"):
        write(tmp_path / "a", lambda new: new.write_text("new"))


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_is_neither_replaced_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "place"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(tmp_path)  # addresses of sockets are short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("place")
    else:
        path = Path(os.devnull)
    before = path.stat().st_mode
    with pytest.raises(ValueError, match=f"is a {kind}.*, not a file; give the name of a file to write"):
        write(path, lambda new: new.write_text("new"))
    with pytest.raises(ValueError, match=f"is a {kind}.*, not a model file"):
        check_readable(path, "model file")
    assert path.stat().st_mode == before


def test_a_folder_is_never_gone_while_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        return  # elsewhere there are two renames, and ``restore``
    _write_folder(tmp_path / "folder", "old")
    monkeypatch.setattr(os, "rename", lambda *_: pytest.fail("two renames"))
    _write_folder(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "inside" / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


KILLED = """
import os, signal, sys
from pathlib import Path
from ndcn._support import files
files._exchanged = lambda one, other: False
rename, calls = os.rename, []
def kill_before_the_second(source, target):
    calls.append(target)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
os.rename = kill_before_the_second
with files.replacing(Path(sys.argv[1])) as new:
    new.mkdir()
    (new / "file").write_text("new")
"""


def test_a_folder_comes_back_after_a_kill_between_two_renames(tmp_path: Path) -> None:
    """Where names cannot be exchanged."""
    _write_folder(tmp_path / "folder", "old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "folder")], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "folder").exists()
    restore(tmp_path / "folder")
    assert (tmp_path / "folder" / "inside" / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def _scratch(path: Path, *content: str) -> Path:
    folder = path.with_name(f".ndcn-{path.name}-abcd1234")
    folder.mkdir()
    for name in content:
        (folder / name).write_text("half")
    os.utime(folder, (0, 0))
    return folder


def test_what_a_killed_write_left_is_cleaned_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "model"
    _scratch(path, "model")
    write(path, lambda new: new.write_text("new"))
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_left_over_is_not_cleaned(tmp_path: Path) -> None:
    """Folders of the user, and those of a write that is going on."""
    path = tmp_path / "model"
    own = _scratch(path, "thesis")
    hidden = tmp_path / ".model.backup_1"
    hidden.mkdir()
    with replacing(path) as new:
        new.write_text("first")
        os.utime(new.parent, (0, 0))
        write(path, lambda other: other.write_text("second"))
        assert new.read_text() == "first"
    assert path.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == sorted([hidden, own, path])


def test_the_folder_is_flushed_after_the_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed, fsync = [], os.fsync

    def seen(handle: int) -> None:
        about = os.fstat(handle)
        flushed.append((stat.S_ISDIR(about.st_mode), about.st_ino, (tmp_path / "file").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    write(tmp_path / "file", lambda new: new.write_text("new"))
    assert flushed[-1] == (True, tmp_path.stat().st_ino, True)


def test_a_long_name(tmp_path: Path) -> None:
    write(tmp_path / ("n" * 250), lambda new: new.write_text("new"))
    assert len(list(tmp_path.iterdir())) == 1
