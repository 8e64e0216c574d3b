"""The same network in every format, and every shape of states."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import io, sparse

import ndcn

NODES = ["ann", "bob", "cid"]
DENSE = torch.tensor([[0.0, 0, 0], [2, 0, 0], [0, 3, 0]], dtype=torch.float64)  # ann acts on bob, bob on cid
EDGES = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cid"], "weight": [2.0, 3.0]})
LONG = pd.DataFrame({"node": NODES * 2, "time": [0.0] * 3 + [1.5] * 3, "heat": np.arange(6.0), "load": -np.arange(6.0)})


def graph() -> nx.DiGraph:
    out = nx.DiGraph()
    out.add_nodes_from(NODES)
    out.add_weighted_edges_from(EDGES.itertuples(index=False, name=None))
    return out


def matrix() -> sparse.coo_array:
    return sparse.coo_array(DENSE.numpy())


def write_edges(folder: Path, kind: str) -> Path:
    path = folder / f"edges.{kind}"
    if kind == "csv":
        EDGES.to_csv(path, index=False)
    elif kind == "tsv":
        EDGES.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        EDGES.to_parquet(path)
    elif kind == "graphml":
        nx.write_graphml(graph(), path)
    elif kind == "gml":
        nx.write_gml(graph(), path)
    elif kind == "json":
        path.write_text(json.dumps(nx.node_link_data(graph(), edges="links")))
    elif kind == "npz":
        sparse.save_npz(path, matrix())
    else:
        io.mmwrite(path, matrix())
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "graphml", "gml", "json"])
def test_edges_with_names(kind: str, tmp_path: Path) -> None:
    data = ndcn.read(write_edges(tmp_path, kind), LONG, directed=True)
    assert data.trajectory.graph.nodes == tuple(NODES)
    assert torch.equal(data.trajectory.graph.to_dense(), DENSE)
    assert data.trajectory.features == ("heat", "load")


@pytest.mark.parametrize("kind", ["npz", "mtx"])
@pytest.mark.parametrize("first", [0, 1])
def test_matrices_have_places(kind: str, first: int, tmp_path: Path) -> None:
    states = LONG.assign(node=[NODES.index(name) + first for name in LONG["node"]])
    data = ndcn.read(write_edges(tmp_path, kind), states)
    assert list(data.trajectory.graph.nodes) == [first, first + 1, first + 2]
    assert torch.equal(data.trajectory.graph.to_dense(), DENSE)
    assert any(f"counted from {first}" in note for note in data.notes)


def test_damaged_npz_files_are_refused_in_words(tmp_path: Path) -> None:
    """Whatever byte of the compressed numbers is wrong: zlib and zipfile have errors of their own."""
    path = write_edges(tmp_path, "npz")
    good = path.read_bytes()
    for k in range(30, len(good), 7):
        path.write_bytes(good[:k] + bytes([good[k] ^ 0xFF]) + good[k + 1 :])
        with contextlib.suppress(ValueError):
            ndcn.read(path, LONG)


@pytest.mark.parametrize("kind", ["npz", "mtx"])
def test_matrices_beside_a_wide_table(kind: str, tmp_path: Path) -> None:
    wide = pd.DataFrame({"time": [0.0, 1.0], "ann": [1.0, 2], "bob": [3.0, 4], "cid": [5.0, 6]})
    path = write_edges(tmp_path, kind)
    data = ndcn.read(path, wide)
    assert data.trajectory.graph.nodes == ("ann", "bob", "cid")
    assert torch.equal(data.trajectory.graph.to_dense(), DENSE)
    assert data.trajectory.states[1, :, 0].tolist() == [2, 4, 6]
    with pytest.raises(ValueError, match="no heading is the name of a node"):  # one column too many
        ndcn.read(path, wide.assign(eve=1.0))


@pytest.mark.parametrize("source", ["frame", "networkx", "scipy", "graph"])
def test_objects(source: str) -> None:
    found = {"frame": EDGES, "networkx": graph(), "scipy": matrix(), "graph": ndcn.Graph.from_networkx(graph())}[source]
    states = LONG.assign(node=[NODES.index(name) for name in LONG["node"]]) if source == "scipy" else LONG
    assert torch.equal(ndcn.read(found, states, directed=True).trajectory.graph.to_dense(), DENSE)


def test_objects_that_are_none() -> None:
    with pytest.raises(TypeError, match="edges must be"):
        ndcn.read([("a", "b")], LONG)
    with pytest.raises(TypeError, match="states must be"):
        ndcn.read(EDGES, [1, 2])


def test_nodes_by_their_label(tmp_path: Path) -> None:
    named = nx.relabel_nodes(graph(), {name: f"n{k}" for k, name in enumerate(NODES)})
    nx.set_node_attributes(named, {f"n{k}": name for k, name in enumerate(NODES)}, "label")
    nx.write_graphml(named, tmp_path / "edges.graphml")
    data = ndcn.read(tmp_path / "edges.graphml", LONG)
    assert data.trajectory.graph.nodes == tuple(NODES)
    assert any("'label'" in note for note in data.notes)


def test_undirected_files(tmp_path: Path) -> None:
    nx.write_graphml(graph().to_undirected(), tmp_path / "edges.graphml")
    found = ndcn.read(tmp_path / "edges.graphml", LONG).trajectory.graph
    assert not found.directed
    assert torch.equal(found.to_dense(), DENSE + DENSE.T)
    gephi = EDGES.assign(Type="Directed", Id=[0, 1], Label="")
    assert ndcn.read(gephi, LONG).trajectory.graph.directed
    assert not ndcn.read(gephi.assign(Type="Undirected"), LONG).trajectory.graph.directed


def test_json_without_nodes(tmp_path: Path) -> None:
    path = tmp_path / "edges.json"
    path.write_text(json.dumps({"directed": True, "edges": [{"source": "ann", "target": "bob"}]}))
    assert ndcn.read(path, LONG).trajectory.graph.num_edges == 1


def test_a_square_table_with_names(tmp_path: Path) -> None:
    pd.DataFrame(DENSE.numpy(), index=NODES, columns=NODES).to_csv(tmp_path / "matrix.csv")
    data = ndcn.read(tmp_path / "matrix.csv", LONG)
    assert torch.equal(data.trajectory.graph.to_dense(), DENSE)


# States ---------------------------------------------------------------------------------------------------------------


def same(data: ndcn.Dataset, features: tuple[str, ...] = ("heat", "load")) -> None:
    run = data.trajectory
    assert run.features == features
    assert run.times.tolist() == [0, 1.5]
    expected = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    assert torch.equal(run.states[:, :, 0], expected)
    if len(features) > 1:
        assert torch.equal(run.states[:, :, 1], -expected)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_long(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"states.{kind}"
    if kind == "parquet":
        LONG.to_parquet(path)
    else:
        LONG.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    same(ndcn.read(EDGES, path))


def test_netcdf(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    LONG.set_index(["time", "node"]).to_xarray().to_netcdf(tmp_path / "states.nc", engine="scipy")
    same(ndcn.read(EDGES, tmp_path / "states.nc"))


@pytest.mark.parametrize("sign", [":", "."])
def test_wide_with_several_variables(sign: str) -> None:
    wide = LONG.pivot(index="time", columns="node")
    wide.columns = [f"{node}{sign}{variable}" for variable, node in wide.columns]
    same(ndcn.read(EDGES, wide))


def test_most_columns_of_a_wide_table_have_no_edge() -> None:
    edges = pd.DataFrame({"source": ["ann"], "target": ["bob"]})
    wide = pd.DataFrame(
        {"date": ["2021-03-01", "2021-03-02"], **{name: [1.0, 2.0] for name in ("ann", "bob", "c", "d", "e")}}
    )
    graph = ndcn.read(edges, wide).trajectory.graph
    assert sorted(graph.nodes) == ["ann", "bob", "c", "d", "e"]
    assert graph.num_edges == 1
    with pytest.raises(ValueError, match="no heading is the name of a node"):
        ndcn.read(edges, wide.drop(columns=["ann", "bob"]))


def test_wide_and_turned() -> None:
    wide = LONG.pivot(index="time", columns="node", values="heat")
    same(ndcn.read(EDGES, wide), ("x",))
    turned = wide.T.reset_index()
    turned.columns = [str(name) for name in turned.columns]
    same(ndcn.read(EDGES, turned), ("x",))


def test_molten() -> None:
    molten = LONG.melt(id_vars=["node", "time"], value_name="value")
    same(ndcn.read(EDGES, molten))


def test_columns_that_are_named() -> None:
    odd = LONG.rename(columns={"node": "aa", "time": "bb"}).assign(cc=1)
    same(ndcn.read(EDGES, odd, node="aa", time="bb", values=["heat", "load"]))
    same(ndcn.read(EDGES, odd, node="aa", time="bb", values="heat"), ("heat",))
    same(ndcn.read(EDGES.rename(columns={"source": "x", "target": "y"}), LONG, source="x", target="y", weight="weight"))


def test_several_runs() -> None:
    both = pd.concat([LONG.assign(run="first"), LONG[LONG["time"] == 0].assign(run="second", heat=9.0)])
    data = ndcn.read(EDGES, both)
    assert data.names == ("first", "second")
    assert [len(run) for run in data.runs] == [2, 1]
    assert data.runs[1].states[0, :, 0].tolist() == [9, 9, 9]
    with pytest.raises(ValueError, match="2 runs"):
        data.trajectory  # noqa: B018


def test_dates_of_pandas() -> None:
    zoned = LONG.assign(time=pd.to_datetime(["2021-03-01"] * 3 + ["2021-03-02"] * 3).tz_localize("Europe/Berlin"))
    data = ndcn.read(EDGES, zoned)
    assert data.calendar is not None
    assert data.calendar.unit == "day"
    assert data.trajectory.times.tolist() == [0, 1]
    assert data.calendar.texts([0.0])[0].startswith("2021-0")


def test_a_unit_and_numbers_that_are_dates() -> None:
    dated = LONG.assign(time=[20210301] * 3 + [20210302] * 3)
    data = ndcn.read(EDGES, dated, unit="hour")
    assert data.trajectory.times.tolist() == [0, 24]
    with pytest.raises(ValueError, match="is for dates"):
        ndcn.read(EDGES, LONG, unit="hour")


# A graph for each time ------------------------------------------------------------------------------------------------


def test_a_graph_for_each_time() -> None:
    edges = pd.DataFrame({"source": ["ann", "bob", "cid"], "target": ["bob", "cid", "ann"], "time": [0, 0, 2]})
    states = pd.DataFrame({"time": range(5), "ann": range(5), "bob": range(5), "cid": range(5)})
    data = ndcn.read(edges, states)
    assert data.graphs is not None
    assert data.graphs.times.tolist() == [0, 2]
    assert [graph.num_edges for graph in data.graphs.graphs] == [2, 1]
    pieces = data.pieces()
    assert [piece.times.tolist() for piece in pieces] == [[0, 1, 2], [2, 3, 4]]
    assert [piece.graph for piece in pieces] == list(data.graphs.graphs)
    assert data.trajectory.graph == data.graphs.last
    assert ndcn.read(edges, states, edge_time=False).graphs is None
    many = pd.DataFrame({"source": "ann", "target": "bob", "time": np.arange(10_001) * 1.0})
    with pytest.raises(ValueError, match="10001 different times"):
        ndcn.read(many, states)


def test_what_a_dataset_checks() -> None:
    run = ndcn.read(EDGES, LONG).trajectory
    with pytest.raises(ValueError, match="at least one run"):
        ndcn.Dataset(())
    with pytest.raises(ValueError, match="2 names"):
        ndcn.Dataset((run,), ("a", "b"))
    other = ndcn.Trajectory(times=[0.0], states=torch.zeros(1, 2), graph=ndcn.Graph.from_edges([(0, 1)]))
    with pytest.raises(ValueError, match="same nodes"):
        ndcn.Dataset((run, other))
    with pytest.raises(ValueError, match="nodes of its runs"):
        ndcn.Dataset((run,), graphs=ndcn.GraphSequence([0.0], [other.graph]))
    assert ndcn.Dataset((run,)).pieces() == [run]


def test_a_model_of_a_dataset(tmp_path: Path) -> None:
    """The calendar and the graphs go into the model file and come back."""
    edges = pd.DataFrame(
        {"source": ["ann", "bob", "cid"], "target": ["bob", "cid", "ann"], "date": ["2021-03-01"] * 2 + ["2021-03-03"]}
    )
    dates = pd.date_range("2021-03-01", periods=6)
    states = pd.DataFrame({"date": dates, "ann": range(6), "bob": range(6), "cid": range(1, 7)})
    data = ndcn.read(edges, states)
    reg = ndcn.DynamicsRegressor(epochs=3).fit(data)
    assert reg.calendar_ == data.calendar
    reg.save(tmp_path / "m.ndcn")
    again = ndcn.load(tmp_path / "m.ndcn")
    assert isinstance(again, ndcn.DynamicsRegressor)
    assert again.calendar_ == data.calendar
    assert again.graphs_ == data.graphs
    assert ndcn.DynamicsRegressor(epochs=1).fit(data.pieces()).calendar_ == data.calendar


# Tables as they are found ---------------------------------------------------------------------------------------------


def put(folder: Path, **files: str) -> list[Path]:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return [folder / f"{name}.csv" for name in files]


def test_nodes_below_each_other_and_dates_beside(tmp_path: Path) -> None:
    """As the counts of epidemics by country are often published."""
    cases = (
        "Province/State,Country/Region,Lat,Long,1/22/20,1/23/20,1/24/20\n"
        ",Italy,41.9,12.6,0,1,2\n,France,46.2,2.2,3,4,5\n"
    )
    data = ndcn.read(*put(tmp_path, edges="from,to\nItaly,France\n", states=cases))
    assert data.calendar == ndcn.tables.Calendar("2020-01-22", "day")
    assert data.trajectory.states[:, :, 0].tolist() == [[3, 0], [4, 1], [5, 2]]


def test_nodes_below_each_other_and_years_beside(tmp_path: Path) -> None:
    table = "Country Name,Country Code,1960,1961\nItaly,ITA,1,2\nFrance,FRA,3,\n"
    data = ndcn.read(*put(tmp_path, edges="from,to\nITA,FRA\n", states=table))
    assert data.trajectory.graph.nodes == ("FRA", "ITA")
    assert data.trajectory.times.tolist() == [1960, 1961]
    assert data.trajectory.mask is not None


def test_edge_lists_of_collections(tmp_path: Path) -> None:
    states = "node,time,x\n1,0,1\n2,0,2\n3,0,3\n"
    for text in ("# FromNodeId\tToNodeId\n1\t2\n2\t3\n", "% sym unweighted\n1 2\n2 3\n", "1 2\n2 3\n"):
        data = ndcn.read(*put(tmp_path, edges=text, states=states))
        assert data.trajectory.graph == ndcn.Graph.from_edges([(1, 2), (2, 3)])


def test_columns_that_count_rows(tmp_path: Path) -> None:
    edges, states = ",a,b\n0,x,y\n1,y,z\n", ",time,node,v\n0,0,x,1\n1,0,y,2\n2,0,z,3\n"
    data = ndcn.read(*put(tmp_path, edges=edges, states=states))
    assert data.trajectory.graph.nodes == ("x", "y", "z")
    assert data.trajectory.features == ("v",)


def test_counted_from_0_and_from_1(tmp_path: Path) -> None:
    states = "node,time,x\n" + "".join(f"{k},0,1\n" for k in range(5))
    data = ndcn.read(*put(tmp_path, edges="s,t\n1,2\n2,3\n3,4\n4,5\n", states=states))
    assert any("count nodes from 0 and edges.csv from 1?" in note for note in data.notes)


def test_d3_without_ids(tmp_path: Path) -> None:
    path = tmp_path / "edges.json"
    path.write_text(json.dumps({"nodes": [{"name": name} for name in NODES], "links": [{"source": 0, "target": 1}]}))
    data = ndcn.read(path, LONG)
    assert data.trajectory.graph.to_pandas()[["source", "target"]].to_numpy().tolist() == [["ann", "bob"]]


def test_parts_of_dates_are_no_values(tmp_path: Path) -> None:
    states = "date,year,month,node,x\n2021-03-01,2021,3,a,1\n2021-03-02,2021,3,b,2\n"
    data = ndcn.read(*put(tmp_path, edges="source,target\na,b\n", states=states))
    assert data.trajectory.features == ("x",)
