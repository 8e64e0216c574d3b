"""A recurrence and its batched gradient, against the plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ndcn.neural import recurrence
from ndcn.neural.recurrence import loop, unroll
from ndcn.neural.temporal_gnn import STEPS

GATES = {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}


def parts(cell: type[nn.Module], T: int = 5, width: int = 3) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    rows, size = GATES[cell] * width, width * (2 if cell is nn.LSTM else 1)
    shapes = [(T, rows), (size,), (rows, width), (rows,)]
    return [torch.randn(shape, generator=g, dtype=torch.float64).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("cell", list(STEPS))
def test_states_and_gradients_are_those_of_the_loop(cell: type[nn.Module], T: int) -> None:
    inputs, start, *weights = parts(cell, T)
    pull = torch.randn(T, len(start), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    fast, plain = unroll(STEPS[cell], inputs, start, weights), loop(STEPS[cell], inputs, start, weights)
    assert torch.equal(fast, plain)
    for a, b in zip(*(torch.autograd.grad(s, [inputs, start, *weights], pull) for s in (fast, plain)), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("cell", list(STEPS))
def test_gradients_are_right(cell: type[nn.Module]) -> None:
    assert torch.autograd.gradcheck(lambda u, s, *w: unroll(STEPS[cell], u, s, w), parts(cell))


@pytest.mark.parametrize("cell", list(STEPS))
def test_a_step_is_that_of_torch(cell: type[nn.Module]) -> None:
    torch.manual_seed(0)
    single = {nn.RNN: nn.RNNCell, nn.GRU: nn.GRUCell, nn.LSTM: nn.LSTMCell}[cell](4, 3).double()
    x, h, c = torch.rand(4).double(), torch.rand(3).double(), torch.rand(3).double()
    inputs = nn.functional.linear(x, single.weight_ih, single.bias_ih)
    state = torch.cat([h, c]) if cell is nn.LSTM else h
    expected = torch.cat(single(x, (h, c))) if cell is nn.LSTM else single(x, h)
    torch.testing.assert_close(STEPS[cell](inputs, state, single.weight_hh, single.bias_hh), expected)


def test_many_features_take_the_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, start, *weights = parts(nn.GRU)
    fast = unroll(STEPS[nn.GRU], inputs, start, weights)
    monkeypatch.setattr(recurrence, "AT_ONCE", 10)
    plain = unroll(STEPS[nn.GRU], inputs, start, weights)
    assert torch.equal(fast, plain)
    assert "Unrolled" in type(fast.grad_fn).__name__
    assert "Unrolled" not in type(plain.grad_fn).__name__
