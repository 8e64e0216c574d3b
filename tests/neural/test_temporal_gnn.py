"""Temporal GNNs: their size, one step ahead and on their own, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from ndcn.models import TemporalGNN
from torch import nn

import ndcn
from ndcn import DynamicsRegressor, Graph, Trajectory, laws, networks, operators
from ndcn.neural.temporal_gnn import CELLS, filled
from problems import GRAPHS, states

GRAPH = GRAPHS["path"]
SINGLE = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
NAMES = ["rnn_gnn", "gru_gnn", "lstm_gnn"]
DATA = ndcn.simulate(laws.Heat(), GRAPH, states(GRAPH, 1), ndcn.sampling.regular_times(2.0, 12))
STEP = 2.0 / 11


def make(cell: str, features: int = 1, step: float = 1.0) -> TemporalGNN:
    torch.manual_seed(3)
    return TemporalGNN(4, features, cell=cell, hidden=3, step=step).double()


class ByHand:
    """The model, written out with torch's single cells."""

    def __init__(self, model: TemporalGNN, graph: Graph = GRAPH) -> None:
        self.model, self.phi = model, operators.kipf(graph).to_dense()
        kind = next(name for name, cell in CELLS.items() if isinstance(model.cell, cell))
        self.cell = SINGLE[kind](model.cell.input_size, model.cell.hidden_size).double()
        self.cell.load_state_dict({k.removesuffix("_l0"): v for k, v in model.cell.state_dict().items()})
        zeros = torch.zeros(1, model.cell.hidden_size, dtype=torch.float64)
        self.state = (zeros, zeros) if kind == "lstm" else zeros

    def next(self, x: torch.Tensor) -> torch.Tensor:
        encoder, decoder = self.model.encoder, self.model.decoder
        encoded = torch.relu(self.phi @ x @ encoder.weight.T + encoder.bias).reshape(1, -1)
        self.state = self.cell(encoded, self.state)
        h = self.state[0] if isinstance(self.state, tuple) else self.state
        return (h @ decoder.weight.T + decoder.bias).reshape(x.shape)


@pytest.mark.parametrize(("cell", "count"), [("rnn", 24530), ("gru", 64770), ("lstm", 84890)])
def test_the_papers_number_of_parameters(cell: str, count: int) -> None:
    assert sum(p.numel() for p in TemporalGNN(400, 1, cell=cell).parameters()) == count
    data = Trajectory(times=[0.0, 1.0], states=torch.rand(2, 400, 1), graph=networks.grid(400))
    reg = DynamicsRegressor(f"{cell}_gnn", epochs=1).fit(data)
    assert sum(p.numel() for p in reg.model_.parameters()) == count


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("cell", list(CELLS))
def test_one_step_ahead_by_hand(cell: str, features: int) -> None:
    model, x = make(cell, features), states(GRAPH, 6, features)
    hand = ByHand(model)
    expected = torch.stack([hand.next(snapshot) for snapshot in x])
    torch.testing.assert_close(model.one_step_ahead(model.spread(x, GRAPH)), expected)


@pytest.mark.parametrize("cell", list(CELLS))
def test_on_its_own_by_hand(cell: str) -> None:
    model, x0 = make(cell, 2, step=0.5), states(GRAPH, 2)
    hand, x, expected = ByHand(model), x0, [x0]
    for _ in range(6):
        x = hand.next(x)
        expected.append(x)
    found = model(x0, torch.tensor([4.0, 1.0, 2.5, 1.0], dtype=torch.float64), GRAPH, 1.0)
    torch.testing.assert_close(found, torch.stack(expected)[[6, 0, 3, 0]])


@pytest.mark.parametrize("cell", list(CELLS))
def test_going_on_by_hand(cell: str) -> None:
    model, x = make(cell, step=0.5), states(GRAPH, 4, 1)
    seen = Trajectory(times=[1.0, 1.5, 2.0, 2.5], states=x, graph=GRAPH)
    hand = ByHand(model)
    expected = [x[0], *(hand.next(snapshot) for snapshot in x)]
    for _ in range(3):
        expected.append(hand.next(expected[-1]))
    times = 1.0 + 0.5 * torch.arange(8, dtype=torch.float64)
    torch.testing.assert_close(model.go_on(seen, times), torch.stack(expected))
    torch.testing.assert_close(model.go_on(seen, times[[6, 1]]), torch.stack(expected)[[6, 1]])


@pytest.mark.parametrize("cell", list(CELLS))
def test_gradients(cell: str) -> None:
    model, x = make(cell), states(GRAPH, 4, 1)
    spread = model.spread(x, GRAPH)
    names, weights = zip(*model.named_parameters(), strict=True)

    def ahead(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(
            _Ahead(model), dict(zip((f"m.{n}" for n in names), values, strict=True)), spread
        )

    assert torch.autograd.gradcheck(ahead, weights, nondet_tol=1e-12)


class _Ahead(nn.Module):
    def __init__(self, model: TemporalGNN) -> None:
        super().__init__()
        self.m = model

    def forward(self, spread: torch.Tensor) -> torch.Tensor:
        return self.m.one_step_ahead(spread)


def test_missing_entries_are_filled_from_the_last() -> None:
    x = torch.tensor([[math.nan, 1.0], [2.0, math.nan], [math.nan, 3.0], [5.0, math.nan]]).unsqueeze(2)
    pair = Graph.from_edges([(0, 1)])
    seen = Trajectory(times=[0, 1, 2, 3], states=x, graph=pair, mask=~x.isnan())
    assert filled(seen).squeeze(2).tolist() == [[2.0, 1.0], [2.0, 1.0], [2.0, 3.0], [5.0, 3.0]]


def test_an_unknown_cell() -> None:
    with pytest.raises(ValueError, match="unknown cell 'elman'; known are rnn, gru, lstm"):
        TemporalGNN(4, cell="elman")


# Through the estimator ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_one_step_ahead_of_true_snapshots(name: str, preset: str) -> None:
    reg = DynamicsRegressor(name, preset=preset, epochs=1, learning_rate=1e-12, dtype="float64").fit(DATA)
    hand, scale = ByHand(reg.model_), reg.units_.scale
    ahead = torch.stack([hand.next(x / scale) for x in DATA.states[:-1].double()]) * scale
    expected = (ahead - DATA.states[1:].double()).abs().mean() / scale
    assert reg.history_.loss[0] == pytest.approx(expected.item(), rel=1e-9)
    torch.testing.assert_close(reg.predict(DATA.times).states[1:].double(), ahead, rtol=1e-5, atol=1e-5)
    assert torch.equal(reg.predict([0.0]).states[0], DATA.states[0])


@pytest.mark.parametrize("name", NAMES)
def test_training_lowers_the_loss_and_goes_on(name: str) -> None:
    parts = ndcn.split(DATA, interpolation=0, extrapolation=0.25)
    reg = DynamicsRegressor(name, epochs=150, learning_rate=0.01).fit(parts.train)
    assert reg.history_.loss[-1] < 0.4 * reg.history_.loss[0]
    assert ndcn.metrics.normalized_l1(reg.predict(parts.extrapolation.times), parts.extrapolation) < 0.3
    later = reg.predict([8 * STEP, 11 * STEP])
    assert torch.equal(later.states, reg.predict(STEP * torch.arange(12)).states[[8, 11]])
    from_start = reg.predict([11 * STEP], x0=DATA.states[0])
    assert not torch.equal(from_start.states[0], later.states[1])
    assert torch.equal(reg.predict([5 + 11 * STEP], x0=DATA.states[0], t0=5.0).states, from_start.states)
    assert reg.score(parts.train) > 0.5


def test_other_graphs_of_the_same_size_only() -> None:
    reg = DynamicsRegressor("gru_gnn", epochs=2).fit(DATA)
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    found = reg.predict([2 * STEP], graph=ring, x0=DATA.states[0])
    assert not torch.equal(found.states, reg.predict([2 * STEP], x0=DATA.states[0]).states)
    with pytest.raises(ValueError, match="belong to 4 nodes, and the graph has 9"):
        reg.predict([STEP], graph=networks.grid(9), x0=torch.ones(9, 1))
    bigger = ndcn.simulate(laws.Heat(), networks.grid(9), torch.rand(9, 1), DATA.times)
    with pytest.raises(ValueError, match="belong to 9 nodes, and the graph has 4"):
        DynamicsRegressor("gru_gnn", epochs=2).fit([bigger, DATA])


@pytest.mark.parametrize("name", [*NAMES, "residual_gnn"])
def test_only_equal_steps(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"{name} learns steps of equal length, but the gaps .* from 0\.18.* to 0\.36"
    ):
        DynamicsRegressor(name, epochs=2).fit(DATA[[0, 1, 2, 4, 5]])
    reg = DynamicsRegressor(name, epochs=2).fit(DATA)
    with pytest.raises(ValueError, match=r"t = 0\.2 is between two steps: .* ask for 0\.181818182 or 0\.363636364"):
        reg.predict([0.0, 0.2])
    with pytest.raises(ValueError, match=r"only knows the times 1 \+ k \* 0\.1818.* ask for 1 or 1\.18"):
        reg.predict([1.1], x0=DATA.states[0], t0=1.0)
    with pytest.raises(ValueError, match="the first training time is"):
        DynamicsRegressor(name, epochs=2).fit(DATA[2:]).predict([0.0])


def test_several_trajectories_count_alike() -> None:
    other = ndcn.simulate(laws.Heat(0.3), GRAPH, states(GRAPH, 1, seed=7), 1.0 + DATA.times[:7])
    settings = {"preset": "paper", "epochs": 1, "learning_rate": 1e-12}
    one, two, both = (
        DynamicsRegressor("rnn_gnn", **settings).fit(d).history_.loss[0] for d in (DATA, other, [DATA, other])
    )
    assert both == pytest.approx((one + two) / 2, rel=1e-5)


def test_held_out_snapshots_are_not_in_the_loss() -> None:
    settings = {"epochs": 10, "validation": 0.25, "learning_rate": 1e-12, "dtype": "float64", "preset": "paper"}
    reg = DynamicsRegressor("lstm_gnn", **settings).fit(DATA)
    every = (reg.predict(DATA.times).states - DATA.states).abs().mean(dim=(1, 2))[1:]
    (_, judged), learned = reg.history_.validation[-1], reg.history_.loss[-1]
    assert 8 * learned + 3 * judged == pytest.approx(every.sum().item(), rel=1e-5)
    assert DynamicsRegressor("lstm_gnn", epochs=40, validation=0.25, patience=10).fit(DATA).history_.validation


def test_missing_entries_never_count() -> None:
    mask = torch.rand(12, 4, 1, generator=torch.Generator().manual_seed(0)) > 0.4
    mask[:, 3] = False
    found = []
    for hidden in (math.nan, 1e6):
        data = Trajectory(times=DATA.times, states=torch.where(mask, DATA.states, hidden), graph=GRAPH, mask=mask)
        found.append(DynamicsRegressor("gru_gnn", epochs=10).fit(data))
    assert torch.equal(*(reg.predict([12 * STEP]).states for reg in found))
    only_first = torch.zeros(12, 4, 1, dtype=torch.bool)
    only_first[0] = True
    with pytest.raises(ValueError, match="nothing was observed after the first snapshot"):
        DynamicsRegressor("gru_gnn", epochs=2).fit(
            Trajectory(times=DATA.times, states=DATA.states, graph=GRAPH, mask=only_first)
        )


def test_a_ready_module_keeps_its_step() -> None:
    data = Trajectory(times=0.5 * torch.arange(6), states=states(GRAPH, 6, 1).float(), graph=GRAPH)
    reg = DynamicsRegressor(TemporalGNN(4, cell="rnn", step=0.5), epochs=3).fit(data)
    assert reg.predict([3.5]).states.isfinite().all()
    with pytest.raises(
        ValueError, match=r"takes steps of 0\.25, and the snapshots are 0\.5 apart: make it with step=0\.5"
    ):
        DynamicsRegressor(TemporalGNN(4, step=0.25), epochs=3).fit(data)
    with pytest.raises(ValueError, match="was made for 2 features, the data have 1"):
        DynamicsRegressor(TemporalGNN(4, 2, step=0.5), epochs=3).fit(data)


@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_effect_is_refused(name: str) -> None:
    for setting, value in {
        "operator": "laplacian",
        "activation": "tanh",
        "knots": [0.0, 1.0],
        "solver": ndcn.Solver(),
    }.items():
        with pytest.raises(ValueError, match=f"^`{name}` does not use `{setting}`; remove it$"):
            DynamicsRegressor(name, **{setting: value}).fit(DATA)
    assert DynamicsRegressor(name, hidden=3, epochs=1).fit(DATA).model_.cell.hidden_size == 3
    assert DynamicsRegressor(name, epochs=1).fit(DATA).model_.cell.hidden_size == 10
