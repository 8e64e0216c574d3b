"""Registries: every name leads to a thing, and a new one reaches the command line by its line alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from ndcn import training
from ndcn._support import registries
from ndcn._support.registry import Registry
from ndcn.classify import recipes as classify_recipes
from ndcn.forecast import Auto
from ndcn.training import objective

EVERY = [value for value in vars(registries).values() if isinstance(value, Registry)]

TOY = """
import torch
from ndcn.laws import Law
from ndcn.experiments.targets import Parameters

class Decay(Law):
    def __init__(self, rate=0.5):
        super().__init__()
        self._set(rate=rate)
    def node(self, x):
        return -self._value("rate", x) * x

class Toy(Parameters):
    def __init__(self, name, request):
        super().__init__("parameters", request)
"""

START = """
import json, sys
sys.path.insert(0, "")
from ndcn._support.registries import LAWS, TABLES
LAWS.add("decay", "toy:Decay")
TABLES.add("toy", "toy:Toy")
from typer.testing import CliRunner
from ndcn.cli import app
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.stdout, one.stderr] for one in done]))
"""


@pytest.mark.parametrize("registry", EVERY, ids=lambda registry: registry.kind)
def test_every_name_leads_to_a_thing(registry: Registry) -> None:
    for name in registry:
        assert registry[name] is not None


def test_names_alone_are_those_that_are_known() -> None:
    assert list(training.RECIPES) == list(training.RESIDUAL_GNN) == list(training.TEMPORAL_GNN) == [*registries.PRESETS]
    assert list(classify_recipes.RECIPES) == [*registries.PRESETS]
    assert list(objective.PENALTIES) == [*registries.LOSSES]
    for name in registries.SERIES_KINDS:
        assert Auto(kind=name).kind == name
    with pytest.raises(ValueError, match="totals, counts, values"):
        Auto(kind="other")


def test_a_new_law_and_a_new_table_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    commands = [
        ["simulate", "--help"],
        ["simulate", "--law", "decay", "--nodes", "9", "--param", "rate=0.25", "--json"],
        ["reproduce", "toy", "--models", "ndcn"],
    ]
    said = warm.output(START, [json.dumps(commands)], cwd=tmp_path)  # a process: choices are made when it starts
    codes, (text, simulated, reproduced), errors = zip(*json.loads(said), strict=True)
    assert codes == (0, 0, 0), errors
    assert "decay: rate." in " ".join(text.replace("│", " ").split())
    assert json.loads(simulated)["parameters"] == {"rate": 0.25}
    assert "901" in reproduced


def test_help_loads_no_torch() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom ndcn.cli import app\n"
        "for words in (['--help'], ['simulate', '--help'], ['fit', '--help'], ['reproduce', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "print([name for name in ('torch', 'numpy', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
