"""Laws with inputs: the right entry, its coefficient, and nothing claimed of inputs that do nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify import discover
from ndcn.identify.driven_discovery import find_driven

GRAPH = ndcn.networks.power_law(20, seed=3)
TIMES = ndcn.sampling.irregular_times(4.0, count=40, seed=3)
SWITCH = ndcn.Inputs([0.0, 0.33, 1.21, 1.9, 2.77, 3.4], {"rain": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]}, until=4.0)
WAVE = np.linspace(0, 4, 161)
SMOOTH = ndcn.Inputs(WAVE, {"rain": 0.5 + np.sin(3 * WAVE)}, between="linear")
IDLE = ndcn.Inputs(WAVE, {"idle": np.cos(2 * WAVE + 1)}, between="linear")


class Driven(ndcn.laws.Heat):
    """Heat with k = 0.3, driven in one of three ways."""

    def __init__(self, way: str) -> None:
        super().__init__(0.3)
        self.way = way

    def node(self, x: torch.Tensor, rain: torch.Tensor) -> torch.Tensor:
        return -x + {"added": 0.6 * rain, "times": 0.6 * rain * x}.get(self.way, 0 * x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor, rain: torch.Tensor) -> torch.Tensor:
        return 0.3 * (x_j - x_i) * (1 + 0.6 * rain if self.way == "coupling" else 1)


def driven(way: str, inputs: ndcn.Inputs) -> ndcn.Trajectory:
    x0 = torch.from_numpy(np.random.default_rng(3).uniform(0.5, 3.0, (20, 1)))
    data = ndcn.simulate(Driven(way), GRAPH, x0, TIMES, inputs=inputs)
    return data.replaced(inputs=inputs | IDLE)


@pytest.mark.parametrize(("way", "inputs"), [("added", SWITCH), ("times", SMOOTH), ("coupling", SWITCH)])
def test_clean_laws_are_found_exactly(way: str, inputs: ndcn.Inputs) -> None:
    found = discover([driven(way, inputs)], ndcn.Interaction())
    assert found.evidence.explained
    assert found.law.inputs == ("rain",)
    term = {"added": "rain", "times": "rain*x", "coupling": "rain*(x_j - x_i)"}[way]
    rows = {row.term: row.value for row in found.law.equations().coefficients}
    assert rows[term] == pytest.approx(0.18 if way == "coupling" else 0.6, rel=1e-4)
    assert "rain" in found.evidence.reason


@pytest.mark.slow
def test_with_noise_and_what_it_is_asked_for() -> None:
    data = driven("added", SWITCH)
    noise = 1 + 0.02 * torch.from_numpy(np.random.default_rng(4).standard_normal(data.states.shape))
    reg = ndcn.DynamicsRegressor("interaction").fit(data.replaced(states=data.states * noise))
    text = str(reg.equations())
    assert " rain" in text
    assert "idle" not in text
    assert "drain" not in text
    rows = {row.term: row for row in reg.equations().coefficients}
    assert rows["rain"].value == pytest.approx(0.6, rel=0.03)
    assert abs(rows["rain"].value - 0.6) < 4 * rows["rain"].standard_error
    with pytest.raises(ValueError, match="'rain' is known until t = 4"):
        reg.predict([5.0])
    later = ndcn.Inputs([4.0], {"rain": [1.0]}, until=30.0)
    assert reg.predict([30.0], inputs=later).states.mean().item() == pytest.approx(0.6, abs=0.03)
    low, high = reg.intervals([5.0], inputs=later)
    assert (high.states > low.states).all()


def test_a_file_of_a_driven_law(tmp_path: object) -> None:
    reg = ndcn.DynamicsRegressor("interaction").fit(driven("added", SWITCH))
    reg.save(f"{tmp_path}/law.ndcn")
    again = ndcn.load(f"{tmp_path}/law.ndcn")
    assert str(again.equations()) == str(reg.equations())
    assert torch.equal(again.predict([3.0]).states, reg.predict([3.0]).states)
    assert "rain" in reg.equations().latex()


def test_inputs_that_do_nothing_are_not_claimed() -> None:
    x0 = torch.from_numpy(np.random.default_rng(5).uniform(0.5, 3.0, (20, 1)))
    data = ndcn.simulate(ndcn.laws.Heat(0.3), GRAPH, x0, TIMES)
    assert find_driven([data.replaced(inputs=SWITCH | IDLE)], ndcn.Interaction(), 0) is None
    noise = 1 + 0.05 * torch.from_numpy(np.random.default_rng(6).standard_normal(data.states.shape))
    noisy = data.replaced(states=data.states * noise, inputs=SWITCH | IDLE)
    assert find_driven([noisy], ndcn.Interaction(), 0) is None


def test_constant_inputs_and_forms_without_inputs() -> None:
    data = driven("added", SWITCH)
    constant = ndcn.Inputs([0.0], {"sun": [1.0]}, until=4.0)
    assert find_driven([data.replaced(inputs=constant)], ndcn.Interaction(), 0) is None
    with pytest.warns(UserWarning, match="inputs are left aside: the free form has no inputs"):
        discover([data], ndcn.Interaction("free", seconds=5))


def test_inputs_beside_a_law_that_explains_nothing_are_not_called_idle() -> None:
    noise = torch.from_numpy(np.random.default_rng(7).standard_normal((len(TIMES), 20, 1)))
    data = ndcn.Trajectory(times=TIMES, states=noise, graph=GRAPH, inputs=SWITCH)
    with pytest.warns(UserWarning, match="law"):
        found = discover([data], ndcn.Interaction("closed", seconds=3))
    assert not found.evidence.explained
    assert "no effect of the inputs" not in found.evidence.reason


def test_a_driven_law_is_doubted_on_stretches_that_it_was_not_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.identify.driven_law.doubt_in_noise", lambda _: "misses stretches")
    data = driven("added", SWITCH)
    noise = 1 + 0.02 * torch.from_numpy(np.random.default_rng(4).standard_normal(data.states.shape))
    found = find_driven([data.replaced(states=data.states * noise)], ndcn.Interaction(), 0)
    assert found is not None
    assert found.doubt == "misses stretches"
    assert not found.evidence.explained


def test_nothing_is_said_of_constant_inputs() -> None:
    x0 = torch.from_numpy(np.random.default_rng(5).uniform(0.5, 3.0, (20, 1)))
    constant = ndcn.Inputs([0.0], {"sun": [1.0]}, until=4.0)
    data = ndcn.simulate(ndcn.laws.Heat(0.3), GRAPH, x0, TIMES).replaced(inputs=constant | IDLE)
    reason = discover([data], ndcn.Interaction("closed")).evidence.reason
    assert reason.endswith(
        "no effect of the input idle is seen; nothing can be said of the input sun, constant all the time"
    )
