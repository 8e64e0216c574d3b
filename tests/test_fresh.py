"""What holds in a new interpreter, where nothing was imported before and texts have other hashes than here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ndcn.experiments.spec import load_table
from ndcn.laws.formula import Formula


@pytest.fixture(scope="module")
def fresh() -> dict[str, Any]:
    """What it says of ndcn; a start takes seconds, so that tests share one."""
    program = Path(__file__).with_name("fresh.py")
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_importing_does_not_import_what_is_heavy(fresh: dict[str, Any]) -> None:
    assert fresh["heavy"] == []


def test_plots_do_not_import_pyplot(fresh: dict[str, Any]) -> None:
    assert fresh["pyplot"] is False


def test_training_does_not_import_the_compiler(fresh: dict[str, Any]) -> None:
    assert fresh["compiler"] is False


def test_modules_can_be_imported_by_their_public_names(fresh: dict[str, Any]) -> None:
    assert fresh["modules"] == [True] * 8


def test_names_that_are_loaded_later_are_the_real_ones(fresh: dict[str, Any]) -> None:
    assert (fresh["estimator"], fresh["error"]) == ("ndcn.regressor.estimator", "ndcn.training.loop")


def test_a_run_has_the_same_key(fresh: dict[str, Any]) -> None:
    assert fresh["key"] == next(load_table("regular").all_runs()).key


def test_parameters_have_the_same_order(fresh: dict[str, Any]) -> None:
    assert fresh["parameters"] == list(Formula("ab*x + a + abc*b").parameters) == ["ab", "a", "abc", "b"]
