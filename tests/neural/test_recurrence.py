"""Recurrent cells in C, against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ndcn import networks
from ndcn.neural import TemporalGNN, recurrence
from ndcn.neural.recurrence import CELLS, unrolled
from ndcn.neural.temporal_gnn import STEPS

compiled = pytest.mark.skipif(recurrence._library() is None, reason="the kernel was not built")
Pair = tuple[nn.RNNBase, torch.Tensor]


def cell_and_inputs(kind: type[nn.RNNBase], T: int = 5, dtype: torch.dtype = torch.float64) -> Pair:
    torch.manual_seed(0)
    return kind(4, 3).to(dtype), torch.randn(T, 4, dtype=dtype, requires_grad=True)


def states_of(cell: nn.RNNBase, x: torch.Tensor) -> torch.Tensor:
    states = unrolled(cell, nn.functional.linear(x, cell.weight_ih_l0, cell.bias_ih_l0))
    assert states is not None
    return states


@compiled
@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_states_and_gradients_are_those_of_torch(kind: type[nn.RNNBase], T: int, dtype: torch.dtype) -> None:
    cell, x = cell_and_inputs(kind, T, dtype)
    fast, (plain, last) = states_of(cell, x), cell(x)
    torch.testing.assert_close(fast[:, :3], plain)
    if kind is nn.LSTM:
        torch.testing.assert_close(fast[-1, 3:], last[1][0])
    pull = torch.randn(T, 3, dtype=dtype)
    wanted = [x, *cell.parameters()]
    for a, b in zip(*(torch.autograd.grad(s, wanted, pull) for s in (fast[:, :3], plain)), strict=True):
        torch.testing.assert_close(a, b)


@compiled
@pytest.mark.parametrize("kind", CELLS)
def test_gradients_are_right(kind: type[nn.RNNBase]) -> None:
    cell, _ = cell_and_inputs(kind)
    u = torch.randn(5, cell.weight_ih_l0.shape[0], dtype=torch.float64, requires_grad=True)
    parts = [u, cell.weight_hh_l0, cell.bias_hh_l0]
    apply = recurrence._Unrolled.apply
    assert torch.autograd.gradcheck(lambda *some: apply(CELLS.index(kind), *some), parts)


@pytest.mark.parametrize("kind", CELLS)
def test_a_step_is_that_of_torch(kind: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    single = {nn.RNN: nn.RNNCell, nn.GRU: nn.GRUCell, nn.LSTM: nn.LSTMCell}[kind](4, 3).double()
    x, h, c = torch.rand(4).double(), torch.rand(3).double(), torch.rand(3).double()
    inputs = nn.functional.linear(x, single.weight_ih, single.bias_ih)
    state = torch.cat([h, c]) if kind is nn.LSTM else h
    expected = torch.cat(single(x, (h, c))) if kind is nn.LSTM else single(x, h)
    torch.testing.assert_close(STEPS[kind](inputs, state, single.weight_hh, single.bias_hh), expected)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_without_the_kernel_torch_does_the_same(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    graph = networks.grid(9)
    model = TemporalGNN(9, cell=cell).double()
    seen = model.spread(torch.rand(6, 9, 1, dtype=torch.float64), graph)
    fast = model.one_step_ahead(seen), model._read(seen)[1]
    monkeypatch.setattr(recurrence, "_library", lambda: None)
    plain = model.one_step_ahead(seen), model._read(seen)[1]
    torch.testing.assert_close(fast, plain)
