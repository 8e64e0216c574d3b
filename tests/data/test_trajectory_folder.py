"""Data folders: round trips, damage, and disks that fail."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings

from ndcn import Graph, Trajectory
from problems import trajectory
from strategies import graphs

NAMES = ["data.json", "edges.parquet", "states.parquet"]
LABELLED = {
    "positions": Graph.from_edges([(0, 1)], num_nodes=3, directed=True),
    "text": Graph.from_edges([("b", "a", -0.5)]),
    "integers": Graph.from_edges([(20, 10)], nodes=[20, 10, 30]),
    "floats": Graph.from_edges([(0.5, 1.5)]),
    "no edges": Graph.from_edges([], nodes=["a", "b"]),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    trajectory(LABELLED["text"], missing=True).save(tmp_path / "data")
    return tmp_path / "data"


def unsealed(folder: Path, **change: object) -> None:
    """Change data.json, and leave out its hashes, as folders before 0.3 have none."""
    about = json.loads((folder / "data.json").read_text())
    del about["sha256"]
    (folder / "data.json").write_text(json.dumps({**about, **change}))


def _same(one: Trajectory, other: Trajectory) -> bool:
    return one.fingerprint == other.fingerprint and one.features == other.features


@pytest.mark.parametrize("labels", LABELLED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("missing", [False, True])
def test_round_trip(tmp_path: Path, labels: str, dtype: torch.dtype, missing: bool) -> None:
    data = trajectory(LABELLED[labels], d=2, missing=missing, features=["heat", "wind"])
    data = Trajectory(
        times=data.times, states=data.states.to(dtype), graph=data.graph, mask=data.mask, features=data.features
    )
    data.save(tmp_path / "data")
    assert sorted(file.name for file in (tmp_path / "data").iterdir()) == NAMES
    assert _same(Trajectory.load(tmp_path / "data"), data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(graph=graphs())
def test_round_trip_of_any_graph(tmp_path: Path, graph: Graph) -> None:
    data = trajectory(graph, T=2)
    data.save(tmp_path / "data")
    assert _same(Trajectory.load(tmp_path / "data"), data)


def test_times_in_any_order_and_repeated_come_back_as_they_were(tmp_path: Path) -> None:
    data = Trajectory(times=[2, 0, 2], states=torch.rand(3, 2, 1), graph=LABELLED["text"], ordered=False)
    data.save(tmp_path / "data")
    assert _same(Trajectory.load(tmp_path / "data"), data)


def test_labels_that_json_cannot_hold_become_text(tmp_path: Path) -> None:
    data = trajectory(Graph.from_edges([((0, 1), (0, 2)), ((0, 2), "x")]))
    data.save(tmp_path / "data")
    back = Trajectory.load(tmp_path / "data")
    assert back.graph.nodes == tuple(str(node) for node in data.graph.nodes)
    assert torch.equal(back.graph.to_dense(), data.graph.to_dense())
    assert torch.equal(back.states, data.states)


def test_labels_with_the_same_text_are_refused(tmp_path: Path) -> None:
    data = trajectory(Graph.from_edges([("1", 1)], nodes=["1", 1]))
    with pytest.raises(ValueError, match="two different labels have the same text"):
        data.save(tmp_path / "data")
    assert not any(tmp_path.iterdir())


def test_a_data_folder_is_replaced_as_a_whole(saved: Path) -> None:
    new = trajectory(LABELLED["positions"], T=2)
    new.save(saved)
    assert _same(Trajectory.load(saved), new)
    assert sorted(file.name for file in saved.iterdir()) == NAMES
    assert list(saved.parent.iterdir()) == [saved]


# Not ours, damaged --------------------------------------------------------------------------------------------------


def test_there_is_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no data folder .*nothing; `ndcn simulate --out nothing`"):
        Trajectory.load(tmp_path / "nothing")


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"format": "other"}', "\udcff"])
def test_a_folder_that_is_not_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / "data.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"is not an ndcn data folder: it has no data.json written by ndcn"):
        Trajectory.load(tmp_path)


def test_what_is_not_ours_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("words")
    (tmp_path / "file").write_text("words")
    for name in ("thesis", "file"):
        with pytest.raises(ValueError, match="exists and is not ndcn data; choose another name or remove it"):
            trajectory(LABELLED["text"]).save(tmp_path / name)
    assert (tmp_path / "thesis" / "chapter").read_text() == (tmp_path / "file").read_text() == "words"


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_version(saved: Path, version: object) -> None:
    about = json.loads((saved / "data.json").read_text())
    (saved / "data.json").write_text(json.dumps({**about, "version": version}))
    with pytest.raises(ValueError, match=f"format version {version}, this ndcn reads version 1"):
        Trajectory.load(saved)


@pytest.mark.parametrize("name", ["states.parquet", "edges.parquet"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_table(saved: Path, name: str, share: float) -> None:
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"the data in .*data is damaged: "):
        Trajectory.load(saved)


@pytest.mark.parametrize("name", ["states.parquet", "edges.parquet"])
def test_an_absent_table(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(ValueError, match="is damaged: "):
        Trajectory.load(saved)


@pytest.mark.parametrize("key", ["directed", "num_nodes", "nodes", "features", "dtype"])
def test_an_absent_key(tmp_path: Path, key: str) -> None:
    trajectory(LABELLED["positions"]).save(tmp_path / "data")
    about = json.loads((tmp_path / "data" / "data.json").read_text())
    del about[key]
    (tmp_path / "data" / "data.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=f"is damaged: '{key}'"):
        Trajectory.load(tmp_path / "data")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table[:-1],
        lambda table: table[::-1],
        lambda table: table.assign(node="b"),
        lambda table: table.assign(time=range(len(table))),
    ],
    ids=["a row less", "another order", "one node", "a time for each row"],
)
def test_rows_that_are_not_snapshots(saved: Path, change) -> None:
    table = pd.read_parquet(saved / "states.parquet")
    change(table).to_parquet(saved / "states.parquet", index=False)
    unsealed(saved)
    with pytest.raises(ValueError, match=r"damaged: states.parquet does not hold every node of the graph once"):
        Trajectory.load(saved)


# Disks that fail ----------------------------------------------------------------------------------------------------


def _full(*_args: object, **_kwargs: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _half_written(self: pd.DataFrame, path: Path, **_kwargs: object) -> None:
    path.write_bytes(b"PAR1 and then")
    _full()


@pytest.mark.parametrize(
    ("owner", "name", "fails"),
    [(pd.DataFrame, "to_parquet", _half_written), (Path, "write_text", _full), (os, "fsync", _full)],
)
def test_a_full_disk_leaves_nothing_new_and_keeps_the_old(
    saved: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, fails
) -> None:
    old = Trajectory.load(saved).fingerprint
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        for folder in (saved, saved.parent / "new"):
            with pytest.raises(OSError, match="No space left on device; nothing was changed") as caught:
                trajectory(LABELLED["positions"]).save(folder)
            assert caught.value.errno == errno.ENOSPC
    assert list(saved.parent.iterdir()) == [saved]
    assert Trajectory.load(saved).fingerprint == old


def test_a_parent_that_is_absent_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("words")
    for folder in (tmp_path / "absent" / "data", tmp_path / "file" / "data"):
        with pytest.raises(FileNotFoundError, match=r"there is no folder .* to write data into; make it first"):
            trajectory(LABELLED["text"]).save(folder)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


# Hashes, kills, readers at the same time ----------------------------------------------------------------------------


def test_states_of_one_write_are_not_paired_with_the_graph_of_another(saved: Path) -> None:
    other = saved.parent / "other"
    trajectory(Graph.from_edges([("a", "b", 2.0)]), T=3).save(other)
    (saved / "edges.parquet").write_bytes((other / "edges.parquet").read_bytes())
    with pytest.raises(
        ValueError, match=r"damaged: states.parquet or edges.parquet is not the one that was written with"
    ):
        Trajectory.load(saved)


def test_a_folder_without_hashes_loads(saved: Path) -> None:
    before = Trajectory.load(saved)
    unsealed(saved)
    assert _same(Trajectory.load(saved), before)


def test_readers_see_whole_folders_while_it_is_replaced(tmp_path: Path) -> None:
    """States tell which graph they belong to: the weight of its edge."""
    kinds = [
        Trajectory(times=[0.0], states=torch.full((1, 2, 1), w), graph=Graph.from_edges([("a", "b", w)]))
        for w in (1.0, 2.0)
    ]
    kinds[0].save(tmp_path / "data")
    ended = threading.Event()

    def replace() -> None:
        for k in range(60):
            kinds[k % 2].save(tmp_path / "data")
        ended.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = 0
    while not ended.is_set():
        data = Trajectory.load(tmp_path / "data")
        assert data.states.unique().item() == data.graph.to_dense().max().item()
        seen += 1
    writer.join()
    assert seen > 3


def test_a_folder_with_files_of_others_is_not_replaced(saved: Path) -> None:
    (saved / "model.ndcn").write_text("hours of work")
    with pytest.raises(
        ValueError, match=r"holds other files than ndcn data, which would be lost: model.ndcn; move them"
    ):
        trajectory(LABELLED["positions"]).save(saved)
    assert (saved / "model.ndcn").read_text() == "hours of work"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "int8"}, "states are of type float16, float32, float64, not 'int8'"),
        ({"num_nodes": 10**9}, "num_nodes must be a whole number from 1 to"),
        ({"num_nodes": True}, "num_nodes must be a whole number"),
        ({"nodes": ["a"]}, "nodes must name 2 nodes"),
    ],
)
def test_entries_that_make_no_sense(saved: Path, change: dict, message: str) -> None:
    unsealed(saved, **change)
    with pytest.raises(ValueError, match=f"is damaged: {message}"):
        Trajectory.load(saved)


def test_lists_without_end(saved: Path) -> None:
    (saved / "data.json").write_text(100_000 * "[")
    with pytest.raises(ValueError, match="is not an ndcn data folder"):
        Trajectory.load(saved)


@pytest.mark.parametrize("name", NAMES)
def test_pipes_in_place_of_files(saved: Path, name: str) -> None:
    (saved / name).unlink()
    os.mkfifo(saved / name)
    with pytest.raises(ValueError, match=r"is a pipe|is not an ndcn data folder"):
        Trajectory.load(saved)
