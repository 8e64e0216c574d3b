"""Registries: every name leads to a thing, and a new one reaches the command line by its line alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ndcn._support import registries
from ndcn._support.registry import Registry

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
from ndcn._support.registries import LAWS, TABLES
LAWS.add("decay", "toy:Decay")
TABLES.add("toy", "toy:Toy")
from ndcn.cli import main
main()
"""


@pytest.mark.parametrize("registry", EVERY, ids=lambda registry: registry.kind)
def test_every_name_leads_to_a_thing(registry: Registry) -> None:
    for name in registry:
        assert registry[name] is not None


def test_a_new_law_and_a_new_table_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "start.py").write_text(START)

    def ndcn(*words: str) -> str:
        command = [sys.executable, "start.py", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "decay: rate." in " ".join(ndcn("simulate", "--help").replace("│", " ").split())
    about = json.loads(ndcn("simulate", "--law", "decay", "--nodes", "9", "--param", "rate=0.25", "--json"))
    assert about["parameters"] == {"rate": 0.25}
    assert "901" in ndcn("reproduce", "toy", "--models", "ndcn")


def test_help_loads_no_torch() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom ndcn.cli import app\n"
        "for words in (['--help'], ['simulate', '--help'], ['fit', '--help'], ['reproduce', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "print([name for name in ('torch', 'numpy', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
