"""Free forms of nodes that differ: one shape, and offsets and scales of nodes."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify.tape import record, roll
from ndcn.laws import FreeForm, FreeModel, Network, NodeFreeForm, NodeFreeModel, basis_for

N = 16
GRAPH = ndcn.networks.grid(N)
B = torch.linspace(0.6, 1.4, N, dtype=torch.float64)


def splines() -> FreeModel:
    x = torch.linspace(0, 2, 30, dtype=torch.float64).unsqueeze(1)
    basis = basis_for(x, x)
    drawn = torch.randn(basis.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return FreeModel(basis, 0.1 * drawn.unsqueeze(0))


@pytest.mark.parametrize("parts", [("offset_i",), ("scale_i",), ("coupling_scale_i",), ("offset_i", "scale_i")])
def test_derivatives_are_those_of_rates(parts: tuple[str, ...]) -> None:
    model, network = NodeFreeModel(splines(), parts), Network(GRAPH)
    x = torch.rand(2, N, 1 + len(parts), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    slopes = model.slopes(x, network)
    torch.testing.assert_close(slopes.rate, model.rate(x, network))
    h = 1e-6
    for k in range(x.shape[-1]):
        step = torch.zeros_like(x)
        step[:, 3, k] = h
        by = (model.rate(x + step, network) - model.rate(x - step, network))[..., 0] / (2 * h)
        torch.testing.assert_close(slopes.own[:, 3, 0, k], by[:, 3], rtol=1e-4, atol=1e-5)
    places = [0, model.splines.basis.size // 2, model.splines.basis.size - 1]
    for place in places:
        p = model.parameters.clone()
        p[place] += h
        by = (model.with_parameters(p).rate(x, network) - slopes.rate) / h
        torch.testing.assert_close(slopes.columns[..., place], by, rtol=1e-4, atol=1e-5)


def test_trajectories_have_derivatives_by_deviations() -> None:
    model, network = NodeFreeModel(splines(), ("scale_i",)), Network(GRAPH)
    spans, steps = torch.full((3,), 0.2, dtype=torch.float64), [2, 2, 2]
    start = torch.rand(N, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    tape = record(model, network, start, spans, steps)
    assert tape is not None
    moved = start.clone()
    moved[5, 1] += 1e-6
    there = roll(model, network, moved, spans, steps)
    assert there is not None
    by = (there[-1, :, 0] - tape.states[-1, :, 0]) / 1e-6
    last = list(tape.node_tangent(1))[-1]
    np.testing.assert_allclose(last[:, N + 5], by.numpy(), rtol=1e-4, atol=1e-6)


def test_a_law_keeps_values_by_names_and_draws_those_of_new_nodes() -> None:
    model = splines()
    mean = FreeForm(model.basis, model.coefficients, ("x",))
    law = NodeFreeForm(mean, ["offset_i", "scale_i"], torch.stack([B - 1, B], 1), nodes=[f"n{k}" for k in range(N)])
    small = ndcn.Graph.from_edges([("n3", "new")])
    x = torch.ones(2, 1)
    torch.testing.assert_close(law.values_on(small)[0].double(), torch.stack([B - 1, B], 1)[3])
    assert law.values_on(small)[1].tolist() == [0.0, 1.0]
    again = NodeFreeForm.from_description(law.description())
    torch.testing.assert_close(again(torch.tensor(0.0), x, small), law(torch.tensor(0.0), x, small))
    drawn = law.with_parameters(torch.cat([model.parameters, law.node_values.T.reshape(-1)]), seed=1)
    assert drawn.values_on(small)[1, 1] != 1.0
    several = law.several([law, drawn])(torch.tensor(0.0), x.expand(2, 2, 1), small)
    torch.testing.assert_close(several[0], law(torch.tensor(0.0), x, small))
    torch.testing.assert_close(several[1], drawn(torch.tensor(0.0), x, small))


@pytest.mark.parametrize(
    "about",
    [
        {},
        {"parts": ["scale"]},
        {"parts": ["scale_i", "offset_i"]},
        {"values": [["x"]]},
        {"values": [[1.0, 2.0]]},
        {"nodes": 3},
    ],
)
def test_what_describes_no_law_is_refused(about: dict) -> None:
    model = splines()
    law = NodeFreeForm(FreeForm(model.basis, model.coefficients, ("x",)), ["scale_i"], B[:, None])
    description = {**law.description(), **about} if about else {}
    with pytest.raises(ValueError, match=r"must be|has node_shape|not numbers"):
        NodeFreeForm.from_description(description)


@pytest.mark.slow
def test_scales_of_nodes_are_found(tmp_path: Path) -> None:
    times = ndcn.sampling.irregular_times(4.0, count=40, seed=0)
    x0 = 4 * torch.rand(N, 1, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    true = ndcn.simulate(ndcn.laws.Gene(b=B), GRAPH, x0, times)
    drawn = torch.randn(true.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = ndcn.Trajectory(times=times, states=true.states * (1 + 0.02 * drawn), graph=GRAPH)
    reg = ndcn.DynamicsRegressor(ndcn.Interaction("free", nodes="differ")).fit(data)
    table = reg.node_values_
    assert list(table.columns[:2]) == ["scale_i", "scale_i error"]
    off = table["scale_i"] - B.numpy() / float(B.mean())
    assert np.corrcoef(table["scale_i"], B)[0, 1] > 0.8  # f may be steeper where nodes with larger scales are
    assert np.sqrt(np.square(off / table["scale_i error"]).mean()) < 2
    assert "scale_i varies among nodes" in reg.evidence_.reason
    with pytest.raises(ValueError, match=r"no closed form|free form"):
        reg.equations()
    found = reg.predict(times)
    assert ndcn.metrics.normalized_l1(found, true) < 0.02
    reg.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    torch.testing.assert_close(again.predict(times).states, found.states)
    assert again.node_values_.equals(table)
    _, spread = again.predict([5.0], graph=ndcn.networks.grid(9), x0=torch.ones(9, 1), return_std=True)
    assert (spread.states > 0).all()
    own = again.with_node_values(table.assign(scale_i=1.0))
    assert (own.predict(times).states != found.states).any()
    assert reg.functions(20).f.shape == (1, 20, 1)
