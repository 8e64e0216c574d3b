"""Laws of formulas against the dense sum, Equation.rate, and numerical derivatives; and their way through files."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from ndcn import Graph, laws, simulate
from ndcn.laws import Equation
from ndcn.laws.closed_form import ClosedForm
from ndcn.laws.network import Network
from problems import GRAPHS, equation, states

T0 = torch.tensor(0.0, dtype=torch.float64)
VW = ("v", "w")


EQUATIONS = {
    "heat": equation((0.7, "x_j - x_i", True)),
    "gene": equation((-1.0, "x", False), (2.0, "x_j^2/(K^2 + x_j^2)", True, [1.5])),
    "two with the same name": equation((1.0, "x_j/(K + x_j)", True, [0.5]), (-0.4, "x_i*x_j/(K + x_j)", True, [2.0])),
    "degree": equation((0.3, "1", True), (-0.2, "1", False), (0.1, "x^2", True)),
    "phases": equation((0.5, "sin(x_j - x_i)", True), (0.2, "cos(x)", False)),
    "not separable": equation((1.1, "tanh(a*(x_j - x_i))", True, [0.8]), (0.2, "x_j", True), (-1.0, "x^3", False)),
    "not separable alone": equation((0.5, "x_i*x_j/(1 + b*x_i + c*x_j)", True, [0.3, 0.6])),
    "self alone": equation((-1.0, "x", False)),
    "nothing": equation(),
    "two features": equation(
        (1.0, "v", False),
        (-0.3, "v^3", False),
        (0.1, "v_j - v_i", True),
        (0.4, "v - b*w", False, [0.9], 1),
        (0.2, "w_j*v_i/(k + w_j)", True, [0.4], 1),
        (0.3, "exp(-(v_i - w_j)^2)", True, [], 1),
        features=VW,
    ),
}


def law_of(name: str) -> ClosedForm:
    found = EQUATIONS[name]
    return ClosedForm(found, VW if found.features == 2 else ("x",))


@pytest.mark.parametrize("name", EQUATIONS)
def test_it_is_the_rate_of_the_equation(any_graph: Graph, name: str) -> None:
    found = EQUATIONS[name]
    x = states(any_graph, 3, found.features) - 0.05
    expected = found.rate(x, Network(any_graph))
    torch.testing.assert_close(law_of(name)(T0, x, any_graph), expected)
    torch.testing.assert_close(law_of(name)(T0, x[0], any_graph), expected[0])


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_fast_path_is_the_sum_over_edges(any_graph: Graph, name: str) -> None:
    law, x = law_of(name), states(any_graph, EQUATIONS[name].features)
    n, d = x.shape
    messages = law.edge(x.repeat_interleave(n, 0), x.repeat(n, 1)).reshape(n, n, d)
    expected = law.node(x) + (any_graph.to_dense().unsqueeze(-1) * messages).sum(1)
    torch.testing.assert_close(law(T0, x, any_graph), expected)


@pytest.mark.parametrize("name", EQUATIONS)
def test_gradients(name: str) -> None:
    law, graph = law_of(name), GRAPHS["weighted"]
    x = states(graph, EQUATIONS[name].features).requires_grad_(True)
    if name != "nothing":
        assert torch.autograd.gradcheck(lambda y: law(T0, y, graph), (x,))
    x_i, x_j = (part.clone().requires_grad_(True) for part in (x.detach()[:3], x.detach()[1:4]))
    if name not in ("nothing", "self alone"):
        assert torch.autograd.gradcheck(law.edge, (x_i, x_j))


def test_formulas_of_known_laws_are_those_laws(graph: Graph) -> None:
    x = states(graph, 1)
    gene = equation((-1.0, "x", False), (1.0, "x_j^2/(K^2 + x_j^2)", True, [1.0]))
    torch.testing.assert_close(ClosedForm(gene)(T0, x, graph), laws.Gene()(T0, x, graph))
    heat = equation((0.5, "x_j - x_i", True))
    torch.testing.assert_close(ClosedForm(heat)(T0, x, graph), laws.Heat(k=0.5)(T0, x, graph))
    torch.testing.assert_close(
        ClosedForm(equation((1.0, "1", True)))(T0, x, graph)[:, 0], graph.degrees.to(torch.float64)
    )


def test_one_sparse_product_serves_all_separable_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    law, graph = law_of("gene"), GRAPHS["weighted"]
    monkeypatch.setattr(Graph, "edge_index", lambda *a: pytest.fail("the fast path does not look at single edges"))
    many = equation(*((1.0, text, True) for text in ("x_j - x_i", "x_i*x_j", "x_i^2*x_j", "x_i^2*x_j^2")))
    columns: list[int] = []
    product = type(graph.adjacency).__matmul__
    monkeypatch.setattr(
        type(graph.adjacency), "__matmul__", lambda m, x: columns.append(x.shape[-1]) or product(m, x), raising=True
    )
    law(T0, states(graph, 1), graph)
    ClosedForm(many)(T0, states(graph, 1), graph)
    assert columns == [1, 3]  # x_j, 1 and x_j^2


def test_the_dtype_is_that_of_the_states() -> None:
    graph = GRAPHS["weighted"]
    for name in EQUATIONS:
        law, x = law_of(name), states(graph, EQUATIONS[name].features)
        out = law(T0.float(), x.float(), graph)
        assert out.dtype == torch.float32, name
        torch.testing.assert_close(out.double(), law(T0, x, graph), rtol=1e-4, atol=1e-4)


def test_states_of_other_features_are_refused() -> None:
    graph = GRAPHS["weighted"]
    with pytest.raises(ValueError, match=r"2 features \(v, w\), but the states have 1"):
        law_of("two features")(T0, states(graph, 1), graph)
    with pytest.raises(ValueError, match=r"1 features? \(x\), but the states have 2"):
        law_of("heat")(T0, states(graph, 2), graph)
    assert law_of("two features").initial_state(graph).shape == (graph.num_nodes, 2)


def test_an_edge_function_of_ones_own_is_used() -> None:
    class Half(ClosedForm):
        def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
            return super().edge(x_i, x_j) / 2

    graph = GRAPHS["weighted"]
    x = states(graph, 1)
    torch.testing.assert_close(Half(EQUATIONS["heat"])(T0, x, graph), law_of("heat")(T0, x, graph) / 2)


def test_it_can_be_simulated_added_and_copied() -> None:
    graph, times = GRAPHS["path"], torch.linspace(0, 1, 5)
    x0 = states(graph, 1).float()
    law = ClosedForm(equation((0.5, "x_j - x_i", True)))
    expected = simulate(laws.Heat(), graph, x0, times).states
    torch.testing.assert_close(simulate(law + copy.deepcopy(law), graph, x0, times).states, expected)


def test_numbers_travel_in_the_state_dict() -> None:
    graph, x = GRAPHS["weighted"], states(GRAPHS["weighted"], 1)
    one = law_of("gene")
    other = ClosedForm(equation((5.0, "x", False), (7.0, "x_j^2/(K^2 + x_j^2)", True, [3.0])))
    assert set(one.state_dict()) == {"coefficients", "inner"}
    assert all(v.dtype == torch.float64 for v in one.state_dict().values())
    assert list(one.parameters()) == []
    assert not torch.allclose(other(T0, x, graph), one(T0, x, graph))
    other.load_state_dict(one.state_dict())
    assert torch.equal(other(T0, x, graph), one(T0, x, graph))
    assert other.equation.parameters.tolist() == one.equation.parameters.tolist() == [-1.0, 2.0, 1.5]
    assert other.description() == one.description()


def test_the_law_keeps_its_own_numbers() -> None:
    found = equation((0.5, "x_j - x_i", True))
    law = ClosedForm(found)
    found.coefficients.fill_(9.0)
    assert law.coefficients.tolist() == [0.5]


@pytest.mark.parametrize("name", EQUATIONS)
def test_descriptions_come_back_from_json(name: str) -> None:
    law, graph = law_of(name), GRAPHS["weighted"]
    again = ClosedForm.from_description(json.loads(json.dumps(law.description())))
    x = states(graph, EQUATIONS[name].features)
    assert torch.equal(again(T0, x, graph), law(T0, x, graph))
    assert (again.features, again.description()) == (law.features, law.description())


def test_the_law_prints_its_equation() -> None:
    assert repr(law_of("heat")) == "ClosedForm(dx_i/dt = sum_j A_ij 0.7 (x_j - x_i))"
    assert repr(law_of("nothing")) == "ClosedForm(dx_i/dt = 0)"
    assert "\n" not in repr(law_of("two features"))


TERM = {"formula": "x_j/(K + x_j)", "coupling": True, "output": "x", "values": [1.0], "coefficient": 2.0}
MALFORMED = {
    "text": "law",
    "no terms": {"features": ["x"]},
    "more": {"features": ["x"], "terms": [], "code": "1"},
    "features": {"features": "x", "terms": []},
    "no features": {"features": [], "terms": []},
    "features that are no names": {"features": ["x y"], "terms": []},
    "features that are functions": {"features": ["exp"], "terms": []},
    "features twice": {"features": ["x", "x"], "terms": []},
    "features that are not texts": {"features": [1], "terms": []},
    "terms": {"features": ["x"], "terms": {}},
    "term": {"features": ["x"], "terms": ["x"]},
    **{
        f"{key} {value!r:.30}": {"features": ["x"], "terms": [{**TERM, key: value}]}
        for key, value in [
            ("formula", 3),
            ("formula", "__import__('os').system('true')"),
            ("formula", "x.__class__"),
            ("formula", "x_j"),  # has no parameter for the value
            ("coupling", False),
            ("coupling", 1),
            ("output", "y"),
            ("output", ["x"]),
            ("output", 0),
            ("values", []),
            ("values", 1.0),
            ("values", ["1"]),
            ("values", [float("nan")]),
            ("values", [10**400]),
            ("coefficient", float("inf")),
            ("coefficient", True),
            ("coefficient", None),
            ("coefficient", "2"),
            ("extra", 1),
        ]
    },
}


@pytest.mark.parametrize("description", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_descriptions_are_refused(description: object) -> None:
    with pytest.raises(ValueError):
        ClosedForm.from_description(description)
    assert ClosedForm.from_description({"features": ["x"], "terms": [TERM]}).coefficients.tolist() == [2.0]


def test_equations_that_do_not_fit_are_refused() -> None:
    heat = EQUATIONS["heat"]
    with pytest.raises(ValueError, match="names for 2"):
        ClosedForm(heat, VW)
    with pytest.raises(ValueError, match="written in"):
        ClosedForm(heat, ("y",))
    with pytest.raises(ValueError, match="coupling term"):
        ClosedForm(equation((1.0, "x_j", False)))
    with pytest.raises(ValueError, match="as many coefficients"):
        ClosedForm(Equation(heat.terms, torch.ones(2)))
    with pytest.raises(ValueError, match=r"parameters \('K',\)"):
        ClosedForm(equation((1.0, "x_j/(K + x_j)", True)))
    with pytest.raises(ValueError, match="finite"):
        ClosedForm(equation((float("nan"), "x", False)))
    with pytest.raises(ValueError, match="rate of feature 1"):
        ClosedForm(equation((1.0, "x", False, [], 1)))


@pytest.mark.parametrize("name", EQUATIONS)
def test_other_parameters_of_a_law_are_those_of_its_equation(name: str) -> None:
    graph = GRAPHS["weighted"]
    found = EQUATIONS[name]
    x = states(graph, found.features)
    moved = found.parameters + 0.1 * torch.arange(len(found.parameters))
    law = law_of(name)
    expected = found.with_parameters(moved).rate(x.unsqueeze(0), Network(graph))[0]
    torch.testing.assert_close(law.with_parameters(moved)(T0, x, graph), expected)
    torch.testing.assert_close(law(T0, x, graph), found.rate(x.unsqueeze(0), Network(graph))[0])
    both = torch.stack([found.parameters, moved])
    if len(found.parameters):
        side_by_side = law.several(both)(T0, x.expand(2, *x.shape), graph)
        torch.testing.assert_close(side_by_side[1], expected)


def test_an_equation_is_a_field_by_itself() -> None:
    graph = GRAPHS["directed"]
    found = EQUATIONS["not separable"]
    x = states(graph, 1)
    rate = sum(found.neighbours(x, graph), start=found.node(x))
    assert torch.equal(rate, law_of("not separable")(T0, x, graph))


def test_a_correction_takes_other_parameters_and_keeps_the_known_law() -> None:
    graph = GRAPHS["weighted"]
    x = states(graph, 1)
    law = laws.Corrected(laws.Heat(0.5), law_of("self alone"))
    other = law.with_parameters(torch.tensor([-3.0], dtype=torch.float64))
    assert other.known is law.known
    torch.testing.assert_close(other(T0, x, graph), laws.Heat(0.5)(T0, x, graph) - 3 * x)
