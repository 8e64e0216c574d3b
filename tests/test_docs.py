"""The pages run: every Python block, every ``ndcn`` command and every relative link of README.md, CONTRIBUTING.md and docs/."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

ROOT = Path(__file__).parent.parent
LONG = ("paper.md", "classification.md", "interaction.md")  # the commands in them have tests of their own in tests/cli
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text and the line of the page on which the text begins."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(text)]


def commands(block: Block) -> list[list[str]]:
    """The ``ndcn`` commands of a shell block, without prompt; other commands and output are left out."""
    lines = block.text.replace("\\\n", " ").splitlines()
    lines = [line.removeprefix("$ ") for line in lines if block.language == "sh" or line.startswith("$ ")]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("ndcn ")]


def run_page(page: Path, text: str) -> int:
    """Run the blocks of a page in order, in one namespace and the current folder; how many ran.

    ``python`` blocks and ``ndcn`` commands run; ``py`` marks code that takes minutes and is only compiled.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    with torch.random.fork_rng(devices=[]):
        for block in blocks(text):
            if block.language == "python":
                code = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
                exec(compile(code, str(page), "exec"), namespace)
                ran += 1
            elif block.language == "py":
                compile(block.text, str(page), "exec")
            elif block.language in ("sh", "console"):
                ran += sum(run_command(words, f"{page.name}:{block.line}") for words in commands(block))
    return ran


def run_command(words: list[str], where: str) -> bool:
    from ndcn.cli import app

    result = CliRunner().invoke(app, words)
    if result.exit_code != 0:
        raise AssertionError(f"{where}: ndcn {' '.join(words)} ended with {result.exit_code}: {result.output}")
    return True


def headings(text: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub and mkdocs make them."""
    titles = re.findall(r"^#+ +(.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def own_files(folder: Path) -> None:
    """The files that pages take for the reader's own: a ring of 8 places, 45 days and what came after, classes of some."""
    places, rng = [f"place {k}" for k in range(8)], np.random.default_rng(0)
    lines = [f"{a},{b}" for a, b in zip(places, places[1:] + places[:1], strict=True)]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    table = pd.DataFrame(rng.poisson(20, size=(65, 8)), columns=places, index=pd.date_range("2021-01-01", periods=65))
    table[:45].to_csv(folder / "states.csv", index_label="date")
    table[45:].to_csv(folder / "later.csv", index_label="date")
    regions = pd.DataFrame({"node": places, "region": ["north", "south"] * 4, "country": ["here"] * 8})
    regions.to_csv(folder / "groups.csv", index=False)
    sides = pd.DataFrame({"node": places, "a": np.arange(8) < 4, "b": rng.random(8)}).astype({"a": float})
    sides.to_csv(folder / "features.csv", index=False)
    sides.assign(label=np.where(sides["a"] > 0, "left", "right"))[["node", "label"]][::2].to_csv(
        folder / "labels.csv", index=False
    )


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.name, marks=pytest.mark.slow if page.name in LONG else ()) for page in PAGES]
)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own_files(tmp_path)
    run_page(page, page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    for target in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in headings(file.read_text()), f"{page.name} links to {target}, but there is no such heading"


def test_the_pages_say_what_they_should() -> None:
    """A page that lost its examples would pass every test above."""
    ran = {
        page.name: [b for b in blocks(page.read_text()) if b.language in ("python", "sh", "console")] for page in PAGES
    }
    for name in ("README.md", "quickstart.md", "extending.md", "mathematics.md", "reproducibility.md"):
        assert ran[name], name
    for name in ("README.md", "quickstart.md"):
        used = {words[0] for block in ran[name] for words in commands(block)}
        assert {"simulate", "fit", "predict", "evaluate"} <= used, name


def test_the_navigation_has_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert sorted(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == sorted(
        page.name for page in (ROOT / "docs").glob("*.md")
    )


def test_a_block_that_fails_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("page.md")
    with pytest.raises(ZeroDivisionError):
        run_page(page, "text\n\n```python\n1 / 0\n```\n")
    with pytest.raises(AssertionError, match=r"page.md:2: ndcn fit nowhere ended with 2"):
        run_page(page, "```console\n$ ndcn fit nowhere\nsome output\n```\n")
    with pytest.raises(AssertionError, match="ended with 2"):
        run_page(page, "```sh\nmake demo\nndcn simulate \\\n    --law gravity\n```\n")
    assert run_page(page, "```sh\nmake demo\n```\n\n```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n") == 2
