"""`ndcn fit`: models from folders of data, what it says, and what it refuses."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest
import torch

import ndcn
from commands import parsed, refused, run


def test_fit_is_the_library_call(folder, made):
    about = parsed("fit", made / "data", "--epochs", 5, "--seed", 2, "--hidden", 7, "--split-seed", 1)
    assert (about["epochs"], about["stopped"], about["model"]) == (5, "finished", "ndcn")
    assert about["snapshots"] == {"train": 20, "interpolation": 5, "extrapolation": 5}
    parts = ndcn.split(ndcn.Trajectory.load(made / "data"), seed=1)
    same = ndcn.DynamicsRegressor(epochs=5, seed=2, hidden=7).fit(parts.train)
    assert about["loss"] == same.history_.loss[-1]
    assert about["parameters"] == sum(p.numel() for p in same.model_.parameters())
    assert torch.equal(ndcn.load("model.ndcn").predict([1.0]).states, same.predict([1.0]).states)
    assert [p.name for p in folder.iterdir()] == ["model.ndcn"]


@pytest.mark.parametrize("model", ["no_encode", "no_graph", "no_control"])
def test_fit_ablations_with_options(folder, made, model):
    words = ["--objective", "huber", "--learning-rate", 0.02, "--weight-decay", 1e-4, "--dtype", "float64"]
    said = run("fit", made / "data", "--model", model, "--epochs", 3, *words)
    assert "written to model.ndcn" in said.stdout
    assert "training" in said.stderr
    again = ndcn.load("model.ndcn")
    assert (again.model, again.dtype, again.learning_rate, again.objective) == (model, "float64", 0.02, "huber")


def test_baselines_are_fitted_predicted_and_evaluated(folder):
    run("simulate", "--nodes", 9, "--snapshots", 20, "--sampling", "regular", "--out", "data")
    for model in ("lstm_gnn", "residual_gnn"):
        text = refused("fit", "data", "--model", model)
        assert f"{model} learns steps of equal length" in text
        assert "interpolation=0" in text
        about = parsed("fit", "data", "--model", model, "--epochs", 2, "--interpolation", 0)
        assert (about["epochs"], about["model"]) == (2, model)
        scores = parsed("evaluate", "model.ndcn", "data")
        assert [scores[part] is None for part in ("train", "interpolation", "extrapolation")] == [False, True, False]
        assert "is between two steps" in refused("predict", "model.ndcn", "--times", "0.1")
    about = parsed("fit", "data", "--model", "spline")
    assert (about["loss"], about["epochs"], about["parameters"]) == (None, 0, 0)
    assert "spline: nothing to learn" in run("fit", "data", "--model", "spline").stdout
    assert parsed("predict", "model.ndcn", "--times", "0.1,9")["times"] == [0.1, 9.0]
    assert "`spline` does not use `ensemble`" in refused("fit", "data", "--model", "spline", "--ensemble", 2)


def test_fit_on_all_snapshots_and_with_the_papers_recipe(folder, made):
    words = ["--preset", "paper", "--interpolation", 0, "--extrapolation", 0, "--epochs", 2]
    about = parsed("fit", made / "data", *words)
    assert about["snapshots"] == {"train": 30, "interpolation": 0, "extrapolation": 0}
    scores = parsed("evaluate", "model.ndcn", made / "data")
    assert scores["train"]["snapshots"] == 30
    assert scores["interpolation"] is None
    assert scores["extrapolation"] is None


def test_fit_stops_early(folder, made):
    words = ["--validation", 0.2, "--patience", 15, "--epochs", 400, "--learning-rate", 0.3]
    about = parsed("fit", made / "data", *words)
    assert about["stopped"] == "early"
    assert about["epochs"] < 400
    assert about["validation_loss"] > 0
    assert "early" in run("fit", made / "data", *words).stdout
    assert not (folder / "model.ndcn.checkpoint").exists()


def test_resume_without_a_checkpoint_starts_anew(folder, made):
    run("fit", made / "data", "--epochs", 8, "--resume")
    assert (folder / "model.ndcn").read_bytes()[-64:] == (made / "model.ndcn").read_bytes()[-64:]


def test_an_old_checkpoint_is_overwritten_with_a_note(folder, made):
    (folder / "model.ndcn.checkpoint").write_text("old")
    assert "--resume would continue" in run("fit", made / "data", "--epochs", 2).stderr
    assert not (folder / "model.ndcn.checkpoint").exists()


def test_resume_refuses_a_foreign_checkpoint(folder, made):
    (folder / "model.ndcn.checkpoint").write_text("not a checkpoint")
    assert "checkpoint" in refused("fit", made / "data", "--epochs", 2, "--resume")
    assert [p.name for p in folder.iterdir()] == ["model.ndcn.checkpoint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "abacus"], "cannot compute on device 'abacus'"),
        (["--device", "cuda:99"], "cannot compute on device"),
        (["--learning-rate", "-1"], "learning_rate must be a number > 0"),
        (["--clip-norm", "0"], "clip_norm must be a positive number"),
        (["--seed", str(2**63)], "seed must be a whole number"),
        (["--operator", "kip"], "kipf"),
        (["--activation", "gelu"], "softplus"),
        (["--ensemble", "0"], "ensemble"),
        (["--validation", "1.5"], "validation"),
        (["--patience", "3"], "validation"),
        (["--interpolation", "0.7", "--extrapolation", "0.7"], "at least 2"),
        (["--interpolation", "2"], "share"),
        (["--out", "no/model.ndcn"], "there is no folder"),
        (["--out", "."], "is a folder"),
        (["--epochs", "0"], "epochs"),
    ],
)
def test_fit_refuses(folder, made, words, message):
    assert message in refused("fit", made / "data", *words)
    assert not list(folder.iterdir())


def test_fit_refuses_data_that_is_not_there_or_not_ours(folder, made):
    assert "no data folder" in refused("fit", "nowhere")
    (folder / "empty").mkdir()
    assert "not an ndcn data folder" in refused("fit", "empty")
    shutil.copytree(made / "data", folder / "damaged")
    (folder / "damaged" / "states.parquet").write_bytes(b"PAR1 and then nothing")
    assert "damaged" in refused("fit", "damaged")
    about = json.loads((made / "data" / "data.json").read_text())
    (folder / "damaged" / "data.json").write_text(json.dumps({**about, "version": 99}))
    assert "version 99" in refused("fit", "damaged")
    assert sorted(p.name for p in folder.iterdir()) == ["damaged", "empty"]


def test_a_loss_that_explodes_fails_and_keeps_the_last_good_weights(folder, made):
    text = refused("fit", made / "data", "--epochs", 50, "--learning-rate", 1e12, code=1)
    assert "the last good weights are in model.ndcn" in text
    assert "error: " in text
    assert ndcn.load("model.ndcn").history_.stopped == "failed"


def test_what_was_not_finished_leaves_a_model_that_was_there(folder, made, monkeypatch):
    from ndcn._support.progress import Progress

    def interrupt(self: Progress, done: int, loss: float) -> None:
        if done == 5:
            signal.raise_signal(signal.SIGINT)

    shutil.copy(made / "model.ndcn", "model.ndcn")
    good = Path("model.ndcn").read_bytes()
    text = refused("fit", made / "data", "--epochs", 50, "--learning-rate", 1e12, code=1)
    assert "the last good weights are in model.ndcn.partial; model.ndcn is as it was" in text
    assert ndcn.load("model.ndcn.partial").history_.stopped == "failed"
    assert Path("model.ndcn").read_bytes() == good
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "update", interrupt)
        result = run("fit", made / "data", "--epochs", 9, "--json", code=1)
    assert json.loads(result.stdout)["out"] == "model.ndcn.partial"
    assert "model.ndcn.partial holds the best weights so far; model.ndcn is as it was" in result.stderr
    assert ndcn.load("model.ndcn.partial").history_.stopped == "interrupted"
    assert Path("model.ndcn").read_bytes() == good
    run("fit", made / "data", "--epochs", 9, "--resume")
    assert len(ndcn.load("model.ndcn").history_.loss) == 9
    assert [p.name for p in folder.iterdir()] == ["model.ndcn"]


def test_fit_takes_operator_activation_and_clipping(folder, made):
    words = ["--operator", "kipf", "--activation", "tanh", "--clip-norm", 0.5, "--epochs", 3]
    about = parsed("fit", made / "data", *words)
    again = ndcn.load("model.ndcn")
    assert (again.operator, again.activation, again.clip_norm) == ("kipf", "tanh", 0.5)
    parts = ndcn.split(ndcn.Trajectory.load(made / "data"))
    same = ndcn.DynamicsRegressor(operator="kipf", activation="tanh", clip_norm=0.5, epochs=3).fit(parts.train)
    assert about["loss"] == same.history_.loss[-1]


def test_an_ensemble_from_fit_to_predict(folder, made):
    about = parsed("fit", made / "data", "--epochs", 3, "--ensemble", 2, "--jobs", 1, "--seed", 4)
    assert (about["members"], about["epochs"]) == (2, 3)
    assert [p.name for p in folder.iterdir()] == ["model.ndcn"]
    again = ndcn.load("model.ndcn")
    assert (again.ensemble, again.seed, len(again.models_)) == (2, 4, 2)
    mean, spread = again.predict([0.5, 1.0], return_std=True)
    run("predict", "model.ndcn", "--times", "0.5,1", "--out", "p.csv")
    table = pd.read_csv("p.csv")
    assert list(table.columns) == ["time", "node", "x", "x_std"]
    assert table["x"].to_numpy() == pytest.approx(mean.states.reshape(-1).numpy(), rel=1e-5)
    assert table["x_std"].to_numpy() == pytest.approx(spread.states.reshape(-1).numpy(), rel=1e-5)
    assert run("predict", "model.ndcn", "--times", "0.5").stdout.startswith("time,node,x,x_std\n")
    told = parsed("predict", "model.ndcn", "--times", "0.5,1")["std"]
    assert torch.equal(torch.tensor(told), spread.states)
    assert parsed("evaluate", "model.ndcn", made / "data")["train"]["snapshots"] == 20
    assert "2 members" in run("fit", made / "data", "--epochs", 2, "--ensemble", 2, "--jobs", 1).stdout


def test_an_ensemble_that_is_stopped(folder, made, monkeypatch):
    from ndcn._support.progress import Progress

    words = ["fit", made / "data", "--epochs", 6, "--ensemble", 3, "--jobs", 1]
    text = refused(*words, "--learning-rate", 1e12, "--epochs", 50, code=1)
    assert "error: the loss became" in text
    assert not (folder / "model.ndcn").exists()
    for path in folder.iterdir():
        path.unlink()
    updates = []

    def interrupt(self: Progress, done: int, loss: float) -> None:
        updates.append(done)
        if len(updates) == 10:
            signal.raise_signal(signal.SIGINT)  # in the second member

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "update", interrupt)
        result = run(*words, "--json", code=1)
    assert json.loads(result.stdout)["members"] == 1
    assert "--resume" in result.stderr
    assert sorted(p.name for p in folder.iterdir()) == [
        "model.ndcn",
        "model.ndcn.checkpoint.0",
        "model.ndcn.checkpoint.1",
    ]
    assert parsed(*words, "--resume")["members"] == 3
    assert [p.name for p in folder.iterdir()] == ["model.ndcn"]


@pytest.mark.parametrize("command", ["simulate", "fit", "predict"])
def test_a_full_disk_fails_and_leaves_nothing(folder, made, monkeypatch, command):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    words = {
        "simulate": ["--nodes", 9, "--snapshots", 4],
        "fit": [made / "data", "--epochs", 2],
        "predict": [made / "model.ndcn", "--times", "1", "--out", "p.csv"],
    }[command]
    monkeypatch.setattr(os, "replace", full)
    text = refused(command, *words, code=1)
    assert "No space left on device; nothing was changed" in text
    assert "Errno" not in text
    assert not list(folder.iterdir())


def test_a_folder_that_is_a_file_is_refused_before_the_work(folder, made):
    (folder / "file").write_text("")
    for command in (["fit", made / "data", "--out", "file/model.ndcn"], ["simulate", "--out", "file/data"]):
        assert "there is no folder" in refused(*command)


def test_a_second_interrupt_stops_at_once(folder, made, monkeypatch):
    def twice(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ndcn.DynamicsRegressor, "fit", twice)
    text = refused("fit", made / "data", code=1)
    assert "model.ndcn was not written" in text
    assert "--resume" not in text
    assert "error: interrupted" in text
    (folder / "model.ndcn.checkpoint").write_text("kept")
    assert "continue with --resume" in refused("fit", made / "data", "--resume", code=1)


def test_an_interrupt_saves_the_best_weights_and_the_checkpoint(folder, made, monkeypatch):
    from ndcn._support.progress import Progress

    def interrupt(self: Progress, done: int, loss: float) -> None:
        if done == 5:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "update", interrupt)
        result = run("fit", made / "data", "--epochs", 8, "--json", code=1)
    assert json.loads(result.stdout)["stopped"] == "interrupted"
    assert "--resume" in result.stderr
    assert "best weights so far" in result.stderr
    assert ndcn.load("model.ndcn").history_.stopped == "interrupted"
    assert (folder / "model.ndcn.checkpoint").exists()
    run("fit", made / "data", "--epochs", 8, "--resume")
    mine, uninterrupted = (ndcn.load(base / "model.ndcn").model_.state_dict() for base in (folder, made))
    assert all(torch.equal(mine[name], uninterrupted[name]) for name in uninterrupted)
    assert not (folder / "model.ndcn.checkpoint").exists()


def test_a_law_has_a_time_limit(folder, made):
    said = run("fit", made / "data", "--model", "interaction", "--seconds", 600)
    assert "the closed form explains every snapshot" in said.stdout
    again = ndcn.load("model.ndcn")
    assert again.model == ndcn.Interaction(seconds=600.0)
    assert again.kind_.words(again.model) == ["--model", "interaction", "--seconds", "600"]
    assert "does not use `--seconds`; remove it" in refused("fit", made / "data", "--model", "ndcn", "--seconds", 5)
    said = refused("fit", made / "data", "--model", "auto", "--no-law", "--seconds", 5)
    assert "--seconds limits the search for a law, and --no-law asks for none" in said
    assert "seconds must be a number of seconds > 0" in refused(
        "fit", made / "data", "--model", "free_form", "--seconds", 0
    )
