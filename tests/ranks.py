"""Programs that share a process group over loopback, one for each rank, with time limits: tests start them with ``together``."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, NamedTuple

import warm

PRELUDE = """
import json, os, sys
os.environ.update(RANK=sys.argv[1], WORLD_SIZE=sys.argv[2], MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3],
                  LOCAL_RANK=sys.argv[1], LOCAL_WORLD_SIZE=sys.argv[2], TORCHELASTIC_RUN_ID="test",
                  NDCN_COLLECTIVE_SECONDS=sys.argv[4])
import torch
torch.set_num_threads(1)
import ndcn
from ndcn import distributed
words = json.loads(sys.argv[5])
distributed.start_processes()
world = distributed.World.current()
def say(value):
    print("SAID " + json.dumps(value), flush=True)
"""


class Ended(NamedTuple):
    """How a rank ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> Any:
        """What it said, from JSON."""
        assert self.code == 0, self.err
        return json.loads(next(line for line in self.out.splitlines() if line.startswith("SAID "))[5:])


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def together(
    size: int, code: str, words: dict[str, Any] | None = None, *, cwd: Path, seconds: float = 90, limit: float = 30
) -> list[Ended]:
    """Run ``code`` in ``size`` processes of one group; it has ``world``, ``words`` and ``say``.

    Args:
        seconds: after which a program that still runs fails the test.
        limit: of collective calls.
    """
    port, text = free_port(), json.dumps(words or {})
    programs = [warm.start(PRELUDE + code, [rank, size, port, limit, text], cwd=cwd) for rank in range(size)]
    ended = []
    try:
        for program in programs:
            out, err = program.communicate(timeout=seconds)
            ended.append(Ended(program.returncode or 0, out, err))
    finally:
        for program in programs:
            if program.poll() is None:
                program.kill()
    return ended
