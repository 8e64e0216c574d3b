"""Cora, Citeseer and Pubmed: citation graphs in the layout and with the split of Planetoid."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..._support.checks import named
from ...graph import Graph
from ..node_data import UNKNOWN
from .download import cache_folder, fetch
from .nodes import NodeDataset
from .pickled import UnsafePickle, read_pickle

URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
VALIDATION = 500
CORA = "Theory, Reinforcement Learning, Genetic Algorithms, Neural Networks, Probabilistic Methods, Case Based, Rule Learning"
CLASSES = {
    "cora": tuple(CORA.split(", ")),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("Diabetes Mellitus, Experimental", "Diabetes Mellitus Type 1", "Diabetes Mellitus Type 2"),
}

# SHA-256 of the original files, as `sha256sum --check` reads them. Those of Cora and Citeseer were computed from the files; those of
# Pubmed are what three public sources agree on, each of which also has those of Cora and Citeseer right.
_LINES = Path(__file__).with_suffix(".sha256").read_text().splitlines()
DIGESTS = {name: digest for digest, name in map(str.split, _LINES)}


def planetoid(
    name: str, root: str | Path | None = None, *, url: str = URL, progress: bool | None = None
) -> NodeDataset:
    """Papers that cite each other: A_ij = 1 if one of i and j cites the other, F the words of each, y its topic.

    | | nodes | edges | features | classes | train / validation / test |
    |---|---|---|---|---|---|
    | cora | 2708 | 5278 | 1433 | 7 | 140 / 500 / 1000 |
    | citeseer | 3327 | 4676 | 3703 | 6 | 120 / 500 / 1000 |
    | pubmed | 19717 | 44327 | 500 | 3 | 60 / 500 / 1000 |

    The eight original files are downloaded once (2 MB; Pubmed 20 MB). Each must have the SHA-256 of the original, and is
    then read by a reader that calls nothing a file names (they are pickles, which could run anything). 15 test nodes of
    Citeseer are missing from its files: they have no features, no edges but perhaps self-loops, and class -1, and are in
    no mask. Citations of a paper by itself stay self-loops, as in Kipf and Welling's loader.

    Z. Yang, W. Cohen, R. Salakhutdinov, Revisiting semi-supervised learning with graph embeddings, ICML 2016.

    Args:
        name: "cora", "citeseer" or "pubmed".
        root: the folder that holds the files ``ind.<name>.*``, or that they are to be put into. By default ``planetoid`` in
            the folder that the environment variable NDCN_DATA names, or in ~/.cache/ndcn.
        url: where files that are missing come from, by http or https.
        progress: whether to show a progress bar while downloading; None shows it on a terminal.

    Raises:
        ConnectionError: files are missing and cannot be downloaded; the message says which, and where to put them.
        ValueError: an unknown name, or a file that is damaged or not the original.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.planetoid("cora")  # doctest: +SKIP
        >>> data  # doctest: +SKIP
        NodeDataset(cora: 2708 nodes, 1433 features, 7 classes; 140 train, 500 validation, 1000 test)
    """
    classes = named(CLASSES, "data set", name)
    folder = cache_folder() / "planetoid" if root is None else Path(root)
    files = [f"ind.{name}.{part}" for part in PARTS]

    def check(file: str, content: bytes, where: str = url) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if digest != DIGESTS[file]:
            what = f"{file} from {where} is damaged, or not the original file, and was not read"
            remedy = "remove it and call this again to download it"
            raise ValueError(f"{what}: its SHA-256 is {digest}, expected {DIGESTS[file]}; {remedy}")

    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        fetch(missing, url, folder, check, progress)
    parts: dict[str, Any] = {}
    for part, file in zip(PARTS, files, strict=True):
        content = (folder / file).read_bytes()
        check(file, content, where=str(folder))
        try:
            parts[part] = _index(content) if part == "test.index" else read_pickle(content)
        except UnsafePickle as error:
            raise ValueError(f"{folder / file} is not a file of Planetoid, and was not read on: {error}") from error
    try:
        return _assembled(name, classes, parts)
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the files ind.{name}.* in {folder} do not fit together: {error}") from error


def _index(content: bytes) -> np.ndarray:
    try:
        return np.array([int(line) for line in content.decode("ascii").split()], dtype=np.int64)
    except ValueError as error:
        raise UnsafePickle(f"test.index must list whole numbers: {error}") from None


def _assembled(name: str, classes: tuple[str, ...], parts: dict[str, Any]) -> NodeDataset:
    """One table of nodes: first those of allx, then the test nodes, row k of tx being node ``test.index[k]``."""
    first, tested, where = parts["allx"], parts["tx"], parts["test.index"]
    for part in ("x", "tx", "allx"):
        if not sparse.issparse(parts[part]):
            raise ValueError(f"{part} is no sparse matrix")
    known, trained = first.shape[0], parts["x"].shape[0]
    n = max(known, int(where.max()) + 1)
    if len(where) != tested.shape[0] or len(set(where.tolist())) != len(where) or where.min() < known:
        raise ValueError(f"test.index does not say which nodes the {tested.shape[0]} rows of tx are")
    if trained + VALIDATION > known:
        raise ValueError(f"{known} nodes are too few for {trained} training and {VALIDATION} validation nodes")
    place = np.full(n - known, -1)
    place[where - known] = np.arange(len(where))  # row of tx, or -1: missing
    rows = np.flatnonzero(place >= 0)
    spread = sparse.csr_array((np.ones(len(rows)), (rows, place[rows])), shape=(n - known, len(where)))
    features = sparse.csr_array(sparse.vstack([first, spread @ tested]), dtype=np.float32)
    features.eliminate_zeros()
    labels = torch.full((n,), UNKNOWN)
    for nodes, part, count in ((slice(0, known), "ally", known), (torch.from_numpy(where), "ty", len(where))):
        one_hot = parts[part]
        if one_hot.shape != (count, len(classes)) or not (one_hot.sum(axis=1) <= 1).all():
            what = f"{part} of shape {one_hot.shape}"
            raise ValueError(f"{what} does not name one of {len(classes)} classes in {count} rows")
        labels[nodes] = torch.from_numpy(np.where(one_hot.sum(axis=1) == 1, one_hot.argmax(axis=1), UNKNOWN))
    edges = np.array([(i, j) for i, neighbours in parts["graph"].items() for j in neighbours], dtype=np.int64)
    if len(edges) == 0 or edges.min() < 0 or edges.max() >= n:
        raise ValueError(f"graph names nodes outside of 0..{n - 1}")
    one_way = sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n)).tocsr()
    adjacency = (one_way + one_way.T).sign()  # citations that are listed twice count once

    def mask(nodes: slice | torch.Tensor) -> torch.Tensor:
        chosen = torch.zeros(n, dtype=torch.bool)
        chosen[nodes] = True
        return chosen

    return NodeDataset(
        name=name,
        graph=Graph(adjacency, directed=False),
        features=features,
        labels=labels,
        train_mask=mask(slice(0, trained)),
        val_mask=mask(slice(trained, trained + VALIDATION)),
        test_mask=mask(torch.from_numpy(where)),
        classes=classes,
    )
