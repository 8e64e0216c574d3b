"""torch's global generators: borrowed by one thread at a time, then as before.

Layers such as ``nn.Dropout`` and the initial weights of ``nn.Linear`` draw from the global generator, and take no other. So
whoever needs it seeds it under one lock and puts it back: fits in several threads draw what each would draw alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Seed the global generators of the CPU and of the device; afterwards they are as before.

    ``torch.manual_seed`` would also seed those of all other devices, and nothing would restore them.
    """
    on_cuda = torch.device(device).type == "cuda"
    with _ONE_AT_A_TIME, torch.random.fork_rng([torch.device(device)] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def initial_weights(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """``seeded``, and weights are drawn in float32 whatever torch's default precision: another would draw other numbers."""
    with seeded(seed, device):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


@contextmanager
def drawing_from(generators: Sequence[torch.Generator]) -> Iterator[None]:
    """The global generators of these devices go on from the states of these, which get the states that they are left in."""
    pairs = [(_global_generator(own.device), own) for own in generators]
    with _ONE_AT_A_TIME:
        before = [everyones.get_state() for everyones, _ in pairs]
        for everyones, own in pairs:
            everyones.set_state(own.get_state())
        try:
            yield
        finally:
            for (everyones, own), state in zip(pairs, before, strict=True):
                own.set_state(everyones.get_state())
                everyones.set_state(state)


def copies_of_the_global(device: torch.device) -> list[torch.Generator]:
    """Generators of one's own in the state of the global ones: that of the CPU, and that of the device."""
    copies = []
    for where in dict.fromkeys([torch.device("cpu"), device]):
        own = torch.Generator(where)
        own.set_state(_global_generator(where).get_state())
        copies.append(own)
    return copies


def _global_generator(device: torch.device) -> torch.Generator:
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]
