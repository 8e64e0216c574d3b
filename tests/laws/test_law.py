"""Laws of one's own, and how a law keeps its parameters."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from ndcn import Graph, simulate
from ndcn.laws import Gene, Heat, Law, Mutualistic
from problems import GRAPHS, states

T0 = torch.tensor(0.0)


def test_a_law_without_functions_rests_and_one_with_a_node_function_ignores_the_graph() -> None:
    class Decay(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return -x

    x = states(GRAPHS["weighted"], 1)
    assert torch.equal(Law()(T0, x, GRAPHS["weighted"]), torch.zeros_like(x))
    assert torch.equal(Law().edge(x, x), torch.zeros_like(x))
    assert torch.equal(Decay()(T0, x, GRAPHS["weighted"]), -x)


def test_an_edge_function_that_returns_another_shape() -> None:
    class Wrong(Law):
        def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
            return (x_j - x_i).sum(-1)

    with pytest.raises(ValueError, match=r"Wrong.edge returned shape \(6,\) for 6 edges with states of shape \(6, 2\)"):
        Wrong()(T0, states(GRAPHS["path"], 2), GRAPHS["path"])


@pytest.mark.parametrize("law", [Heat(k=torch.ones(5)), Mutualistic(h=torch.ones(5)), Gene(h=torch.ones(5))])
def test_an_edge_function_cannot_tell_nodes_apart(law: Law) -> None:
    x = states(GRAPHS["weighted"], 1)
    with pytest.raises(
        ValueError, match=r"edge\(x_i, x_j\) cannot tell apart; per-node parameters need the law's own forward"
    ):
        law.edge(x, x)
    law(T0, x, GRAPHS["weighted"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("nan")]])
def test_parameters_must_be_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="Heat: k must be finite, got"):
        Heat(value)


def test_as_many_parameters_as_nodes() -> None:
    with pytest.raises(ValueError, match="Gene: b has one value for each of 3 nodes, but the graph has 4"):
        Gene(b=[1, 2, 3])(T0, torch.ones(4, 1), GRAPHS["path"])


def test_printing_shows_the_parameters() -> None:
    assert repr(Heat([1, 2, 3])) == "Heat(k=(3,))"
    assert repr(Heat(nn.Parameter(torch.tensor(0.5)))) == "Heat(k=0.5)"


# Parameters that are not known --------------------------------------------------------------------------------------


class Spring(Law):
    """A law of one's own: dx_i/dt = -rate x_i + sum_j A_ij strength (x_j - x_i)."""

    def __init__(self, rate: Any = 1.0, strength: Any = 1.0) -> None:
        super().__init__()
        self._set(rate=rate, strength=strength)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -self._value("rate", x) * x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return self._number("strength", x_i) * (x_j - x_i)


def test_none_is_a_parameter_to_be_estimated() -> None:
    law = Gene(b=None, f=1, h=None)
    assert law.unknown == ("b", "h")
    assert repr(law) == "Gene(b=?, f=1, h=?)"
    assert [name for name, _ in law.named_buffers()] == ["f"]
    assert Gene().unknown == Law().unknown == ()
    assert Spring(strength=None).unknown == ("strength",)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (Gene(b=None, h=None), r"Gene: b, h are unknown; DynamicsRegressor\(model=law\).fit\(data\) estimates"),
        (Heat(None), r"Heat: k is unknown; .* law.with_values\(k=...\) sets it"),
        (Spring(rate=None), "Spring: rate is unknown"),
    ],
)
def test_a_law_with_unknown_parameters_cannot_be_called(law: Law, message: str) -> None:
    x = states(GRAPHS["path"], 1)
    with pytest.raises(ValueError, match=message):
        law(T0, x, GRAPHS["path"])
    with pytest.raises(ValueError, match=message):
        simulate(law, GRAPHS["path"], x, [0.0, 1.0])
    with pytest.raises(ValueError, match=message):
        simulate(Heat() + law, GRAPHS["path"], x, [0.0, 1.0])


def test_node_and_edge_say_it_too() -> None:
    x = states(GRAPHS["path"], 1)
    with pytest.raises(ValueError, match="Spring: rate is unknown"):
        Spring(rate=None).node(x)
    with pytest.raises(ValueError, match="Spring: strength is unknown"):
        Spring(strength=None).edge(x, x)


def test_a_law_of_ones_own_that_uses_its_attributes_says_it_too() -> None:
    class Decay(Law):
        def __init__(self, rate: Any) -> None:
            super().__init__()
            self._set(rate=rate)

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return -self.rate * x

    x = states(GRAPHS["path"], 1)
    with pytest.raises(ValueError, match="Decay: rate is unknown"):
        Decay(None)(T0, x, GRAPHS["path"])
    torch.testing.assert_close(Decay(None).with_values(rate=2)(T0, x, GRAPHS["path"]), -2 * x)


def test_with_values_is_a_copy() -> None:
    law = Gene(b=None, f=2, h=None)
    known = law.with_values(h=1, b=[1, 2, 3, 4])
    assert type(known) is Gene
    assert repr(known) == "Gene(b=(4,), f=2, h=1)"
    assert law.unknown == ("b", "h")
    x = states(GRAPHS["path"], 1)
    expected = Gene(b=[1, 2, 3, 4], f=2, h=1)(T0, x, GRAPHS["path"])
    assert torch.equal(known(T0, x, GRAPHS["path"]), expected)
    assert repr(known.with_values(b=None)) == "Gene(b=?, f=2, h=1)"
    own = Spring(rate=None, strength=3).with_values(rate=0.5)
    assert torch.equal(own(T0, x, GRAPHS["path"]), Spring(0.5, 3)(T0, x, GRAPHS["path"]))


def test_with_values_takes_and_replaces_what_is_learned() -> None:
    start = nn.Parameter(torch.tensor(0.5))
    law = Spring(rate=None, strength=2).with_values(rate=start)
    assert law.rate is start
    assert [name for name, _ in law.named_parameters()] == ["rate"]
    assert repr(law) == "Spring(rate=0.5, strength=2)"
    fixed = law.with_values(rate=1)
    assert (list(fixed.parameters()), repr(fixed)) == ([], "Spring(rate=1, strength=2)")
    assert law.rate is start


def test_with_values_knows_the_parameters() -> None:
    with pytest.raises(ValueError, match="Gene has no parameter 'k'; it has b, f, h"):
        Gene().with_values(k=1)
    with pytest.raises(ValueError, match="Law has no parameter 'k'; it has none that were kept by _set"):
        Law().with_values(k=1)
    with pytest.raises(ValueError, match="Heat: k must be finite"):
        Heat(None).with_values(k=float("nan"))


# A law with features of its own -------------------------------------------------------------------------------------


class Pendulum(Law):
    """dx = v, dv = -stiffness x."""

    features = ("x", "v")

    def __init__(self, stiffness: Any = 1.0) -> None:
        super().__init__()
        self._set(stiffness=stiffness)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        place, speed = x.split(1, dim=-1)
        return torch.cat([speed, -self._value("stiffness", place) * place], dim=-1)


def test_the_features_of_a_law_are_those_of_its_trajectories() -> None:
    graph = GRAPHS["path"]
    start, times = torch.tensor([[1.0, 0.0]]).repeat(4, 1).double(), torch.linspace(0, 3, 4, dtype=torch.float64)
    data = simulate(Pendulum(), graph, start, times)
    assert data.features == ("x", "v")
    torch.testing.assert_close(data.states[:, 0], torch.stack([times.cos(), -times.sin()], 1), rtol=1e-6, atol=1e-6)
    assert simulate(Heat() + Pendulum(), graph, start, times).features == ("x", "v")
    assert simulate(Heat(), graph, start, times).features == ("x1", "x2")


@pytest.mark.parametrize("d", [1, 3])
def test_other_features_are_refused(d: int) -> None:
    with pytest.raises(
        ValueError, match=rf"Pendulum has 2 features \(x, v\), but the states have {d}; give .* \(n, 2\)"
    ):
        simulate(Pendulum(), GRAPHS["path"], states(GRAPHS["path"], d), [0.0, 1.0])


def test_a_parameter_for_each_feature_must_fit_them() -> None:
    with pytest.raises(
        ValueError, match=r"Pendulum: stiffness has shape \(4, 2\), which does not fit 1 feature; give a"
    ):
        Pendulum(torch.ones(4, 2))(T0, states(GRAPHS["path"], 2), GRAPHS["path"])
    with pytest.raises(ValueError, match=r"Heat: k has shape \(4, 3\), which does not fit 2 features"):
        Heat(torch.ones(4, 3))(T0, states(GRAPHS["path"], 2), GRAPHS["path"])
