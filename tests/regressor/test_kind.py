"""A new kind of model is one file and one line: it fits, predicts, is stored and shown without an edit elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
import warm
from ndcn._support.registries import MODELS
from ndcn.regressor import Kind, kind_for
from toy_kind import AHEAD, MEAN, STEPPED

GRAPH = ndcn.networks.grid(9)
DATA = ndcn.simulate(ndcn.laws.Heat(), GRAPH, ndcn.laws.initial_state(GRAPH), ndcn.sampling.regular_times(1.0, 12))


@pytest.fixture
def toy() -> Iterator[str]:
    MODELS.add("toy_mean", "toy_kind:MEAN")
    yield "toy_mean"
    MODELS.remove("toy_mean")


def test_a_toy_kind_is_fitted_asked_stored_and_shown(toy: str, tmp_path: Path) -> None:
    parts = ndcn.split(DATA, seed=0)
    reg = ndcn.DynamicsRegressor(toy).fit(parts.train)
    mean = parts.train.states.mean(dim=0)
    torch.testing.assert_close(reg.predict([0.3, 5.0]).states[1], mean)
    lower, upper = reg.intervals([5.0], 0.9)
    assert ((lower.states <= mean) & (mean <= upper.states)).all()
    assert reg.title_ == toy
    assert toy in reg._repr_html_()
    reg.save(tmp_path / "toy.ndcn")
    again = ndcn.load(tmp_path / "toy.ndcn")
    assert torch.equal(again.predict([5.0]).states, reg.predict([5.0]).states)
    again.report(tmp_path / "toy.html", DATA)
    assert toy in (tmp_path / "toy.html").read_text()


def test_a_toy_kind_says_what_it_cannot_do(toy: str) -> None:
    with pytest.raises(ValueError, match="`toy_mean` does not use `epochs`; remove it"):
        ndcn.DynamicsRegressor(toy, epochs=3).fit(DATA)
    with pytest.raises(ValueError, match="`toy_mean` does not use `resume`"):
        ndcn.DynamicsRegressor(toy).fit(DATA, resume=True)
    reg = ndcn.DynamicsRegressor(toy).fit(DATA)
    with pytest.raises(ValueError, match="continues from its training data"):
        reg.predict([1.0], x0=np.zeros((9, 1)))
    with pytest.raises(ValueError, match="what_if needs a model that starts from any state"):
        reg.what_if("remove 4", [1.0])
    with pytest.raises(ValueError, match="toy_mean has no law to read"):
        reg.equations()


def test_a_kind_of_equal_steps_predicts_at_no_other_times() -> None:
    run = DATA[:6]
    reg = ndcn.DynamicsRegressor(STEPPED).fit(run)
    assert len(reg.predict(run.times)) == 6
    between = (run.times[0] + run.times[1]).item() / 2
    with pytest.raises(ValueError, match="is between two steps: this model only knows the times"):
        reg.predict([between])
    with pytest.raises(ValueError, match="is between two steps"):
        reg.intervals([between])
    irregular = DATA[torch.tensor([0, 1, 3, 6])]
    with pytest.raises(ValueError, match="this model learns steps of equal length"):
        ndcn.DynamicsRegressor(STEPPED).fit(irregular)


def test_a_kind_that_cannot_be_an_ensemble_is_none() -> None:
    with pytest.raises(ValueError, match="`toy_stepped` draws no initial weights for each member of an ensemble"):
        ndcn.DynamicsRegressor(STEPPED, ensemble=2).fit(DATA)
    with pytest.raises(ValueError, match="this Persistence draws no initial weights"):
        ndcn.DynamicsRegressor(ndcn.models.Persistence(), ensemble=2).fit(DATA)
    for name in MODELS:
        kind = kind_for(name)
        assert ("ensemble" in kind.uses) == kind.can.ensemble


def test_a_kind_with_steps_ahead_says_nothing_about_the_past(tmp_path: Path) -> None:
    seen = DATA[:10]
    reg = ndcn.DynamicsRegressor(AHEAD).fit(seen)
    assert reg.predict().times.tolist() == pytest.approx(DATA.times[10:].tolist())
    with pytest.raises(ValueError, match="a forecast begins only after the last snapshot"):
        reg.predict([0.0])
    judged = reg.evaluate(DATA)
    assert list(judged.parts) == ["extrapolation"]
    assert [row["steps"] for row in judged.by_horizon] == [1, 2]
    reg.report(tmp_path / "ahead.html", DATA)


COMMANDS = """
import json, sys
from ndcn._support.registries import MODELS
MODELS.add("toy_mean", "toy_kind:MEAN")
from typer.testing import CliRunner
from ndcn.cli import app
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.stdout, one.stderr] for one in done]))
"""


def test_the_command_line_knows_a_toy_kind(tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")

    commands = [
        ["fit", "data", "--model", "toy_mean"],
        ["predict", "model.ndcn", "--times", "0.5", "--level", "0.9"],
        ["evaluate", "model.ndcn", "data", "--json"],
        ["report", "model.ndcn", "data"],
    ]
    said = warm.output(COMMANDS, [json.dumps(commands)], cwd=tmp_path)  # a process: choices are made when it starts
    codes, (fit, predict, evaluate, _), errors = zip(*json.loads(said), strict=True)
    assert codes == (0, 0, 0, 0), errors
    assert "each node keeps its mean" in fit
    assert "x_lower" in predict
    assert "extrapolation" in json.loads(evaluate)


def test_a_kind_can_be_passed_itself(tmp_path: Path) -> None:
    reg = ndcn.DynamicsRegressor(MEAN).fit(DATA)
    torch.testing.assert_close(reg.predict([2.0]).states[0], DATA.states.mean(dim=0))
    reg.save(tmp_path / "own.ndcn")
    with pytest.raises(ValueError, match="module of your own"):
        ndcn.load(tmp_path / "own.ndcn")
    assert torch.equal(ndcn.load(tmp_path / "own.ndcn", model=MEAN).predict([2.0]).states, reg.predict([2.0]).states)


def test_every_name_leads_to_a_kind_of_that_name() -> None:
    for name in MODELS:
        assert isinstance(kind_for(name), Kind)
        assert kind_for(name).name == name
