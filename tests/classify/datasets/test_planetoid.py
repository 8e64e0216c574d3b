"""The citation graphs: from files, over http, damaged, missing, and foreign."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn.classify.datasets import download
from ndcn.classify.datasets.planetoid import CLASSES, DIGESTS, PARTS, URL
from ndcn.datasets import planetoid as load
from places import SHARED

REAL = SHARED / "data" / "planetoid"
needs_files = pytest.mark.skipif(not REAL.is_dir(), reason="the files of Planetoid are not here")


def write_files(
    folder: Path, name: str, nodes: int, features: int, tested: int, trained: int, missing: int = 0
) -> None:
    """Files in the layout of Planetoid: random words, a ring as graph; the last ``missing`` of the test nodes are not there."""
    rng = np.random.default_rng(0)
    classes, known = len(CLASSES[name]), nodes - tested - missing
    y = np.eye(classes, dtype=np.int32)[np.arange(nodes) % classes]
    words = sparse.csr_matrix(sparse.random_array((nodes, features), density=20 / features, rng=rng, dtype=np.float32))
    index = rng.permutation(np.arange(known, known + tested))
    content = {
        "x": words[:trained],
        "y": y[:trained],
        "tx": words[index],
        "ty": y[index],
        "allx": words[:known],
        "ally": y[:known],
        "graph": {i: [(i + 1) % (known + tested)] for i in range(known + tested)},
    }
    if missing:  # the index of a node beyond those that are missing: where they are is known only by the gap
        index = np.where(index == known + tested - 1, nodes - 1, index)
    for part, value in content.items():
        (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, 4))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{i}\n" for i in index))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files called ind.cora.*, which are taken for the originals."""
    folder = tmp_path / "made"
    folder.mkdir()
    write_files(folder, "cora", nodes=700, features=40, tested=50, trained=14)
    trust(folder, monkeypatch)
    return folder


def trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in folder.iterdir():
        monkeypatch.setitem(DIGESTS, file.name, hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.fixture
def server(made: Path) -> Iterator[str]:
    """The address of a local server that has the files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

    asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(made))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


asked: list[str] = []


def test_files_in_a_folder(made: Path) -> None:
    data = load("cora", root=made)
    assert repr(data) == "NodeDataset(cora: 700 nodes, 40 features, 7 classes; 14 train, 500 validation, 50 test)"
    assert data.labels.tolist() == [i % 7 for i in range(700)]  # test nodes are where test.index puts them
    assert data.graph == ndcn.Graph.from_edges([(i, (i + 1) % 700) for i in range(700)])
    assert data.train_mask[:14].all()
    assert data.val_mask[14:514].all()
    assert data.test_mask[650:].all()
    assert data.features.dtype == np.float32


def test_download_once_into_the_cache(
    server: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NDCN_DATA", str(tmp_path / "cache"))
    data = load("cora", url=server + "/", progress=True)
    assert len(asked) == 8
    assert "8/8 files" in capfd.readouterr().err
    assert sorted(f.name for f in (tmp_path / "cache" / "planetoid").iterdir()) == sorted(
        f.name for f in made.iterdir()
    )
    again = load("cora", url=server)
    assert len(asked) == 8
    assert (again.features != data.features).nnz == 0


def test_only_what_is_missing_is_downloaded(server: str, made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    for part in PARTS[2:]:
        shutil.copy(made / f"ind.cora.{part}", folder)
    load("cora", root=folder, url=server)
    assert asked == ["/ind.cora.x", "/ind.cora.y"]


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDCN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert download.cache_folder() == tmp_path / ".cache" / "ndcn"


def test_a_download_that_is_not_the_original_is_not_kept(server: str, made: Path, tmp_path: Path) -> None:
    (made / "ind.cora.tx").write_bytes(b"an error page")
    with pytest.raises(
        ValueError, match=r"ind.cora.tx from http.* is damaged, or not the original file, and was not read"
    ):
        load("cora", root=tmp_path / "new", url=server)
    assert not (tmp_path / "new" / "ind.cora.tx").exists()
    assert not [f for f in (tmp_path / "new").iterdir() if f.name.startswith(".")]


def test_without_a_network_it_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError) as error:
        load("pubmed", root=tmp_path / "here", url="http://127.0.0.1:9")
    for part in ("ind.pubmed.allx", "ind.pubmed.test.index", str(tmp_path / "here"), "127.0.0.1:9"):
        assert part in str(error.value)


def test_a_file_that_the_server_does_not_have(server: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"ind.pubmed.x: .*[Nn]ot [Ff]ound"):
        load("pubmed", root=tmp_path / "new", url=server)
    assert len(asked) == 2 or len(asked) == 1  # not asked again: the answer is final


def test_trouble_that_passes_is_tried_again(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    real, tries = download.urllib.request.urlopen, []

    def flaky(address: str, timeout: float) -> object:
        tries.append(timeout)
        if len(tries) < 3:
            raise TimeoutError("timed out")
        return real(address, timeout=timeout)

    monkeypatch.setattr(download.urllib.request, "urlopen", flaky)
    assert download._within(60, server + "/ind.cora.y")
    assert tries == [download.TIMEOUT] * 3


def test_a_file_without_end_is_not_downloaded(monkeypatch: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    monkeypatch.setattr(download, "LARGEST", 1000)
    with pytest.raises(ConnectionError, match="larger than"):
        load("cora", root=tmp_path / "new", url=server)


def test_other_addresses_and_names_are_refused(tmp_path: Path, made: Path) -> None:
    with pytest.raises(ValueError, match="http or https, got 'file:"):
        load("cora", root=tmp_path / "new", url=made.as_uri())
    with pytest.raises(ValueError, match=r"unknown data set 'Cora'; known are cora, citeseer, pubmed"):
        load("Cora")
    assert URL.startswith("https://")


def test_a_damaged_file_is_not_read(made: Path) -> None:
    file = made / "ind.cora.allx"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"ind.cora.allx from .* is damaged.*expected [0-9a-f]{64}.*remove it"):
        load("cora", root=made)


class Payload:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return open, (str(self.target), "w")


@pytest.mark.parametrize("trusted", [False, True])
def test_a_malicious_file_is_never_run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    target = tmp_path / "written"
    (made / "ind.cora.graph").write_bytes(pickle.dumps(Payload(target), 4))
    if trusted:  # even if its hash were right, it would be refused by the reader
        trust(made, monkeypatch)
    with pytest.raises(ValueError, match=r"asks for (_io|io)\.open" if trusted else "not the original"):
        load("cora", root=made)
    assert not target.exists()


def replace(made: Path, monkeypatch: pytest.MonkeyPatch, part: str, value: object) -> None:
    content = value if isinstance(value, bytes) else pickle.dumps(value, 4)
    (made / f"ind.cora.{part}").write_bytes(content)
    trust(made, monkeypatch)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("test.index", b"1\n2\n", "test.index does not say which nodes the 50 rows of tx are"),
        ("test.index", b"one\n", "must list whole numbers"),
        ("graph", {0: [70_000]}, r"outside of 0..699"),
        ("graph", {}, r"outside of 0..699"),
        ("ally", np.eye(7), r"ally of shape \(7, 7\) does not name one of 7 classes in 650 rows"),
        ("x", np.eye(7), "x is no sparse matrix"),
        ("x", sparse.csr_matrix((600, 40)), "650 nodes are too few for 600 training"),
        ("allx", {0: [1]}, "do not fit together|no sparse matrix"),
        ("ty", {0: [1]}, "do not fit together"),
        ("tx", sparse.csr_matrix((50, 39)), "do not fit together"),
    ],
)
def test_files_that_do_not_fit_together(
    made: Path, monkeypatch: pytest.MonkeyPatch, part: str, value: object, message: str
) -> None:
    replace(made, monkeypatch, part, value)
    with pytest.raises(ValueError, match=message):
        load("cora", root=made)


def test_test_nodes_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, "citeseer", nodes=720, features=30, tested=100, trained=12, missing=15)
    trust(tmp_path, monkeypatch)
    data = load("citeseer", root=tmp_path)
    assert data.features.shape == (720, 30)
    lost = data.labels == -1
    assert int(lost.sum()) == 15
    assert data.features[lost.numpy()].nnz == 0
    assert not (lost & (data.train_mask | data.val_mask | data.test_mask)).any()
    assert int(data.test_mask.sum()) == 100


def test_pubmed_in_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, "pubmed", nodes=19717, features=500, tested=1000, trained=60)
    trust(tmp_path, monkeypatch)
    data = load("pubmed", root=tmp_path)
    assert (
        repr(data) == "NodeDataset(pubmed: 19717 nodes, 500 features, 3 classes; 60 train, 500 validation, 1000 test)"
    )


@needs_files
def test_cora() -> None:
    data = load("cora", root=REAL)
    assert data.graph.num_edges == 5278
    assert data.features.shape == (2708, 1433)
    assert torch.bincount(data.labels).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert torch.bincount(data.labels[data.train_mask]).tolist() == [20] * 7
    linked = data.graph.edge_index()
    assert (data.labels[linked[0]] == data.labels[linked[1]]).double().mean() > 0.8  # rows and nodes belong together


@needs_files
def test_citeseer() -> None:
    data = load("citeseer", root=REAL)
    assert (
        repr(data)
        == "NodeDataset(citeseer: 3327 nodes, 3703 features, 6 classes; 120 train, 500 validation, 1000 test)"
    )
    assert torch.bincount(data.labels + 1).tolist() == [15, 249, 590, 668, 701, 596, 508]
    assert torch.bincount(data.labels[data.train_mask]).tolist() == [20] * 6
    linked = data.graph.edge_index()
    assert (data.labels[linked[0]] == data.labels[linked[1]]).double().mean() > 0.73


@pytest.mark.parametrize("slow", ["header", "content"])
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    class Dripping(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            begin = b"HTTP/1.0 200 OK\r\nX-Long: " if slow == "header" else b"HTTP/1.0 200 OK\r\n\r\n"
            with contextlib.suppress(OSError):
                self.wfile.write(begin)
                while not ended.wait(0.05):
                    self.wfile.write(b"a")

        def log_message(self, *_: object) -> None: ...

    ended = threading.Event()
    monkeypatch.setattr(download, "LONGEST", 0.4)
    with ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        with pytest.raises(ConnectionError, match=r"not complete after 0.4 seconds"):
            load("cora", root=tmp_path / "new", url=f"http://127.0.0.1:{http.server_port}")
        ended.set()
        http.shutdown()
