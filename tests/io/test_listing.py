"""``ndcn inspect`` lists all problems of two files at once, with lines and dates."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import ndcn
from commands import output, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(edges: str, states: str, *words: object) -> list[str]:
    """What inspect says of two files that it refuses, a line each."""
    Path("edges.csv").write_text(edges)
    Path("states.csv").write_text(states)
    lines = output("inspect", "edges.csv", "states.csv", *words, code=2).splitlines()
    assert all(line.startswith("error: ") for line in lines[:-1])
    return [line.removeprefix("error: ") for line in lines]


EDGES = "source,target,weight\na,b,1\nb,,2\nb,c,strong\nc,a,\n"
STATES = (
    "node,date,x,y\na,2021-03-01,1,1\nb,2021-03-01,few,1\nc,someday,3,1\na,2021-03-02,1,none of it\nb,,2,1\nc,2021-03-02,3,1\n"
    "a,2021-03-02,4,1\nc,2021-03-03,1,2,3\n"
)


def test_all_problems_in_one_run(folder: Path) -> None:
    found = problems(EDGES, STATES)
    for place, words in (
        ("edges.csv line 3", "column 'target' must name a node"),
        ("line 4: 'strong'", "edges.csv: column 'weight' must hold numbers"),
        ("edges.csv line 5", "no finite weight in 1 rows"),
        ("line 9 has 5", "states.csv: rows must have 4 columns"),
        ("line 3: 'few'", "states.csv: column 'x' must hold numbers"),
        ("line 5: 'none of it'", "states.csv: column 'y' must hold numbers"),
        ("line 4: 'someday'", "neither numbers nor dates"),
        ("states.csv line 6", "the time is missing in column 'date'"),
        ("node 'a' at 2021-03-02 (states.csv line 5 and states.csv line 8)", "1 pair of node and time"),
    ):
        assert any(place in line and words in line for line in found), (place, words, found)
    assert found[-1] == "9 problems; correct them and inspect the files again"
    assert len(found) == 10


def test_they_are_in_json_and_in_python_too(folder: Path) -> None:
    problems(EDGES, STATES)
    result = run("inspect", "edges.csv", "states.csv", "--json", code=2)
    assert json.loads(result.stdout)["problems"] == list(ndcn.tables.problems("edges.csv", "states.csv"))
    with pytest.raises(ValueError, match="must hold numbers"):
        ndcn.read("edges.csv", "states.csv")  # as before, the first one


def test_edges_that_cannot_be_read_do_not_hide_the_states(folder: Path) -> None:
    found = problems("", "date,a,b\n2021-03-01,1,x\nnever,1,2\n2021-03-03,2,3\n")
    assert "edges.csv is empty" in found[0]
    assert "column 'b' must hold numbers" in found[1]
    assert "'never'" in found[2]
    Path("edges.csv").unlink()
    said = output("inspect", "edges.csv", "nothing.csv", code=2)
    assert "no file edges.csv" in said
    assert "no file nothing.csv" in said


def test_more_than_one_screen_is_cut(folder: Path) -> None:
    names = [f"n{k}" for k in range(60)]
    states = ",".join(["time", *names]) + "\n0" + ",1" * 60 + "\n1" + ",x" * 60 + "\n2" + ",1" * 60 + "\n"
    edges = "source,target\n" + "".join(f"{a},{b}\n" for a, b in itertools.pairwise(names))
    found = problems(edges, states)
    assert found[-1] == "60 problems, 10 more than shown; correct them and inspect the files again"
    assert len(found) == 51


def test_other_choices_of_the_user_are_problems_like_these(folder: Path) -> None:
    edges = "source,target,weight\na,b,1\nb,a,2\nb,z,1\n"
    states = "time,a,b\n" + "".join(f"{t},{'inf' if t % 2 else t},{t}\n" for t in range(8)) + "soon,1,2\n"
    found = problems(edges, states, "--undirected", "--same-names")
    for words in (
        "another weight in each direction",
        "1 names are not in both files",
        "infinite, the first at",
        "'soon'",
    ):
        assert any(words in line for line in found), words


def test_swapped_files_are_one_problem(folder: Path) -> None:
    Path("edges.csv").write_text("source,target\na,b\n")
    Path("states.csv").write_text("time,a,b\n0,1,2\n1,2,3\n")
    [only] = output("inspect", "states.csv", "edges.csv", code=2).splitlines()
    assert "are the two files swapped?" in only
    assert len(ndcn.tables.problems("states.csv", "edges.csv")) == 1
    assert ndcn.tables.problems("edges.csv", "states.csv") == ()


def test_edges_with_times_of_which_none_is_between_known_nodes(folder: Path) -> None:
    Path("edges.csv").write_text("source,target,time\na,x,0\nb,y,1\n")
    Path("states.csv").write_text("time,a,b\n0,1,2\n1,2,3\n")
    data = ndcn.read("edges.csv", "states.csv")
    assert data.graphs is None
    assert any("no edge is left between the nodes" in note for note in data.notes)


def test_columns_separated_by_blanks(folder: Path) -> None:
    found = problems("a  b\nb   c\n", "node  time x\na 0\na  0   1\nb 0 x\nb  1   2\nc 1 2\n")
    assert "rows must have 3 columns separated by blanks, but line 2 has 2" in found[0]
    assert "(line 4: 'x')" in found[1]
