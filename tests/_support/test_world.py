from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ndcn._support.world import World
from ranks import together


def test_one_process_is_a_world() -> None:
    world = World.current()
    assert (world.rank, world.size, world.first) == (0, 1, True)
    assert world.total(torch.tensor([3.0])).item() == 3
    assert world.texts("a") == ["a"]
    assert world.everywhere(True)
    assert not world.everywhere(False)
    world.barrier()
    with pytest.raises(ValueError, match=r"^broken$"):
        world.check("broken")


SUMS = """
mine = torch.tensor([0.1 * (world.rank + 1), 1e16 if world.rank == 0 else 1.0])
rows = torch.arange(2 * world.rank).reshape(-1, 1)
say({
    "total": world.total(mine.double()).tolist(),
    "texts": world.texts("ä" * world.rank),
    "everywhere": [world.everywhere(True), world.everywhere(world.rank != 2)],
    "first": [len(part) for part in world.to_first(rows)],
    "broadcast": world.broadcast(torch.tensor([world.rank + 5])).tolist(),
})
"""


def test_processes_agree_to_the_last_bit(tmp_path: Path) -> None:
    ranks = [rank.said for rank in together(3, SUMS, cwd=tmp_path)]
    for name in ("total", "texts", "everywhere", "broadcast"):
        assert ranks[0][name] == ranks[1][name] == ranks[2][name]
    assert ranks[0]["texts"] == ["", "ä", "ää"]
    assert ranks[0]["everywhere"] == [True, False]
    assert ranks[0]["first"] == [0, 2, 4]
    assert ranks[1]["first"] == []
    assert ranks[0]["broadcast"] == [5]


LOST = """
import time
world.barrier()
if world.rank == 1:
    if words["how"] == "dies":
        os._exit(9)
    time.sleep(words["sleep"])
    os._exit(9)
try:
    world.barrier()
    say("nothing")
except RuntimeError as error:
    say([str(error), list(error.ranks)])
"""


@pytest.mark.parametrize("how", ["dies", pytest.param("hangs", marks=pytest.mark.slow)])
def test_a_lost_process_is_named(how: str, tmp_path: Path) -> None:
    ended = together(3, LOST, {"how": how, "sleep": 15}, cwd=tmp_path, limit=3, seconds=40)
    assert ended[1].code == 9
    for rank in (0, 2):
        message, ranks = ended[rank].said
        assert ranks == [1]
        assert f"rank {rank} of 3 was gathering numbers, and rank 1 did not answer" in message
        assert "--max-restarts" in message
