"""Temporal GNN: a recurrent network that reads one snapshot of the graph after the other."""

from __future__ import annotations

import torch
from torch import nn

from ..data import TimeGrid, Trajectory
from ..graph import Graph, kipf
from .continuation import Continuation
from .recurrence import unrolled

CELLS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class TemporalGNN(Continuation):
    """x_k = ReLU(Phi X[k] W_e + b_e); h_k = cell(x_k, h_k-1); X[k+1] = h_k W_d + b_d, with Phi = D~^-1/2 (A + I) D~^-1/2.

    The snapshots X[k] are a step of time apart. x_k is flattened, so the weights belong to n nodes in their order:
    another graph of as many nodes can be run, one of another size cannot. It learns one step ahead from true snapshots,
    and is fed its own predictions where there are none.

    Args:
        nodes: n.
        features: d.
        cell: "rnn", "gru" or "lstm".
        hidden: width of h.
        encoded: features of each node in x.
        step: time between two snapshots.

    Example:
        >>> import ndcn
        >>> [sum(p.numel() for p in ndcn.models.TemporalGNN(400, cell=c).parameters()) for c in ("rnn", "gru", "lstm")]
        [24530, 64770, 84890]
    """

    def __init__(
        self,
        nodes: int,
        features: int = 1,
        *,
        cell: str = "lstm",
        hidden: int = 10,
        encoded: int = 5,
        step: float = 1.0,
    ) -> None:
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"unknown cell {cell!r}; known are {', '.join(CELLS)}")
        self.nodes, self.features, self.step = nodes, features, step
        self.encoder = nn.Linear(features, encoded)
        self.cell = CELLS[cell](encoded * nodes, hidden)
        self.decoder = nn.Linear(hidden, nodes * features)

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float = 0.0) -> torch.Tensor:
        """States at ``times``, which must be t0 + k step, on its own predictions from x0 (n, d) on; (T, n, d)."""
        index = TimeGrid(t0, self.step).index(torch.as_tensor(times))
        return torch.stack([x0, *self._roll(x0, self._rest(), graph, int(index.max()))])[index]

    def go_on(self, seen: Trajectory, times: torch.Tensor) -> torch.Tensor:
        """One step ahead of each snapshot that was seen, and on its own predictions after the last.

        Entries that were not seen are read as that node's last value. The state at the first time is the given one.
        """
        index = TimeGrid(seen.times[0].item(), self.step).index(torch.as_tensor(times))
        states = filled(seen).to(self.decoder.weight)
        hidden, state = self._read(self.spread(states, seen.graph))
        ahead = self._decode(hidden)
        later = self._roll(ahead[-1], state, seen.graph, max(0, int(index.max()) - len(states)))
        return torch.cat([states[:1], ahead, *[x.unsqueeze(0) for x in later]])[index]

    def spread(self, states: torch.Tensor, graph: Graph) -> torch.Tensor:
        """Phi X[k] of snapshots (T, n, d): all that the model wants to know of them, computed once for all epochs."""
        if graph.num_nodes != self.nodes:
            raise ValueError(
                f"the weights of this temporal GNN belong to {self.nodes} nodes, and the graph has {graph.num_nodes}: "
                "take a graph of that size, or a model that runs on any graph, such as ndcn"
            )
        if states.shape[-1] != self.features:
            made = f"this temporal GNN was made for {self.features} features"
            raise ValueError(f"{made}, the data have {states.shape[-1]}")
        return kipf(graph) @ states

    def one_step_ahead(self, spread: torch.Tensor) -> torch.Tensor:
        """X[1], ..., X[T] as predicted from Phi X[0], ..., Phi X[T-1], shape (T, n, d)."""
        return self._decode(self._read(spread)[0])

    def _read(self, spread: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """h after each snapshot, first in (T, width), and the cell's state after the last; its inputs are one product for all."""
        states = unrolled(self.cell, self._inputs(spread))
        if states is not None:
            return states, states[-1]
        hidden, last = self.cell(self._encode(spread))
        return hidden, torch.cat(last, dim=-1).squeeze(0) if isinstance(last, tuple) else last.squeeze(0)

    def _roll(self, x: torch.Tensor, state: torch.Tensor, graph: Graph, steps: int) -> list[torch.Tensor]:
        """``steps`` snapshots after x, each predicted from the one before."""
        _, weight, _, bias = self.cell.all_weights[0]
        states = []
        for _ in range(steps):
            state = STEPS[type(self.cell)](self._inputs(self.spread(x, graph)), state, weight, bias)
            x = self._decode(state)
            states.append(x)
        return states

    def _inputs(self, spread: torch.Tensor) -> torch.Tensor:
        weight, _, bias, _ = self.cell.all_weights[0]
        return nn.functional.linear(self._encode(spread), weight, bias)

    def _encode(self, spread: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.encoder(spread)).flatten(-2)

    def _decode(self, state: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.decoder(state[..., : self.cell.hidden_size])
        return out.unflatten(-1, (self.nodes, self.features))

    def _rest(self) -> torch.Tensor:
        """The state of a cell that has read nothing: h = 0, and for an LSTM its memory c = 0 beside it."""
        width = self.cell.hidden_size * (2 if isinstance(self.cell, nn.LSTM) else 1)
        return self.decoder.weight.new_zeros(width)


def filled(seen: Trajectory) -> torch.Tensor:
    """The snapshots (T, n, d), with each entry that was not seen taken from that node's last one (at first: its next)."""
    if seen.mask is None:
        return seen.states
    states = seen.states.clone()
    states[0] = seen.first_state()
    for k in range(1, len(states)):
        states[k] = torch.where(seen.mask[k], states[k], states[k - 1])
    return states


# One step of each cell, given its input part u = x W_i + b_i ----------------------------------------------------


def _rnn(u: torch.Tensor, h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.tanh(u + _linear(h, weight, bias))


def _gru(u: torch.Tensor, h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    width = h.shape[-1]
    gates, memory = _linear(h, weight, bias).split((2 * width, width), dim=-1)
    gates_in, new_in = u.split((2 * width, width), dim=-1)
    reset, update = torch.sigmoid(gates_in + gates).chunk(2, dim=-1)
    new = torch.tanh(torch.addcmul(new_in, reset, memory))
    return torch.lerp(new, h, update)


def _lstm(u: torch.Tensor, state: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    h, c = state.chunk(2, dim=-1)
    gates = u + _linear(h, weight, bias)
    i, f, _, o = torch.sigmoid(gates).chunk(4, dim=-1)
    new = torch.tanh(gates[..., 2 * h.shape[-1] : 3 * h.shape[-1]])
    c = torch.addcmul(f * c, i, new)
    return torch.cat([o * torch.tanh(c), c], dim=-1)


def _linear(h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.addmv(bias, weight, h) if h.dim() == 1 else nn.functional.linear(h, weight, bias)  # half the overhead


STEPS = {nn.RNN: _rnn, nn.GRU: _gru, nn.LSTM: _lstm}
