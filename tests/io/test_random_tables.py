"""Random tables: the reader gives a dataset that is in order, or a message; nothing else, and never half a table."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pandas as pd
from hypothesis import HealthCheck, given, settings, strategies as st

import ndcn
from ndcn.io.swapped import SwappedFiles

QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

NAMES = st.sampled_from(
    ["a", "b", "c", "7", "007", "1.0", "ä", 'x"y', "x,y", "=1+1", "<b>", " a ", "NA", "", "time", "\u2028"]
)
TIMES = st.sampled_from(
    [
        "0",
        "1",
        "2.5",
        "-1",
        "1e3",
        "inf",
        "",
        "2021-03-01",
        "2021-03-02T10:00Z",
        "01.03.2021",
        "20210301",
        "2021-W07",
        "soon",
    ]
)
VALUES = st.sampled_from(
    [
        "1",
        "2.5",
        "-3e-4",
        "inf",
        "nan",
        "",
        "NA",
        "x",
        "1,5",
        "+2",
        "1e400",
        "0x1F",
        "∞",
        "1_000",
        "1,234",
        "1.234",
        "1 234",
    ]
)
CELLS = st.one_of(NAMES, TIMES, VALUES, st.text(max_size=5))
SIGNS = st.sampled_from([",", ";", "\t", "|", " "])


def written(rows: list[list[str]], sign: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=sign).writerows(rows)
    return out.getvalue().encode("utf-8", errors="replace")


def read(edges: bytes, states: bytes) -> ndcn.Dataset | None:
    """The data, or None where they were refused with a message that names one of the files and is among all problems."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "edges.csv", Path(folder) / "states.csv"]
        for path, content in zip(paths, (edges, states), strict=True):
            path.write_bytes(content)
        try:
            return ndcn.read(*paths)
        except ValueError as error:
            kind, message = type(error), str(error)
        assert message in ndcn.tables.problems(*paths)
    assert kind in (ValueError, SwappedFiles)
    assert "edges.csv" in message or "states.csv" in message, message
    assert "\n" not in message
    return None


def in_order(data: ndcn.Dataset) -> None:
    """What a trajectory guarantees is checked when it is made; here, that nothing was invented."""
    for run in data.runs:
        assert len(run) >= 1
        assert run.graph.num_nodes >= 1
        assert run.mask is None or bool(run.mask.any()) or len(data.runs) > 1
    assert all(isinstance(note, str) and note for note in data.notes)


@QUICK
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6),
    st.lists(st.lists(CELLS, max_size=5), max_size=8),
    SIGNS,
)
def test_any_cells(edges: list[list[str]], states: list[list[str]], sign: str) -> None:
    data = read(written(edges, sign), written(states, sign))
    if data is not None:
        in_order(data)


@QUICK
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes(edges: bytes, states: bytes) -> None:
    data = read(b"source,target\na,b\n" + edges, b"node,time,x\na,0,1\nb,0,2\n" + states)
    if data is not None:
        in_order(data)


@QUICK
@given(
    st.lists(st.tuples(NAMES, NAMES, VALUES), min_size=1, max_size=6),
    st.lists(st.tuples(NAMES, TIMES, VALUES), min_size=1, max_size=12),
    SIGNS,
)
def test_damaged_columns(edges: list[tuple[str, str, str]], states: list[tuple[str, str, str]], sign: str) -> None:
    data = read(
        written([["source", "target", "weight"], *map(list, edges)], sign),
        written([["node", "time", "x"], *map(list, states)], sign),
    )
    if data is not None:
        in_order(data)


@QUICK
@given(
    st.integers(1, 6),
    st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True),
    st.data(),
    SIGNS,
    st.booleans(),
)
def test_what_is_written_is_read(n: int, times: list[int], data: st.DataObject, sign: str, wide: bool) -> None:
    """Good tables in any order of rows: every value is where it belongs, every edge too."""
    nodes = [f"node {k}" for k in range(n)]
    values = {(t, i): data.draw(st.floats(-1e6, 1e6)) for t in times for i in nodes}
    edges = [[nodes[k], nodes[(k + 1) % n], str(k + 1.5)] for k in range(n)]
    rows = [[i, str(t), repr(x)] for (t, i), x in data.draw(st.permutations(list(values.items())))]
    if wide:
        table = [["time", *nodes], *([str(t), *(repr(values[t, i]) for i in nodes)] for t in times)]
    else:
        table = [["node", "time", "x"], *rows]
    found = read(written([["source", "target", "weight"], *edges], sign), written(table, sign))
    assert found is not None
    run = found.trajectory
    frame = run.to_pandas()
    began = min(0, *times)
    expected = pd.Series({(t - began, i): x for (t, i), x in values.items()}).sort_index()
    assert frame.set_index(["time", "node"])["x"].sort_index().tolist() == expected.tolist()
    assert run.graph.num_edges == n if n != 2 else run.graph.num_edges in (1, 2)
