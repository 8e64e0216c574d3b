"""Columns and rows of a table that are no nodes: sums of the others, and indices of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import output

EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
VALUES = np.random.default_rng(0).poisson(30, (12, 3)).astype(float)
WIDE = pd.DataFrame({"date": pd.date_range("2021-03-01", periods=12), **dict(zip("abc", VALUES.T, strict=True))})


def check(data: ndcn.Dataset, values: np.ndarray = VALUES) -> None:
    assert data.trajectory.graph.nodes == ("a", "b", "c")
    assert np.array_equal(data.trajectory.states[..., 0].numpy(), values)


@pytest.mark.parametrize("name", ["Total", "SUM", "World", "Germany"])
def test_a_column_that_is_the_sum_is_left_out(name: str) -> None:
    data = ndcn.read(EDGES, WIDE.assign(**{name: VALUES.sum(axis=1)}))
    check(data)
    assert (
        f"the table of states: '{name}' is the sum of all others and no node of the edges; it is left out" in data.notes
    )


def test_so_are_rows_of_long_and_transposed_tables() -> None:
    with_sum = WIDE.assign(Total=VALUES.sum(axis=1))
    check(ndcn.read(EDGES, with_sum.melt("date", var_name="node", value_name="x")))
    days = with_sum.assign(date=with_sum["date"].dt.strftime("%Y-%m-%d")).set_index("date")
    check(ndcn.read(EDGES, days.T.rename_axis("node").reset_index()))


def test_missing_values_are_not_in_the_sum() -> None:
    values = VALUES.copy()
    values[3, 1] = np.nan
    data = ndcn.read(EDGES, WIDE.assign(b=values[:, 1], Total=np.nansum(values, axis=1)))
    assert data.trajectory.graph.nodes == ("a", "b", "c")


def test_what_is_no_sum_stays() -> None:
    data = ndcn.read(EDGES, WIDE.assign(Total=VALUES.sum(axis=1) + 5))
    assert "Total" in data.trajectory.graph.nodes
    assert any("'Total' is not the sum of the others, and stays in" in note for note in data.notes)
    edges = pd.concat([EDGES, pd.DataFrame({"source": ["a"], "target": ["Total"]})])
    data = ndcn.read(edges, WIDE.assign(Total=VALUES.sum(axis=1)))
    assert "Total" in data.trajectory.graph.nodes  # the edges know it


@pytest.mark.parametrize("times", ["dates", "numbers"])
def test_a_row_below_the_table(tmp_path: Path, times: str) -> None:
    frame = (
        WIDE.astype({"date": str}) if times == "dates" else WIDE.assign(date=range(12)).rename(columns={"date": "t"})
    )
    last = pd.DataFrame([["Total", *VALUES.sum(axis=0)]], columns=frame.columns)
    pd.concat([frame, last]).to_csv(tmp_path / "states.csv", index=False)
    data = ndcn.read(EDGES, tmp_path / "states.csv")
    check(data)
    assert any("'Total' is no time (line 14); what adds up the others is left out" in note for note in data.notes)


def test_an_index_of_rows_is_no_node(tmp_path: Path) -> None:
    EDGES.to_csv(tmp_path / "edges.csv")
    WIDE.to_csv(tmp_path / "states.csv")
    check(ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv"))
    said = output("inspect", tmp_path / "edges.csv", tmp_path / "states.csv")
    assert "3 nodes, 2 edges" in said
    assert "column number 1 names no node, as an index of rows, and is not used" in said
    WIDE.set_index("date").rename_axis(None).to_parquet(tmp_path / "states.parquet")
    check(ndcn.read(EDGES, tmp_path / "states.parquet"))
    WIDE.rename(columns={"date": "when seen"}).reset_index().to_csv(tmp_path / "states.csv", index=False)
    check(ndcn.read(EDGES, tmp_path / "states.csv"))
