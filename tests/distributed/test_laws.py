"""Laws of a network that several processes share: the formula and the numbers of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ndcn
import ranks
from ndcn import DynamicsRegressor, Trajectory, distributed

FIT = """
reg = ndcn.DynamicsRegressor(model=words["model"]).fit(distributed.read_part(words["folder"]))
reg.save(words["folder"] + ".ndcn")
numbers = reg.law_.equation.parameters.tolist()
later = reg.predict([1.5])
say([str(reg.equations()), numbers, reg.evidence_.reason, reg.evidence_.explained, later.states.shape[1]])
"""


def data(case: str, n: int = 60) -> Trajectory:
    law: Any = {"gene": ndcn.laws.Gene(), "mutualistic": ndcn.laws.Mutualistic(), "heat": ndcn.laws.Heat()}.get(case)
    if case == "two features":
        law = ndcn.laws.FitzHughNagumo()
    graph = ndcn.networks.random(n, seed=3)
    if case == "gene":  # acts one way, and not at all on its last node
        a = graph.to_scipy().tolil()
        a[n - 1, :] = 0
        a[: n // 2, n // 2 :] = 0
        graph = ndcn.Graph(a.tocsr(), directed=True)
    x0 = law.initial_state(graph, seed=1) if case == "two features" else ndcn.laws.initial_state(graph)
    times = ndcn.sampling.irregular_times(3.0, count=60, seed=0)
    return ndcn.simulate(law, graph, x0.double(), times)


@pytest.mark.parametrize(
    ("case", "size"),
    [("gene", 2), ("heat", 4), pytest.param("mutualistic", 2, marks=pytest.mark.slow), ("two features", 2)],
)
def test_the_law_in_parts_is_the_law_in_one_process(case: str, size: int, tmp_path: Path) -> None:
    run, folder = data(case), tmp_path / "parts"
    distributed.write_parts(run, folder, size)
    words = {"model": "interaction", "folder": str(folder)}
    said = [rank.said for rank in ranks.together(size, FIT, words, cwd=tmp_path, seconds=300)]
    alone = DynamicsRegressor(model="interaction").fit(run)
    assert all(one[:4] == said[0][:4] for one in said)
    equation, numbers, _, explained, _ = said[0]
    assert explained
    assert equation.partition(",")[0].count("x_") == str(alone.equations()).partition(",")[0].count("x_")
    np.testing.assert_allclose(numbers, alone.law_.equation.parameters, rtol=1e-4)
    loaded = ndcn.load(f"{folder}.ndcn")
    assert loaded.train_[0].graph == run.graph
    assert sum(one[4] for one in said) == run.graph.num_nodes
    torch.testing.assert_close(loaded.predict([1.5]).states, alone.predict([1.5]).states, rtol=1e-4, atol=1e-6)


REFUSED = """
from ndcn import Interaction
data = distributed.read_part(words["folder"])
if words["what"] == "noise":
    draw = torch.Generator().manual_seed(world.rank)
    data = data.replaced(states=data.states * (1 + 0.05 * torch.randn(data.states.shape, generator=draw)))
if words["what"] == "gaps":
    data = data.replaced(mask=torch.arange(data.states.numel()).reshape(data.states.shape) % 5 > 0)
if words["what"] == "rounded":
    data = data.replaced(states=(data.states * 100).round() / 100)
if words["what"] == "still":
    data = data.replaced(states=data.states[:1].expand(data.states.shape))
if words["what"] == "large":
    data = data.replaced(states=data.states * (1e50 if world.rank == 1 else 1.0))
model = {"free": Interaction("free"), "differ": Interaction(nodes="differ"), "known": Interaction(known=ndcn.laws.Heat())}
try:
    ndcn.DynamicsRegressor(model=model.get(words["what"], Interaction())).fit(data)
except ValueError as error:
    say(str(error))
"""


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("noise", "carry noise"),
        ("gaps", "some entries are missing"),
        ("rounded", "multiples of 0.01"),
        ("still", "no state ever changes"),
        ("large", "rank 1: the largest of the states is"),
        ("free", "the free form"),
        ("differ", "nodes that differ"),
        ("known", "a known law"),
    ],
)
def test_what_needs_one_process_is_refused_by_all_in_words(what: str, words: str, tmp_path: Path) -> None:
    distributed.write_parts(data("heat"), tmp_path / "parts", 2)
    given = {"what": what, "folder": str(tmp_path / "parts")}
    said = [rank.said for rank in ranks.together(2, REFUSED, given, cwd=tmp_path)]
    assert said[0] == said[1]
    assert words in said[0]


WITHOUT = """
data = distributed.read_part(words["folder"])
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    reg = ndcn.DynamicsRegressor(model=ndcn.Interaction(seconds=words["seconds"])).fit(data)
say([str(reg.equations()), reg.evidence_.explained, reg.evidence_.reason, " ".join(str(one.message) for one in told)])
"""


def test_rounding_is_seen_where_one_part_is_at_rest(tmp_path: Path) -> None:
    graph = ndcn.Graph.from_edges(
        [(i, (i + 1) % 30) for i in range(30)] + [(30 + i, 30 + (i + 1) % 30) for i in range(30)]
    )
    x0 = torch.cat([torch.rand(30, 1, generator=torch.Generator().manual_seed(0)), torch.ones(30, 1)]).double()
    run = ndcn.simulate(ndcn.laws.Heat(), graph, x0, torch.linspace(0, 2, 30, dtype=torch.float64))
    run = run.replaced(states=(run.states * 1000).round() / 1000)
    distributed.write_parts(run, tmp_path / "parts", 2, method="blocks")
    given = {"what": "as it is", "folder": str(tmp_path / "parts")}
    said = [rank.said for rank in ranks.together(2, REFUSED, given, cwd=tmp_path)]
    assert said[0] == said[1]
    assert "multiples of 0.001" in said[0]


@pytest.mark.parametrize("seconds", [pytest.param(None, marks=pytest.mark.slow), 0.5])
def test_a_law_that_is_not_in_the_library_is_told_as_not_explaining_the_data(
    seconds: float | None, tmp_path: Path
) -> None:
    class Other(ndcn.laws.Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return -x + 0.3 * torch.exp(-20 * (x - 1) ** 2)

        def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
            return torch.tanh(3 * torch.sin(2 * x_j) - x_i)

    graph = ndcn.networks.grid(36)
    x0 = torch.rand(36, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
    run = ndcn.simulate(Other(), graph, x0, torch.linspace(0, 2, 30, dtype=torch.float64))
    distributed.write_parts(run, tmp_path / "parts", 2)
    given = {"folder": str(tmp_path / "parts"), "seconds": seconds}
    said = [rank.said for rank in ranks.together(2, WITHOUT, given, cwd=tmp_path, seconds=300)]
    assert said[0] == said[1]
    _, explained, reason, told = said[0]
    assert not explained
    assert "in one process" in reason
    assert "it is not the whole law" in told or "time limit" in told
