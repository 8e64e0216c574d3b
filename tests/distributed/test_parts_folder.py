from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
from ndcn import Graph, Trajectory, distributed
from ndcn.graph import PartGraph
from ranks import together


def trajectory(labels: bool = False, missing: bool = False) -> Trajectory:
    graph = ndcn.networks.grid(16)
    if labels:
        graph = Graph(graph.to_scipy(), nodes=[f"n{k}" for k in range(16)])
    states = torch.from_numpy(np.random.default_rng(0).uniform(size=(5, 16, 2)))
    mask = torch.ones(5, 16, 2, dtype=torch.bool)
    if missing:
        mask[1, 3], mask[:, 5, 0] = False, False
    return Trajectory(times=torch.arange(5.0), states=states, graph=graph, mask=mask, features=["a", "b"])


GATHER = """
data = distributed.read_part(words["folder"])
start = distributed.whole_states(data.first_state(), data.graph)
whole = distributed.whole_trajectory(data)
if world.first:
    whole.save(words["folder"] + "-whole")
say(None if start is None else start.tolist())
"""


@pytest.mark.parametrize(("labels", "missing"), [(False, True), (True, False)])
def test_what_was_cut_is_put_together_again(labels: bool, missing: bool, tmp_path: Path) -> None:
    data = trajectory(labels, missing)
    distributed.write_parts(data, tmp_path / "parts", 3)
    first = together(3, GATHER, {"folder": str(tmp_path / "parts")}, cwd=tmp_path)[0].said
    again = Trajectory.load(tmp_path / "parts-whole")
    assert again.graph == data.graph
    assert again.features == data.features
    torch.testing.assert_close(again.states, data.states, equal_nan=True, rtol=0, atol=0)
    np.testing.assert_allclose(first, data.first_state(), rtol=1e-14)


def test_one_part_is_read_without_a_process_group(tmp_path: Path) -> None:
    data = trajectory(labels=True)
    distributed.write_parts(ndcn.Dataset((data,)), tmp_path / "parts", 1)
    again = distributed.read_part(tmp_path / "parts")
    assert isinstance(again, Trajectory)
    assert isinstance(again.graph, PartGraph)
    assert again.graph.nodes == data.graph.nodes
    assert distributed.whole_graph(again.graph) == data.graph


def spoiled(folder: Path, how: str) -> str:
    """Damage a folder of two parts; the message that every rank is to give."""
    second = folder / "part-00001"
    if how == "missing":
        (second / "rows.safetensors").unlink()
        return "rows.safetensors is missing"
    if how == "damaged":
        content = bytearray((second / "states.safetensors").read_bytes())
        content[-3] ^= 1
        (second / "states.safetensors").write_bytes(content)
        return "does not match its checksum"
    if how == "foreign":
        other = folder.parent / "other"
        distributed.write_parts(trajectory(missing=True), other, 2, method="blocks")
        shutil.rmtree(second)
        shutil.copytree(other / "part-00001", second)
        return "parts of two partitions were mixed"
    if how == "nameless":
        (second / "nodes.parquet").write_bytes(b"PAR1 and no more")
        return "nodes.parquet is damaged"
    shutil.rmtree(second)
    shutil.copytree(folder / "part-00000", second)
    return "is part 0 of partition"


@pytest.mark.parametrize("how", ["missing", "damaged", "foreign", "swapped", "nameless"])
def test_every_rank_says_what_is_wrong_with_a_part_of_one(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    distributed.write_parts(trajectory(labels=how == "nameless"), folder, 2, method="blocks")
    message = spoiled(folder, how)
    code = """
try:
    distributed.read_part(words["folder"])
except ValueError as error:
    say(str(error))
"""
    for rank in together(2, code, {"folder": str(folder)}, cwd=tmp_path):
        assert message in rank.said
        assert rank.said.startswith("rank 1: ")


def test_machines_with_different_folders(tmp_path: Path) -> None:
    """Each rank reads a folder of its own: parts of two partitions, whole in themselves; one without a word; none at all."""
    distributed.write_parts(trajectory(), tmp_path / "a0", 2, method="blocks")
    distributed.write_parts(trajectory(missing=True), tmp_path / "a1", 2, method="blocks")
    for name in ("b0", "b1", "c0"):
        shutil.copytree(tmp_path / "a0", tmp_path / name)
    about = json.loads((tmp_path / "b1" / "partition.json").read_text())
    (tmp_path / "b1" / "partition.json").write_text(json.dumps({k: v for k, v in about.items() if k != "times"}))
    code = """
said = []
for name in "abc":
    try:
        distributed.read_part(words["folder"] + "/" + name + str(world.rank))
    except ValueError as error:
        said.append(str(error))
say(said)
"""
    for rank in together(2, code, {"folder": str(tmp_path)}, cwd=tmp_path):
        other, silent, none = rank.said
        assert "in rank 0 and of another in rank 1: copy all parts" in other
        assert silent.startswith("rank 1: ")
        assert "is damaged: it says nothing of times" in silent
        assert none.startswith("rank 1: ")
        assert "holds no partitioned network" in none


def test_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    distributed.write_parts(trajectory(), tmp_path / "parts", 2)
    with pytest.raises(ValueError, match="has 2 parts and 1 process came: start it by `torchrun --nproc-per-node 2"):
        distributed.read_part(tmp_path / "parts")


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="holds no partitioned network"):
        distributed.write_parts(trajectory(), tmp_path / "mine", 2)
    with pytest.raises(ValueError, match=r"has no partition\.json"):
        distributed.read_part(tmp_path / "mine")
    (tmp_path / "mine" / "partition.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(ValueError, match="is not what `ndcn partition` writes"):
        distributed.read_part(tmp_path / "mine")


def test_inputs_are_refused(tmp_path: Path) -> None:
    run = trajectory()
    driven = run.replaced(inputs=ndcn.Inputs([0.0, 5.0], {"rain": [0.0, 1.0]}))
    with pytest.raises(ValueError, match="cannot have inputs, and these data have rain"):
        distributed.write_parts(driven, tmp_path / "parts", 2)
    assert not (tmp_path / "parts").exists()


def test_several_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one run on one graph"):
        distributed.write_parts(ndcn.Dataset((trajectory(), trajectory())), tmp_path / "parts", 2)
    with pytest.raises(TypeError, match="expected a Trajectory"):
        distributed.write_parts("data", tmp_path / "parts", 2)  # type: ignore[arg-type]
