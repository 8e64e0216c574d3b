"""Known laws against dense formulas and exact solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ndcn import Graph, IntegrationError, Solver, laws, networks, operators, simulate
from ndcn.laws import Gene, Heat, Law, Mutualistic
from problems import DIRECTED, GRAPHS, SIGNED_GRAPHS, heat, states
from strategies import graphs

T0 = torch.tensor(0.0)


def _column(value: Any) -> torch.Tensor:
    """A parameter as a number or a column that multiplies (n, d)."""
    tensor = torch.as_tensor(value, dtype=torch.float64)
    return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def _row_of_pairs(value: Any) -> torch.Tensor:
    """A parameter of the acting node, as it multiplies (n acted on, n acting, d)."""
    tensor = _column(value)
    return tensor if tensor.dim() == 0 else tensor.unsqueeze(0)


def dense_heat(a: torch.Tensor, x: torch.Tensor, k: Any = 1.0) -> torch.Tensor:
    pairs = x.unsqueeze(1) - x.unsqueeze(0)  # x_i - x_j
    return -_column(k) * torch.einsum("ij,ijd->id", a, pairs)


def dense_mutualistic(
    a: torch.Tensor, x: torch.Tensor, b: Any = 0.1, k: Any = 5.0, c: Any = 1.0, d: Any = 5.0, e: Any = 0.9, h: Any = 0.1
) -> torch.Tensor:
    b, k, c, d, e = (_column(value) for value in (b, k, c, d, e))
    own, other = x.unsqueeze(1), x.unsqueeze(0)
    pairs = own * other / ((d + e * x).unsqueeze(1) + _row_of_pairs(h) * other)
    return b + x * (1 - x / k) * (x / c - 1) + torch.einsum("ij,ijd->id", a, pairs)


def dense_gene(a: torch.Tensor, x: torch.Tensor, b: Any = 1.0, f: Any = 1.0, h: Any = 2.0) -> torch.Tensor:
    raised = x ** _column(h)
    return -_column(b) * x ** _column(f) + a @ (raised / (raised + 1))


DENSE: dict[type[Law], Callable[..., torch.Tensor]] = {
    Heat: dense_heat,
    Mutualistic: dense_mutualistic,
    Gene: dense_gene,
}
SETTINGS: list[tuple[type[Law], dict[str, float]]] = [
    (Heat, {}),
    (Heat, {"k": 0.3}),
    (Mutualistic, {}),
    (Mutualistic, {"b": 0.2, "k": 4.0, "c": 1.5, "d": 3.0, "e": 0.1, "h": 0.9}),
    (Gene, {}),
    (Gene, {"b": 2.0, "f": 2.0, "h": 1.0}),
    (Gene, {"b": 0.5, "f": 1.5, "h": 2.5}),
]


@pytest.mark.parametrize(("law", "values"), SETTINGS)
@pytest.mark.parametrize("d", [1, 3])
def test_dense_formula(any_graph: Graph, law: type[Law], values: dict[str, float], d: int) -> None:
    x = states(any_graph, d)
    torch.testing.assert_close(law(**values)(T0, x, any_graph), DENSE[law](any_graph.to_dense(), x, **values))


@pytest.mark.parametrize("law", DENSE)
@pytest.mark.parametrize("name", ["weighted", "directed"])
def test_parameters_for_each_node(law: type[Law], name: str) -> None:
    graph = GRAPHS[name]
    rng = np.random.default_rng(0)
    names = [name for name, _ in law().named_buffers()]
    x = states(graph, 2)
    for shape in ((5,), (5, 2)):
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


# A law of one's own -------------------------------------------------------------------------------------------------


class OwnHeat(Law):
    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_j - x_i


class OwnMutualistic(Law):
    def node(self, x: torch.Tensor) -> torch.Tensor:
        return 0.1 + x * (1 - x / 5) * (x - 1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_i * x_j / (5 + 0.9 * x_i + 0.1 * x_j)


class OwnGene(Law):
    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return x_j**2 / (x_j**2 + 1)


@pytest.mark.parametrize(("own", "known"), [(OwnHeat, Heat), (OwnMutualistic, Mutualistic), (OwnGene, Gene)])
@pytest.mark.parametrize("shape", [(1,), (3, 2)])
def test_an_own_law_equals_the_known_one(
    any_graph: Graph, own: type[Law], known: type[Law], shape: tuple[int, ...]
) -> None:
    x = states(any_graph, *shape)
    torch.testing.assert_close(own()(T0, x, any_graph), known()(T0, x, any_graph))


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


@pytest.mark.parametrize("law", [Heat(k=torch.ones(5)), Mutualistic(h=torch.ones(5)), Gene(h=torch.ones(5))])
def test_an_edge_function_cannot_tell_nodes_apart(law: Law) -> None:
    x = states(GRAPHS["weighted"], 1)
    with pytest.raises(
        ValueError, match=r"edge\(x_i, x_j\) cannot tell apart; per-node parameters need the law's own forward"
    ):
        law.edge(x, x)
    law(T0, x, GRAPHS["weighted"])


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


@pytest.mark.parametrize("law", DENSE)
@pytest.mark.parametrize("per_node", [False, True])
def test_parameters_can_be_learned(law: type[Law], per_node: bool) -> None:
    graph = GRAPHS["directed"]
    x = states(graph, 1)
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


# What the laws do over time -----------------------------------------------------------------------------------------


@given(graphs(directed=False))
def test_heat_is_conserved_on_undirected_graphs(graph: Graph) -> None:
    torch.testing.assert_close(
        Heat()(T0, states(graph, 2), graph).sum(0), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("d", [1, 2])
def test_heat_is_the_matrix_exponential(graph: Graph, d: int) -> None:
    x0, times = states(graph, d), torch.tensor([0.0, 0.1, 1.0, 3.0])
    data = simulate(Heat(), graph, x0, times)
    torch.testing.assert_close(data.states, heat(graph, x0, times), rtol=1e-6, atol=1e-6)
    assert data.states.dtype == torch.float64
    assert data.statistics.evaluations > 0


@pytest.mark.parametrize("scale", [10.0**k for k in range(-12, 13, 3)])
def test_heat_is_solved_equally_well_in_any_unit(graph: Graph, scale: float) -> None:
    x0, times = states(graph, 2), torch.tensor([0.0, 0.1, 1.0, 3.0])
    found = simulate(Heat(), graph, x0 * scale, times).states / scale
    torch.testing.assert_close(found, heat(graph, x0, times), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ratio", [1e-5, 1e-3, 1e3, 1e5])
def test_features_of_different_size_are_solved_equally_well(ratio: float) -> None:
    graph, size = GRAPHS["path"], torch.tensor([1.0, ratio], dtype=torch.float64)
    x0 = torch.tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    data = simulate(Heat(), graph, x0 * size, [0.1, 1.0])
    torch.testing.assert_close(data.states / size, heat(graph, x0, [0.1, 1.0]), rtol=1e-6, atol=1e-7)
    assert data.statistics.accepted_steps < 2000


def test_a_start_at_rest_and_one_next_to_nothing() -> None:
    class Rain(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return 1 - x

    for x0 in (torch.zeros(4, 1), torch.full((4, 1), 1e-320, dtype=torch.float64)):
        found = simulate(Rain(), GRAPHS["path"], x0, [1.0]).states
        torch.testing.assert_close(found, torch.full_like(found, 1 - np.exp(-1)), rtol=1e-6, atol=0)


def test_a_solution_that_the_type_cannot_hold() -> None:
    class Growth(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.raises(
        IntegrationError, match=r"at t = 90 is larger than float32 can hold .*float64 \(x0.double\(\)\)"
    ) as caught:
        simulate(Growth(), GRAPHS["path"], torch.ones(4), [0.0, 80.0, 90.0, 100.0])
    assert caught.value.time == 90
    assert simulate(Growth(), GRAPHS["path"], torch.ones(4).double(), [100.0]).states.max() > 1e43


def test_heat_with_negative_weights_is_the_matrix_exponential() -> None:
    graph = SIGNED_GRAPHS["signed"]
    x0, times = states(graph, 1), torch.tensor([0.5, 1.0])
    torch.testing.assert_close(simulate(Heat(), graph, x0, times).states, heat(graph, x0, times), rtol=1e-6, atol=1e-6)


def test_heat_flows_only_along_the_direction() -> None:
    graph = Graph.from_dense(DIRECTED)
    rate = Heat()(T0, states(graph, 1), graph)
    assert rate[4] == 0  # nobody acts on it
    torch.testing.assert_close(rate, -(operators.laplacian(graph) @ states(graph, 1)))


@pytest.mark.parametrize("law", DENSE)
def test_isolated_nodes_follow_their_own_law(law: type[Law]) -> None:
    x = states(GRAPHS["weighted"], 1)
    torch.testing.assert_close(law()(T0, x, GRAPHS["weighted"])[4:], law()(T0, x[4:], GRAPHS["single"]))


def test_the_result_has_the_type_of_the_initial_state() -> None:
    for x0, dtype in ((torch.ones(4), torch.float32), (np.ones((4, 1)), torch.float64), ([1, 2, 3, 4], torch.float32)):
        data = simulate(Gene(), GRAPHS["path"], x0, [0, 1])
        assert data.states.dtype == dtype
        assert data.states.shape == (2, 4, 1)


def test_a_later_start_and_another_solver() -> None:
    x0 = states(GRAPHS["path"], 1)
    data = simulate(Heat(), GRAPHS["path"], x0, [2.0, 3.0], t0=2.0, solver=Solver("rk4", step_size=0.01))
    torch.testing.assert_close(data.states, heat(GRAPHS["path"], x0, torch.tensor([0.0, 1.0])), rtol=1e-6, atol=1e-6)
    assert data.statistics.accepted_steps == 100


@pytest.mark.parametrize(
    ("x0", "times", "message"),
    [
        (torch.ones(3), [0, 1], r"x0 must have shape \(n, d\) with n = 4 nodes"),
        (torch.full((4,), float("nan")), [0, 1], "x0 has NaN or infinite entries"),
        (torch.ones(4), [1, 0], "times are not in increasing order"),
        (torch.ones(4), [0, float("nan")], "times must be finite"),
        (torch.ones(4), [-1, 0], "times must be >= 0"),
    ],
)
def test_bad_questions(x0: torch.Tensor, times: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(Heat(), GRAPHS["path"], x0, times)


def test_times_before_the_start_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.5"):
        simulate(Heat(), GRAPHS["path"], torch.ones(4), [0.5, 2.0], t0=1.0)


def test_an_explosion_says_when() -> None:
    class Explosion(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return x * x

    with pytest.raises(IntegrationError) as caught:
        simulate(Explosion(), GRAPHS["single"], torch.ones(1), [0.0, 2.0])
    assert caught.value.time == pytest.approx(1.0, abs=0.01)


# The initial state of the paper -------------------------------------------------------------------------------------


def test_three_blocks_on_the_square_of_400() -> None:
    square = torch.zeros(20, 20)
    square[1:5, 1:5] = 25
    square[9:15, 9:15] = 20
    square[1:5, 7:13] = 17
    assert torch.equal(laws.initial_state(networks.grid(400)), square.reshape(400, 1))


@pytest.mark.parametrize("n", [1, 2, 7, 50, 390])
def test_an_initial_state_for_any_number_of_nodes(n: int) -> None:
    x0 = laws.initial_state(networks.grid(n), dtype=torch.float64)
    assert x0.shape == (n, 1)
    assert x0.dtype == torch.float64
    assert set(x0.flatten().tolist()) <= {0, 17, 20, 25}
