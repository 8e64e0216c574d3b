"""Animations: frames, speed, panels, one colour scale; GIF and MP4, whole or not at all."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ndcn
from ndcn._support.progress import Progress
from ndcn.plot.animation import _Stage
from pictures import frame, pair, steady

needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None or shutil.which("ffprobe") is None, reason="ffmpeg and ffprobe are not installed"
)


def test_animation_has_the_frames_and_the_speed_asked_for(tmp_path):
    truth, guess = pair()
    ndcn.plot.animate(truth, guess, tmp_path / "all.gif", fps=10, train_until=1.5)
    with Image.open(tmp_path / "all.gif") as movie:
        assert (movie.n_frames, movie.info["duration"], movie.info["loop"]) == (11, 100, 0)
        first = np.asarray(movie.convert("RGB"))
        movie.seek(10)
        assert (np.asarray(movie.convert("RGB")) != first).any()
        assert (first[0, 0] == 255).all()
    ndcn.plot.animate(truth, guess, tmp_path / "few.gif", frames=3)
    with Image.open(tmp_path / "few.gif") as movie:
        assert movie.n_frames == 3
    ndcn.plot.animate(truth[:1], guess[:1], tmp_path / "one.gif")
    assert sorted(os.listdir(tmp_path)) == ["all.gif", "few.gif", "one.gif"]


@pytest.mark.parametrize(("models", "columns", "rows"), [(1, 2, 1), (2, 3, 1), (3, 2, 2), (5, 3, 2), (8, 3, 3)])
def test_panels_lie_in_a_grid(tmp_path, models, columns, rows):
    truth, guess = pair(T=2)
    path = tmp_path / "grid.gif"
    ndcn.plot.animate(truth, {f"model {k}": guess for k in range(models)}, path)
    with Image.open(path) as movie:
        side = 285 if rows == 1 else 215
        assert movie.size[0] == pytest.approx(110 + columns * side, abs=2)
        assert movie.size[1] == pytest.approx(68 + rows * (300 if rows == 1 else 230), abs=2)


def test_all_panels_share_the_scale_of_the_truth():
    real, good, bad = np.full((2, 3, 3), 1.0), np.full((2, 3, 3), 2.0), np.full((2, 3, 3), 1e12)
    real[0, 0, 0] = 3.0
    stage = _Stage(["truth", "good", "bad"], [real, good, bad], [0.0, 1.0], "x", 0.5, dpi=50)
    assert len({id(image.norm) for image in stage.images}) == 1
    assert stage.images[0].norm.vmax == 3.0
    assert [ax.get_title() for ax in stage.figure.axes[:3]] == ["truth", "good", "bad"]
    assert any("clipped" in ax.get_ylabel() for ax in stage.figure.axes)
    with Progress(2, 0, False) as bar:
        assert [picture.shape[2] for picture in stage.frames(bar)] == [3, 3]
    shown = [text.get_text() for ax in stage.figure.axes for text in ax.texts]
    assert shown == ["training", "extrapolation"]


def test_frames_show_their_own_snapshot(tmp_path):
    truth, _ = pair(n=4, T=2)
    dark, light = steady(0.0, truth), steady(9.0, truth)
    ndcn.plot.animate(truth, {"dark": dark, "light": light}, tmp_path / "two.gif")
    for k in range(2):
        picture = frame(tmp_path / "two.gif", k).astype(int)
        middle = picture[150]
        np.testing.assert_allclose(middle[435], [68, 1, 84], atol=6)  # the ends of viridis
        np.testing.assert_allclose(middle[720], [253, 231, 37], atol=6)
    assert (frame(tmp_path / "two.gif", 0) != frame(tmp_path / "two.gif", 1)).any()


def test_cells_without_a_node_stay_white(tmp_path):
    truth, guess = pair(n=3, T=2)
    ndcn.plot.animate(truth, guess, tmp_path / "three.gif")
    assert frame(tmp_path / "three.gif", 0)[250, 230].tolist() == [255, 255, 255]


def test_progress_is_shown_when_asked_for(tmp_path, monkeypatch):
    truth, guess = pair(T=3)
    for asked, shown in ((True, True), (None, False), (False, False)):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        ndcn.plot.animate(truth, guess, tmp_path / "movie.gif", progress=asked)
        assert ("3/3 frames" in stream.getvalue()) is shown
        assert "loss" not in stream.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "movie.avi"}, "GIF or MP4"),
        ({"frames": 0}, "frames"),
        ({"fps": 0.0}, "fps"),
        ({"fps": 60.0}, "fps"),
        ({"prediction": {}}, "1 to 11 predictions, got 0"),
        ({"prediction": {str(k): pair()[1] for k in range(12)}}, "got 12"),
        ({"prediction": {"NDCN": pair()[1], "LSTM": pair(T=3)[1]}}, "LSTM is"),
    ],
)
def test_animation_refuses_what_it_cannot_do(tmp_path, change, message):
    truth, guess = pair()
    settings = {"path": "movie.gif", "prediction": guess, **change}
    settings["path"] = tmp_path / settings["path"]
    with pytest.raises(ValueError, match=message):
        ndcn.plot.animate(truth, **settings)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_no_animation(tmp_path, monkeypatch):
    truth, guess = pair(T=2)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("PIL.Image.Image.save", full)
    with pytest.raises(OSError, match="No space left"):
        ndcn.plot.animate(truth, guess, tmp_path / "movie.gif")
    assert not list(tmp_path.iterdir())


# MP4 ------------------------------------------------------------------------------------------------------------


@needs_ffmpeg
def test_mp4_is_h264_of_even_size_with_every_frame(tmp_path):
    truth, guess = pair()
    path = tmp_path / "movie.mp4"
    ndcn.plot.animate(truth, {"a": guess, "b": guess, "c": guess}, path, fps=10)
    entries = "stream=codec_name,pix_fmt,width,height,nb_frames,r_frame_rate"
    ask = ["ffprobe", "-v", "error", "-show_entries", entries, "-of", "json", str(path)]
    (stream,) = json.loads(subprocess.run(ask, capture_output=True, check=True).stdout)["streams"]
    assert (stream["codec_name"], stream["pix_fmt"]) == ("h264", "yuv420p")
    assert (stream["nb_frames"], stream["r_frame_rate"]) == ("11", "10/1")
    assert stream["width"] % 2 == stream["height"] % 2 == 0
    assert os.listdir(tmp_path) == ["movie.mp4"]


def test_without_ffmpeg_mp4_is_refused_with_the_way_out(tmp_path, monkeypatch):
    truth, guess = pair(T=2)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"install ffmpeg .*\.gif"):
        ndcn.plot.animate(truth, guess, tmp_path / "movie.mp4")
    assert not list(tmp_path.iterdir())
    ndcn.plot.animate(truth, guess, tmp_path / "movie.gif")


@pytest.mark.parametrize(
    "says", ["echo no such encoder >&2; exit 1", "cat > /dev/null; echo no such encoder >&2; exit 1", "exit 3"]
)
@pytest.mark.skipif(os.name == "nt", reason="the stand-in for ffmpeg is a shell script")
def test_when_ffmpeg_fails_its_reason_is_told_and_nothing_is_left(tmp_path, monkeypatch, says):
    programs, out = tmp_path / "programs", tmp_path / "out"
    programs.mkdir()
    out.mkdir()
    (programs / "ffmpeg").write_text(f"#!/bin/sh\n{says}\n")
    (programs / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    truth, guess = pair(T=4)
    with pytest.raises(OSError, match="ended with 3" if "3" in says else "no such encoder"):
        ndcn.plot.animate(truth, guess, out / "movie.mp4")
    assert not list(out.iterdir())


@needs_ffmpeg
@pytest.mark.parametrize("name", ["movie.mp4", "movie.gif"])
def test_interrupted_drawing_leaves_what_was_there(tmp_path, monkeypatch, name):
    truth, guess = pair()
    (tmp_path / name).write_bytes(b"old")

    def interrupt(self: Progress, done: int, loss: float | None = None) -> None:
        if done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ndcn.plot.animate(truth, guess, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"old"


def test_a_graph_with_positions_is_animated_as_a_network(tmp_path: Path) -> None:
    graph = ndcn.networks.grid(9)
    placed = graph.with_positions(np.random.default_rng(0).normal(size=(9, 2)))
    made = {}
    for name, one, layout in (("square", graph, None), ("network", placed, None), ("asked", placed, "square")):
        data = ndcn.simulate(ndcn.laws.Heat(), one, ndcn.laws.initial_state(one), [0.0, 0.5, 1.0])
        ndcn.plot.animate(data, data, tmp_path / f"{name}.gif", layout=layout, progress=False)
        made[name] = (tmp_path / f"{name}.gif").read_bytes()
    assert made["square"] == made["asked"] != made["network"]
    with pytest.raises(ValueError, match='layout must be "network" or "square"'):
        ndcn.plot.animate(data, data, tmp_path / "x.gif", layout="circle")
