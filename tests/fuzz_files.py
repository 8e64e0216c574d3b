"""Files that ndcn reads, damaged or edited at random, from a seed: models, folders of data, tables, graphs, checkpoints."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import io as matrix_market, sparse

import ndcn

NAMES = ["a", "b", "c", "d", "e"]
MODELS = ["auto", "ndcn", "gru_gnn", "spline", "persistence", "law", "interaction", "free"]
TABLES = ["states.parquet", "states.csv.gz", "states.csv"]
GRAPHS = ["edges.csv", "edges.parquet", "graph.json", "graph.graphml", "graph.gml", "graph.npz", "graph.mtx"]
SUBJECTS = (
    [f"{name}.ndcn" for name in MODELS] * 2 + TABLES + GRAPHS + ["data", "data", "run.checkpoint", "run.checkpoint"]
)
NASTY: list[Any] = [
    *(
        None,
        True,
        "",
        "x",
        0,
        -1,
        1,
        2,
        10**9,
        2**63,
        -(2**63),
        2**64,
        1e308,
        -1e308,
        1e-308,
        0.5,
        [],
        {},
        [[]],
        [None],
    ),
    *(
        "nan",
        "int8",
        "float16",
        "cuda",
        "../../x",
        "\x00",
        "a" * 10000,
        float("nan"),
        float("inf"),
        {"a": 1},
        [1, 2, 3],
    ),
]


def make(folder: Path, models: list[str] = MODELS) -> None:
    """One good file of each kind, small ones; of models those that are named."""
    graph = ndcn.Graph.from_edges(list(itertools.pairwise(NAMES)), nodes=NAMES)
    x0 = np.array([[4.0], [1.0], [0.5], [0.0], [2.0]])
    data = ndcn.simulate(ndcn.laws.Heat(), graph, x0, np.arange(16) / 4.0)
    data.save(folder / "data")
    wide = pd.DataFrame(data.states[..., 0].numpy(), columns=NAMES)
    wide.insert(0, "time", pd.date_range("2021-01-01", periods=16).strftime("%Y-%m-%d"))
    wide.to_csv(folder / "states.csv", index=False)
    (folder / "states.csv.gz").write_bytes(gzip.compress((folder / "states.csv").read_bytes()))
    wide.to_parquet(folder / "states.parquet")
    pairs = pd.DataFrame({"source": NAMES[:-1], "target": NAMES[1:]})
    pairs.to_csv(folder / "edges.csv", index=False)
    pairs.to_parquet(folder / "edges.parquet")
    plain = nx.path_graph(5)
    named = nx.relabel_nodes(plain, dict(enumerate(NAMES)))
    (folder / "graph.json").write_text(json.dumps(nx.node_link_data(named, edges="links")))
    nx.write_graphml(named, folder / "graph.graphml")
    nx.write_gml(named, folder / "graph.gml")
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(plain, dtype=float))
    sparse.save_npz(folder / "graph.npz", matrix)
    matrix_market.mmwrite(folder / "graph.mtx", matrix)
    for name in models:
        own = {"law": ndcn.laws.Heat(k=None), "free": ndcn.Interaction(form="free")}
        model: Any = own.get(name, name)
        settings: dict[str, Any] = {"epochs": 2} if name in ("ndcn", "gru_gnn") else {}
        ndcn.DynamicsRegressor(model=model, progress=False, **settings).fit(data).save(folder / f"{name}.ndcn")
    parts = ndcn.split(data, interpolation=1 / 6, extrapolation=1 / 6, seed=0)  # as `ndcn fit data` does
    ndcn.DynamicsRegressor(epochs=3, checkpoint=folder / "run.checkpoint", progress=False).fit(parts.train)


def mutated(seed: int, good: Path, folder: Path) -> str:
    """Copy one of the good files, or all it takes, into ``folder``, change it there, and tell which it was."""
    rng = random.Random(seed)
    subject = rng.choice([name for name in SUBJECTS if (good / name).exists()])
    for name in {subject, "data", "edges.csv", "states.csv"}:
        (shutil.copytree if (good / name).is_dir() else shutil.copy)(good / name, folder / name)
    path = folder / subject
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    donor = rng.choice(sorted(good.iterdir()))
    other = donor.read_bytes() if donor.is_file() else b""
    raw = path.read_bytes()
    if rng.random() < 0.5:
        raw = _unsealed(raw)
    for _ in range(rng.choice([1, 1, 1, 2])):
        raw = rng.choice(CHANGES)(rng, raw, other)
    path.write_bytes(raw)
    return subject


def _flip(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    out = bytearray(raw)
    for _k in range(rng.choice([1, 1, 2, 8])):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _cut(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] if rng.random() < 0.7 else raw[at:]


def _moved(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    a, b, c = sorted(rng.randrange(len(raw) + 1) for _k in range(3))
    return raw[:a] + raw[b:c] + raw[a:b] + raw[c:]


def _grafted(rng: random.Random, raw: bytes, other: bytes) -> bytes:
    at, begin = rng.randrange(len(raw) + 1), rng.randrange(len(other) + 1)
    piece = other[begin : begin + rng.choice([4, 64, 4096])]
    return raw[:at] + piece + raw[at + (len(piece) if rng.random() < 0.5 else 0) :]


def _number(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    """Eight bytes, aligned, as an integer or a float that is rare."""
    at = 8 * rng.randrange(max(len(raw) // 8, 1))
    value = rng.choice(
        [np.int64(rng.choice([-1, 5, 64, 10**9, 2**62])), np.float64(rng.choice([1e308, np.nan, -np.inf, 5e-324]))]
    )
    return raw[:at] + value.tobytes() + raw[at + 8 :]


def _digits(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    """A number in text, or any run of digits, as another."""
    places = [k for k, byte in enumerate(raw[:100_000]) if 48 <= byte <= 57]
    if not places:
        return raw
    at = rng.choice(places)
    return raw[:at] + rng.choice([b"-", b"9" * 30, b"1e300", b"", b"x", b"0"]) + raw[at + 1 :]


def _edited(rng: random.Random, raw: bytes, _: bytes) -> bytes:
    """A leaf of the JSON in it, whole or as the head of a safetensors file, as something else."""
    try:
        if (head := _head(raw)) is None:
            return json.dumps(_leaf(rng, json.loads(raw))).encode()
        if rng.random() < 0.1:
            return _with_head(raw, _leaf(rng, head))
        inner = {**head["__metadata__"], "ndcn": json.dumps(_leaf(rng, json.loads(head["__metadata__"]["ndcn"])))}
        return _with_head(raw, {**head, "__metadata__": inner})
    except (ValueError, KeyError, IndexError, TypeError):
        return _digits(rng, raw, b"")


def _unsealed(raw: bytes) -> bytes:
    """A safetensors file without anything that vouches for its content, as earlier versions wrote it; others as they are."""
    if (head := _head(raw)) is None or "ndcn" not in head.get("__metadata__", {}):
        return raw
    return _with_head(raw, {**head, "__metadata__": {"ndcn": head["__metadata__"]["ndcn"]}})


def _head(raw: bytes) -> dict[str, Any] | None:
    """The head of a safetensors file."""
    try:
        head = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    except ValueError:
        return None
    return head if isinstance(head, dict) else None


def _with_head(raw: bytes, head: Any) -> bytes:
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + raw[8 + int.from_bytes(raw[:8], "little") :]


def _leaf(rng: random.Random, tree: Any) -> Any:
    """``tree`` with one node of it changed, removed or nested."""
    if isinstance(tree, (dict, list)) and tree and rng.random() < 0.9:
        key = rng.choice(list(tree)) if isinstance(tree, dict) else rng.randrange(len(tree))
        if rng.random() < 0.05:
            del tree[key]
        else:
            tree[key] = _leaf(rng, tree[key])
        return tree
    if rng.random() < 0.03:
        for _ in range(900):  # as deep as json.dumps goes
            tree = [tree]
        return tree
    return rng.choice(NASTY)


Change = Callable[[random.Random, bytes, bytes], bytes]
CHANGES: list[Change] = [_flip, _flip, _cut, _moved, _grafted, _number, _digits, _edited, _edited, _edited]
