"""Real networks, written as the files that people have, and read back."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from places import SHARED

DATA = SHARED / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real data are not here")


def days(first: str, count: int, step: int = 1) -> list[str]:
    return [(date.fromisoformat(first) + timedelta(days=step * k)).isoformat() for k in range(count)]


def matrices(name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    folder = DATA / "epidemics"
    index = np.loadtxt(folder / f"{name}_node_name_idx.txt").astype(int)
    names = [f"country {k}" for k in index]
    return np.loadtxt(folder / f"{name}_adj.txt"), np.loadtxt(folder / f"{name}_filter_total_cases_raw.txt"), names


@pytest.mark.parametrize(("name", "n", "T"), [("H1N1", 130, 74), ("COVID", 174, 158)])
def test_epidemics_by_country(name: str, n: int, T: int, tmp_path: Path) -> None:
    flights, cases, names = matrices(name)
    rows, columns = np.nonzero(flights)
    edges = pd.DataFrame(
        {"from": [names[j] for j in columns], "to": [names[i] for i in rows], "weight": flights[rows, columns]}
    )
    edges.to_csv(tmp_path / "flights.csv", index=False)
    long = pd.DataFrame(
        {"country": np.tile(names, T), "date": np.repeat(days("2020-01-22", T), n), "cases": cases.ravel()}
    )
    long.sample(frac=1, random_state=0).to_csv(tmp_path / "cases.tsv", index=False, sep="\t")
    data = ndcn.read(tmp_path / "flights.csv", tmp_path / "cases.tsv")
    run = data.trajectory
    order = [names.index(str(node)) for node in run.graph.nodes]
    assert (run.graph.num_nodes, len(run), run.features) == (n, T, ("cases",))
    assert data.calendar == ndcn.tables.Calendar("2020-01-22", "day")
    torch.testing.assert_close(run.graph.to_dense(), torch.from_numpy(flights[np.ix_(order, order)]))
    torch.testing.assert_close(run.states[:, :, 0], torch.from_numpy(cases[:, order]))


def test_the_matrices_as_they_are(tmp_path: Path) -> None:
    """A square table of numbers is a matrix; numbers without a header have a column for each node."""
    flights, cases, _ = matrices("H1N1")
    timed = np.column_stack([np.arange(len(cases)), cases])
    np.savetxt(tmp_path / "cases.txt", timed)
    data = ndcn.read(DATA / "epidemics" / "H1N1_adj.txt", tmp_path / "cases.txt")
    torch.testing.assert_close(data.trajectory.graph.to_dense(), torch.from_numpy(flights))
    torch.testing.assert_close(data.trajectory.states[:, :, 0], torch.from_numpy(cases))


def test_chickenpox_in_hungary(tmp_path: Path) -> None:
    """Directed edges with self-loops, weekly dates, a wide table."""
    raw = json.loads((DATA / "temporal" / "chickenpox.json").read_text())
    name = {place: county for county, place in raw["node_ids"].items()}
    edges = pd.DataFrame([(name[u], name[v]) for u, v in raw["edges"]], columns=["source", "target"])
    edges.to_csv(tmp_path / "edges.csv", index=False)
    states = pd.DataFrame(raw["FX"], columns=[name[k] for k in range(20)])
    states.insert(0, "Date", [f"{d[8:]}/{d[5:7]}/{d[:4]}" for d in days("2005-01-03", 521, 7)])
    states.to_csv(tmp_path / "states.csv", index=False)
    data = ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv")
    run = data.trajectory
    assert data.calendar == ndcn.tables.Calendar("2005-01-03", "week")
    assert run.times.tolist() == list(range(521))
    assert list(run.graph.nodes) == sorted(name.values())
    assert run.graph.to_pandas()[["source", "target"]].shape[0] == len({tuple(sorted(e)) for e in raw["edges"]})
    place = [raw["node_ids"][node] for node in run.graph.nodes]
    np.testing.assert_allclose(run.states[:, :, 0].numpy(), np.array(raw["FX"])[:, place])
    facts = ndcn.tables.inspect(data)
    assert facts.runs[0].equal_steps
    assert facts.components == 1


def test_england_with_a_graph_for_every_day(tmp_path: Path) -> None:
    raw = json.loads((DATA / "temporal" / "england_covid.json").read_text())
    mapping, T = raw["edge_mapping"], raw["time_periods"]
    when = days("2020-03-03", T)
    edges = pd.concat(
        pd.DataFrame(mapping["edge_index"][str(k)], columns=["source", "target"]).assign(
            weight=mapping["edge_weight"][str(k)], date=when[k]
        )
        for k in range(T)
    )
    edges.to_csv(tmp_path / "movements.csv", index=False)
    states = pd.DataFrame(raw["y"]).assign(date=when).set_index("date").reset_index()
    states.to_csv(tmp_path / "cases.csv", index=False)
    data = ndcn.read(tmp_path / "movements.csv", tmp_path / "cases.csv")
    assert data.graphs is not None
    assert len(data.graphs) == T
    assert data.graphs.times.tolist() == list(range(T))
    first = data.graphs.graphs[0].to_dense()
    expected = torch.zeros(129, 129, dtype=torch.float64)
    for (u, v), w in zip(mapping["edge_index"]["0"], mapping["edge_weight"]["0"], strict=True):
        expected[v, u] = w
    torch.testing.assert_close(first, expected)
    pieces = data.pieces()
    assert [len(piece) for piece in pieces] == [2] * (T - 1)
    assert all(piece.graph == data.graphs.graphs[k] for k, piece in enumerate(pieces))
    assert ndcn.read(tmp_path / "movements.csv", tmp_path / "cases.csv", edge_time=False).graphs is None
