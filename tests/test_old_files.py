"""Files that ndcn 0.1 wrote load, and say what they said then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import ndcn
from ndcn.cli import app

OLD = Path(__file__).parent / "fixtures" / "v0_1"
EXPECTED: dict[str, dict[str, Any]] = json.loads((OLD / "expected.json").read_text())
CLASSIFIERS = sorted(path.stem for path in (OLD / "models").glob("classifier*.ndcn"))
MODELS = sorted(path.stem for path in (OLD / "models").glob("*.ndcn") if path.stem not in CLASSIFIERS)
OWN = {"known_law": ndcn.laws.Gene(b=None), "law_by_node": ndcn.laws.Kuramoto(omega=ndcn.laws.per_node)}


def close(found: torch.Tensor, expected: Any) -> None:
    """The last bits of a float32 differ between processors."""
    wanted = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-6 * float(wanted.abs().max()))


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_as_they_did(name: str) -> None:
    reg, then = ndcn.load(OLD / "models" / f"{name}.ndcn", model=OWN.get(name)), EXPECTED[name]
    assert isinstance(reg, ndcn.DynamicsRegressor)
    close(reg.predict(then["times"]).states, then["states"])
    if "std" in then:
        close(reg.predict(then["times"], return_std=True)[1].states, then["std"])
    if "lower" in then:
        lower, upper = reg.intervals(then["times"], 0.9)
        close(lower.states, then["lower"])
        close(upper.states, then["upper"])
    if "equations" in then:
        assert str(reg.equations()) == then["equations"]
    if "sentence" in then:  # one clause for each outcome then, one line for each horizon now
        horizons = reg.forecast_.table.horizons
        assert [line.split()[0] for line in reg.forecast_.sentence.splitlines()] == [str(h) for h in horizons]
    if "form" in then:
        assert reg.evidence_.form == then["form"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_as_they_did(name: str) -> None:
    clf = ndcn.load(OLD / "models" / f"{name}.ndcn")
    assert isinstance(clf, ndcn.NodeClassifier)
    close(clf.predict_proba(), EXPECTED[name]["probabilities"])


@pytest.mark.parametrize("name", ["heat", "gaps", "directed"])
def test_data_folders_hold_what_they_held(name: str) -> None:
    assert ndcn.Trajectory.load(OLD / "data" / name).fingerprint == EXPECTED[f"data/{name}"]["fingerprint"]


@pytest.mark.parametrize("name", ["extrapolation", "regular", "classification"])
def test_stores_give_the_same_rows(name: str, tmp_path: Path) -> None:
    store, then = tmp_path / "old.sqlite", EXPECTED[f"stores/{name}"]
    shutil.copy(OLD / "stores" / f"{name}.sqlite", store)
    shown = CliRunner().invoke(app, ["reproduce", *then["words"], "--stored", "--store", str(store), "--json"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == then["rows"]
