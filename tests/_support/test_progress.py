"""The progress bar: on a terminal, or when asked for."""

from __future__ import annotations

import io
import sys

import pytest

from ndcn._support.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, show: bool | None, epochs: int = 5) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(epochs, 0, show) as bar:
        for epoch in range(1, epochs + 1):
            bar.update(epoch, 0.125 / epoch)
    return stream.getvalue()


def test_silent_when_not_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), None) == ""


def test_shown_on_a_terminal_with_epochs_and_the_last_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), None)
    assert "5/5 epochs" in text
    assert "loss 0.025" in text


def test_shown_or_silent_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "5/5 epochs" in shown(monkeypatch, io.StringIO(), True)
    assert shown(monkeypatch, Terminal(), False) == ""


def test_many_epochs_are_drawn_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    with_bar = Progress(10_000, 0, True)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with with_bar as bar:
        drawn = []
        monkeypatch.setattr(bar.bar, "update", lambda *a, **k: drawn.append(k["completed"]))
        for epoch in range(1, 10_001):
            bar.update(epoch, 1.0)
    assert drawn[-1] == 10_000
    assert len(drawn) < 1000
