"""The figures of a miniature of the regular table."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest
from PIL import Image

from miniature import miniature
from ndcn.experiments import attempt
from ndcn.experiments.classify import load_classification
from ndcn.experiments.figures import draw, draw_sweep
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


def test_without_a_store_nothing_is_drawn(tmp_path: Path) -> None:
    table = miniature("regular", runs=1)
    with pytest.raises(FileNotFoundError, match="no store"):
        draw(table, tmp_path / "a.sqlite", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_without_runs_only_the_networks_are_drawn(tmp_path: Path) -> None:
    Store(tmp_path / "a.sqlite").connection.close()
    files = draw(miniature("regular", runs=1), tmp_path / "a.sqlite", tmp_path / "figures")
    assert [file.name for file in files] == ["adjacency.png"]


def scores(accuracy: float) -> dict[str, dict[str, float]]:
    return {part: {"accuracy": accuracy} for part in ("validation", "test")}


def test_accuracy_over_time_and_alpha(tmp_path: Path) -> None:
    table = load_classification().narrowed(only=["cora"], models=["ndcn_default", "gcn"])
    with Store(tmp_path / "a.sqlite") as there:
        (model,) = table.sweep_models()
        assert {len(runs) for _, _, runs in table.narrowed(runs=1).sweep_runs("cora", model)} == {1}
        for T, alpha, runs in table.sweep_runs("cora", model):
            for k, run in enumerate(runs):
                there.add(run, Result(scores(0.5 + T / 50 + alpha / 10 + k / 100), {}, 1, 1.0, {}))
    (file,) = draw_sweep(table, tmp_path / "a.sqlite", tmp_path / "figures")
    assert file.name == "cora_ndcn_default.png"
    with Image.open(file) as picture:
        assert picture.width > 2000
