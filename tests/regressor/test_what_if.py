"""Changes to a network and its state, and the trajectory after them."""

from __future__ import annotations

import warnings

import pytest
import torch

import ndcn
from ndcn.regressor.what_if import Cut, Remove, Shock, changed_graph, changed_state, parse

CHAIN = ndcn.Graph.from_edges([("a", "b"), ("b", "c", 2.0)])
ONE_WAY = ndcn.Graph.from_edges([("a", "b"), ("b", "a", 3.0)], directed=True)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("remove a", Remove("a")),
        ("Remove 'New York'", Remove("New York")),
        ("cut a b", Cut("a", "b")),
        ("cut a->b", Cut("a", "b", one_way=True)),
        ("cut a -> b", Cut("a", "b", one_way=True)),
        ("shock a +5", Shock("a", "+", 5.0)),
        ("shock a -5", Shock("a", "+", -5.0)),
        ("shock a +=5", Shock("a", "+", 5.0)),
        ("shock a *2", Shock("a", "*", 2.0)),
        ("shock a =1e-3", Shock("a", "=", 1e-3)),
        ("shock a cases*0.5", Shock("a", "*", 0.5, "cases")),
        ("remove New York", Remove("New York")),
        ("cut 'New York' 'San Jose'", Cut("New York", "San Jose")),
        ("cut New York->San Jose", Cut("New York", "San Jose", one_way=True)),
        ("cut 'New York' -> San Jose", Cut("New York", "San Jose", one_way=True)),
        ("shock New York +5", Shock("New York", "+", 5.0)),
        ("shock 'New York' 'new cases'*2", Shock("New York", "*", 2.0, "new cases")),
        ("shock a new-cases+5", Shock("a", "+", 5.0, "new-cases")),
        ("shock a new-cases-5", Shock("a", "+", -5.0, "new-cases")),
        ("shock a new-cases=-1e-2", Shock("a", "=", -0.01, "new-cases")),
    ],
)
def test_how_changes_are_written(text: str, change: object) -> None:
    assert parse(text) == change


@pytest.mark.parametrize(
    "text",
    ["", "remove", "explode a", "shock a", "shock a much", "shock a +inf", "cut a", "cut a->", "cut New York Boston"],
)
def test_what_is_no_change(text: str) -> None:
    with pytest.raises(ValueError, match=r'write "remove NODE".*names with blanks stand in quotes'):
        parse(text)


def test_a_quote_never_closed() -> None:
    with pytest.raises(ValueError, match=r"never closed.*a name with ' in it"):
        parse("remove Cote d'Ivoire")
    assert parse("""remove "Cote d'Ivoire\"""") == Remove("Cote d'Ivoire")


def test_graphs() -> None:
    assert changed_graph(CHAIN, [Remove("b")]) == ndcn.Graph.from_edges([], nodes=["a", "c"])
    assert changed_graph(CHAIN, [Cut("c", "b")]) == ndcn.Graph.from_edges([("a", "b")], nodes=["a", "b", "c"])
    assert changed_graph(CHAIN, [Shock("a", "+", 1.0)]) == CHAIN
    assert changed_graph(ONE_WAY, [Cut("a", "b", one_way=True)]).to_dense().tolist() == [[0, 3], [0, 0]]
    assert changed_graph(ONE_WAY, [Cut("a", "b")]).num_edges == 0
    assert CHAIN.num_edges == 2


def test_an_undirected_edge_is_cut_one_way() -> None:
    """a -> b goes, b -> a stays: the graph is directed from then on."""
    left = changed_graph(CHAIN, [Cut("a", "b", one_way=True)])
    assert left.directed
    assert left.to_dense().tolist() == [[0, 1, 0], [0, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Remove("z"), "no node 'z'; its nodes are 'a', 'b', 'c'"),
        (Remove("a b"), "no node 'a b'; its nodes are 'a', 'b', 'c'; names with blanks stand in quotes"),
        (Cut("a", "c"), "no edge from 'a' to 'c'"),
    ],
)
def test_what_is_not_there(change: Remove | Cut, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed_graph(CHAIN, [change])


def test_nothing_is_left() -> None:
    with pytest.raises(ValueError, match="nothing is left"):
        changed_graph(CHAIN, [Remove("a"), Remove("b"), Remove("c")])


def test_states() -> None:
    state = torch.tensor([[1.0, 10], [2, 20], [3, 30]])
    changes = [Shock("a", "+", 5.0, "x"), Shock("b", "*", 2.0), Shock("c", "=", 0.0, "y")]
    assert changed_state(CHAIN, state, ["x", "y"], changes).tolist() == [[6, 10], [4, 40], [3, 0]]
    assert changed_state(CHAIN, state, ["x", "y"], [Remove("b")]).tolist() == [[1, 10], [3, 30]]
    with pytest.raises(ValueError, match="no feature 'z'"):
        changed_state(CHAIN, state, ["x", "y"], [Shock("a", "+", 1.0, "z")])
    assert state[0, 0] == 1


def test_numbered_nodes_are_found_by_their_text() -> None:
    assert changed_graph(ndcn.networks.grid(4), [Remove("3")]).num_nodes == 3


# The course -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heat() -> ndcn.DynamicsRegressor:
    """Heat on a grid, whose law is known exactly, as a model that is fitted."""
    graph = ndcn.networks.grid(9)
    times = torch.linspace(0, 2, 30)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    return ndcn.DynamicsRegressor(model=ndcn.laws.Heat(k=None)).fit(data)


def test_a_shock_acts_from_its_time_on(heat: ndcn.DynamicsRegressor) -> None:
    times = [0.0, 0.5, 1.0, 1.5]
    base = heat.predict(times)
    at_one = heat.predict([1.0]).states[0]
    changed = heat.what_if("shock 4 +9", times, at=1.0).states
    assert torch.equal(changed[:2], base.states[:2])
    torch.testing.assert_close(changed[2, 4] - base.states[2, 4], torch.tensor([9.0]).to(changed.dtype))
    graph = heat.train_[0].graph
    shocked = at_one.clone()
    shocked[4] += 9
    truth = ndcn.simulate(ndcn.laws.Heat(), graph, shocked.double(), [0.0, 0.5]).states[1]
    torch.testing.assert_close(changed[3].double(), truth, rtol=1e-2, atol=1e-2)


def test_a_model_that_misses_the_shock_says_so() -> None:
    """NDCN decodes to another state than it encodes; a law starts where it is told to."""
    graph = ndcn.networks.grid(9)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 2, 20))
    rough = ndcn.DynamicsRegressor(epochs=5).fit(data)
    exact = ndcn.DynamicsRegressor(model=ndcn.laws.Heat(k=None)).fit(data)
    change = [Shock("4", "=", 0.0)]

    def state(model: ndcn.DynamicsRegressor) -> float:
        return model.what_if(change, [1.0], at=1.0).states[0, 4, 0].item()

    with pytest.warns(UserWarning, match='x is up to .* off the requested state .*model="interaction"') as said:
        missed = state(rough)
    assert f"up to {abs(missed):.3g} off" in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert state(exact) == pytest.approx(0.0, abs=1e-6)


def test_a_removed_node_is_gone(heat: ndcn.DynamicsRegressor) -> None:
    base = heat.predict([0.0, 1.0])
    changed = heat.what_if(Remove("4"), [0.0, 1.0]).states
    assert changed[:, 4].isnan().all()
    assert changed[:, [0, 1, 2, 3, 5, 6, 7, 8]].isfinite().all()
    late = heat.what_if(["remove 4"], [0.0, 1.0], at=5.0).states
    assert torch.equal(late, base.states)


def test_a_graph_that_changes(heat: ndcn.DynamicsRegressor) -> None:
    """The same graph twice is one graph; without edges nothing changes any more."""
    graph = heat.train_[0].graph
    once = heat.predict([0.25, 2.0, 0.5])
    twice = heat.predict([0.25, 2.0, 0.5], graph=ndcn.GraphSequence([0.0, 0.5, 1.0], [graph] * 3))
    torch.testing.assert_close(once.states, twice.states, rtol=1e-3, atol=1e-3)
    assert once.times.tolist() == twice.times.tolist()
    apart = ndcn.Graph.from_edges([], num_nodes=9)
    still = heat.predict([0.5, 1.0, 3.0], graph=ndcn.GraphSequence([0.0, 0.5], [graph, apart]))
    torch.testing.assert_close(still.states[0], still.states[2], rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="the state x0 is given at 1"):
        heat.predict([0.5], graph=ndcn.GraphSequence([0.0], [graph]), x0=heat.train_[0].x0, t0=1.0)
