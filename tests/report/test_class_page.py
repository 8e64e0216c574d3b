"""The page of a node classifier: its content, and as people see it in headless Chromium."""

from __future__ import annotations

import base64
import json
import re
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError

import ndcn
import pages
from browser import browser, why_not
from commands import parsed, refused, run
from ndcn._support.registries import CLASS_SECTIONS
from ndcn.classify import accuracies_over
from ndcn.report import write_class_report
from ndcn.report.classes import gather_classes

needs_browser = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def integers(packed: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), f"<u{packed['bits'] // 8}")


# Content --------------------------------------------------------------------------------------------------------


def test_what_the_page_holds() -> None:
    clf = pages.classifier()
    content = gather_classes(clf)
    judged = clf.held_out()
    p = clf.predict_proba()
    assert (integers(content["classes"]["label"]).astype(int) - 1).tolist() == clf.codes_.tolist()
    assert integers(content["classes"]["judged"]).astype(bool).tolist() == judged.tolist()
    assert integers(content["classes"]["likeliest"]).reshape(34, 2)[:, 0].tolist() == p.argmax(dim=1).tolist()
    facts = content["facts"]
    assert facts["accuracy"] == pytest.approx(clf.score(judged))
    assert facts["ece"] == clf.calibration().ece
    assert facts["judged"] == int(judged.sum())
    matrix = np.array(content["confusion"]["matrix"])
    assert matrix.sum() == judged.sum()
    assert np.trace(matrix) / matrix.sum() == pytest.approx(facts["accuracy"])
    assert matrix.sum(axis=1).tolist() == content["confusion"]["labelled"]
    over = content["over_time"]
    assert over["accuracy"]["judged"][8] == pytest.approx(facts["accuracy"], rel=1e-5)  # at T itself
    assert over["times"][8] == over["T"] == 2.0
    json.dumps(content, allow_nan=False)


def test_the_page_says_whether_the_graph_helps() -> None:
    club = ndcn.datasets.karate_club()
    clf = ndcn.NodeClassifier(epochs=2, progress=False).fit(club.graph, club.features, club.labels, club.train_mask)
    assert gather_classes(clf)["notes"][0] == str(clf.choice_)
    assert clf.choice_ is not None


def test_the_nodes_that_count_most_are_those_of_explain() -> None:
    clf = pages.classifier()
    found = gather_classes(clf)["why"]
    nodes = integers(found["nodes"]).reshape(34, found["shown"])
    for k in (0, 8, 33):
        table = clf.explain(clf.graph_.nodes[k]).table
        assert [clf.graph_.nodes[j] for j in nodes[k]] == table.node.head(found["shown"]).tolist()


def test_accuracies_at_other_times() -> None:
    """At time 0 features alone decide; at another time it is as if the model had that time."""
    clf = pages.classifier()
    mask = clf.held_out()
    at_zero, later = accuracies_over(clf, [0.0, 5.0], [mask])[:, 0]
    model, table = clf.model_, clf._table(clf.features_, clf.recipe_)
    with torch.no_grad():
        alone = model.start(table).sum(dim=1) + model.decoder.bias
        model.fixed_T = 5.0
        try:
            assert later == clf.score(mask)
        finally:
            model.fixed_T = 2.0
    assert at_zero == pytest.approx((alone.argmax(dim=1) == clf.codes_)[mask].double().mean().item())


def test_pages_without_some_parts(tmp_path: Path) -> None:
    data = ndcn.datasets.karate_club()
    everything = torch.ones(34, dtype=torch.bool)
    paper = ndcn.NodeClassifier(preset="paper", hidden=4, epochs=2, progress=False)
    paper.fit(data.graph, data.features, data.labels, everything)
    content = gather_classes(paper)
    assert (content["why"], content["over_time"], content["confusion"], content["reliability"]) == (None,) * 4
    assert any("No node of known class was held out" in note for note in content["notes"])
    assert any("not linear" in note for note in content["notes"])
    assert content["explained"] is False
    assert write_class_report(paper, tmp_path / "page.html") < 200_000
    with pytest.raises(ValueError, match="mask holds no node"):
        paper.report(tmp_path / "page.html", ~everything)
    with pytest.raises(ValueError, match="is a folder"):
        paper.report(tmp_path)
    with pytest.raises(NotFittedError):
        ndcn.NodeClassifier().report(tmp_path / "page.html")


def test_features_alone_have_no_time_of_diffusion() -> None:
    data = ndcn.datasets.karate_club()
    clf = ndcn.NodeClassifier(field="features", hidden=4, epochs=2, progress=False)
    content = gather_classes(clf.fit(data.graph, data.features, data.labels, data.train_mask))
    assert (content["facts"]["T"], content["over_time"], content["explained"]) == (None, None, True)


@needs_browser
def test_the_card_of_a_field_that_is_not_linear_and_of_none(running: Any, tmp_path: Path) -> None:
    data = ndcn.datasets.karate_club()
    for about, rows in ({"preset": "paper"}, 0), ({"field": "features"}, 4):
        clf = ndcn.NodeClassifier(hidden=4, epochs=9, progress=False, **about)
        clf.fit(data.graph, data.features, data.labels, data.train_mask).report(tmp_path / "page.html")
        page = running.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("html[data-ready]")
        assert page.locator("#node-why code").count() == 0
        assert page.locator("#why tbody tr").count() == rows  # itself, all others, bias, sum
        page.close()


def test_many_classes_are_listed_by_pairs(tmp_path: Path) -> None:
    labels = np.arange(120) % 30
    clf = ndcn.NodeClassifier(T=1.0, hidden=8, epochs=1, progress=False)
    clf.fit(ndcn.networks.grid(120), sparse.eye_array(120), labels, np.arange(120) < 60)
    content = gather_classes(clf)
    assert content["confusion"]["matrix"] is None
    assert 0 < len(content["confusion"]["pairs"]) <= 24
    assert content["classes"]["shown"] == 5


def test_a_large_graph_stays_small_and_is_not_explained(tmp_path: Path) -> None:
    n = 3200
    features = sparse.random_array((n, 20), density=0.1, rng=0)
    clf = ndcn.NodeClassifier(T=1.0, hidden=4, epochs=1, progress=False)
    clf.fit(ndcn.networks.grid(n), features, np.arange(n) % 3, np.arange(n) < 90)
    size = write_class_report(clf, tmp_path / "page.html")
    assert size < 300_000
    assert "<title>Classes of 3,200 nodes</title>" in (tmp_path / "page.html").read_text()
    assert '"why":null' in (tmp_path / "page.html").read_text()


def test_names_from_files_cannot_become_code(tmp_path: Path) -> None:
    pages.classifier().report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert "window.hacked = 1</script>" not in text
    script = text.rpartition("<script>")[2]
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    asked = set(re.findall(r'byId\("([^"]+)"\)', script))
    assert asked
    assert asked <= ids
    assert "default-src 'none'" in text


def test_a_section_cannot_take_the_name_of_a_part() -> None:
    CLASS_SECTIONS.add("graph", CLASS_SECTIONS.place("training"))
    try:
        with pytest.raises(ValueError, match="cannot be called 'graph'"):
            gather_classes(pages.classifier())
    finally:
        CLASS_SECTIONS.remove("graph")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("classify", "--hidden", 4, "--epochs", 3, "--save", "club.ndcn")
    said = parsed("report", "club.ndcn", "--out", "club.html")
    assert said == {"out": "club.html", "bytes": Path("club.html").stat().st_size, "nodes": 34}
    assert "ndcn report club.ndcn --out report.html" in Path("club.html").read_text()
    assert "give no data" in refused("report", "club.ndcn", "data")
    assert "there is no model file" in refused("report", "no.ndcn")


# In a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def shown(running: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page, on which nothing may be said, and which asks for nothing but itself."""
    file = tmp_path_factory.mktemp("classes") / "page.html"
    pages.classifier().report(file)
    said: list[str] = []
    page = running.new_page(viewport={"width": 1400, "height": 900})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url == file.as_uri() else said.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    assert said == []


@needs_browser
def test_it_opens_on_the_least_certain_node(shown: Any) -> None:
    clf = pages.classifier()
    p = clf.predict_proba()
    node = int(p.max(dim=1).values.argmin())
    assert shown.inner_text("#node-card .node-name") == clf.graph_.nodes[node]
    assert shown.locator("#panels figure").count() == 3
    assert shown.inner_text("#unsure-table tbody tr:first-child th") == clf.graph_.nodes[node]
    assert [shown.inner_text(f"#{name} h2") for name in ("confusion", "over_time")] == [
        "Confusion matrix",
        "Accuracy over the time of diffusion",
    ]
    assert shown.evaluate("window.hacked") is None


@needs_browser
def test_a_node_that_is_found_is_explained(shown: Any) -> None:
    clf = pages.classifier()
    shown.fill("#search", "n20")
    shown.press("#search", "Enter")
    shown.locator("#node-card .node-name", has_text="n20").wait_for()
    why = clf.explain("n20")
    rows = [row.inner_text().split("\t") for row in shown.locator("#why tbody tr").all()]
    assert [row[0].strip() for row in rows[:6]] == [str(name) for name in why.table.node.head(6)]
    numbers = [float(row[-1].replace("−", "-")) for row in rows]
    assert numbers[:6] == pytest.approx(why.table.contribution.head(6).tolist(), abs=1e-3)
    assert numbers[-1] == pytest.approx(why.log_odds, abs=1e-3)
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=6e-3)
    assert f"{100 * why.probability:.1f} %" in shown.inner_text("#node-card .values")


@needs_browser
def test_cells_of_the_matrix_and_keys(shown: Any) -> None:
    clf = pages.classifier()
    count = shown.locator("#matrix button.cell").count()
    assert count >= 2
    shown.locator("#matrix button.cell").first.click()
    name = shown.inner_text("#node-card .node-name")
    node = list(clf.graph_.nodes).index(name)
    assert clf.held_out()[node]
    before = shown.evaluate("document.querySelector('#panels canvas[role]').toDataURL()")
    shown.keyboard.press("d")
    shown.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    shown.keyboard.press("l")
    shown.wait_for_timeout(600)
    assert shown.evaluate("document.querySelector('#panels canvas[role]').toDataURL()") != before


@needs_browser
def test_a_graph_too_large_to_explain_gives_the_command(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndcn.report.classes.MOST_EXPLAINED", 33)
    write_class_report(pages.classifier(), tmp_path / "page.html", model_name="my model.ndcn")
    page = running.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.fill("#search", "Zürich")
    page.press("#search", "Enter")
    page.locator(
        "#node-card .node-name", has_text="Z"
    ).wait_for()  # the page's policy forbids scripts in texts to wait for
    page.locator("#node-why code", has_text="Z").wait_for()
    words = shlex.split(page.inner_text("#node-why code"))
    page.close()
    assert words == ["ndcn", "explain", "my model.ndcn", pages.HOSTILE[5]]
