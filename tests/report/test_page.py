from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ndcn
import pages
from browser import browser, why_not
from ndcn._support.registries import SECTIONS
from ndcn.report import write_report
from ndcn.report.gather import gather
from ndcn.report.page import ASSETS, CLASSES, DYNAMICS, PageKind, joined, page, scripts

KINDS = pytest.mark.parametrize("kind", [DYNAMICS, CLASSES], ids=["dynamics", "classes"])

FILES = [file for file in Path(str(ASSETS)).rglob("*") if file.is_file()]


class Reader(HTMLParser):
    """Elements, their ids, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "hostile.html"
    reg, data = pages.hostile()
    write_report(reg, file, data)
    return file.read_text(encoding="utf-8")


def test_names_from_files_cannot_become_code(text: str) -> None:
    reader = read(text)
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    content = json.loads(reader.scripts[0])
    assert tuple(content["graph"]["names"][: len(pages.HOSTILE)]) == pages.HOSTILE
    assert content["features"] == ["<b>v</b>", "w & more"]


def test_a_title_is_escaped() -> None:
    assert "<title>&lt;b&gt; at 3 nodes</title>" in page({"title": "<b> at 3 nodes"})


def test_the_policy_allows_our_script_and_no_request(text: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)  # that one names SVG and is never asked for


def test_every_element_that_the_script_asks_for_is_there(text: str) -> None:
    reader = read(text)
    assert len(set(reader.ids)) == len(reader.ids)
    asked = set(re.findall(r'byId\("([^"]+)"\)', reader.scripts[1]))
    assert asked <= set(reader.ids)


def test_every_script_of_the_package_is_used() -> None:
    there = {str(file.relative_to(ASSETS)) for file in FILES if file.suffix == ".js"}
    assert there == {f"{name}.js" for kind in (DYNAMICS, CLASSES) for name in scripts(kind=kind)}


@KINDS
def test_a_script_comes_after_those_it_imports(kind: PageKind) -> None:
    modules = {name: f"// {name}\n{text}" for name, text in scripts(kind=kind).items()}
    place = {name: joined(modules, kind.root).index(f"// {name}\n") for name in modules}
    for name, text in modules.items():
        for other in re.findall(r'from "\.\.?/(\w+)\.js"', text):
            assert place[other] < place[name], f"{other} before {name}"
    assert max(place, key=lambda name: place[name]) == kind.root


def test_scripts_that_import_each_other_are_refused() -> None:
    with pytest.raises(CycleError):
        joined({"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\n'})


@KINDS
def test_scripts_fit_together(kind: PageKind) -> None:
    """In one function they share its names: each is declared once, and what is imported is exported.

    A section has its names to itself, but it declares none of those that all share.
    """
    shared: dict[str, str] = {}
    exported = {}
    for name, text in sorted(scripts(kind=kind).items(), key=lambda item: item[0].startswith("sections/")):
        found = re.findall(r"^(export )?(?:const|let|function|async function|class) ([\w$]+)\b", text, re.MULTILINE)
        assert not re.search(r"^(?:export )?(?:const|let) [^\w$]", text, re.MULTILINE), f"{name}: one name a statement"
        declared = dict(shared) if name.startswith("sections/") else shared
        for _, one in found:
            assert declared.setdefault(one, name) == name, f"{one} is declared in {declared[one]} and in {name}"
        exported[name] = {one for export, one in found if export}
        assert len(found) == len({one for _, one in found}), f"{name} declares a name twice"
    for name, text in scripts(kind=kind).items():
        for names, other in re.findall(r'^import \{([^}]*)\} from "\.\.?/(\w+)\.js";$', text, re.MULTILINE):
            missing = {one.strip() for one in names.split(",") if one.strip()} - exported[other]
            assert not missing, f"{name} imports {missing}, which {other} does not export"
    assert not re.search(r"^(import|export)\b", joined(scripts(kind=kind), kind.root), re.MULTILINE)


def test_no_line_of_the_page_is_long() -> None:
    for file in FILES:
        lines = file.read_text(encoding="utf-8").splitlines()
        assert max(map(len, lines)) <= 120, file.name


@KINDS
def test_words_are_in_one_place(kind: PageKind) -> None:
    """No other script has a text of several words; names of elements, colours, fonts and paths are none.

    A section has its words in an object TEXT, so that a new section is one script.
    """
    for name, text in scripts(kind=kind).items():
        if name == "words":
            continue
        if name.startswith("sections/"):
            text, objects = re.subn(r"^const TEXT = \{\n.*?^\};\n", "", text, flags=re.MULTILINE | re.DOTALL)
            assert objects == 1, name
        code = re.sub(r"(^| )//.*|^import .*", "", text, flags=re.MULTILINE)
        quoted = re.findall(r'"([^"\n]*)"|`([^`]*)`', code)
        sentences = [a or b for a, b in quoted if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,} [a-z]{2,}", a or b)]
        assert sentences == [], name


def test_the_papers_size_takes_less_than_3_megabytes(tmp_path: Path) -> None:
    reg, data = pages.heat()
    size = write_report(reg, tmp_path / "heat.html", data)
    assert size == (tmp_path / "heat.html").stat().st_size < 1_000_000


def test_the_estimator_writes_it(tmp_path: Path) -> None:
    pages.ensemble().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError

    reg, data = pages.heat()
    with pytest.raises(ValueError, match="is a folder"):
        reg.report(tmp_path, data)
    with pytest.raises(FileNotFoundError, match="no folder"):
        reg.report(tmp_path / "no" / "page.html", data)
    with pytest.raises(TypeError, match=r"Trajectory.load"):
        reg.report(tmp_path / "page.html", "data")
    with pytest.raises(NotFittedError):
        ndcn.DynamicsRegressor().report(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# Sections ------------------------------------------------------------------------------------------------------------

TOY_PYTHON = """
from pathlib import Path
from ndcn.report.section import Section

def part(page):
    return {"nodes": page.shown.graph.num_nodes} if page.scores else None

SECTION = Section("Nodes & <more>", Path(__file__).with_name("toy_section.js"), part)
"""

TOY_SCRIPT = """
import { make } from "../dom.js";
import { section } from "../sections.js";

const TEXT = { nodes: (count) => `this network has ${count} nodes` };

section("toy", ({ nodes }, element) => element.append(make("p", { id: "toy-text" }, TEXT.nodes(nodes))));
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A section in a folder of its own: a Python file, a script, and a line in the registry."""
    (tmp_path / "toy_section.py").write_text(TOY_PYTHON)
    (tmp_path / "toy_section.js").write_text(TOY_SCRIPT)
    monkeypatch.syspath_prepend(tmp_path)
    SECTIONS.add("toy", "toy_section:SECTION")
    yield
    SECTIONS.remove("toy")
    sys.modules.pop("toy_section", None)


@pytest.mark.usefixtures("toy")
def test_a_section_is_a_python_file_a_script_and_a_line(tmp_path: Path) -> None:
    reg, data = pages.law()
    write_report(reg, tmp_path / "page.html", data)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    reader = read(text)
    content = json.loads(reader.scripts[0])
    assert content["toy"] == {"nodes": data.graph.num_nodes}
    assert content["sections"] == ["errors", "law", "training", "repeat", "toy"]
    assert '<h2 id="toy-title">Nodes &amp; &lt;more&gt;</h2>' in text
    if why_not() is None:
        with browser() as running:
            page = running.new_page()
            page.goto((tmp_path / "page.html").as_uri())
            page.wait_for_selector("html[data-ready]")
            assert page.inner_text("#toy #toy-text") == f"this network has {data.graph.num_nodes} nodes"
            assert page.inner_text("#toy h2") == "Nodes & <more>"


@pytest.mark.usefixtures("toy")
def test_a_section_without_content_is_left_out(tmp_path: Path) -> None:
    write_report(pages.ensemble(), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(read(text).scripts[0])["sections"] == ["training", "repeat"]
    assert 'id="toy"' not in text
    assert "toy-text" not in text


def test_a_section_cannot_take_the_name_of_a_part() -> None:
    SECTIONS.add("graph", SECTIONS.place("training"))
    try:
        with pytest.raises(ValueError, match="cannot be called 'graph'"):
            gather(*pages.law())
    finally:
        SECTIONS.remove("graph")
