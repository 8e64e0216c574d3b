"""Laws whose form is known: their derivatives, and their parameters from data."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.base import clone

import ndcn
from ndcn import DynamicsRegressor, laws
from ndcn.graph import Graph
from ndcn.identify.known_law import KnownLaw, checked_law
from ndcn.identify.node_values import shrinkage
from ndcn.laws import Law, per_node
from ndcn.laws.network import Network

GRAPH = ndcn.networks.power_law(20, seed=0)
NETWORK = Network(GRAPH)
RATES = torch.linspace(0.5, 1.5, 20, dtype=torch.float64)


def simulated(
    law: Law, graph: Graph = GRAPH, *, end: float = 2.0, count: int = 30, noise: float = 0.0, missing: float = 0.0
) -> ndcn.Trajectory:
    times = ndcn.sampling.irregular_times(end, count=count, seed=0)
    data = ndcn.simulate(law, graph, law.initial_state(graph, seed=0), times)
    generator = torch.Generator().manual_seed(0)
    states = data.states * (1 + noise * torch.randn(data.states.shape, generator=generator))
    mask = torch.rand(states.shape, generator=generator) >= missing if missing else None
    return ndcn.Trajectory(times=times, states=states, graph=graph, mask=mask, features=data.features)


class Own(Law):
    """Written for (n, d) alone: no batches."""

    def __init__(self, rate: Any) -> None:
        super().__init__()
        self._set(rate=rate)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([-self._value("rate", x).reshape(-1) * x[:, 0]], dim=1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x_j - x_i)


@pytest.mark.parametrize(
    "law",
    [
        laws.Gene(b=None, f=None, h=None),
        laws.Gene(b=per_node, f=None, h=per_node),
        laws.Gene(b=RATES, h=None),
        laws.Heat(None),
        laws.Heat(per_node),
        laws.Kuramoto(omega=per_node, k=None),
        laws.Mutualistic(None, None, None, None, None, None),
        laws.Mutualistic(*[per_node] * 6),
        laws.SIR(beta=None, gamma=per_node),
        laws.FitzHughNagumo(a=None, k=per_node),
        laws.Consensus(per_node, per_node),
        Own(None),
        Own(per_node),
    ],
    ids=str,
)
def test_derivatives_are_those_of_finite_differences(law: Law) -> None:
    generator = torch.Generator().manual_seed(0)
    d = len(law.features or ("x",))
    x = torch.rand(2, 20, d, generator=generator, dtype=torch.float64) + 0.3
    model = checked_law(law, NETWORK, x)
    assert model.batched == (not isinstance(law, Own))
    values = torch.rand(len(model.names), generator=generator, dtype=torch.float64) + 0.5
    model = model.with_parameters(values)
    p = torch.rand(2, 20, len(model.per_node), generator=generator, dtype=torch.float64) + 0.5
    x = torch.cat([x, p], dim=-1)
    s = model.slopes(x, NETWORK)
    torch.testing.assert_close(s.rate, model.rate(x, NETWORK))
    J = torch.from_numpy(NETWORK.jacobian(s.own, s.edges).toarray())
    step = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    near = [model.rate(x + h * step, NETWORK) for h in (1e-6, -1e-6)]
    torch.testing.assert_close(J @ step.reshape(-1), ((near[0] - near[1]) / 2e-6).reshape(-1), rtol=1e-6, atol=1e-7)
    assert model.parameters.shape == s.columns.shape[-1:]
    for k in range(len(values)):
        move = 1e-6 * torch.eye(len(values), dtype=torch.float64)[k]
        near = [model.with_parameters(values + m).rate(x, NETWORK) for m in (move, -move)]
        torch.testing.assert_close(s.columns[..., k], (near[0] - near[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_values_that_are_no_numbers_give_rates_that_are_none() -> None:
    model = KnownLaw(laws.Heat(None), ("k",), torch.tensor([torch.inf]))
    assert model.rate(torch.rand(1, 20, 1), NETWORK).isnan().all()


CLEAN = {
    "gene": (laws.Gene(b=0.8, h=1.7), laws.Gene(b=None, f=1, h=None)),
    "heat": (laws.Heat(0.7), laws.Heat(None)),
    "SIR": (laws.SIR(beta=0.6, gamma=0.4), laws.SIR(None, None)),
    "mutualistic": (laws.Mutualistic(), laws.Mutualistic(b=None, e=None, h=None)),
    "own": (Own(0.3), Own(None)),
}


@functools.cache
def estimated(name: str) -> DynamicsRegressor:
    """From clean data of one of these; once for all tests."""
    true, law = CLEAN[name]
    return DynamicsRegressor(model=law).fit(simulated(true, end=0.5 if name == "mutualistic" else 2.0))


@pytest.mark.parametrize("name", list(CLEAN))
def test_clean_data_give_the_parameters_back(name: str) -> None:
    (true, law), reg = CLEAN[name], estimated(name)
    names = law.unknown
    assert type(reg.law_) is type(law)
    assert reg.law_.unknown == ()
    for row in reg.equations().coefficients:
        assert row.name in names
        assert row.value == pytest.approx(float(getattr(true, row.name)), abs=2e-4)
        assert 0 < row.standard_error < 1e-4
    assert "explains every snapshot" in str(reg.evidence_)
    later = ndcn.simulate(true, GRAPH, reg.train_[0].x0, [2.5, 3.0])
    assert ndcn.metrics.normalized_l1(reg.predict([2.5, 3.0]), later) < 1e-5


def test_several_trajectories_on_several_graphs() -> None:
    true = laws.Gene(b=0.8)
    data = [simulated(true), simulated(true, ndcn.networks.grid(25))]
    law = DynamicsRegressor(model=laws.Gene(b=None)).fit(data).law_
    assert float(law.b) == pytest.approx(0.8, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "missing", "within"), [(0.03, 0.0, 0.06), (0.0, 0.4, 1e-3), (0.03, 0.3, 0.06)])
def test_noise_and_gaps(noise: float, missing: float, within: float) -> None:
    true = laws.Gene(b=0.8, h=1.7)
    reg = DynamicsRegressor(model=laws.Gene(b=None, h=None)).fit(simulated(true, noise=noise, missing=missing))
    for row in reg.equations().coefficients:
        error = abs(row.value - float(getattr(true, row.name)))
        assert error < within
        assert error < 5 * row.standard_error + 1e-3
    assert "not the whole law" not in reg.evidence_.reason
    mean, deviation = reg.predict([1.0, 3.0], return_std=True)
    assert mean.states.shape == deviation.states.shape == (2, 20, 1)
    assert (deviation.states > 0).any()


def test_each_node_has_its_own_frequency() -> None:
    omega = torch.linspace(-1, 1, 9, dtype=torch.float64)[torch.randperm(9, generator=torch.Generator().manual_seed(0))]
    reg = DynamicsRegressor(model=laws.Kuramoto(omega=per_node, k=None)).fit(
        simulated(laws.Kuramoto(omega, k=0.4), ndcn.networks.grid(9), end=1.0, count=15)
    )
    torch.testing.assert_close(reg.law_.omega, omega, rtol=0, atol=1e-4)
    assert float(reg.law_.k) == pytest.approx(0.4, abs=1e-4)
    assert len(reg.equations().coefficients) == 10
    assert "omega_i = -1.000" in str(reg.equations())
    assert r"\omega_i \in [" in reg.equations().latex()
    assert reg.functions(10).g.shape == (1, 10, 10, 1)


@pytest.mark.slow
def test_values_of_nodes_are_drawn_to_their_mean_where_data_say_little() -> None:
    data = simulated(laws.Gene(b=1.0), noise=0.1, count=20)
    found = DynamicsRegressor(model=laws.Gene(b=per_node)).fit(data).law_.b
    assert float(found.std()) < 0.1
    assert float(found.mean()) == pytest.approx(1.0, abs=0.1)
    varied = laws.Gene(b=RATES)
    found = DynamicsRegressor(model=laws.Gene(b=per_node)).fit(simulated(varied, noise=0.02)).law_.b
    assert float((found - RATES).abs().mean()) < 0.05
    assert float(torch.corrcoef(torch.stack([found, RATES]))[0, 1]) > 0.95


def test_shrinkage_finds_the_spread_behind_the_errors() -> None:
    generator = torch.Generator().manual_seed(0)
    true = 2 + 0.5 * torch.randn(2000, generator=generator, dtype=torch.float64)
    errors = 0.1 + torch.rand(2000, generator=generator, dtype=torch.float64)
    mean, spread = shrinkage(true + errors * torch.randn(2000, generator=generator, dtype=torch.float64), errors)
    assert mean == pytest.approx(2, abs=0.05)
    assert spread == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_a_law_that_is_not_the_right_one_says_so() -> None:
    data = simulated(laws.Gene())
    with pytest.warns(UserWarning, match="not the whole law, or better values were not found"):
        reg = DynamicsRegressor(model=laws.SIS(beta=None)).fit(data)
    assert 'model="interaction"' in str(reg.evidence_)
    with pytest.warns(UserWarning, match="times the noise, so it is not the whole law"):
        DynamicsRegressor(model=laws.Heat(None)).fit(simulated(laws.Gene(), noise=0.02))


def test_it_is_read_and_stored(tmp_path: Path) -> None:
    law, reg = CLEAN["SIR"][1], estimated("SIR")
    assert str(reg.equations()).startswith("SIR: beta = 0.600")
    assert repr(reg.law_).startswith("SIR(beta=0.6")
    assert law.unknown == ("beta", "gamma")
    assert clone(reg).model.unknown == ("beta", "gamma")
    assert reg.functions(10).f.shape == (2, 10, 2)
    reg.save(tmp_path / "SIR.ndcn")
    again = ndcn.load(tmp_path / "SIR.ndcn", model=laws.SIR(None, None))
    assert isinstance(again, DynamicsRegressor)
    assert torch.equal(again.predict([0.5]).states, reg.predict([0.5]).states)
    assert str(again.equations()) == str(reg.equations())
    assert again.evidence_ == reg.evidence_
    with pytest.raises(ValueError, match="pass one of the same kind"):
        ndcn.load(tmp_path / "SIR.ndcn")
    with pytest.raises(ValueError, match="it holds a SIR, but model is a Heat"):
        ndcn.load(tmp_path / "SIR.ndcn", model=laws.Heat(None))


@pytest.mark.slow
def test_values_of_nodes_are_stored(tmp_path: Path) -> None:
    law = laws.Heat(per_node)
    reg = DynamicsRegressor(model=law).fit(simulated(laws.Heat(RATES)))
    torch.testing.assert_close(reg.law_.k, RATES, rtol=0, atol=1e-3)
    reg.save(tmp_path / "heat.ndcn")
    again = ndcn.load(tmp_path / "heat.ndcn", model=law)
    assert isinstance(again, DynamicsRegressor)
    assert torch.equal(again.law_.k, reg.law_.k)
    one, other = (r.predict([0.5], return_std=True)[1].states for r in (reg, again))
    assert torch.equal(one, other)


def test_nothing_unknown_is_trained_as_before() -> None:
    law = laws.Heat(torch.nn.Parameter(torch.tensor(0.5)))
    reg = DynamicsRegressor(model=law, epochs=2, solver=ndcn.Solver("euler", step_size=0.05)).fit(
        simulated(laws.Heat())
    )
    with pytest.raises(ValueError, match="has no law to read"):
        reg.equations()


def test_another_model_forgets_the_law() -> None:
    reg = copy.deepcopy(estimated("heat"))
    reg.set_params(model="persistence").fit(simulated(laws.Heat(0.7)))
    with pytest.raises(ValueError, match="persistence has no law to read"):
        reg.equations()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 10}, "does not use `epochs`"),
        ({"solver": ndcn.Solver("euler", step_size=0.1)}, "does not use `solver`"),
        ({"ensemble": 3}, "does not use `ensemble`"),
    ],
)
def test_settings_of_training_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DynamicsRegressor(model=laws.Gene(b=None), **settings).fit(simulated(laws.Gene()))


def test_what_cannot_be_estimated_is_refused() -> None:
    data = simulated(laws.Gene())
    with pytest.raises(ValueError, match="h trained by gradient: give all that is to be found as None"):
        DynamicsRegressor(model=laws.Gene(b=None, h=torch.nn.Parameter(torch.tensor(2.0)))).fit(data)
    with pytest.raises(ValueError, match=r"SIR has 2 features \(s, i\), but the data have 1"):
        DynamicsRegressor(model=laws.SIR(None)).fit(data)
    with pytest.raises(ValueError, match="for each node are estimated from one trajectory, got 2"):
        DynamicsRegressor(model=laws.Gene(b=per_node)).fit([data, data])

    class Mean(Law):
        def __init__(self, k: Any) -> None:
            super().__init__()
            self._set(k=k)

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return self._value("k", x) * (x.mean(dim=-2, keepdim=True) - x)

    with pytest.raises(ValueError, match="gives different rates on another graph"):
        DynamicsRegressor(model=Mean(None)).fit(data)


def test_a_law_that_cannot_be_followed_says_so() -> None:
    class Explosion(Law):
        def __init__(self, k: Any) -> None:
            super().__init__()
            self._set(k=k)

        def node(self, x: torch.Tensor) -> torch.Tensor:
            return torch.exp(50 * self._value("k", x) ** 2 * (1 + x.abs()))

    with pytest.raises(ValueError, match="Explosion with k unknown diverges"):
        DynamicsRegressor(model=Explosion(None)).fit(simulated(laws.Gene()))
