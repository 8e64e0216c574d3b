"""One run, whatever its kind, in whatever process or machine."""

from __future__ import annotations

from .._support.processes import Failed
from .classify import run_classification
from .result import Result
from .run import run_dynamics
from .spec import Run


def attempt(run: Run) -> Result | Failed:
    """Carry out a run; what goes wrong in it becomes its outcome."""
    try:
        if "dataset" in run.settings:
            return run_classification(run.settings, run.data)
        return run_dynamics(run.settings, run.keep_states)
    except Exception as error:
        return Failed.of(error)
