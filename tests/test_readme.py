"""Every number of README.md is that of a stored result or of a table in docs/."""

from __future__ import annotations

import json
import re

import pytest

from ndcn.cli.demo import _percent
from places import ROOT

README = (ROOT / "README.md").read_text()
PROSE = " ".join(re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL).split())
STORED = json.loads((ROOT / "benchmarks" / "results" / "readme.json").read_text())
SPEED = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text())["parts"]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("forecast", "interaction", "results", "limits")}
LAWS, NETWORKS = ("heat", "mutualistic", "gene"), ("grid", "random", "power_law", "small_world", "community")

# Numbers that were not measured: what was set, names and dates.
SET = (
    *(
        "Python 3.10 to 3.13",
        "KDD 2020",
        "on 5 May",
        "60 snapshots of the 34 members",
        "tanh(2 (x_j − x_i))",
        "400-node grid",
    ),
    *("the 20 times after the training times", "400 nodes, 901 parameters, 2000 epochs; mean"),
    *("of 20 runs, here and in the paper", "0.9", "90 % intervals", "trained up to t = 4"),
    *("--times 2021-05-01", "normalised l1", "l1 error", "ndcn,ndcn_default", "7 days ahead"),
)


def cells(page: str, start: str) -> list[str]:
    """The cells of the first row of a table that starts so."""
    (row,) = re.findall(rf"^\| {re.escape(start)}.*$", PAGES[page], re.MULTILINE)[:1]
    return [cell.strip() for cell in row.strip("|").split("|")]


def forecast_claims() -> list[str]:
    """Over all tables of docs/forecast.md that have a mean: the first is of the origins that count, others were held back."""
    rows = re.findall(r"^\| mean \(largest\) \| ([\d.]+) \(([\d.]+)\)", PAGES["forecast"], re.MULTILINE)
    coverage = [
        float(number)
        for row in re.findall(r"^\| \w+ \(\d+ origins\) \|.*\|.*\| (.*) \|$", PAGES["forecast"], re.MULTILINE)
        for number in row.split(",")
    ]
    better, worse = 100 * (1 - float(rows[0][0])), 100 * (max(float(worst) for _, worst in rows) - 1)
    return [
        f"{better:.0f} % better on average, at worst {worse:.0f} % worse",
        f"90 % intervals held {100 * min(coverage):.0f} to {100 * max(coverage):.0f} %",
    ]


def epidemic_claims() -> list[str]:
    found = STORED["epidemic"]
    errors = found["errors"]
    network = found["network"]
    assert network["helps"]
    return [
        f"neighbours lower the error of tomorrow's forecast by {100 * network['gain']:.2g} % (p = {network['p_value']:.2g})",
        f"the mean error of a state's daily cases is {errors['forecast']['7']:.0f}; "
        f"repeating the last value gives {errors['last value']['7']:.0f}",
        f"{100 * found['coverage']:.0f} % of what came lay in the 90 % intervals",
    ]


def law_claims() -> list[str]:
    _, fits, formulas, _, worst, seconds = cells("interaction", "heat, gene, two mutualistic laws, five networks")
    _, noisy, noisy_formulas, _, noisy_worst, noisy_seconds = cells("interaction", "5 % noise, also on the first")
    return [
        f"found the equation in {formulas} of {fits} fits, with errors of at most {worst} % and in "
        f"{float(seconds.split(',')[0]):.1g} s (median, one core)",
        f"with 5 % noise in {noisy_formulas} of {noisy}, with errors of at most {noisy_worst} % and in {float(noisy_seconds.split(',')[0]):.0f} s",
    ]


def paper_claims() -> list[str]:
    (near,) = re.findall(r"one standard deviation in (\d+ of 45)", " ".join(PAGES["results"].split()))
    (share,) = re.findall(r"in all 45 cells\*\*, with ([\d.]+) of its error", " ".join(PAGES["results"].split()))
    at_5 = max(float(x) for x in cells("results", "at t = 5 ")[1].split(","))
    at_10 = min(float(x) for x in cells("results", "at t = 10 ")[1].split(","))
    assert at_10 > 30
    return [
        f"one standard deviation in {near.replace(' of ', ' of its ')} cells",
        f"below its mean in all 45, at {share} of its error",
        f"heat is off by {at_5:.0f} % at t = 5 and by more than 30 % at t = 10",
    ]


def speed_claims() -> list[str]:
    kernel = next(
        r for r in SPEED["iteration"] if (r["what"], r["who"]) == ("training iteration, grid", "ndcn, compiled kernel")
    )
    sizes = [r for part in SPEED.values() for r in part if "n = 1,000,000" in r["what"]]
    assert 3 < max(row["peak memory, GiB"] for row in sizes) < 4
    times = kernel["times faster than torchdiffeq, dense"]
    return [
        f"takes {kernel['ms']:.0f} ms on one core, {times:.0f} times less than with torchdiffeq",
        "a million nodes fit into 4 GiB",
    ]


def heat_claims() -> list[str]:
    found, rows = STORED["heat"], {"ndcn": "NDCN", "no_graph": "NDCN without the graph", "interaction": "the law"}
    paper = {name: f"{100 * value['extrapolation']:.1f}" for name, value in found["paper"].items()}
    lines = [
        f"| {title} | {_percent(found[name]['extrapolation'])} | {paper.get(name, '')} |".replace("|  |", "| |")
        for name, title in rows.items()
    ]
    return [*lines, f"`{found['interaction']['equation']}`", "Noisy data take up to half a minute at 400 nodes"]


CLAIMS = [*(forecast_claims() + epidemic_claims() + law_claims()), *(paper_claims() + speed_claims() + heat_claims())]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_what_was_measured(claim: str) -> None:
    assert claim in PROSE, f"README.md must say: {claim}"


def test_the_example_prints_what_is_shown() -> None:
    shown = re.search(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1].splitlines() == STORED["law"]["printed"]


def test_the_table_is_that_of_the_results() -> None:
    part = PAGES["results"].partition("### Extrapolation")[2]
    rows = [line.strip("|").split("|") for line in README.splitlines() if line.count("|") == 8 and "±" in line]
    assert len(rows) == 9
    for k, row in enumerate(rows):
        law = LAWS[k // 3]
        kind = ("published recipe", "published recipe", "default recipe")[k % 3]
        (line,) = re.findall(rf"^\| {law} \| NDCN, {kind} .*$", part.partition("### ")[0], re.MULTILINE)
        found = [cell.strip() for cell in line.strip("|").split("|")[2:]]
        assert len(found) == len(NETWORKS)
        for ours, cell in zip(row[2:], found, strict=True):
            (paper,) = re.findall(r"\((.*)\)", cell)
            assert ours.strip() == (paper if k % 3 == 0 else re.match(r"[\d.]+ ± [\d.]+", cell)[0])  # type: ignore[index]


def test_no_other_number_is_claimed() -> None:
    rest = README.partition("## Read on")[0]
    rest = re.sub(r"^```.*?^```$", "", rest, flags=re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^\|.*$", "", rest, flags=re.MULTILINE)
    rest = " ".join(re.sub(r"\]\([^)]*\)", "]", rest).split())
    for known in sorted((*CLAIMS, *SET), key=len, reverse=True):
        rest = rest.replace(known, "")
    assert re.findall(r"\S* \S*\d\S* \S*", rest) == []


def test_the_picture_is_small() -> None:
    assert (ROOT / "docs" / "assets" / "epidemic.png").stat().st_size < 400_000


@pytest.mark.slow
def test_the_stored_demo_is_what_the_demo_says(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from commands import parsed

    found = parsed("demo", "epidemic", "--out", tmp_path / "demo")
    for guess, errors in STORED["epidemic"]["errors"].items():
        assert found["errors"][guess] == pytest.approx(errors, rel=0.05)
    assert found["coverage"] == pytest.approx(STORED["epidemic"]["coverage"], abs=0.02)
