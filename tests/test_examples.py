"""The scripts of examples/: they run, print what docs/examples.md shows, and draw its pictures."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DATA = ROOT.resolve().parent / "shared" / "data"
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
NEEDS = {"epidemics": DATA / "temporal", "classification": DATA / "planetoid" / "ind.cora.x"}
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)?")


def agrees(said: str, written: str) -> bool:
    """The same words, and numbers that differ by half of the larger one at most: other machines add in another order."""

    def shape(text: str) -> list[str]:
        return NUMBER.sub("#", text).split()

    pairs = zip(NUMBER.findall(said), NUMBER.findall(written), strict=False)
    close = all(abs(float(a) - float(b)) <= 0.5 * max(float(a), float(b)) for a, b in pairs)
    return shape(said) == shape(written) and close


def run(script: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(script), *arguments]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, timeout=600)


def test_there_are_examples() -> None:
    assert {script.stem for script in SCRIPTS} >= {"heat", "own_law", "own_csv", "transfer", *NEEDS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_is_short_explained_and_shown(script: Path) -> None:
    text = script.read_text()
    code = compile(text, str(script), "exec")
    assert code.co_consts[0].count("\n") >= 3, "an example begins with what it is about and how to run it"
    assert f"python examples/{script.name}" in text
    assert len(text.splitlines()) <= 90
    page = (ROOT / "docs" / "examples.md").read_text()
    for part in (
        f'"examples/{script.name}"',
        f'"examples/output/{script.stem}.txt"',
        f"images/example_{script.stem}.png",
    ):
        assert part in page
    assert (ROOT / "examples" / "output" / f"{script.stem}.txt").read_text().strip()


@pytest.mark.parametrize("name", ["epidemics", pytest.param("classification", marks=pytest.mark.slow)])
def test_data_that_are_not_there_are_asked_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match="nowhere: say where"):
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_prints_what_is_shown(script: Path, tmp_path: Path) -> None:
    need = NEEDS.get(script.stem)
    if need is not None and not need.exists():
        pytest.skip(f"needs {need}")
    done = run(script, tmp_path, *([] if need is None else [str(need.parent)]))
    assert done.returncode == 0, done.stderr
    written = (ROOT / "examples" / "output" / f"{script.stem}.txt").read_text()
    assert agrees(done.stdout, written), done.stdout
    assert (tmp_path / f"example_{script.stem}.png").stat().st_size > 5000


def test_what_differs_is_noticed() -> None:
    assert agrees("error 2.6 %, 30 nodes\n", "error 3.1 %, 30 nodes")
    assert not agrees("error 2.6 %", "error 7.0 %")
    assert not agrees("error 2.6 %", "error 2.6 % more")
    assert not agrees("mistake 2.6 %", "error 2.6 %")
