"""Damaged files: each gives a correct result, or a message that names file, line or column, and what to do."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import ndcn
from ndcn.cli import app

EDGES = "source,target,weight\na,b,1\nb,c,2\n"
STATES = "node,time,x\na,0,1\nb,0,2\nc,0,3\na,1,4\nb,1,5\nc,1,6\n"
VALUES = torch.tensor([[1.0, 2, 3], [4, 5, 6]], dtype=torch.float64)


@dataclass(frozen=True)
class Case:
    """Two files, and either what the message says (a regular expression) or what the data are."""

    edges: str | bytes = EDGES
    states: str | bytes = STATES
    refused: str | None = None
    check: Callable[[ndcn.Dataset], object] | None = None
    noted: str | None = None
    names: tuple[str, str] = ("edges.csv", "states.csv")
    options: dict[str, Any] = field(default_factory=dict)


def whole(data: ndcn.Dataset) -> bool:
    """Whether this is the undamaged network."""
    run = data.trajectory
    assert run.graph.nodes == ("a", "b", "c")
    assert run.graph.to_dense().tolist() == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    return torch.equal(run.states[:, :, 0], VALUES) and run.times.tolist() == [0, 1]


def weights(*values: tuple[str, str, float]) -> Callable[[ndcn.Dataset], bool]:
    def check(data: ndcn.Dataset) -> bool:
        return sorted(data.runs[0].graph.to_pandas().itertuples(index=False, name=None)) == sorted(values)

    return check


def missing(count: int) -> Callable[[ndcn.Dataset], bool]:
    return lambda data: int(data.trajectory.states.isnan().sum()) == count


def names(*nodes: Any) -> Callable[[ndcn.Dataset], bool]:
    return lambda data: list(data.trajectory.graph.nodes) == list(nodes)


MIXED = "node,time,x\n" + "".join(f"a,{t},{t}\nb,{t},{'inf' if t == 3 else t}\nc,{t},1\n" for t in range(20))
TENTH = "node,time,x\n" + "".join(f"{n},{t},{'-inf' if t == 5 else t}\n" for t in range(10) for n in "abc")

CASES = {
    # encodings
    "byte order mark": Case("\ufeff" + EDGES, "\ufeff" + STATES, check=whole),
    "byte order mark without a header": Case("\ufeffa,b,1\nb,c,2\n", check=whole),
    "utf-16": Case(EDGES.encode("utf-16"), STATES.encode("utf-16"), check=whole),
    "utf-16 without a mark": Case(EDGES.encode("utf-16-le"), STATES.encode("utf-16-be"), check=whole),
    "utf-32": Case(EDGES.encode("utf-32"), check=whole),
    "latin-1": Case(
        "source,target\nä,b\n".encode("latin-1"),
        "node,time,x\nä,0,1\nb,0,1\nb,1,1\n".encode("latin-1"),
        check=names("b", "ä"),
        noted=r"edges.csv is not UTF-8 \(line 2\)",
    ),
    "latin-1 in the header": Case(
        "source,target\nä,b\n",
        "time,ä,b\n0,1,2\n1,3,4\n".encode("latin-1"),
        check=names("b", "ä"),
        noted=r"states.csv is not UTF-8 \(line 1\); it is read as cp1252",
    ),
    "composed and decomposed": Case(
        "source,target\na\u0308,b\n", "node,time,x\n\u00e4,0,1\nb,0,1\n", check=names("b", "\u00e4")
    ),
    "zero bytes": Case(b"source,target\na,b\x00\x00\x00\x01\x02\xff\n" * 5, refused="edges.csv is not text"),
    "zero bytes in a cell": Case(STATES.replace("a,1", "a\x00,1"), refused="edges.csv"),
    "truncated gzip": Case(
        gzip.compress(EDGES.encode())[:-12], names=("edges.csv.gz", "states.csv"), refused="edges.csv.gz.*gzip"
    ),
    "no gzip": Case(EDGES, names=("edges.csv.gz", "states.csv"), refused="edges.csv.gz.*gzip"),
    "gzip": Case(gzip.compress(EDGES.encode()), names=("edges.csv.gz", "states.csv"), check=whole),
    # separators and lines
    "semicolons": Case(EDGES.replace(",", ";"), STATES.replace(",", ";"), check=whole),
    "semicolons and decimal commas": Case(
        "source;target;weight\na;b;1,0\nb;c;2,0\n", STATES.replace(",", ";").replace(";1\n", ";1,0\n"), check=whole
    ),
    "tabs in a csv": Case(EDGES.replace(",", "\t"), STATES.replace(",", "\t"), check=whole),
    "bars": Case(EDGES.replace(",", "|"), STATES.replace(",", "|"), check=whole),
    "uneven blanks": Case(EDGES.replace(",", "   "), STATES.replace(",", " \t "), check=whole),
    "sep=; of Excel": Case("sep=;\n" + EDGES.replace(",", ";"), check=whole),
    "windows lines": Case(EDGES.replace("\n", "\r\n"), STATES.replace("\n", "\r\n"), check=whole),
    "old mac lines": Case(EDGES.replace("\n", "\r"), STATES.replace("\n", "\r"), check=whole),
    "no newline at the end": Case(EDGES.rstrip(), STATES.rstrip(), check=whole),
    "comments and blank lines": Case("# from a map\n\n" + EDGES.replace("\nb", "\n\nb"), "% x\n" + STATES, check=whole),
    "blanks around cells": Case(EDGES.replace(",", " , "), STATES.replace(",", ", "), check=whole),
    "empty rows of a spreadsheet": Case(EDGES + ",,\n,,\n", STATES + ",,\n", check=whole, noted="2 empty rows"),
    "a column of row numbers": Case(
        '"source","target","weight"\n"1","a","b",1\n"2","b","c",2\n', check=whole
    ),
    "a separator at the end of rows": Case(EDGES.replace("1\n", "1,\n").replace("2\n", "2,\n"), check=whole),
    "no header": Case("a,b,1\nb,c,2\n", "a,0,1\nb,0,2\nc,0,3\na,1,4\nb,1,5\nc,1,6\n", check=whole, noted="no header"),
    "no header, each name once": Case(
        "a,b\nc,d\n", STATES + "d,0,1\nd,1,1\n", check=weights(("a", "b", 1.0), ("c", "d", 1.0)), noted="no header"
    ),
    "a longer row": Case(EDGES + "c,a,1,9\n", refused=r"edges.csv: rows must have 3 columns .* line 4 has 4"),
    "a shorter row": Case(states=STATES + "c,2\n", refused=r"states.csv: rows must have 3 columns .* line 8 has 2"),
    "a quote never closed": Case(states=STATES + '"c,2,1\nb,2,2\n', refused=r"states.csv.*line 8.*quote"),
    "one column": Case("source\na\nb\n", refused="edges.csv has only one column"),
    # empty
    "empty edges": Case("", refused="edges.csv is empty"),
    "empty states": Case(states="", refused="states.csv is empty"),
    "blank edges": Case("\n\n  \n", refused="edges.csv is empty"),
    "comments alone": Case("# nothing\n", refused="edges.csv has no rows"),
    "separators alone": Case(",,\n,,\n", refused="edges.csv has no rows, only separators"),
    "a header alone": Case("source,target\n", refused="edges.csv holds no edges"),
    "a header alone, with blanks": Case("source target\n", refused="edges.csv holds no edges"),
    "a header alone in the states": Case(states="node,time,x\n", refused="states.csv holds no rows"),
    "no value at all": Case(states="node,time,x\na,0,\nb,0,NA\n", refused=r"states.csv has no (value|column of values)"),
    # edges
    "equal edges twice": Case(EDGES + "a,b,1\n", check=whole, noted=r"listed again \('a' to 'b', edges.csv line 4\)"),
    "edges twice, other weights": Case(
        EDGES + "a,b,2\n", check=weights(("a", "b", 3.0), ("b", "c", 2.0)), noted="added up"
    ),
    "both directions": Case(EDGES + "b,a,1\nc,b,2\n", check=whole, noted="so the graph is undirected"),
    "both directions, other weights": Case(EDGES + "b,a,9\n", noted="so the graph is directed", check=lambda d: d.runs[0].graph.directed),
    "undirected with other weights": Case(EDGES + "b,a,9\n", options={"directed": False}, refused="edges.csv.*directed=True"),
    "self-loops": Case(
        EDGES + "a,a,5\n", check=weights(("a", "a", 5.0), ("a", "b", 1.0), ("b", "c", 2.0)), noted="1 edge from a node to itself"
    ),
    "negative weights": Case(
        EDGES.replace("c,2", "c,-2"), check=weights(("a", "b", 1.0), ("b", "c", -2.0)), noted="negative"
    ),
    "weight zero": Case(EDGES.replace("c,2", "c,0"), check=weights(("a", "b", 1.0)), noted="weight 0"),
    "a weight missing": Case(EDGES + "c,a,\n", refused=r"edges.csv: column 'weight' .* edges.csv line 4"),
    "an infinite weight": Case(EDGES + "c,a,inf\n", refused=r"edges.csv: column 'weight' .* edges.csv line 4"),
    "text as a weight": Case(EDGES + "c,a,strong\n", refused=r"edges.csv: column 'weight' .*line 4: 'strong'"),
    "a target missing": Case(EDGES + "c,,1\n", refused=r"edges.csv line 4: column 'target'"),
    "unknown nodes in the edges": Case(EDGES + "c,z,1\n", check=whole, noted="left out with all edges: 'z'"),
    "unknown nodes in the states": Case(
        states=STATES + "q,0,1\nq,1,1\n", check=names("a", "b", "c", "q"), noted="kept as isolated: 'q'"
    ),
    "unknown nodes refused": Case(EDGES + "c,z,1\n", options={"unknown": "error"}, refused="only in edges.csv: 'z'"),
    "no name in common": Case(
        states=STATES.replace("\na", "\nA").replace("\nb", "\nB").replace("\nc", "\nC"),
        refused="'A' and 'a', .* may be the same node",
    ),
    "one node": Case("source,target\na,a\n", "node,time,x\na,0,1\na,1,2\n", check=names("a")),
    "whole numbers and 1.0": Case("1,2\n2,10\n", "node,time,x\n1.0,0,1\n2.0,0,2\n10.0,0,3\n", check=names(1, 2, 10)),
    "leading zeros are names": Case(
        "source,target\n007,01\n", "node,time,x\n007,0,1\n01,0,2\n7,0,1\n", check=names("007", "01", "7")
    ),
    # values
    "text in numbers": Case(states=STATES + "a,2,high\n", refused=r"states.csv: column 'x' .*line 8: 'high'"),
    "text in many numbers": Case(
        states=STATES + "a,2,1 kg\nb,2,2 kg\n", refused=r"column 'x' must hold numbers, but 2 cells .*line 8: '1 kg'"
    ),
    "words for missing": Case(states=STATES + "a,2,NA\nb,2,-\nc,2,?\na,3,1\n", check=missing(5)),
    "errors of a spreadsheet": Case(states=STATES + "a,2,#DIV/0!\nb,2,7\n", check=missing(2)),
    "plus signs and other minus signs": Case(
        states=STATES.replace("a,1,4", "a,1,+4").replace("c,1,6", "c,1,\u22126"),
        check=lambda d: d.trajectory.states[1, :, 0].tolist() == [4, 5, -6],
    ),
    "few infinite values": Case(states=MIXED, check=missing(1), noted="infinite, the first at states.csv line 12"),
    "a tenth infinite": Case(states=TENTH, refused=r"states.csv: 3 values \(10 %\) infinite.*line 17"),
    "a tenth infinite, missing": Case(states=TENTH, options={"infinite": "missing"}, check=missing(3)),
    "a column of text": Case(
        states=STATES.replace("x\n", "x,remark\n").replace("\na,0,1", "\na,0,1,fine").replace("\nb,0,2", "\nb,0,2,")
        .replace("\nc,0,3", "\nc,0,3,").replace("\na,1,4", "\na,1,4,").replace("\nb,1,5", "\nb,1,5,").replace("\nc,1,6", "\nc,1,6,"),
        check=whole, noted="columns 'remark' are not used",
    ),
    # times
    "unsorted times": Case(states="node,time,x\na,1,4\nc,1,6\nb,0,2\na,0,1\nb,1,5\nc,0,3\n", check=whole, noted="sorted"),
    "equal rows twice": Case(states=STATES + "a,0,1\n", check=whole, noted="more than once"),
    "different rows twice": Case(
        states=STATES + "a,0,9\n", refused=r"states.csv: .* node 'a' at t = 0 \(states.csv line 2 and states.csv line 8\)"
    ),
    "the mean of rows": Case(
        states=STATES + "a,0,9\n", options={"duplicates": "mean"}, check=lambda d: d.trajectory.states[0, 0, 0] == 5
    ),
    "the last of rows": Case(
        states=STATES + "a,0,9\n", options={"duplicates": "last"}, check=lambda d: d.trajectory.states[0, 0, 0] == 9
    ),
    "a time missing": Case(states=STATES + "a,,9\n", refused="states.csv line 8: the time is missing"),
    "an infinite time": Case(states=STATES + "a,inf,9\n", refused="line 8 has an infinite time"),
    "negative times": Case(
        states=STATES.replace(",0,", ",-5,").replace(",1,", ",-4,"), check=whole, noted="times begin at -5"
    ),
    "time zones": Case(
        states="node,time,x\na,2021-03-01T02:00+02:00,1\nb,2021-03-01T00:00Z,2\nc,2021-02-28T19:00-05:00,3\n",
        check=lambda d: len(d.trajectory) == 1, noted="3 time zones",
    ),
    "a date among numbers": Case(states=STATES + "a,2021-03-01,9\n", refused=r"column 'time' .*line 8: '2021-03-01'"),
    "a number among dates": Case(
        states="node,date,x\n" + "".join(f"a,2021-03-0{k},1\n" for k in range(1, 9)) + "b,soon,2\n",
        refused=r"column 'date' .*line 10: 'soon'",
    ),
    "the 30th of February": Case(
        states="node,date,x\na,2021-02-01,1\nb,2021-02-30,2\n", refused=r"column 'date' .*line 3: '2021-02-30'"
    ),
    "day or month first": Case(states="node,date,x\na,01/02/2021,1\nb,03/02/2021,2\n", refused="day first or month first"),
    "a graph in dates, states in numbers": Case(
        "source,target,date\na,b,2021-03-01\nb,c,2021-03-02\n", refused="edges.csv has dates .* states.csv has numbers"
    ),
    # names
    "quotes, tags and formulas": Case(
        'source,target\n"a ""b""",<script>alert(1)</script>\n=1+2,"x, y"\n',
        'node,time,x\n"a ""b""",0,1\n<script>alert(1)</script>,0,1\n=1+2,0,1\n"x, y",0,2\n',
        check=names("<script>alert(1)</script>", "=1+2", 'a "b"', "x, y"),
    ),
    "a line break in a name": Case(
        'source,target\n"a\nb",c\n', 'node,time,x\n"a\nb",0,1\nc,0,2\n', check=names("a\nb", "c")
    ),
    "a very long name": Case(EDGES.replace("a,", "a" * 100_000 + ","), refused=None, noted="left out", check=names("a", "b", "c")),
    "no value column": Case(states="node,time,remark\na,0,fine\nb,1,bad\n", refused="states.csv has no column of values"),
    "two columns of a node": Case(states="time,a,b,a\n0,1,2,3\n", refused="states.csv: two columns are called 'a'"),
    "a wrong column": Case(options={"node": "city"}, refused="states.csv has no column 'city' .--node"),
    # files
    "a spreadsheet that is none": Case(names=("edges.xlsx", "states.csv"), refused="edges.xlsx.*Excel.*save it again"),
    "an .ods spreadsheet": Case(names=("edges.ods", "states.csv"), refused="edges.ods.*save the spreadsheet as .xlsx or CSV"),
    "no parquet": Case(names=("edges.parquet", "states.csv"), refused="edges.parquet cannot be read as Parquet"),
    "no matrix": Case(names=("edges.npz", "states.csv"), refused="edges.npz is no matrix"),
    "no graphml": Case("<graphml><graph>", names=("edges.graphml", "states.csv"), refused="edges.graphml cannot be read"),
    "xml entities": Case(
        '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x "y">]><graphml/>', names=("edges.graphml", "states.csv"),
        refused="edges.graphml defines XML entities",
    ),
    "no gml": Case("graph [ node [", names=("edges.gml", "states.csv"), refused="edges.gml cannot be read"),
    "no json": Case('{"nodes": [', names=("edges.json", "states.csv"), refused="edges.json cannot be read"),
    "other json": Case('[1, 2]', names=("edges.json", "states.csv"), refused="edges.json is no node-link graph"),
    "deep json": Case("[" * 100_000, names=("edges.json", "states.csv"), refused="edges.json"),
    "no matrix market": Case("%%MatrixMarket nonsense\n", names=("edges.mtx", "states.csv"), refused="edges.mtx line 1"),
    "a matrix cut off": Case(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.5\n",
        names=("edges.mtx", "states.csv"),
        refused="edges.mtx: 2 entries were announced, 1 are there",
    ),
    "a matrix with wrong places": Case(
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 99999999999 1.5\n",
        names=("edges.mtx", "states.csv"),
        refused="edges.mtx entry 1: row or column",
    ),
    "a matrix without a size": Case(
        "%%MatrixMarket matrix coordinate real general\n3 x 1\n", names=("edges.mtx", "states.csv"),
        refused="edges.mtx line 2: 'x' is no whole number",
    ),
    "no netcdf": Case(names=("edges.csv", "states.nc"), refused="states.nc cannot be read as NetCDF"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_damaged_files(case: Case, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in case.names]
    for path, content in zip(paths, (case.edges, case.states), strict=True):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if case.refused is not None:
        with pytest.raises(ValueError, match=f"(?s){case.refused}"):
            ndcn.read(*paths, **case.options)
    else:
        data = ndcn.read(*paths, **case.options)
        assert case.check is not None
        assert case.check(data)
        if case.noted is not None:
            assert any(re.search(case.noted, note) for note in data.notes), data.notes
    assert sorted(tmp_path.iterdir()) == sorted(paths)  # nothing else was written


def test_on_the_command_line(tmp_path: Path) -> None:
    """Each ends with 0 or 2, an error in one line, and no traceback."""
    for name, case in CASES.items():
        paths = [tmp_path / part for part in case.names]
        for path, content in zip(paths, (case.edges, case.states), strict=True):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        result = CliRunner().invoke(app, ["inspect", *map(str, paths)])
        refused = case.refused is not None and not case.options
        assert result.exit_code == (2 if refused else result.exit_code), name
        assert result.exit_code in (0, 2), (name, result.output)
        if result.exit_code == 2:
            assert result.output.startswith("error: "), name
            assert len(result.output.splitlines()) == 1, name


def test_there_are_many() -> None:
    assert len(CASES) >= 30


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file .*edges.csv to read edges"):
        ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv")
    (tmp_path / "edges.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder; give the file with the edges"):
        ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv")


def test_times_of_their_own(tmp_path: Path) -> None:
    """Every node has its own times: the grid would be mostly empty, and rounding helps."""
    import numpy as np
    import pandas as pd

    n, each = 2000, 60
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"node": np.repeat(np.arange(n), each), "time": generator.uniform(0, 10, n * each), "x": 1.0})
    edges = pd.DataFrame({"source": np.arange(n - 1), "target": np.arange(1, n)})
    with pytest.raises(ValueError, match="--step"):
        ndcn.read(edges, table)
    data = ndcn.read(edges, table, step=0.5)
    assert data.trajectory.times.tolist() == [0.5 * k for k in range(21)]


def test_files_that_are_swapped_are_asked_about() -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    states = pd.DataFrame({"time": [0, 1, 2], "a": [1.0, 2, 3], "b": [1.0, 2, 3], "c": [1.0, 2, 3]})
    with pytest.raises(ValueError, match="are the two files swapped\\? the table of states looks like edges"):
        ndcn.read(states, edges)
    with pytest.raises(ValueError, match=r"^the table of states has the columns 'source', 'target'"):
        ndcn.read(ndcn.Graph.from_edges([("a", "b")]), edges)  # a graph is in its place


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_swapped_files_are_known_by_the_names_in_them(layout: str, tmp_path: Path) -> None:
    edges, states = tmp_path / "links.csv", tmp_path / "cases.csv"
    edges.write_text("city_a,city_b\nLeeds,Hull\nHull,York\n")
    days, cities = pd.date_range("2021-03-01", periods=20).astype(str), ["Leeds", "Hull", "York"]
    wide = pd.DataFrame({"date": days, **{city: range(k, k + 20) for k, city in enumerate(cities)}})
    table = wide if layout == "wide" else wide.melt(id_vars="date", var_name="city", value_name="cases")
    table.to_csv(states, index=False)
    assert ndcn.read(edges, states).runs[0].graph.num_edges == 2
    with pytest.raises(ValueError, match=r"swapped\? links.csv looks like edges, and edges come first"):
        ndcn.read(states, edges)
    with pytest.raises(ValueError, match=r"^links.csv has the columns"):
        ndcn.read(edges, edges)
