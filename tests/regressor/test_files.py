"""Model files: what is saved comes back bit for bit; what is damaged or foreign is refused, never a crash."""

from __future__ import annotations

import errno
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

import ndcn
from ndcn import CrossEntropy, DynamicsRegressor, GraphODE, Objective, Solver, Trajectory, laws, networks
from problems import SIGNED_GRAPHS, states

GRAPH = networks.grid(9)
DATA = ndcn.simulate(laws.Heat(), GRAPH, torch.linspace(0.2, 2.0, 9).reshape(9, 1), torch.linspace(0, 2, 8))
ASK = [0.0, 1.3, 0.4, 5.0, 0.4]
DISCRETE = ("residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn")
ON_GRID = [0.0, 8 / 7, 2.0, 4.0, 2 / 7, 2.0]  # every step is 2 / 7


def fit(data: Trajectory | list[Trajectory] = DATA, **settings: object) -> DynamicsRegressor:
    return DynamicsRegressor(**{"epochs": 4, **settings}).fit(data)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "heat.ndcn"
    fit(hidden=3).save(path)
    return path


def check_same(a: DynamicsRegressor, b: DynamicsRegressor, ask: list[float] = ASK) -> None:
    assert torch.equal(a.predict(ask).states, b.predict(ask).states)
    assert a.predict(ask).features == b.predict(ask).features
    assert a.history_ == b.history_
    assert a.solver_ == b.solver_
    assert [s.graph for s in a.train_] == [s.graph for s in b.train_]
    assert all(torch.equal(s.times, t.times) and s.t0 == t.t0 for s, t in zip(a.train_, b.train_, strict=True))


@pytest.mark.parametrize(
    "settings",
    [
        *({"model": name, "preset": preset} for name in ("ndcn", "no_encode", "no_graph", "no_control") for preset in ("default", "paper")),
        *({"model": name, "preset": preset} for name in DISCRETE for preset in ("default", "paper")),
        {"model": "gru_gnn", "hidden": 3, "dtype": "float64", "validation": 0.2},
        {"model": "lstm_gnn", "ensemble": 2, "jobs": 1},
        *({"model": name, "epochs": None} for name in ("persistence", "linear", "spline")),
        {"knots": [0.0, 0.5, 2.0]},
        {"knots": np.array([0.0, 1.0])},
        {"hidden": 3, "operator": "kipf", "activation": "softplus"},
        {"solver": Solver("tsit5", rtol=1e-3, atol=1e-4, gradient="checkpoint", max_steps=1234)},
        {"solver": Solver("rk4", step_size="observations")},
        {"objective": Objective("huber", terminal="l2", terminal_weight=0.3, time_weights="gaps")},
        {"objective": Objective(None, terminal="l1")},
        {"dtype": "float64"},
        {"validation": 0.2, "patience": 3, "clip_norm": 1.0, "seed": 9, "weight_decay": 0.1, "schedule": "constant"},
    ],
    ids=str,
)  # fmt: skip
def test_round_trip(tmp_path: Path, settings: dict) -> None:
    reg, ask = fit(**settings), ON_GRID if settings.get("model") in DISCRETE else ASK
    reg.save(tmp_path / "m.ndcn")
    again = ndcn.load(tmp_path / "m.ndcn")
    check_same(reg, again, ask)
    for name, value in reg.get_params().items():
        if name not in ("knots", "checkpoint", "progress"):
            assert getattr(again, name) == value, name
    if reg.knots is not None:
        assert list(again.knots) == list(reg.knots)
    again.save(str(tmp_path / "again.ndcn"))
    check_same(reg, ndcn.load(str(tmp_path / "again.ndcn")), ask)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["lstm_gnn", "spline"])
def test_what_a_model_goes_on_from_comes_back(tmp_path: Path, name: str, missing: bool) -> None:
    mask = torch.rand(8, 9, 1, generator=torch.Generator().manual_seed(0)) > 0.3 if missing else None
    data = Trajectory(times=DATA.times, states=DATA.states, graph=GRAPH, mask=mask, features=["heat"])
    reg = fit(data, model=name, epochs=2 if name == "lstm_gnn" else None)
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m")
    check_same(reg, again, ON_GRID)
    seen = again.train_[0].seen
    assert (seen.mask is None) == (not missing)
    assert torch.equal(seen.states.nan_to_num(-1), data.states.nan_to_num(-1))
    assert torch.equal(again.fit(data).predict(ON_GRID).states, reg.predict(ON_GRID).states)


def test_files_from_before_hidden_could_be_left_out(tmp_path: Path) -> None:
    """There, ready modules had a width of 20 too."""
    model = GraphODE(nn.Linear(1, 3), ndcn.fields.NodeField(3), nn.Linear(3, 1))
    for name, settings in (("ready", {"model": model}), ("named", {})):
        reg = fit(**settings)
        reg.save(tmp_path / name)
        with safetensors.safe_open(tmp_path / name, "pt") as file:
            about = json.loads(file.metadata()["ndcn"])
            about.pop("sha256")  # as files before 0.3
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  # it is no dict
        about["settings"]["hidden"] = 20
        safetensors.torch.save_file(tensors, tmp_path / name, metadata={"ndcn": json.dumps(about)})
        check_same(reg, ndcn.load(tmp_path / name, **settings))


@pytest.mark.parametrize("name", list(SIGNED_GRAPHS))
def test_every_kind_of_graph(tmp_path: Path, name: str) -> None:
    graph = SIGNED_GRAPHS[name]
    reg = fit(Trajectory(times=[0.5, 1.0, 1.5], states=states(graph, 3, 2), graph=graph, features=["a", "b"]))
    reg.save(tmp_path / "m")
    check_same(reg, ndcn.load(tmp_path / "m"), [0.5, 3.0])


def test_labels_and_several_trajectories(tmp_path: Path) -> None:
    named = ndcn.Graph.from_edges([("fox", "hare", 0.5), ("hare", "grass")], directed=True)
    other = Trajectory(times=[0.0, 1.0], states=torch.rand(2, 3, 1), graph=named)
    reg = fit([other, DATA, DATA])
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m")
    check_same(reg, again)
    assert again.predict([1.0]).graph.nodes == named.nodes
    assert again.predict([1.0]).graph.directed


def test_a_loaded_model_can_be_fitted_again_and_used_elsewhere(tmp_path: Path) -> None:
    reg = fit()
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m")
    other = networks.power_law(12, seed=0)
    x0 = states(other, 1).float()
    assert torch.equal(again.predict([1.0], graph=other, x0=x0).states, reg.predict([1.0], graph=other, x0=x0).states)
    assert again.fit(DATA).history_.loss == reg.history_.loss


def test_an_objective_of_ones_own_is_left_out(tmp_path: Path) -> None:
    for running in ("l2", None):
        reg = fit(objective=Objective(running, terminal=CrossEntropy([0] * 9)))
        reg.save(tmp_path / "m")
        again = ndcn.load(tmp_path / "m")
        assert torch.equal(again.predict(ASK).states, reg.predict(ASK).states)
        assert again.objective.terminal is None


def test_settings_as_objects_of_torch_and_numpy(tmp_path: Path) -> None:
    settings = {"dtype": torch.float64, "device": torch.device("cpu"), "seed": np.int64(3)}
    reg = fit(**settings, learning_rate=np.float32(0.01), solver=Solver("euler", step_size=np.float32(0.5)))
    assert reg.get_params()["dtype"] is torch.float64
    reg.save(tmp_path / "m")
    again = ndcn.load(tmp_path / "m")
    check_same(reg, again)
    assert (again.dtype, again.device, again.seed) == ("float64", "cpu", 3)


def own() -> GraphODE:
    encoder = nn.Linear(1, 2)
    return GraphODE(encoder, ndcn.fields.GraphField(2), nn.Linear(2, 1), Solver("rk4", step_size=0.5))


def test_a_module_of_ones_own_needs_one_to_load(tmp_path: Path, model_file: Path) -> None:
    reg = fit(model=own())
    reg.save(tmp_path / "m")
    with pytest.raises(ValueError, match=r"a module of your own \(GraphODE\); pass one of the same kind"):
        ndcn.load(tmp_path / "m")
    check_same(reg, ndcn.load(tmp_path / "m", model=own()))
    with pytest.raises(ValueError, match="does not fit"):
        ndcn.load(tmp_path / "m", model=nn.Linear(1, 1))
    with pytest.raises(ValueError, match="holds a 'ndcn' model, which is rebuilt from the file: drop model="):
        ndcn.load(model_file, model=own())


def test_weights_that_are_shared_between_parts(tmp_path: Path) -> None:
    def tied() -> GraphODE:
        layer = nn.Linear(1, 1)
        return GraphODE(layer, laws.Heat(), layer)

    reg = fit(model=tied())
    reg.save(tmp_path / "m")
    check_same(reg, ndcn.load(tmp_path / "m", model=tied()))


# Damaged and foreign files ------------------------------------------------------------------------------------------


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        ndcn.load(tmp_path / "none.ndcn")
    with pytest.raises(ValueError, match="is a folder, not a model file"):
        ndcn.load(tmp_path)


def test_truncated_at_any_length(tmp_path: Path, model_file: Path) -> None:
    whole = model_file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    lengths = {0, 1, 7, 8, 9, header - 1, header, header + 1, len(whole) - 1, *range(0, len(whole), 97)}
    for length in lengths:
        (tmp_path / "m").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is not an ndcn model, or is damaged"):
            ndcn.load(tmp_path / "m")


def test_flipped_bytes_in_the_header_are_refused_or_harmless(tmp_path: Path, model_file: Path) -> None:
    whole = model_file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for place in range(0, header, 5):
        for flip in (0x01, 0x10):
            damaged = bytearray(whole)
            damaged[place] ^= flip
            (tmp_path / "m").write_bytes(damaged)
            try:
                ndcn.load(tmp_path / "m")
            except ValueError:
                refused += 1
    assert refused > header // 5


def rewritten(path: Path, source: Path, change: object, drop: str | None = None) -> Path:
    """The model file with its settings changed."""
    with safetensors.safe_open(source, "pt") as file:
        about = json.loads(file.metadata()["ndcn"])
        about.pop("sha256")  # as files before 0.3
        tensors = {name: file.get_tensor(name) for name in file.keys() if name != drop}  # noqa: SIM118  # it is no dict
    change(about)
    safetensors.torch.save_file(tensors, path, metadata={"ndcn": json.dumps(about)})
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.update(version=2), "has format version 2, this ndcn reads version 1; use a newer ndcn"),
        (lambda a: a.pop("version"), "has format version None"),
        (lambda a: a.update(format="ndcn-checkpoint"), "a safetensors file, but not an ndcn model"),
        (lambda a: a.pop("settings"), "damaged: it holds no settings"),
        (lambda a: a.update(settings=[1]), "damaged: it holds no settings"),
        (lambda a: a["settings"].update(model="perceptron"), "does not fit: unknown model"),
        (
            lambda a: a["settings"].update(model="interaction", hidden=None, epochs=None),
            "does not fit: a law is found by fit, and there is none",
        ),
        (lambda a: a["settings"].update(colour="red"), "does not fit: .*colour"),
        (lambda a: a["settings"].update(hidden=7), r"does not fit: [^$]*size mismatch"),
        (lambda a: a["settings"].update(dtype="float12"), "does not fit: dtype must be"),
        (lambda a: a["settings"].update(solver={"method": "rk9"}), "does not fit: unknown method"),
        (lambda a: a["settings"].update(solver=3), "does not fit"),
        (lambda a: a.pop("units"), "is damaged: it has no entry 'units'"),
        (lambda a: a.pop("histories"), "is damaged: it has no entry 'histories'"),
        (lambda a: a.update(starts=[]), "does not fit"),
        (lambda a: a["starts"][0].update(nodes=["a"]), "does not fit: 1 node labels were given for 9"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, model_file: Path, change: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ndcn.load(rewritten(tmp_path / "m", model_file, change))


@pytest.mark.parametrize("drop", ["loss.0", "scale", "start.0.x0", "model.0.field.linear.bias"])
def test_numbers_that_are_missing(tmp_path: Path, model_file: Path, drop: str) -> None:
    message = "does not fit: .*field.linear.bias" if drop.startswith("model") else f"damaged: it has no entry '{drop}'"
    with pytest.raises(ValueError, match=f"(?s){message}"):
        ndcn.load(rewritten(tmp_path / "m", model_file, lambda a: None, drop))


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for content in (b"", b"hello", b"\x00" * 100, pickle.dumps({"weights": [1.0]}), b"PK\x03\x04" + b"\x00" * 50):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not an ndcn model, or is damaged"):
            ndcn.load(path)
    safetensors.torch.save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(ValueError, match="a safetensors file, but not an ndcn model"):
        ndcn.load(path)
    for metadata in ("[1, 2]", "null", '{"format": 1}'):
        safetensors.torch.save_file({"x": torch.zeros(2)}, path, metadata={"ndcn": metadata})
        with pytest.raises(ValueError, match="not an ndcn model"):
            ndcn.load(path)
    safetensors.torch.save_file({"x": torch.zeros(2)}, path, metadata={"ndcn": "{"})
    with pytest.raises(ValueError, match="not an ndcn model, or is damaged"):
        ndcn.load(path)


class Trap:
    def __reduce__(self) -> tuple:
        return (Path("trapped").touch, ())


def test_nothing_in_a_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"model": Trap()}, tmp_path / "m")
    with pytest.raises(ValueError, match="is not an ndcn model"):
        ndcn.load(tmp_path / "m")
    assert not (tmp_path / "trapped").exists()


# Writing ------------------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    reg = fit()
    reg.save(path)
    before = path.read_bytes()

    def full(tensors: object, filename: Path, metadata: object = None) -> None:
        Path(filename).write_bytes(b"half of")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ndcn._support.tensor_files.save_file", full)
    with pytest.raises(OSError, match=r"could not write .*: No space left on device; nothing was changed") as caught:
        reg.save(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="No space left"):
        reg.save(tmp_path / "new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing to write"):
        fit().save(tmp_path / "missing" / "m.ndcn")


def test_saving_again_replaces(tmp_path: Path) -> None:
    path = tmp_path / "m"
    fit(seed=0).save(path)
    reg = fit(seed=1)
    reg.save(path)
    check_same(reg, ndcn.load(path))
    assert list(tmp_path.iterdir()) == [path]


# Crafted and damaged contents ---------------------------------------------------------------------------------------


def crafted(path: Path, source: Path, tensors: dict[str, torch.Tensor], change: object = lambda about: None) -> Path:
    """The file with other tensors and settings, and without a checksum, as files before 0.3 have none."""
    with safetensors.safe_open(source, "pt") as file:
        about = json.loads(file.metadata()["ndcn"])
        about.pop("sha256")  # as files before 0.3
        kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dict
    change(about)
    safetensors.torch.save_file({**kept, **tensors}, path, metadata={"ndcn": json.dumps(about)})
    return path


def test_one_flipped_bit_in_the_numbers_is_refused(tmp_path: Path, model_file: Path) -> None:
    whole = model_file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in range(header, len(whole), 61):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged: its content does not match its checksum; copy it again"):
            ndcn.load(tmp_path / "m")


def test_files_without_a_checksum_load(tmp_path: Path, model_file: Path) -> None:
    check_same(ndcn.load(model_file), ndcn.load(crafted(tmp_path / "m", model_file, {})))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("start.0.indices", lambda x: x.index_fill(0, torch.tensor([5]), 10**9), "columns 0 to 1000000000, expected 0"),
        ("start.0.indices", lambda x: x.index_fill(0, torch.tensor([5]), 64), "columns 0 to 64, expected 0 to 8"),
        ("start.0.indices", lambda x: x.index_fill(0, torch.tensor([5]), -1), "columns -1 to 8"),
        ("start.0.indptr", lambda x: x.index_fill(0, torch.tensor([5]), 10**9), "its rows do not follow one another"),
        ("start.0.indptr", lambda x: x.index_fill(0, torch.tensor([5]), 0), "its rows do not follow one another"),
        ("start.0.indptr", lambda x: x.bool(), "indptr must be whole numbers"),
        ("start.0.weights", lambda x: x.bool(), "values must be a list of floating-point numbers"),
        ("start.0.x0", lambda x: x[:0], "ends of rows were found for 0 rows"),
        ("start.0.x0", lambda x: x.bool(), "start.0.x0 must hold floating-point numbers"),
        ("start.0.times", lambda x: x[:0], "times"),
        ("scale", lambda x: x * 0, "scale must hold numbers > 0"),
        ("scale", lambda x: x[:0], "scale must be of size 1, got 0"),
        ("loss.0", lambda x: x.unsqueeze(0), "loss.0 must be of size any"),
        ("validation.0", lambda x: x.bool(), "validation.0 must hold floating-point numbers"),
        ("model.0.field.linear.weight", lambda x: x.bool(), "field.linear.weight must be of torch.float32"),
    ],
)
def test_tensors_that_lead_elsewhere(tmp_path: Path, model_file: Path, name: str, change, message: str) -> None:
    with safetensors.safe_open(model_file, "pt") as file:
        damaged = change(file.get_tensor(name)).contiguous()
    with pytest.raises(ValueError, match=f"does not fit: .*{message}"):
        ndcn.load(crafted(tmp_path / "m", model_file, {name: damaged}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a["settings"].update(hidden=30_000), r"size mismatch: the settings ask for .*30000.* is stored"),
        (lambda a: a["settings"].update(knots=list(range(10**6))), "have 1000000 knots, and 0 are stored"),
        (lambda a: a["settings"].update(hidden=2**70), "more than 64 bits hold"),
        (lambda a: a["units"].update(rate=0), "the rate of time must be a number > 0, got 0"),
        (lambda a: a["starts"][0].update(t0=None), "t0 must be a time"),
        (lambda a: a["starts"][0].update(features=[]), "features must be a list of names"),
        (lambda a: a["histories"][0].update(seconds="long"), "history 0 must say"),
    ],
)
def test_settings_that_would_take_much_memory_or_make_no_sense(
    tmp_path: Path, model_file: Path, change, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ndcn.load(crafted(tmp_path / "m", model_file, {}, change))


def test_lists_without_end_are_refused(tmp_path: Path) -> None:
    safetensors.torch.save_file({"x": torch.zeros(2)}, tmp_path / "m", metadata={"ndcn": 100_000 * "["})
    with pytest.raises(ValueError, match="nested too deeply"):
        ndcn.load(tmp_path / "m")
