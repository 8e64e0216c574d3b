"""Processes that ``torchrun`` starts again meet each other, and not those that died; one that does not come is named."""

from __future__ import annotations

from pathlib import Path

import torch.distributed as dist

import warm
from ranks import free_port

START = """
import os, sys, time
os.environ.update(RANK=sys.argv[1], WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2], LOCAL_RANK=sys.argv[1],
                  LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test", TORCHELASTIC_USE_AGENT_STORE="True", NDCN_COLLECTIVE_SECONDS="20")
time.sleep(float(sys.argv[3]))
import torch
from ndcn import distributed
distributed.start_processes()
total = distributed.World.current().total(torch.tensor([1.0])).item()
print(total, distributed.restarts(), flush=True)
os._exit(0)  # as if killed: nothing tidies up in the store
"""


def test_a_second_start_does_not_meet_the_first(tmp_path: Path) -> None:
    """The store stays, as that of torchrun does; the slower rank of each start comes late, so that old addresses are found first."""
    port = free_port()
    store = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    for start, delays in enumerate([(0, 0), (0.5, 0), (0, 0.5)]):
        programs = [warm.start(START, [rank, port, delay], cwd=tmp_path) for rank, delay in enumerate(delays)]
        for program in programs:
            out, err = program.communicate(timeout=60)
            assert out.split() == ["2.0", str(start)], err
    del store


def test_a_rank_that_does_not_start_is_named(tmp_path: Path) -> None:
    port = free_port()
    store = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    code = START.replace('SECONDS="20"', 'SECONDS="1"')
    for rank, other in ((0, 1), (1, 0)):
        _, err = warm.start(code, [rank, port, 0], cwd=tmp_path).communicate(timeout=60)
        assert f"LostRank: rank {rank} of 2 started, and rank {other} did not within 1 s" in err
    del store


def test_a_store_that_is_not_there_and_a_limit_that_is_no_number(tmp_path: Path) -> None:
    code = START.replace('SECONDS="20"', 'SECONDS="1"')
    _, err = warm.start(code, [1, free_port(), 0], cwd=tmp_path).communicate(timeout=60)
    assert "LostRank: rank 1 of 2 found no store of torchrun at 127.0.0.1:" in err
    _, err = warm.start(START.replace('SECONDS="20"', 'SECONDS="soon"'), [0, 1, 0], cwd=tmp_path).communicate(
        timeout=60
    )
    assert "NDCN_COLLECTIVE_SECONDS must be a positive number of seconds, got 'soon'" in err
