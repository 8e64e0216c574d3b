"""Laws as formulas whose numbers vary among nodes."""

import json

import pandas as pd
import pytest
import torch

import ndcn
from ndcn.laws import ClosedForm, Equation, Formula, NodeClosedForm, NodeEquation, NodeEquations, Relation, Term
from ndcn.laws.network import Network

N = 12
GRAPH = ndcn.networks.power_law(N, seed=1)
X = torch.rand(N, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
VALUES = torch.linspace(0.5, 1.5, N, dtype=torch.float64)


def equation(*terms: tuple[str, float, tuple[float, ...]]) -> Equation:
    made = tuple(Term(Formula(text), Formula(text).on_edges, 0, values) for text, _, values in terms)
    return Equation(made, torch.tensor([c for _, c, _ in terms], dtype=torch.float64))


HILL = equation(("x", -1.0, ()), ("x_j^2/(K^2 + x_j^2)", 0.7, (1.3,)))


def rate(law: ndcn.laws.Law, graph: ndcn.Graph = GRAPH, x: torch.Tensor = X) -> torch.Tensor:
    return law(torch.tensor(0.0), x, graph)


@pytest.mark.parametrize(
    ("made", "known"),
    [
        (
            NodeClosedForm(equation(("x", -1.0, ()), ("x_j^2/(1 + x_j^2)", 1.0, ())), [0], -VALUES[:, None]),
            ndcn.laws.Gene(b=VALUES),
        ),
        (
            NodeClosedForm(equation(("1", 0.0, ()), ("sin(x_j - x_i)", 0.3, ())), [0], VALUES[:, None]),
            ndcn.laws.Kuramoto(omega=VALUES, k=0.3),
        ),
        (NodeClosedForm(equation(("x_j - x_i", 1.0, ())), [0], VALUES[:, None]), ndcn.laws.Heat(VALUES)),
        (
            NodeClosedForm(
                equation(("x", 1.0, ()), ("x^2", -1.0, ()), ("x_i*x_j", -0.2, ())),
                [0, 1],
                torch.stack([VALUES, -VALUES.flip(0)], 1),
            ),
            ndcn.laws.LotkaVolterra(alpha=VALUES, theta=VALUES.flip(0), c=0.2),
        ),
    ],
)
def test_rates_are_those_of_known_laws_with_values_for_each_node(made: NodeClosedForm, known: ndcn.laws.Law) -> None:
    torch.testing.assert_close(rate(made), rate(known))


def test_an_inner_parameter_is_that_of_the_node_acted_on() -> None:
    law = NodeClosedForm(HILL, [2], VALUES[:, None])
    i, j = GRAPH.edge_index("cpu")
    other = X[j].square()
    expected = -X + GRAPH.aggregate(0.7 * other / (VALUES[i][:, None].square() + other))
    torch.testing.assert_close(rate(law), expected)
    assert law.labels == ("K_i",)


def test_as_a_model_it_has_the_same_rates_and_exact_derivatives() -> None:
    law = NodeClosedForm(HILL, [0, 2], torch.stack([-VALUES, VALUES], 1))
    model = NodeEquation(HILL, (0, 2))
    p = HILL.parameters
    u = torch.stack([-VALUES - p[0], VALUES - p[2]], 1)
    wide = torch.cat([X, u], 1).unsqueeze(0)
    network = Network(GRAPH)
    slopes = model.slopes(wide, network)
    torch.testing.assert_close(slopes.rate[0, :, :1], rate(law))
    h = 1e-6
    for k in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[k] = h
        ends = [model.with_parameters(p + s * step).rate(wide, network) for s in (1, -1)]
        torch.testing.assert_close(slopes.columns[..., k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)
    kernel = model.kernel(network)
    if kernel is not None:
        compiled = kernel.slopes(wide.numpy())
        torch.testing.assert_close(torch.from_numpy(compiled[0]), slopes.rate)
        torch.testing.assert_close(torch.from_numpy(compiled[3]), slopes.columns)


def test_nodes_are_known_by_name_and_others_have_the_mean() -> None:
    law = NodeClosedForm(HILL, [0], torch.tensor([[-1.0], [-3.0]]), nodes=["a", "b"])
    graph = ndcn.Graph.from_edges([("b", "c"), ("c", "a")])
    numbers = dict(zip(graph.nodes, law.parameters_on(graph)[:, 0].tolist(), strict=True))
    assert numbers == {"a": -1.0, "b": -3.0, "c": -1.0}  # c has the mean of the equation
    smaller = NodeClosedForm(HILL, [0], torch.tensor([[-2.0], [-3.0]]))
    assert smaller.parameters_on(GRAPH)[:, 0].tolist() == [-1.0] * N


def test_new_nodes_of_posterior_samples_spread() -> None:
    law = NodeClosedForm(HILL, [0], -VALUES[:, None], spread=[0.5])
    numbers = torch.cat([law.equation.parameters, law.node_values.T.reshape(-1)])
    large = ndcn.networks.grid(400)
    drawn = law.with_parameters(numbers, seed=0).parameters_on(large)[:, 0]
    assert drawn.std().item() == pytest.approx(0.5, rel=0.15)
    torch.testing.assert_close(law.with_parameters(numbers).parameters_on(GRAPH), law.parameters_on(GRAPH))


def test_values_of_other_nodes_can_be_given() -> None:
    law = NodeClosedForm(HILL, [0], -VALUES[:, None])
    other = law.with_node_values({"b_i": [-1.0, -2.0]})
    assert other.node_values.T.tolist() == [[-1.0, -2.0]]
    with pytest.raises(ValueError, match="column 'b_i'"):
        law.with_node_values({"c": [1.0]})


def test_a_description_is_read_again() -> None:
    law = NodeClosedForm(HILL, [0, 2], torch.stack([-VALUES, VALUES], 1), nodes=[f"n{k}" for k in range(N)])
    law.map_step = 0.1
    again = NodeClosedForm.from_description(law.description())
    assert again.description() == law.description()
    assert (again.varying, again.map_step) == (law.varying, 0.1)
    for wrong in ({}, {**law.description(), "varying": [[7, None]]}, {**law.description(), "node_values": "a"}):
        with pytest.raises(ValueError, match="varying"):
            NodeClosedForm.from_description(wrong)


def test_wrong_values_are_refused() -> None:
    with pytest.raises(ValueError, match="varying must be some"):
        NodeClosedForm(HILL, [5], VALUES[:, None])
    with pytest.raises(ValueError, match="shape"):
        NodeClosedForm(HILL, [0], VALUES)
    with pytest.raises(ValueError, match="names of 1"):
        NodeClosedForm(HILL, [0], VALUES[:, None], nodes=["a"])


def test_a_map_keeps_its_step() -> None:
    law = ClosedForm(HILL)
    law.map_step = 0.25
    assert ClosedForm.from_description(law.description()).map_step == 0.25
    assert "an Euler map with step 0.25" in repr(law)
    states, _ = ndcn.laws.LawODE(law).followed(X, torch.tensor([0.25, 0.5]), GRAPH, 0.0)
    first = X + 0.25 * rate(law)
    torch.testing.assert_close(states, torch.stack([first, first + 0.25 * rate(law, x=first)]))


def following(values: tuple[float, ...] = (1.0, 2.0), *, log: bool = False) -> NodeClosedForm:
    """-x times 2 + 0.5 (size - 1.5), or of its logarithm, of two nodes; the second has a rest of 0.1."""
    relation = Relation(0, "size", -0.5, 1.5, values, log)
    known = torch.tensor([[-1.75], [-2.35]], dtype=torch.float64)
    return NodeClosedForm(equation(("x", -2.0, ())), [0], known, [0.1], ["a", "b"], relations=[relation])


def values_on(law: NodeClosedForm, graph: ndcn.Graph) -> list[float]:
    return law.parameters_on(graph)[:, 0].tolist()


def test_values_follow_the_attributes_of_a_graph() -> None:
    pair = ndcn.Graph.from_edges([("a", "b")])
    law = following()
    assert values_on(law, pair) == [-1.75, -2.35]  # known by name
    assert values_on(law, pair.with_attributes({"size": [1, 2]})) == pytest.approx([-1.75, -2.35])
    assert values_on(law, pair.with_attributes({"size": [3, 3]})) == pytest.approx([-2.75, -2.85])
    other = ndcn.Graph.from_edges([("b", "c")])
    assert values_on(law, other.with_attributes({"size": [2, 5]})) == pytest.approx([-2.35, -3.75])
    drawn = law.with_parameters(torch.tensor([-2.0, -0.5, -1.75, -2.35]).double(), seed=1)
    assert values_on(drawn, other.with_attributes({"size": [2, 5]}))[1] != pytest.approx(-3.75, abs=1e-3)
    with pytest.raises(ValueError, match="no attribute 'size', only 'degree'"):
        values_on(law, other)
    with pytest.raises(ValueError, match="b_i follows 'size', which is not known of 'c': give it by"):
        values_on(law, other.with_attributes({"size": [2, float("nan")]}))
    with pytest.raises(ValueError, match="has no logarithm, of 'c'"):
        values_on(following(log=True), other.with_attributes({"size": [2, -1]}))
    given = law.with_node_values(pd.DataFrame({"b_i": [-9.0]}, index=["c"]))
    assert values_on(given, other.with_attributes({"size": [2, 5]})) == pytest.approx([-2.25, -9.0])


def test_what_follows_an_attribute_is_printed_and_kept() -> None:
    law = following()
    covariance = torch.diag(torch.tensor([1e-4, 4e-6]).double())
    shown = NodeEquations(law.equation, covariance=covariance, varying=(0,), law=law)
    assert str(shown) == "dx_i/dt = b_i x_i,  b_i = -1.250(10) - 0.500(2) size_i, spread 0.1 over 2 nodes"
    assert r"0.500(2) \mathrm{size}_i" in shown.latex()
    assert "log size_i" in str(following(log=True))
    again = NodeClosedForm.from_description(json.loads(json.dumps(law.description())))
    assert again.relations == law.relations
    assert values_on(following((1.0, float("nan"))), ndcn.Graph.from_edges([("a", "b")])) == [-1.75, -2.35]
    broken = {**law.description(), "relations": [{**law.relations[0].description(), "values": [1.0]}]}
    with pytest.raises(ValueError, match="does not belong to them"):
        NodeClosedForm.from_description(broken)
    with pytest.raises(ValueError, match="a relation of values of nodes has"):
        NodeClosedForm.from_description({**law.description(), "relations": [{"slope": 1.0}]})
