"""A law whose numbers follow an attribute: asked elsewhere, drawn, on the page and on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from commands import output
from ndcn import laws
from ndcn.report.section import PageContext
from ndcn.report.sections.node_values import node_values_of
from ndcn.report.shown import shown_of

SIZE = np.linspace(0.2, 1.2, 20)
OTHER = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
X0 = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)


@pytest.fixture(scope="module")
def reg() -> ndcn.DynamicsRegressor:
    graph = ndcn.networks.power_law(20, seed=1).with_attributes({"size": SIZE, "constant": np.ones(20)})
    times = ndcn.sampling.irregular_times(3.0, count=40, seed=1)
    law = laws.Gene(b=torch.from_numpy(0.5 + SIZE))
    data = ndcn.simulate(law, graph, laws.initial_state(graph, dtype=torch.float64), times)
    return ndcn.DynamicsRegressor(ndcn.Interaction(nodes="differ")).fit(data)


def truth(b: list[float]) -> torch.Tensor:
    return ndcn.simulate(laws.Gene(b=torch.tensor(b).double()), OTHER, X0, [0.0, 1.0]).states[-1]


def test_new_nodes_have_what_their_attribute_says_or_values_of_their_own(reg: ndcn.DynamicsRegressor) -> None:
    assert [one.attribute for one in reg.law_.relations] == ["size"]
    there = OTHER.with_attributes({"size": [0.5, 1.0, 2.0]})
    path, spread = reg.predict([1.0], graph=there, x0=X0, return_std=True)
    torch.testing.assert_close(path.states[0], truth([1.0, 1.5, 2.5]), rtol=1e-4, atol=1e-4)
    assert spread.states.max() < 1e-4
    law = reg.fitted_.law
    assert law is not None
    every = [one(torch.tensor(0.0), X0, there) for one in law.posterior_samples()]
    both = law._side_by_side()(torch.tensor(0.0), X0.expand(len(every), 3, 1), there)  # type: ignore[misc]
    torch.testing.assert_close(both, torch.stack(every))
    own = reg.with_node_values(pd.DataFrame({"b_i": [-2.0, -0.5]}, index=["a", "c"]))
    torch.testing.assert_close(
        own.predict([1.0], graph=there, x0=X0).states[0], truth([2.0, 1.5, 0.5]), rtol=1e-4, atol=1e-4
    )
    assert own.node_values_["b_i error"].tolist() == [0, 0]
    assert reg.node_values_["b_i"].to_numpy() == pytest.approx(-0.5 - SIZE, abs=1e-4)
    lower, upper = own.intervals([1.0], graph=there, x0=X0)
    assert (upper.states - lower.states).max() < 1e-3
    with pytest.raises(ValueError, match="no attribute 'size'"):
        reg.predict([1.0], graph=OTHER, x0=X0)
    with pytest.raises(ValueError, match="need the column 'b_i'"):
        reg.with_node_values(pd.DataFrame({"c_i": [1.0]}))


def test_a_law_of_nodes_that_are_alike_takes_no_values() -> None:
    data = ndcn.simulate(laws.Heat(), OTHER, X0, [0.0, 0.2, 0.5, 1.0])
    alike = ndcn.DynamicsRegressor(laws.Heat(k=None)).fit(data)
    with pytest.raises(ValueError, match="the same at every node"):
        alike.with_node_values(pd.DataFrame({"b_i": [1.0]}))


def test_pictures_and_the_page_show_values_against_attributes(reg: ndcn.DynamicsRegressor) -> None:
    axes = ndcn.plot.node_values(reg)
    assert axes[0, 1].get_xlabel() == "size"
    np.testing.assert_allclose(axes[0, 1].lines[0].get_xdata(), SIZE)
    assert ndcn.plot.node_values(reg, "degree")[0, 1].get_xlabel() == "degree"
    with pytest.raises(ValueError, match="no attribute 'income'"):
        ndcn.plot.node_values(reg, "income")
    part = node_values_of(PageContext(reg, None, shown_of(reg, None), None, None, "model.ndcn", None))  # type: ignore[arg-type]
    assert part is not None
    (number,) = part["numbers"]
    assert (number["label"], number["follows"]) == ("b_i", ["size"])
    assert number["values"] == pytest.approx((-0.5 - SIZE).tolist(), abs=1e-4)
    assert [one["name"] for one in part["attributes"]] == ["size", "degree"]  # what is constant tells nothing
    assert part["attributes"][0]["x"] == pytest.approx(SIZE.tolist(), rel=1e-5)


def test_the_command_line_reads_attributes_and_values(
    reg: ndcn.DynamicsRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reg.save("model.ndcn")
    ndcn.Trajectory(times=[0.0, 1.0], states=torch.stack([X0, X0]), graph=OTHER).save("there")
    Path("sizes.csv").write_text("node,size\na,0.5\nb,1.0\nc,2.0\n")
    Path("values.csv").write_text("node,size,b_i\na,,-2.0\nb,1.0,\nc,,-0.5\n")
    asked = ("predict", "model.ndcn", "--data", "there", "--times", "1", "--out", "table.csv")
    for name, b in (("sizes.csv", [1.0, 1.5, 2.5]), ("values.csv", [2.0, 1.5, 0.5])):
        output(*asked, "--node-table", name)
        said = pd.read_csv("table.csv")["x"].to_numpy()
        assert said == pytest.approx(truth(b)[:, 0].numpy(), rel=1e-3)
    assert "no attribute 'size'" in output(*asked, code=2)
    data = ndcn.simulate(laws.Heat(), OTHER, X0, [0.0, 0.2, 0.5, 1.0])
    ndcn.DynamicsRegressor("persistence").fit(data).save("alike.ndcn")
    words = ("predict", "alike.ndcn", "--times", "1", "--node-table", "sizes.csv")
    assert "no numbers that vary among nodes" in output(*words, code=2)
