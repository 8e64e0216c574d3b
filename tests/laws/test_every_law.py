"""What holds for every known law: its dense formula, batches, gradients, relabelling."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from dense_laws import DENSE, SETTINGS
from ndcn import Graph, laws, networks, simulate
from ndcn.laws import Law
from problems import GRAPHS, states
from strategies import graphs

T0 = torch.tensor(0.0)


def test_every_named_law_is_here() -> None:
    assert list(DENSE) == list(laws.NAMED.values())
    assert {law for law, _ in SETTINGS} == set(DENSE)


@pytest.mark.parametrize(("law", "values"), SETTINGS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_dense_formula(any_graph: Graph, law: type[Law], values: dict[str, float], d: int) -> None:
    x = states(any_graph, d)
    if law.features is not None and len(law.features) != d:
        with pytest.raises(ValueError, match=f"{law.__name__} has 2 features .*, but the states have {d}"):
            law(**values)(T0, x, any_graph)
        return
    torch.testing.assert_close(law(**values)(T0, x, any_graph), DENSE[law](any_graph.to_dense(), x, **values))


@pytest.mark.parametrize("law", DENSE)
@pytest.mark.parametrize("name", ["weighted", "directed"])
def test_parameters_for_each_node(law: type[Law], name: str) -> None:
    graph = GRAPHS[name]
    rng = np.random.default_rng(0)
    names = [name for name, _ in law().named_buffers()]
    x = states(graph, 2)
    for shape in ((5,), (5, 2)) if law.features is None else ((5,),):
        values = {name: rng.uniform(0.5, 2.0, size=shape) for name in names}
        torch.testing.assert_close(law(**values)(T0, x, graph), DENSE[law](graph.to_dense(), x, **values))


@pytest.mark.parametrize("law", DENSE)
def test_states_may_come_in_batches_and_any_floating_type(any_graph: Graph, law: type[Law]) -> None:
    x = states(any_graph, 4, 2)
    together = law()(T0, x, any_graph)
    torch.testing.assert_close(together, torch.stack([law()(T0, one, any_graph) for one in x]))
    assert law()(T0, x.float(), any_graph).dtype == torch.float32


@pytest.mark.parametrize("law", DENSE)
@given(graph=graphs(), data=st.data())
def test_relabelling_permutes_the_rates(law: type[Law], graph: Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(graph.num_nodes)))
    other = Graph.from_dense(graph.to_dense()[order][:, order], directed=graph.directed)
    x = states(graph, 2)
    torch.testing.assert_close(law()(T0, x[order], other), law()(T0, x, graph)[order])


@pytest.mark.parametrize("law", DENSE)
def test_node_and_edge_of_a_known_law_say_the_same(any_graph: Graph, law: type[Law]) -> None:
    x = states(any_graph, 2)
    torch.testing.assert_close(Law.forward(law(), T0, x, any_graph), law()(T0, x, any_graph))


@pytest.mark.parametrize("known", DENSE)
@pytest.mark.parametrize("function", ["node", "edge"])
def test_a_known_law_with_one_function_changed_follows_it(any_graph: Graph, known: type[Law], function: str) -> None:
    def node(self: Law, x: torch.Tensor) -> torch.Tensor:
        return known.node(self, x) + x

    def edge(self: Law, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return known.edge(self, x_i, x_j) + x_j

    changed = type("Changed", (known,), {function: {"node": node, "edge": edge}[function]})
    x = states(any_graph, 2)
    more = x if function == "node" else any_graph.adjacency @ x
    expected = known()(T0, x, any_graph) + more
    torch.testing.assert_close(changed()(T0, x, any_graph), expected)
    torch.testing.assert_close(type("Below", (changed,), {})()(T0, x, any_graph), expected)
    patched = known()
    setattr(patched, function, getattr(changed(), function))
    torch.testing.assert_close(patched(T0, x, any_graph), expected)


@pytest.mark.parametrize("law", DENSE)
@pytest.mark.parametrize("per_node", [False, True])
def test_parameters_can_be_learned(law: type[Law], per_node: bool) -> None:
    graph = GRAPHS["directed"]
    x = states(graph, len(law.features or ("x",)))
    values = {name: value.item() for name, value in law().named_buffers()}
    shape = (5,) if per_node else ()
    learned = {name: torch.full(shape, v, dtype=torch.float64, requires_grad=True) for name, v in values.items()}

    def rate(*parameters: torch.Tensor) -> torch.Tensor:
        made = law(**{name: nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for name in learned})
        named = dict(zip(learned, parameters, strict=True))
        return torch.func.functional_call(made, named, (T0, x, graph))

    assert [
        name for name, _ in law(**{k: nn.Parameter(v.detach()) for k, v in learned.items()}).named_parameters()
    ] == [*learned]
    assert torch.autograd.gradcheck(rate, tuple(learned.values()))


@pytest.mark.parametrize("law", DENSE)
def test_gradients_with_respect_to_states(law: type[Law]) -> None:
    x = states(GRAPHS["directed"], 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: law()(T0, x, GRAPHS["directed"]), x)


@pytest.mark.parametrize("law", DENSE)
def test_isolated_nodes_follow_their_own_law(law: type[Law]) -> None:
    x = states(GRAPHS["weighted"], 2)
    torch.testing.assert_close(law()(T0, x, GRAPHS["weighted"])[4:], law()(T0, x[4:], GRAPHS["single"]))


@pytest.mark.parametrize("law", DENSE)
def test_unknown_parameters(law: type[Law]) -> None:
    names = [name for name, _ in law().named_buffers()]
    unknown = law(**dict.fromkeys(names))
    assert unknown.unknown == tuple(names)
    assert repr(unknown.with_values(**{name: value.item() for name, value in law().named_buffers()})) == repr(law())


@pytest.mark.parametrize("law", DENSE)
def test_a_state_to_start_from(law: type[Law]) -> None:
    graph = networks.grid(49)
    x0 = law().initial_state(graph, seed=1, dtype=torch.float64)
    assert x0.shape == (49, len(law.features or ("x",)))
    assert x0.dtype == torch.float64
    assert torch.equal(x0, law().initial_state(graph, seed=1, dtype=torch.float64))
    data = simulate(law(), graph, x0, torch.linspace(0, 5, 6))
    assert data.features == (law.features or ("x",))
    assert (data.states[-1] - data.states[0]).abs().max() > 0.1  # something happens
