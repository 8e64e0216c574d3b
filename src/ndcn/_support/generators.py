"""torch's global generators: seeded for a while, then as before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Seed the global generators of the CPU and of the device; afterwards they are as before.

    ``torch.manual_seed`` would also seed those of all other devices, and nothing would restore them.
    """
    on_cuda = torch.device(device).type == "cuda"
    with torch.random.fork_rng([torch.device(device)] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
