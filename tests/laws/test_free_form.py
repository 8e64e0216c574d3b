"""FreeForm: the same law as FreeModel, as node and edge functions, on any graph; and its way through files."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import torch
from ndcn.fields import FreeForm

from ndcn import Graph, laws, simulate
from ndcn.laws import FreeModel, basis_for
from ndcn.laws.network import Network
from problems import GRAPHS, states

T0 = torch.tensor(0.0, dtype=torch.float64)
NAMES = {1: ("x",), 2: ("v", "w"), 3: ("a", "b", "c")}


def law_of(d: int) -> FreeForm:
    """Random functions on [0.1, 3.1]."""
    x = states(GRAPHS["weighted"], 20, d).reshape(-1, d)
    basis = basis_for(x, x - x.flip(0))
    draw = torch.randn(d, basis.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return FreeForm(basis, 0.3 * draw, NAMES[d])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_is_the_rate_of_the_model(any_graph: Graph, d: int) -> None:
    law, x = law_of(d), states(any_graph, 3, d, seed=2) * 1.3 - 0.3
    expected = FreeModel(law.basis, law.coefficients).rate(x, Network(any_graph))
    torch.testing.assert_close(law(T0, x, any_graph), expected)
    torch.testing.assert_close(law(T0, x[0], any_graph), expected[0])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_is_the_sum_over_edges(any_graph: Graph, d: int) -> None:
    law, x = law_of(d), states(any_graph, d, seed=2) * 1.3 - 0.3
    n = len(x)
    messages = law.edge(x.repeat_interleave(n, 0), x.repeat(n, 1)).reshape(n, n, d)
    expected = law.node(x) + (any_graph.to_dense().double().unsqueeze(-1) * messages).sum(1)
    torch.testing.assert_close(law(T0, x, any_graph), expected)


@pytest.mark.parametrize("d", [1, 2])
def test_gradients(d: int) -> None:
    law, graph = law_of(d), GRAPHS["directed"]
    x = states(graph, d).requires_grad_(True)
    assert torch.autograd.gradcheck(lambda x: law(T0, x, graph), (x,), atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_description_round_trip(d: int) -> None:
    law, graph = law_of(d), GRAPHS["weighted"]
    about = json.loads(json.dumps(law.description()))
    again = FreeForm.from_description(about)
    assert again.features == law.features == NAMES[d]
    assert again.description() == law.description()
    x = states(graph, d)
    assert torch.equal(again(T0, x, graph), law(T0, x, graph))


def without(about: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in about.items() if key not in keys}


DAMAGED = {
    "no knots": lambda a: without(a, "knots"),
    "no names": lambda a: without(a, "names"),
    "no coefficients": lambda a: without(a, "coefficients"),
    "knots of one kind missing": lambda a: {**a, "knots": without(a["knots"], "gap")},
    "knots are a number": lambda a: {**a, "knots": 5},
    "knots of a feature are text": lambda a: {**a, "knots": {**a["knots"], "few": [["p", "q"], ["p", "q"]]}},
    "knots of a feature are missing": lambda a: {**a, "knots": {**a["knots"], "few": a["knots"]["few"][:1]}},
    "no knots at all": lambda a: {**a, "knots": {**a["knots"], "single": [[], []]}},
    "coefficients of another shape": lambda a: {**a, "coefficients": [row[:-1] for row in a["coefficients"]]},
    "coefficients of one feature": lambda a: {**a, "coefficients": a["coefficients"][:1]},
    "coefficients are ragged": lambda a: {**a, "coefficients": [a["coefficients"][0], [1.0]]},
    "coefficients are text": lambda a: {**a, "coefficients": "many"},
    "decreasing knots": lambda a: {**a, "knots": {**a["knots"], "few": [[2.0, 1.0], [2.0, 1.0]]}},
    "one knot": lambda a: {**a, "knots": {**a["knots"], "few": [[2.0], [2.0]]}},
    "knots that are infinite": lambda a: {**a, "knots": {**a["knots"], "few": [[0.0, float("inf")]] * 2}},
    "more features in one kind": lambda a: {**a, "knots": {**a["knots"], "single": a["knots"]["single"] * 2}},
    "names are a number": lambda a: {**a, "names": 5},
    "a list": lambda a: [a],
    "nothing": lambda a: None,
    "coefficients that are NaN": lambda a: {**a, "coefficients": [[float("nan")] * len(r) for r in a["coefficients"]]},
    "coefficients that are too large": lambda a: {**a, "coefficients": [[10**400] * len(r) for r in a["coefficients"]]},
    "knots that are NaN": lambda a: {**a, "knots": {**a["knots"], "gap": [[0.0, float("nan")]] * 2}},
    "knots that are too large": lambda a: {**a, "knots": {**a["knots"], "gap": [[0, 10**400]] * 2}},
    "features twice": lambda a: {**a, "names": ["v", "v"]},
    "too many names": lambda a: {**a, "names": ["v", "w", "u"]},
}


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_descriptions_are_refused(damage: str) -> None:
    with pytest.raises(ValueError):
        FreeForm.from_description(DAMAGED[damage](law_of(2).description()))


def test_outside_the_knots_it_goes_on_tamely() -> None:
    law = law_of(1)
    far = torch.tensor([[3.1], [31.0], [310.0]], dtype=torch.float64)
    growth = law.node(far).abs()
    assert growth[2] < 30 * growth.max(dim=0).values.clamp(min=1.0)
    slope = law.node(far + 1) - law.node(far)
    torch.testing.assert_close(slope[1], slope[2])


@pytest.mark.parametrize("d", [1, 2])
def test_products_go_on_no_faster_than_straight_lines(d: int) -> None:
    law = law_of(d)
    corner = torch.full((1, d), 3.1, dtype=torch.float64)
    for direction in (1.0, -1.0):
        far = [corner + direction * k for k in (1e2, 2e2, 1e4, 1e4 + 1e2)]
        for rate in (law.node, lambda x: law.edge(x, x), lambda x: law.edge(x, -x)):
            near, next_, further, last = (rate(x) for x in far)
            torch.testing.assert_close(last - further, next_ - near, rtol=1e-6, atol=1e-6)


def test_products_are_continuous_where_the_knots_end() -> None:
    law = law_of(2)
    high = torch.tensor([[s.knots[-1] for s in law.basis.few]], dtype=torch.float64)
    for x_j in (high - 1, high, high + 5):
        torch.testing.assert_close(law.edge(high - 1e-9, x_j), law.edge(high + 1e-9, x_j), atol=1e-6, rtol=1e-6)


def test_numbers_are_in_the_state_dict_and_copies_are_apart() -> None:
    law = law_of(1)
    other = copy.deepcopy(law)
    other.coefficients.zero_()
    assert law.coefficients.abs().max() > 0
    other.load_state_dict(law.state_dict())
    assert torch.equal(other.coefficients, law.coefficients)


def test_it_can_be_simulated_and_added_to_another_law() -> None:
    graph = GRAPHS["path"]
    x0 = states(graph, 1)
    law = law_of(1)
    law.coefficients.mul_(0.1)
    both = simulate(law + laws.Heat(), graph, x0, [0.0, 0.1, 0.2])
    assert both.states.shape == (3, 4, 1)
    x = states(graph, 1)
    torch.testing.assert_close((law + laws.Heat())(T0, x, graph), law(T0, x, graph) + laws.Heat()(T0, x, graph))


def test_single_precision() -> None:
    law, graph = law_of(1), GRAPHS["path"]
    x = states(graph, 1)
    single = law(T0.float(), x.float(), graph)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), law(T0, x, graph), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("d", [1, 2])
def test_other_parameters_of_a_law_are_those_of_its_model(d: int) -> None:
    graph = GRAPHS["weighted"]
    law = law_of(d)
    x = states(graph, d)
    model = FreeModel(law.basis, law.coefficients)
    moved = 1.5 * model.parameters
    expected = model.with_parameters(moved).rate(x.unsqueeze(0), Network(graph))[0]
    torch.testing.assert_close(law.with_parameters(moved)(T0, x, graph), expected)
    side_by_side = law.several(torch.stack([model.parameters, moved]))(T0, x.expand(2, *x.shape), graph)
    torch.testing.assert_close(side_by_side[1], expected)


def test_a_description_of_very_many_knots_is_refused() -> None:
    about = {"names": ["x"], "coefficients": [[0.0]], "knots": {"single": [list(range(10**6))], "few": [], "gap": []}}
    with pytest.raises(ValueError, match="it has splines of more than 1000 knots"):
        FreeForm.from_description(about)
