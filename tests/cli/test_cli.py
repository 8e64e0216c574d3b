"""The command line inside one process: what each command writes, prints and refuses."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from typer.testing import CliRunner, Result

import ndcn
from ndcn.cli import app, options


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A folder with data and a model, made by the commands themselves."""
    base = tmp_path_factory.mktemp("made")
    run("simulate", "--nodes", 25, "--snapshots", 30, "--out", base / "data")
    run("fit", base / "data", "--epochs", 8, "--out", base / "model.ndcn")
    return base


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"TERMINAL_WIDTH": "200", "COLUMNS": "200"})
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*words: object, code: int = 2) -> str:
    """What a refusal says; nothing must appear on standard output."""
    result = run(*words, code=code)
    assert result.stdout == ""
    return " ".join(result.stderr.split())


def parsed(*words: object) -> dict:
    return json.loads(run(*words, "--json").stdout)


# Help -----------------------------------------------------------------------------------------------------------


def test_help_names_every_command():
    text = run("--help").output
    for name in ("demo", "simulate", "fit", "predict", "evaluate", "report", "doctor"):
        assert name in text
        assert f"Example: ndcn {name}" in run(name, "--help").output
        assert run(name, "-h").output == run(name, "--help").output


def test_the_command_line_is_also_a_module():
    done = subprocess.run([sys.executable, "-m", "ndcn", "--version"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"ndcn {ndcn.__version__}\n")


def test_version():
    assert run("--version").output == f"ndcn {ndcn.__version__}\n"


def test_names_are_those_of_the_library():
    from ndcn.named_models import ACTIVATIONS
    from ndcn.named_models import NAMED as models
    from ndcn.recipes import RECIPES

    for names, known in (
        (options.LawName, ndcn.laws.NAMED),
        (options.NetworkName, ndcn.networks.NAMED),
        (options.ModelName, models),
        (options.Preset, RECIPES),
        (options.OperatorName, ndcn.operators.NAMED),
        (options.Activation, ACTIVATIONS),
    ):
        assert [name.value for name in names] == list(known)
    for loss in options.Loss:
        ndcn.Objective(loss.value)


def test_wrong_usage(folder):
    assert "gravity" in (text := refused("simulate", "--law", "gravity"))
    assert all(name in text for name in ("heat", "mutualistic", "gene"))
    assert "small_world" in refused("simulate", "--network", "torus")
    assert "no_control" in refused("fit", "data", "--model", "magic")
    assert "paper" in refused("fit", "data", "--preset", "best")
    assert "huber" in refused("fit", "data", "--objective", "l3")
    refused("simulate", "--nodes", "0")
    refused("simulate", "--nodes", "many")
    refused("simulate", "--speed", "1")
    refused("dance")
    refused("predict")
    assert not list(folder.iterdir())


# simulate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "network", "last"),
    [
        ("heat", "random", 0.1),
        ("heat", "community", 0.2),
        ("gene", "power_law", 5.0),
        ("mutualistic", "small_world", 5.0),
        ("sis", "small_world", 5.0),
        ("sir", "random", 5.0),
        ("kuramoto", "community", 5.0),
        ("consensus", "grid", 5.0),
        ("lotka_volterra", "power_law", 5.0),
        ("wilson_cowan", "power_law", 5.0),
        ("fitzhugh_nagumo", "small_world", 100.0),
        ("michaelis_menten", "power_law", 5.0),
    ],
)
def test_simulate(folder, law, network, last):
    about = parsed("simulate", "--law", law, "--network", network, "--nodes", 30, "--snapshots", 12, "--order", "none")
    data = ndcn.Trajectory.load("data")
    assert about["out"] == "data"
    assert (about["nodes"], about["edges"], about["snapshots"]) == (30, data.graph.num_edges, 12)
    assert about["time"] == last
    assert data.times[-1] <= last
    graph = ndcn.networks.grid(30) if network == "grid" else ndcn.networks.NAMED[network](30, seed=0, order=None)
    assert data.graph == graph
    rule = ndcn.laws.NAMED[law]()
    again = ndcn.simulate(rule, graph, rule.initial_state(graph, seed=0), data.times)
    torch.testing.assert_close(data.states, again.states)
    assert data.features == again.features


def test_simulate_names_the_parameters_of_every_law():
    text = " ".join(run("simulate", "--help").stdout.replace("│", " ").split())
    for name, law in ndcn.laws.NAMED.items():
        assert f"{name}: {', '.join(parameter for parameter, _ in law().named_buffers())}" in text


def test_simulate_draws_states_by_the_seed(folder):
    for seed in (0, 1):
        run("simulate", "--law", "sir", "--nodes", 16, "--snapshots", 4, "--seed", seed, "--out", f"data{seed}")
    first, other = (ndcn.Trajectory.load(f"data{seed}") for seed in (0, 1))
    assert first.features == ("s", "i")
    assert not torch.equal(first.states[0], other.states[0])


def test_simulate_takes_parameters_times_and_seeds(folder):
    words = ["--law", "mutualistic", "--network", "random", "--nodes", 20, "--snapshots", 5, "--sampling", "regular"]
    about = parsed("simulate", *words, "--time", 2, "--param", "e=0.1", "--param", "h=0.9", "--seed", 3)
    assert about["parameters"]["e"] == 0.1
    assert about["parameters"]["b"] == pytest.approx(0.1)
    data = ndcn.Trajectory.load("data")
    assert data.times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert data.graph == ndcn.networks.random(20, seed=3)
    said = run("simulate", "--nodes", 9, "--snapshots", 1500, "--order", "louvain", "--out", "many").stdout
    assert "1500 snapshots of 9 nodes" in said
    assert "written to many" in said


def test_simulate_replaces_its_own_data_only(folder):
    run("simulate", "--nodes", 9, "--snapshots", 4)
    run("simulate", "--nodes", 16, "--snapshots", 4)
    assert ndcn.Trajectory.load("data").graph.num_nodes == 16
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("precious")
    assert "not ndcn data" in refused("simulate", "--out", "mine")
    assert (folder / "mine" / "notes.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--param", "q=1"], "known are k"),
        (["--param", "k=fast"], "name=number"),
        (["--param", "k"], "name=number"),
        (["--param", "k=nan"], "finite"),
        (["--time", "-1"], "positive"),
        (["--time", "nan"], "positive"),
        (["--out", "no/such/folder"], "there is no folder"),
    ],
)
def test_simulate_refuses(folder, words, message):
    assert message in refused("simulate", *words)
    assert not list(folder.iterdir())


def test_an_explosion_is_a_failure(folder):
    text = refused("simulate", "--nodes", 25, "--param", "k=-1000", code=1)
    assert text.startswith("error: ")
    assert not list(folder.iterdir())


# fit ------------------------------------------------------------------------------------------------------------


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
    assert "ensemble: of no effect on spline" in refused("fit", "data", "--model", "spline", "--ensemble", 2)


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
    assert "--resume would go on" in run("fit", made / "data", "--epochs", 2).stderr
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
    from ndcn.progress import Progress

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
    assert parsed("predict", "model.ndcn", "--times", "0.5,1")["std"] == spread.states.tolist()
    assert parsed("evaluate", "model.ndcn", made / "data")["train"]["snapshots"] == 20
    assert "2 members" in run("fit", made / "data", "--epochs", 2, "--ensemble", 2, "--jobs", 1).stdout


def test_an_ensemble_that_is_stopped(folder, made, monkeypatch):
    from ndcn.progress import Progress

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


def test_an_unwritable_folder_is_refused_before_the_work(folder, made, monkeypatch):
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    assert "not writable" in refused("fit", made / "data", "--epochs", 2, code=1)
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
    assert "go on with --resume" in refused("fit", made / "data", "--resume", code=1)


def test_an_interrupt_saves_the_best_weights_and_the_checkpoint(folder, made, monkeypatch):
    from ndcn.progress import Progress

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


# predict --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predict_writes_a_table(folder, made, name):
    about = parsed("predict", made / "model.ndcn", "--times", "4.9,0.5, 0.5", "--out", name)
    assert (about["rows"], about["times"], about["features"]) == (75, [4.9, 0.5, 0.5], ["x"])
    table = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    assert list(table.columns) == ["time", "node", "x"]
    truth = ndcn.load(made / "model.ndcn").predict([4.9, 0.5, 0.5])
    assert table["x"].to_numpy() == pytest.approx(truth.states.reshape(-1).numpy(), rel=1e-6)
    assert table["node"].tolist() == list(range(25)) * 3
    assert "written to" in run("predict", made / "model.ndcn", "--times", "1", "--out", name).stdout


def test_predict_prints_the_table(made):
    lines = run("predict", made / "model.ndcn", "--until", 6, "--count", 3).stdout.splitlines()
    assert lines[0] == "time,node,x"
    assert [float(line.split(",")[0]) for line in lines[1::25]] == [0.0, 3.0, 6.0]
    about = parsed("predict", made / "model.ndcn", "--times", "1")
    assert torch.tensor(about["states"]).shape == (1, 25, 1)
    assert about["nodes"] == list(range(25))


def test_predict_on_other_data_with_labels(folder, made):
    graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
    ndcn.Trajectory(times=[0.5, 1.0], states=torch.rand(2, 3, 1), graph=graph).save("other")
    about = parsed("predict", made / "model.ndcn", "--times", "0.5,1", "--data", "other")
    assert about["nodes"] == ["a", "b", "c"]
    other = ndcn.Trajectory.load("other")
    expected = ndcn.load(made / "model.ndcn").predict([0.5, 1.0], graph=graph, x0=other.states[0], t0=0.5)
    assert about["states"] == expected.states.tolist()
    spread = parsed("predict", made / "model.ndcn", "--until", 1.5, "--count", 3, "--data", "other")
    assert spread["times"] == [0.5, 1.0, 1.5]
    assert "the prediction starts at t = 0.5" in refused(
        "predict", made / "model.ndcn", "--times", 0, "--data", "other"
    )
    ndcn.Trajectory(times=[0.0, 1.0], states=torch.rand(2, 3, 2), graph=graph).save("two")
    assert "2 features" in refused("predict", made / "model.ndcn", "--times", "1", "--data", "two")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either --times"),
        (["--times", "1", "--until", "2"], "either --times"),
        (["--times", "one"], "separated by commas"),
        (["--times", ""], "separated by commas"),
        (["--times", "nan"], "finite"),
        (["--times", "-1"], "starts at t = 0 and only goes forward, but t = -1"),
        (["--until", "0"], "after the first time"),
        (["--until", "inf"], "after the first time"),
        (["--times", "1", "--out", "p.xlsx"], ".csv or .parquet"),
        (["--times", "1", "--out", "no/p.csv"], "there is no folder"),
        (["--times", "1", "--data", "nowhere"], "no data folder"),
    ],
)
def test_predict_refuses(folder, made, words, message):
    assert message in refused("predict", made / "model.ndcn", *words)
    assert not list(folder.iterdir())


def test_files_that_are_no_models_are_refused(folder, made):
    assert "no model file" in refused("predict", "nowhere.ndcn", "--times", "1")
    whole = (made / "model.ndcn").read_bytes()
    for name, content in {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "foreign": b"hello, I am a text\n" * 20,
    }.items():
        (folder / name).write_bytes(content)
        assert "not an ndcn model" in refused("predict", name, "--times", "1")
        assert "not an ndcn model" in refused("evaluate", name, made / "data")
    assert "is a folder, not a model file" in refused("evaluate", made / "data", made / "data")
    assert "is a folder, not a model file" in refused("predict", made / "data", "--times", "1")
    refused("evaluate", made / "model.ndcn", made / "model.ndcn")


# evaluate -------------------------------------------------------------------------------------------------------


def test_evaluate_scores_what_was_held_back(made):
    scores = parsed("evaluate", made / "model.ndcn", made / "data")
    parts = ndcn.split(ndcn.Trajectory.load(made / "data"))
    model = ndcn.load(made / "model.ndcn")
    for name, part in parts._asdict().items():
        guess = model.predict(part.times)
        assert scores[name]["snapshots"] == len(part)
        assert scores[name]["normalized_l1"] == pytest.approx(ndcn.metrics.normalized_l1(guess, part))
        assert scores[name]["l1"] == pytest.approx(ndcn.metrics.l1(guess, part))
        assert scores[name]["rmse"] == pytest.approx(ndcn.metrics.rmse(guess, part))
    table = run("evaluate", made / "model.ndcn", made / "data").stdout
    assert f"{100 * scores['interpolation']['normalized_l1']:.2f}" in table
    assert "extrapolation" in table


def test_evaluate_data_of_its_own_times(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    data[-3:].save("late")
    assert parsed("evaluate", made / "model.ndcn", "late") == {
        "train": None,
        "interpolation": None,
        "extrapolation": parsed("evaluate", made / "model.ndcn", "late")["extrapolation"],
    }
    assert "-" in run("evaluate", made / "model.ndcn", "late").stdout
    mask = torch.ones_like(data.states, dtype=torch.bool)
    mask[-5:], mask[0, :7] = False, False
    holes = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, mask=mask)
    holes.save("holes")
    scores = parsed("evaluate", made / "model.ndcn", "holes")
    assert scores["extrapolation"] is None
    assert scores["train"]["snapshots"] == 20


@pytest.mark.parametrize(("begin", "gap"), [(1.7e9, 1.0), (0.0, 1e-12)])
def test_evaluate_tells_near_times_apart(folder, begin, gap):
    graph = ndcn.networks.grid(9)
    states = torch.rand(10, 9, 1, generator=torch.Generator().manual_seed(0))
    times = begin + gap * torch.arange(10, dtype=torch.float64)
    data = ndcn.Trajectory(times=times, states=states, graph=graph)
    data.save("data")
    ndcn.DynamicsRegressor(epochs=2).fit(data[[0, 1, 3, 4, 6]]).save("model.ndcn")
    scores = parsed("evaluate", "model.ndcn", "data")
    assert [scores[name]["snapshots"] for name in ("train", "interpolation", "extrapolation")] == [5, 2, 3]


def test_evaluate_from_another_initial_state(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    x0 = data.states[0].flip(0)
    ndcn.simulate(ndcn.laws.Heat(), data.graph, x0, data.times).save("other")
    result = run("evaluate", made / "model.ndcn", "other", "--json")
    scores = json.loads(result.stdout)
    assert "another state" in result.stderr
    assert scores["train"] is None
    assert scores["interpolation"]["snapshots"] + scores["extrapolation"]["snapshots"] == 29
    guess = ndcn.load(made / "model.ndcn").predict(data.times, x0=x0)
    after = data.times > ndcn.load(made / "model.ndcn").train_[0].times[-1]
    truth = ndcn.Trajectory.load("other")
    assert scores["extrapolation"]["l1"] == pytest.approx(ndcn.metrics.l1(guess[after], truth[after]))


def test_evaluate_gives_no_relative_error_where_all_is_zero(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    states = torch.where((data.times > 4)[:, None, None], 0.0, data.states)
    ndcn.Trajectory(times=data.times, states=states, graph=data.graph).save("zero")
    data = ndcn.Trajectory.load("zero")
    data[(data.times > 4).numpy()].save("zero")
    scores = parsed("evaluate", made / "model.ndcn", "zero")
    assert scores["extrapolation"]["normalized_l1"] is None
    assert scores["extrapolation"]["l1"] > 0
    assert " - " in run("evaluate", made / "model.ndcn", "zero").stdout


def test_evaluate_refuses_other_graphs_and_features(folder, made):
    run("simulate", "--nodes", 16, "--snapshots", 4)
    assert "another graph" in refused("evaluate", made / "model.ndcn", "data")
    data = ndcn.Trajectory.load(made / "data")
    ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, features=["heat"]).save("named")
    assert "heat" in refused("evaluate", made / "model.ndcn", "named")
    assert "no data folder" in refused("evaluate", made / "model.ndcn", "nowhere")


# doctor ---------------------------------------------------------------------------------------------------------


def test_doctor(monkeypatch):
    from ndcn.kernels import euler_compiled

    about = parsed("doctor")
    assert (about["ndcn"], about["torch"]) == (ndcn.__version__, torch.__version__)
    assert about["threads"] == torch.get_num_threads()
    for library, kernel in ((None, "torch"), (object(), "compiled")):
        monkeypatch.setattr(euler_compiled, "library", lambda found=library: found)
        assert parsed("doctor")["kernel"] == kernel
        assert f"kernel  {kernel}" in run("doctor").stdout


# demo -----------------------------------------------------------------------------------------------------------


def test_demo(folder, monkeypatch):
    monkeypatch.setattr("ndcn.cli.demo.FRAMES", 6)
    about = parsed("demo", "--epochs", 3, "--out", "show")
    names = ["compare.png", "animation.gif", "model.ndcn", "data", "report.html"]
    assert sorted(p.name for p in (folder / "show").iterdir()) == sorted(names)
    assert about["files"] == [f"show/{name}" for name in names]
    page = (folder / "show" / "report.html").read_text(encoding="utf-8")
    assert "ndcn fit show/data --model ndcn --epochs 3 --seed 0 --out show/model.ndcn" in page
    assert about["paper"]["ndcn"] == {"interpolation": pytest.approx(0.032), "extrapolation": pytest.approx(0.041)}
    scores = parsed("evaluate", "show/model.ndcn", "show/data")
    assert about["ndcn"]["interpolation"] == pytest.approx(scores["interpolation"]["normalized_l1"], rel=1e-4)
    assert about["ndcn"]["extrapolation"] == pytest.approx(scores["extrapolation"]["normalized_l1"], rel=1e-4)
    assert about["no_graph"]["epochs"] == 3


def test_demo_prints_a_table_and_replaces_its_files(folder, monkeypatch):
    monkeypatch.setattr("ndcn.cli.demo.FRAMES", 6)
    monkeypatch.setattr("ndcn.cli.demo.NODES", 25)
    for _ in range(2):
        said = run("demo", "--epochs", 2).stdout
    for text in ("interpolation", "extrapolation", "3.2", "4.1", "41.9", "30.5", "NDCN", "written to demo/"):
        assert text in said
    assert f"open {(folder / 'demo' / 'report.html').as_uri()} in a browser" in said
    assert [p.name for p in folder.iterdir()] == ["demo"]


def test_demo_refuses_places_that_are_taken(folder, monkeypatch):
    (folder / "file").write_text("")
    assert "is a file" in refused("demo", "--out", "file")
    assert "there is no folder" in refused("demo", "--out", "no/demo")
    (folder / "demo" / "data").mkdir(parents=True)
    assert "not ndcn data" in refused("demo")


def test_demo_interrupted(folder, monkeypatch):
    from ndcn.progress import Progress

    monkeypatch.setattr(Progress, "update", lambda *_: signal.raise_signal(signal.SIGINT))
    text = refused("demo", "--epochs", 20, code=1)
    assert "error: interrupted" in text
    assert not list(folder.iterdir())


# Anything else --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1, "not enough memory"),
        (PermissionError(13, "Permission denied", "/data"), 1, "error: Permission denied: /data"),
        (IsADirectoryError(21, "Is a directory", "x"), 1, "error: Is a directory: x"),
        (NotADirectoryError(20, "Not a directory", "x/y"), 2, "error: Not a directory: x/y"),
        (TypeError("a list is needed"), 2, "error: a list is needed"),
    ],
)
def test_exceptions_become_one_line(folder, monkeypatch, error, code, text):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ndcn, "simulate", broken)
    assert text in refused("simulate", "--nodes", 9, code=code)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), BrokenPipeError(errno.EPIPE, "Broken pipe")])
def test_bugs_are_not_hidden(folder, monkeypatch, error):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ndcn, "simulate", broken)
    result = CliRunner().invoke(app, ["simulate", "--nodes", "9"])
    assert result.exit_code == 1
    assert "error:" not in result.output
