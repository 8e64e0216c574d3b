"""Draws from generators of one's own, where torch takes the global ones.

Layers such as ``nn.Dropout`` and the initial weights of ``nn.Linear`` draw from the global generator, and take no other. Where the code
that draws is ours, a dispatch mode of this thread hands them one, and what other threads draw makes no difference. Where it is a module of
the user, who may seed as well, the global generators are seeded under one lock and put back: fits in several threads draw what each would
draw alone, unless other code draws from the global generators at that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

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


class _Handed(TorchDispatchMode):
    """Operations of this thread that would draw from the global generator of the CPU draw from the given one.

    Example:
        >>> with _Handed(torch.Generator().manual_seed(3)):
        ...     first = torch.rand(2)
        >>> first.equal(torch.rand(2, generator=torch.Generator().manual_seed(3)))
        True
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; True would have torch import its compiler, which takes 1.5 s."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded in func.tags and given.get("generator") is None and _on_cpu(args, given):
            func = _with_generator(func)
            if _takes_generator(func):
                given["generator"] = self.generator
        return func(*args, **given)


def _on_cpu(args: Any, given: dict[str, Any]) -> bool:
    where = [one.device.type for one in args if isinstance(one, torch.Tensor)]
    return all(one == "cpu" for one in [*where, torch.device(given.get("device") or "cpu").type])


def _takes_generator(func: Any) -> bool:
    return any(argument.name == "generator" for argument in func._schema.arguments)


def _with_generator(func: Any) -> Any:
    """The overload that takes a generator, as ``rand.generator`` for ``rand`` and ``randint.low_generator`` for ``randint.low``."""
    name = "generator" if func._overloadname == "default" else f"{func._overloadname}_generator"
    if _takes_generator(func) or name not in func.overloadpacket.overloads():
        return func
    return getattr(func.overloadpacket, name)


@contextmanager
def initial_weights(seed: int) -> Iterator[torch.Generator]:
    """The CPU draws from a generator of its own, which is given, in float32 whatever torch's default: another would draw other numbers."""
    own = torch.Generator().manual_seed(seed)
    with _ONE_AT_A_TIME, _Handed(own):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield own
        finally:
            torch.set_default_dtype(before)


@contextmanager
def drawing_from(generators: Sequence[torch.Generator]) -> Iterator[None]:
    """Draws on the devices of these generators go on from their states; the global generators are afterwards as before.

    On the CPU they are handed over. Operations of CUDA take none: the global one gets the state meanwhile.
    """
    others = [(_global_generator(own.device), own) for own in generators if own.device.type != "cpu"]
    on_cpu = [_Handed(own) for own in generators if own.device.type == "cpu"]
    with ExitStack() as entered:
        if others:
            entered.enter_context(_ONE_AT_A_TIME)
        for mode in on_cpu:
            entered.enter_context(mode)
        before = [everyones.get_state() for everyones, _ in others]
        for everyones, own in others:
            everyones.set_state(own.get_state())
        try:
            yield
        finally:
            for (everyones, own), state in zip(others, before, strict=True):
                own.set_state(everyones.get_state())
                everyones.set_state(state)


def on_device(own: torch.Generator, seed: int, device: torch.device) -> list[torch.Generator]:
    """A generator of the CPU, and beside it one of the device with the seed, if that is another."""
    return [own] if device.type == "cpu" else [own, torch.Generator(device).manual_seed(seed)]


def _global_generator(device: torch.device) -> torch.Generator:
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]
