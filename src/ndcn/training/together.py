"""What processes that share one network do together while they train; with a whole graph each is what it is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from ..graph import Graph, PartGraph


def summed(graph: Graph | None, value: float, parameters: Sequence[torch.Tensor]) -> float:
    """The sum of a loss over processes; gradients are summed in place, in float64 and in the order of ranks."""
    if not isinstance(graph, PartGraph):
        return value
    with_gradient = [p for p in parameters if p.grad is not None]
    parts = [torch.tensor([value], dtype=torch.float64)]
    parts += [p.grad.detach().double().cpu().reshape(-1) for p in with_gradient if p.grad is not None]
    loss, *gradients = graph.total(torch.cat(parts)).split([1, *(p.numel() for p in with_gradient)])
    for p, gradient in zip(with_gradient, gradients, strict=True):
        p.grad = gradient.reshape(p.shape).to(p.device, p.dtype)
    return loss.item()


def anywhere(graph: Graph | None, flag: bool) -> bool:
    """Whether it holds in any process."""
    return flag if graph is None else not graph.everywhere(not flag)


def speaks(graph: Graph | None) -> bool:
    """Whether this process writes files and shows progress for all."""
    return not isinstance(graph, PartGraph) or graph.world.first


def check_alike(graph: Graph, model: nn.Module) -> None:
    """Refuse weights that differ between processes: each would train a model of its own.

    Raises:
        ValueError: in every process.
    """
    if not isinstance(graph, PartGraph):
        return
    kept = [value.detach().double().cpu().reshape(-1) for value in model.state_dict().values()]
    flat = torch.cat(kept) if kept else torch.zeros(0, dtype=torch.float64)
    gathered = graph.world.gather(flat)
    if not torch.equal(gathered.nan_to_num(0.0), gathered[:1].expand_as(gathered).nan_to_num(0.0)):
        raise ValueError(
            "the model has other initial weights in each process: call torch.manual_seed(0) before it is made, in all of them"
        )


@contextmanager
def shared_file(graph: Graph | None, path: Path) -> Iterator[Path | None]:
    """A file as the first process has it, for all; None if there is none."""
    if not isinstance(graph, PartGraph):
        yield path if path.exists() else None
        return
    world = graph.world
    content = path.read_bytes() if world.first and path.exists() else b""
    size = int(world.broadcast(torch.tensor([len(content)]))[0])
    if not size:
        yield None
        return
    held = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(size, dtype=torch.uint8)
    world.broadcast(held)
    if world.first:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(held.numpy().tobytes())
        yield copy
