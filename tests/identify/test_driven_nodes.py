"""Laws in which inputs act and whose nodes differ."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify import discover
from ndcn.identify.driven_node_discovery import find_driven_nodes
from ndcn.laws import DrivenNodeForm

N = 16
GRAPH = ndcn.networks.power_law(N, seed=3)
RATES = 0.6 + 0.8 * torch.rand(N, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
TIMES = ndcn.sampling.irregular_times(4.0, count=40, seed=3)
RAIN = ndcn.Inputs([0.0, 0.33, 1.21, 1.9, 2.77, 3.4], {"rain": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]}, until=4.0)
WAVE = np.linspace(0, 4, 41)
IDLE = ndcn.Inputs(WAVE, {"idle": np.cos(2 * WAVE + 1)}, between="linear")
NAMES = ("x", "rain")


def truth() -> DrivenNodeForm:
    """Gene regulation with rates of nodes, and 0.6 rain."""
    texts = (("x", False), ("x_j^2/(K^2 + x_j^2)", True), ("rain", False))
    terms = [ndcn.laws.Term(ndcn.laws.Formula(text, NAMES), coupling) for text, coupling in texts]
    terms[1] = ndcn.laws.Term(terms[1].formula, True, 0, (1.0,))
    equation = ndcn.laws.Equation(tuple(terms), torch.tensor([-1.0, 1.0, 0.6], dtype=torch.float64), 2)
    return DrivenNodeForm(equation, [0], -RATES[:, None], inputs={"rain": "rain"})


def observed(noise: float) -> ndcn.Trajectory:
    rng = np.random.default_rng(3)
    x0 = torch.from_numpy(rng.uniform(0.2, 3.0, (N, 1)))
    data = ndcn.simulate(truth(), GRAPH, x0, TIMES, inputs=RAIN)
    factor = 1 + noise * torch.from_numpy(rng.standard_normal(data.states.shape))
    return data.replaced(states=data.states * factor, inputs=RAIN | IDLE)


def test_inputs_and_rates_of_nodes_are_found_together() -> None:
    found = find_driven_nodes([observed(0.01)], ndcn.Interaction(), 0)
    assert found is not None
    assert found.evidence.explained
    law = found.law
    assert isinstance(law, DrivenNodeForm)
    assert law.inputs == ("rain",)
    rows = {row.term: row.value for row in law.mean.equations().coefficients}
    assert rows["rain"] == pytest.approx(0.6, rel=0.03)
    assert np.corrcoef(law.table()["b_i"], -RATES)[0, 1] > 0.99
    assert "without the input rain BIC is" in found.evidence.reason


def test_such_laws_are_printed_kept_and_run_elsewhere() -> None:
    law = truth()
    assert str(law) == (
        "DrivenNodeForm(dx_i/dt = b_i x_i + 0.6 rain + sum_j A_ij 1 x_j^2/(K^2 + x_j^2),  "
        f"b_i = -1, spread {RATES.std():.3g} over 16 nodes, K = 1)"
    )
    again = DrivenNodeForm.from_description(law.description())
    x, on = torch.ones(N, 1, dtype=torch.float64), {"rain": torch.ones(1, 1)}
    t = torch.tensor(0.0)
    torch.testing.assert_close(again(t, x, GRAPH, on), law(t, x, GRAPH, on))
    off = {"rain": torch.zeros(1, 1)}
    torch.testing.assert_close(law(t, x, GRAPH, on), law(t, x, GRAPH, off) + 0.6)
    several = law.several([law, law.with_node_values({"b_i": np.full(N, -1.0)})])
    both = several(t, torch.stack([x, x]), GRAPH, on)
    torch.testing.assert_close(both[0], law(t, x, GRAPH, on))
    assert not torch.allclose(both[1], both[0])
    wrong = ndcn.laws.Equation((ndcn.laws.Term(ndcn.laws.Formula("x", NAMES), False, 1),), torch.ones(1), 2)
    with pytest.raises(ValueError, match="rates of its inputs"):
        DrivenNodeForm(wrong, [0], -RATES[:, None], inputs={"rain": "rain"})


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_from_data_to_a_file(noise: float, tmp_path) -> None:
    found = discover([observed(noise)], ndcn.Interaction())
    assert isinstance(found.law, DrivenNodeForm)
    reg = ndcn.DynamicsRegressor("interaction").fit(observed(noise))
    assert list(reg.node_values_.columns) == ["b_i", "b_i error"]
    reg.save(tmp_path / "law.ndcn")
    again = ndcn.load(tmp_path / "law.ndcn")
    assert str(again.equations()) == str(reg.equations())
    later = ndcn.Inputs([4.0], {"rain": [1.0]}, until=6.0)
    torch.testing.assert_close(again.predict([5.0], inputs=later).states, reg.predict([5.0], inputs=later).states)
    with pytest.raises(ValueError, match="rain"):
        reg.predict([5.0])
