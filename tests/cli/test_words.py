"""What commands say about dates, single files and missing shares is right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import output, parsed, refused, run


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target\nann,bob\nbob,cid\n")
    days = [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26]  # no weekends
    rows = "".join(f"2021-03-{k:02d},{k},{'' if k % 4 == 0 else 2 * k},{30 - k}\n" for k in days)
    (folder / "states.csv").write_text("date,ann,bob,cid\n" + rows)
    return folder


def test_a_date_that_does_not_exist(files: Path) -> None:
    output("fit", "edges.csv", "states.csv", "--model", "persistence")
    for text in ("2021-02-30", "soon"):
        said = refused("predict", "model.ndcn", "--times", f"2021-03-05,{text}")
        assert f"--times {text}: '{text}' is no date" in said


def test_one_file_of_two(files: Path) -> None:
    for name in ("states.csv", "edges.csv"):
        said = refused("fit", name)
        assert f"{name} is a file: give a file of states too, edges first, as in: edges.csv states.csv" in said


def test_the_missing_share_is_the_same_everywhere(files: Path) -> None:
    """Weekends, which the grid of equal steps has and the data do not, are not missing."""
    said = output("fit", "edges.csv", "states.csv", "--horizon", 2) + output("inspect", "edges.csv", "states.csv")
    shares = re.findall(r"([\d.]+) % of the entries", said)
    assert len(shares) >= 3
    assert set(shares) == {"8.33"}


def test_duplicates_and_gaps_have_dates(files: Path) -> None:
    table = (files / "states.csv").read_text()
    (files / "states.csv").write_text(table + "2021-03-26,1,2,3\n")
    said = refused("inspect", "edges.csv", "states.csv")
    assert "3 pairs of node and time with several different values, the first is node 'ann' at 2021-03-26" in said
    assert "3 pairs of node and time listed more than once" in output(
        "inspect", "edges.csv", "states.csv", "--duplicates", "last"
    )
    (files / "states.csv").write_text(table + "2071-03-26,1,2,3\n")
    said = output("inspect", "edges.csv", "states.csv")
    assert "snapshots are usually 1 day apart, but there are 18262 days between 2021-03-26 and 2071-03-26" in said


@pytest.fixture
def counts(folder: Path) -> Path:
    """60 weeks of counts of four cities, one of which is still; a code, and a city that only the edges have."""
    cities = ["Leeds", "Hull", "York", "London"]
    (folder / "edges.csv").write_text("source,target\nLeeds,Hull\nHull,York\nYork,London\nYork,Nowhere\n")
    values = np.random.default_rng(0).poisson(3000, size=(60, 4))
    values[:, 1], values[20, 0] = 7, -999
    values[30, 3] = 90000
    table = pd.DataFrame(values, columns=cities)
    table.insert(0, "date", pd.date_range("2021-03-01", periods=60, freq="W").astype(str))
    table.to_csv(folder / "states.csv", index=False)
    return folder


def test_what_inspect_says_reads_well(counts: Path) -> None:
    said = output("inspect", "edges.csv", "states.csv")
    assert "1 node that never changes stays in: 'Hull'" in said
    assert re.search(r"London, 2021-10-\d\d: 90000 where about [23]\d{3} is usual: held out", said)  # not 3e+03
    assert (
        "-999 occurs once ('Leeds' at 2021-07-25), all other values lie between 7 and 90000: forecasts hold it out"
        in said
    )
    assert "e+" not in said
    assert not re.search(r"\bx\b", said)  # the file has no name for its values


def test_inspect_lists_what_the_fit_with_the_same_options_does(counts: Path) -> None:
    facts = parsed("inspect", "edges.csv", "states.csv", "--kind", "values", "--period", 13)
    assert "values used as they are; the pattern repeats every 13 steps" in facts["plans"]
    assert any(one["held_out"] for one in facts["doubts"])
    kept = parsed("inspect", "edges.csv", "states.csv", "--keep-outliers")
    assert not any(one["held_out"] for one in kept["doubts"])
    assert any(one["what"].endswith("used as it is (--keep-outliers)") for one in kept["doubts"])
    limit = "period must be at most 30 steps, half of the 60 snapshots, got 31"
    for command in ("inspect", "fit"):
        assert limit in refused(command, "edges.csv", "states.csv", "--period", 31).split("error: ")[-1]
    assert "repeats every 30 steps" in output("fit", "edges.csv", "states.csv", "--period", 30, "--horizon", 2)


def test_notes_on_the_data_are_one_line_and_what_is_left_out_is_named(counts: Path) -> None:
    facts = parsed("inspect", "edges.csv", "states.csv")
    held = sum(one["held_out"] for one in facts["doubts"])
    said = run("fit", "edges.csv", "states.csv", "--horizon", 2).stderr.splitlines()
    notes = [line for line in said if line.startswith("note: ")]
    assert any("'Nowhere'" in line for line in notes)
    rest = len(facts["notes"]) - len(notes) + 1
    summary = (
        f"note: {rest} more notes on the data, {held} outliers held out: `ndcn inspect edges.csv states.csv` shows them"
    )
    assert notes[-1] == summary
    assert sum("outlier" in line for line in notes) == 1
    assert "looking for a law, then comparing forecasts of 60 snapshots of 4 nodes ..." in said
    told = json.loads(run("fit", "edges.csv", "states.csv", "--horizon", 2, "--json").stdout)
    assert [note for note in told["notes"] if "outliers" not in note][: len(facts["notes"])] == facts["notes"]
    for command in ("evaluate", "report"):
        if command == "report":
            assert (
                "more notes on the data: `ndcn inspect" in run(command, "model.ndcn", "edges.csv", "states.csv").stderr
            )


def test_evaluate_shows_every_step_of_a_usual_horizon(counts: Path) -> None:
    whole = pd.read_csv("states.csv")
    whole.iloc[:46].to_csv("states.csv", index=False)
    output("fit", "edges.csv", "states.csv", "--horizon", 14)
    whole.to_csv("states.csv", index=False)
    said = run("evaluate", "model.ndcn", "edges.csv", "states.csv").stdout
    assert [int(step) for step in re.findall(r"^(\d+) +20", said, re.MULTILINE)] == list(range(1, 15))


def test_a_mistyped_node_gets_a_suggestion(files: Path) -> None:
    output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 2)
    said = refused("predict", "model.ndcn", "--times", "2021-03-08", "--what-if", "remove An")
    assert "the network has no node 'An'; its nodes are 'ann', 'bob', 'cid'; did you mean 'ann'?" in said


def test_help_speaks_of_models_where_there_is_one() -> None:
    assert "auto only" in output("fit", "--help")
    assert "auto only" not in output("inspect", "--help")


def test_help_shows_brackets() -> None:
    assert "'ndcn[metis]'" in output("partition", "--help")


def test_help_leads_with_what_it_is_for() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    said = " ".join(output("--help").split())
    sentence = said[said.index("Give it") : said.index("network matters.") + 16]
    assert f"**{sentence}**" in readme


def test_ctrl_c_while_commands_are_loaded_ends_in_words() -> None:
    early = (
        "import sys\nclass Stop:\n    def find_spec(self, name, *_):\n        if name == 'typer':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\nfrom ndcn.__main__ import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: interrupted\n")
