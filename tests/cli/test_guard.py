"""Exceptions as one line on standard error."""

from __future__ import annotations

import pytest
import typer

from ndcn.cli.guard import guarded


def test_a_message_of_several_lines_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Libraries write such messages, and names in files have line ends of all kinds."""
    with pytest.raises(typer.Exit), guarded():
        raise ValueError("it does not fit:\n\tmissing: weight\x0b \n\n\tunexpected:\u2028 bias\n")
    assert capsys.readouterr().err == "error: it does not fit: missing: weight unexpected: bias\n"
