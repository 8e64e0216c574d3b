"""Commands of ndcn inside this process, for tests."""

from __future__ import annotations

import json

from typer.testing import CliRunner, Result

from ndcn.cli import app


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"TERMINAL_WIDTH": "200", "COLUMNS": "200"})
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def output(*words: object, code: int = 0) -> str:
    """All that a command says."""
    return run(*words, code=code).output


def refused(*words: object, code: int = 2) -> str:
    """What a refusal says; nothing must appear on standard output."""
    result = run(*words, code=code)
    assert result.stdout == ""
    return " ".join(result.stderr.split())


def parsed(*words: object) -> dict:
    return json.loads(run(*words, "--json").stdout)
