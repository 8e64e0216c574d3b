"""The figures of a miniature of the regular table."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest
from PIL import Image

from miniature import miniature
from ndcn.experiments.figures import draw
from ndcn.experiments.pool import attempt
from ndcn.experiments.result import Result
from ndcn.experiments.store import Store


def test_every_figure_is_drawn(tmp_path: Path) -> None:
    table = miniature("regular", only=["heat/grid"], models=["persistence", "rnn_gnn", "ndcn"], runs=1)
    store, out = tmp_path / "a.sqlite", tmp_path / "new" / "figures"
    with Store(store) as there:
        for run in table.all_runs():
            outcome = attempt(run)
            assert isinstance(outcome, Result)
            there.add(run, outcome)
    files = draw(table, store, out)
    names = {file.name for file in files}
    expected = {"adjacency.png"}
    expected |= {f"heat_{kind}.png" for kind in ("surface", "heat_map", "error")}
    expected |= {f"heat_grid{suffix}" for suffix in ([".gif", ".mp4"] if which("ffmpeg") else [".gif"])}
    assert names == expected == {file.name for file in out.iterdir()}
    for file in files:
        if file.suffix == ".png":
            with Image.open(file) as picture:
                assert min(picture.size) > 300
                assert len(picture.convert("RGB").getcolors(10**7)) > 20  # not blank
    with Image.open(out / "heat_grid.gif") as movie:
        assert movie.n_frames == 50


def test_without_results_only_the_networks_and_no_models_are_drawn(tmp_path: Path) -> None:
    table = miniature("regular", runs=1)
    with pytest.raises(FileNotFoundError, match="no store"):
        draw(table, tmp_path / "a.sqlite", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
