"""Every digit that the page shows is that of the tables of ``ndcn predict``, over eight decades."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browser import browser, why_not
from ndcn.cli import app

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

COUNT, STEPS, HORIZON = 17, 40, 4
NAMES = [f"n{k}" for k in range(COUNT)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nodes of sizes from 1e-3 to 1e5, a ring; a forecast and a trained model, their tables and pages."""
    folder = tmp_path_factory.mktemp("digits")
    rng = np.random.default_rng(0)
    size = 10.0 ** np.linspace(-3, 5, COUNT)
    t = np.arange(STEPS)
    x = size * (1 + 0.02 * t[:, None] + 0.3 * np.sin(t[:, None] / 3 + rng.uniform(0, 6, COUNT)))
    x *= np.exp(0.05 * rng.normal(size=x.shape))
    x = np.array([[float(f"{v:.5g}") for v in row] for row in x])  # ends in 5: halfway between two that are shown
    dates = pd.date_range("2023-01-01", periods=STEPS).strftime("%Y-%m-%d")
    pd.DataFrame({"source": NAMES, "target": [*NAMES[1:], NAMES[0]]}).to_csv(folder / "edges.csv", index=False)
    pd.DataFrame(x, columns=NAMES).assign(date=dates).set_index("date").to_csv(folder / "cases.csv")
    data = [str(folder / "edges.csv"), str(folder / "cases.csv")]
    for name, options in (
        ("auto", ["--horizon", str(HORIZON)]),
        ("ndcn", ["--model", "ndcn", "--epochs", "2", "--interpolation", "0", "--extrapolation", "0"]),
    ):
        model = str(folder / f"{name}.ndcn")
        run("fit", *data, *options, "--out", model)
        run("report", model, *data, "--out", str(folder / f"{name}.html"))
    run("predict", str(folder / "auto.ndcn"), "--out", str(folder / "auto.csv"))
    run("predict", str(folder / "ndcn.ndcn"), "--times", ",".join(dates), "--out", str(folder / "ndcn.csv"))
    return folder


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as one:
        yield one


def shown(number: str) -> str:
    """A number of a table as the page should show it: four digits, and all before the point below ten million."""
    value = Decimal(number)
    if value == 0:
        return "0"
    power = value.adjusted()
    last = power - 3 if not 3 <= power < 7 else 0
    near = value.quantize(Decimal(1).scaleb(last), rounding=ROUND_HALF_UP)
    if -3 <= near.adjusted() < 7:
        text = f"{near:f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    digits = f"{near.scaleb(-near.adjusted()):f}".rstrip("0").rstrip(".")
    return f"{digits}e{near.adjusted()}".replace("-", "−")


def test_what_should_be_shown() -> None:
    for number, text in (("6.04", "6.04"), ("1234.5", "1235"), ("1234567.8", "1234568"), ("12345678", "1.235e7")):
        assert shown(number) == text
    for number, text in (("0.00123456", "0.001235"), ("0.000123456", "1.235e−4"), ("-99.995", "−100")):
        assert shown(number) == text


def rows_of(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Rows of a table as its text has them, by date and node."""
    return {(row["time"], row["node"]): row for row in csv.DictReader(io.StringIO(path.read_text()))}


def test_every_number_of_a_forecast_is_that_of_its_table(running: Any, files: Path) -> None:
    page = running.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(10_000)
    page.goto((files / "auto.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    made = rows_of(files / "auto.csv")
    truth = {(row["date"], name): row[name] for row in csv.DictReader((files / "cases.csv").open()) for name in NAMES}
    assert len(made) == COUNT * HORIZON
    feature = next(name.removesuffix("_lower") for name in next(iter(made.values())) if name.endswith("_lower"))
    page.click("#node-chart summary")
    for name in NAMES:
        page.fill("#search", name)
        page.keyboard.press("Enter")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        table = page.evaluate(
            "() => [...document.querySelectorAll('#node-chart tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
        )
        assert len(table) == STEPS + HORIZON
        for date, _, real, guess, low, high in table:
            row = made.get((date, name))
            texts = ["–"] * 3 if row is None else [shown(row[feature + end]) for end in ("", "_lower", "_upper")]
            assert [guess, low, high] == texts
            assert real == (shown(truth[date, name]) if row is None else "–")
        date = page.inner_text("#clock")
        cells = page.evaluate(
            "() => Object.fromEntries([...document.querySelectorAll('#node-card .values tr')].map(r => [r.cells[0].innerText, r.cells[1].innerText]))"
        )
        row = made[date, name]
        assert cells["Prediction"] == shown(row[feature])
        assert cells["90 % interval"] == f"{shown(row[f'{feature}_lower'])} to {shown(row[f'{feature}_upper'])}"
        if name in NAMES[::8]:  # what a screen reader hears, a moment later
            page.wait_for_function(
                "([name, text]) => document.getElementById('said').textContent === `${name}: prediction ${text}`",
                arg=[f"{name} at {date}", shown(row[feature])],
            )
    page.close()


def test_a_hint_at_a_node_shows_its_number(running: Any, files: Path) -> None:
    """What is written beside the pointer, as the page draws it."""
    page = running.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(10_000)
    page.add_init_script(
        "const draw = CanvasRenderingContext2D.prototype.fillText; window.drawn = [];"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) "
        "{ window.drawn.push(text); return draw.call(this, text, ...rest); };"
    )
    page.goto((files / "auto.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    made, date = rows_of(files / "auto.csv"), page.inner_text("#clock")
    feature = list(next(iter(made.values())))[2]
    page.click("text=Square")
    box = page.locator("figure[data-kind=prediction] canvas[role]").bounding_box()
    side, cells = box["width"] - 24, int(np.ceil(np.sqrt(COUNT)))
    seen = set()
    for k in range(COUNT):
        page.evaluate("window.drawn = []")
        page.mouse.move(
            box["x"] + 12 + side * (k % cells + 0.5) / cells, box["y"] + 12 + side * (k // cells + 0.5) / cells
        )
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        hints = [text.split("  ") for text in page.evaluate("window.drawn") if "  " in text]
        assert len(hints) == 2
        name, number = hints[1]  # the first is beside the node's observation
        assert number == shown(made[date, name][feature])
        seen.add(name)
    assert seen == set(NAMES)
    page.close()


def test_numbers_of_single_precision_are_those_of_the_table_too(running: Any, files: Path) -> None:
    page = running.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(10_000)
    page.goto((files / "ndcn.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    made = rows_of(files / "ndcn.csv")
    feature = list(next(iter(made.values())))[2]
    page.click("#node-chart summary")
    for name in NAMES[::4]:
        page.fill("#search", name)
        page.keyboard.press("Enter")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        table = page.evaluate(
            "() => [...document.querySelectorAll('#node-chart tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
        )
        assert [row[3] for row in table[:STEPS]] == [shown(made[row[0], name][feature]) for row in table[:STEPS]]
    page.click("#download")
    with page.expect_download() as waiting:
        page.click("[data-save=curves]")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    for row in rows[:STEPS]:
        assert float(row["prediction"]) == float(made[row["time"], row["node"]][feature])
    page.close()


@pytest.mark.parametrize("name", ["auto", "ndcn"])
def test_json_has_the_digits_of_the_table(files: Path, name: str) -> None:
    made = rows_of(files / f"{name}.csv")
    dates = list(dict.fromkeys(date for date, _ in made))
    found = json.loads(run("predict", str(files / f"{name}.ndcn"), "--times", ",".join(dates), "--json"))
    feature = found["features"][0]
    for k, date in enumerate(dates):
        for i, node in enumerate(found["nodes"]):
            assert found["states"][k][i][0] == float(made[date, node][feature])
