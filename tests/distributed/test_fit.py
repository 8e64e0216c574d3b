"""Training by several processes: the loss, the weights and the file are those of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ndcn
from fit_cases import estimators
from ndcn import DynamicsRegressor, Objective, Trajectory, distributed
from ranks import together

CODE = """
sys.path.insert(0, words["tests"])
from fit_cases import estimators
data = distributed.read_part(words["folder"])
out = {}
for name, made in estimators().items():
    reg = made.fit(data)
    reg.save(words["folder"] + "-" + name + ".ndcn")
    out[name] = [reg.history_.loss, reg.history_.validation]
say(out)
"""


def data(missing: bool) -> Trajectory:
    graph = ndcn.networks.small_world(30, seed=1, order=None)
    x0 = ndcn.laws.initial_state(graph, dtype=torch.float64)
    run = ndcn.simulate(ndcn.laws.Heat(), graph, x0, torch.linspace(0, 1, 12, dtype=torch.float64))
    mask = torch.from_numpy(np.random.default_rng(0).random((12, 30, 1)) > 0.2) if missing else None
    return run.replaced(mask=mask)


@pytest.mark.parametrize(("size", "missing"), [(2, True), pytest.param(4, False, marks=pytest.mark.slow)])
def test_training_in_parts_is_training_in_one_process(size: int, missing: bool, tmp_path: Path) -> None:
    run = data(missing)
    folder = tmp_path / "parts"
    distributed.write_parts(run, folder, size)
    words = {"tests": str(Path(__file__).parents[1]), "folder": str(folder)}
    ranks = [rank.said for rank in together(size, CODE, words, cwd=tmp_path, seconds=200)]
    assert all(rank == ranks[0] for rank in ranks)
    times = torch.tensor([0.3, 1.7], dtype=torch.float64)
    for name, made in estimators().items():
        alone = made.fit(run)
        loss, validation = ranks[0][name]
        np.testing.assert_allclose(loss, alone.history_.loss, rtol=1e-10, err_msg=name)
        np.testing.assert_allclose(validation, alone.history_.validation, rtol=1e-10, err_msg=name)
        more: dict[str, Any] = {"model": made.model} if isinstance(made.model, torch.nn.Module) else {}
        loaded = ndcn.load(f"{folder}-{name}.ndcn", **more)
        assert loaded.train_[0].graph == run.graph
        for mine, other in zip(loaded.model_.parameters(), alone.model_.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(loaded.predict(times).states, alone.predict(times).states, rtol=1e-8, atol=1e-9)
        assert loaded.seen_ == alone.seen_


REFUSED = """
data = distributed.read_part(words["folder"])
out = []
for settings in ({"model": "free_form", "epochs": None}, {"ensemble": 2}, {"objective": ndcn.Objective(terminal=lambda x: x.sum())},
                 {"model": ndcn.GraphODE(torch.nn.Linear(1, 2), ndcn.fields.GraphField(2), torch.nn.Linear(2, 1))}):
    try:
        if world.rank:
            torch.manual_seed(99)
        if "model" in settings and not isinstance(settings["model"], str):
            for p in settings["model"].parameters():
                p.data.add_(world.rank)
        ndcn.DynamicsRegressor(**{"epochs": 2, **settings}).fit(data)
    except ValueError as error:
        out.append(str(error))
say(out)
"""


def test_what_processes_cannot_do_together_is_refused_by_all(tmp_path: Path) -> None:
    distributed.write_parts(data(False), tmp_path / "parts", 2)
    for rank in together(2, REFUSED, {"folder": str(tmp_path / "parts")}, cwd=tmp_path):
        kind, ensemble, terminal, weights = rank.said
        assert "`free_form` cannot be fitted on a network that several processes share" in kind
        assert "as an ensemble cannot be fitted" in ensemble
        assert "sees the nodes of one process only" in terminal
        assert "other initial weights in each process" in weights


EXPLODES = """
data = distributed.read_part(words["folder"])
class Blow(ndcn.Field):
    def __init__(self):
        super().__init__()
        self.k = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    def forward(self, t, x, graph):
        return self.k * x**3 * 1e3
said = []
try:
    ndcn.simulate(Blow(), data.graph, data.states[0] * (world.rank == 1), [0.0, 5.0])
except ndcn.IntegrationError as error:
    said.append(error.reason)
try:
    ndcn.DynamicsRegressor(Blow(), epochs=3, dtype="float64", solver=ndcn.Solver("euler", step_size=0.1)).fit(data)
except ndcn.TrainingError as error:
    said.append("training")
say(said)
"""


def test_an_explosion_at_one_node_ends_all_processes(tmp_path: Path) -> None:
    distributed.write_parts(data(False), tmp_path / "parts", 2)
    for rank in together(2, EXPLODES, {"folder": str(tmp_path / "parts")}, cwd=tmp_path):
        assert rank.said in (["exploded", "training"], ["tolerance", "training"])


def test_a_network_too_large_for_a_file_stays_in_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcn.regressor import gathered

    monkeypatch.setattr(gathered, "LARGEST", 10)
    run = data(False)
    distributed.write_parts(run, tmp_path / "parts", 1)
    part = distributed.read_part(tmp_path / "parts")
    reg = DynamicsRegressor(epochs=2, objective=Objective("l2")).fit(part)
    reg.save(tmp_path / "model.ndcn")
    loaded = ndcn.load(tmp_path / "model.ndcn")
    with pytest.raises(ValueError, match="lies in partition"):
        loaded.predict([0.5])
    elsewhere = loaded.predict([0.5], graph=run.graph, x0=run.states[0])
    inside = reg.predict([0.5])
    torch.testing.assert_close(elsewhere.states[:, part.graph.places], inside.states, rtol=1e-5, atol=1e-5)
