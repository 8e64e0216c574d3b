"""Texas, Wisconsin, Film and others of their kind: graphs whose neighbours tend to differ, in the files of Geom-GCN."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch
from scipy import sparse

from ..._support.wording import some
from ...graph import Graph
from .nodes import NodeDataset

EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
SPLITS = "split_0.6_0.2_{}.npz"
MASKS = ("train_mask", "val_mask", "test_mask")


def geom_gcn(name: str, root: str | Path, *, split: int = 0) -> NodeDataset:
    """Pages that link to each other, or actors on one page: A_ij = 1 if one of i and j names the other, whichever way.

    | | nodes | edges | features | classes | splits (60 / 20 / 20 %) |
    |---|---|---|---|---|---|
    | texas | 183 | 295 | 1703 | 5 | 10 |
    | wisconsin | 251 | 466 | 1703 | 5 | 10 |
    | film | 7600 | 26752 | 932 | 5 | 10 |

    The folder holds ``<name>_out1_graph_edges.txt``, ``<name>_out1_node_feature_label.txt`` and
    ``<name>_split_0.6_0.2_<split>.npz``; other graphs in these files are read too. Features are zeros and ones, written out or as
    the places of the ones. Links of a page to itself stay self-loops. Nothing is downloaded, and no pickle is read.

    H. Pei, B. Wei, K. C.-C. Chang, Y. Lei, B. Yang, Geom-GCN: geometric graph convolutional networks, ICLR 2020.

    Args:
        name: the graph, with which the names of its files begin: "texas", "wisconsin", "film", ...
        root: the folder that holds the files.
        split: which of the published splits, from 0.

    Raises:
        FileNotFoundError: there is no such file; the message names those of that kind.
        ValueError: a file that is damaged, or files that do not fit together.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.geom_gcn("texas", "heterophily")  # doctest: +SKIP
        >>> data  # doctest: +SKIP
        NodeDataset(texas: 183 nodes, 1703 features, 5 classes; 87 train, 59 validation, 37 test)
    """
    folder = Path(root)
    edges, nodes, masks = (_file(folder, f"{name}_{ending}") for ending in (EDGES, NODES, SPLITS.format(split)))
    features, labels = _node_table(nodes)
    n = len(labels)
    pairs = _whole_numbers(edges)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        raise ValueError(f"{edges} names nodes outside of 0..{n - 1}, the nodes of {nodes.name}")
    one_way = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    train, validation, test = _masks(masks, n)
    try:
        return NodeDataset(
            name=name,
            graph=Graph((one_way + one_way.T).sign(), directed=False),
            features=features,
            labels=labels,
            classes=tuple(str(k) for k in range(int(labels.max()) + 1)),
            train_mask=train,
            val_mask=validation,
            test_mask=test,
        )
    except ValueError as error:
        raise ValueError(f"the files of {name} in {folder} do not fit together: {error}") from error


def geom_gcn_names(root: str | Path) -> list[str]:
    """The graphs whose files a folder holds."""
    return sorted(path.name[: -len(EDGES) - 1] for path in Path(root).glob(f"*_{EDGES}"))


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        kind = re.sub(r"\d+\.npz$", "*.npz", name) if name.endswith(".npz") else "*_" + name.split("_", 1)[1]
        same = sorted(other.name for other in folder.glob(kind)) if folder.is_dir() else []
        there = f"there are {some(same, 10)}" if same else "put the files of Geom-GCN there"
        raise FileNotFoundError(f"there is no file {path}; {there}")
    return path


def _lines(path: Path) -> list[list[str]]:
    """The cells of the lines after the first, which names the columns."""
    try:
        return [line.split("\t") for line in path.read_text("ascii").splitlines()[1:] if line.strip()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no table of Geom-GCN: it is not plain text ({error.reason})") from None


def _whole_numbers(path: Path) -> np.ndarray:
    """Pairs of nodes, shape (m, 2)."""
    try:
        return np.array([[int(a), int(b)] for a, b in _lines(path)], dtype=np.int64).reshape(-1, 2)
    except ValueError as error:
        raise ValueError(
            f"{path} must hold two nodes in each line after the first, with a tab between: {error}"
        ) from None


def _node_table(path: Path) -> tuple[sparse.csr_array, torch.Tensor]:
    """Features (n, d) and labels (n,), in the order of the nodes' numbers."""
    header = path.open(encoding="ascii", errors="replace").readline()
    amount = re.search(r"feature_amount:(\d+)", header)
    try:
        rows = [(int(node), [int(v) for v in given.split(",")], int(label)) for node, given, label in _lines(path)]
    except ValueError as error:
        raise ValueError(f"{path} must hold node, features and label in each line after the first: {error}") from None
    rows.sort(key=lambda row: row[0])
    if not rows or [node for node, _, _ in rows] != list(range(len(rows))):
        raise ValueError(f"{path} must describe each of the nodes 0, 1, ... in one line")
    widths = {len(given) for _, given, _ in rows}
    if amount is None and len(widths) == 1:  # zeros and ones, written out
        features = sparse.csr_array(np.array([given for _, given, _ in rows], dtype=np.float32))
    else:  # the places of the ones
        last = max(max(given) for _, given, _ in rows)
        width = max(last, int(amount[1]) if amount else 0) + 1
        if min(min(given) for _, given, _ in rows) < 0:
            raise ValueError(f"{path} lists the places of features, which begin at 0")
        where = np.repeat(np.arange(len(rows)), [len(given) for _, given, _ in rows])
        places = np.concatenate([given for _, given, _ in rows])
        features = sparse.coo_array((np.ones(len(where)), (where, places)), shape=(len(rows), width)).tocsr().sign()
        features = sparse.csr_array(features, dtype=np.float32)
    return features, torch.tensor([label for _, _, label in rows])


def _masks(path: Path, n: int) -> list[torch.Tensor]:
    try:
        with np.load(path, allow_pickle=False) as content:
            found = {name: np.asarray(content[name]) for name in MASKS}
    except (KeyError, OSError, ValueError, EOFError) as error:
        raise ValueError(f"{path} must hold the arrays {', '.join(MASKS)}: {error}") from None
    for name, mask in found.items():
        if mask.shape != (n,):
            raise ValueError(f"{path}: {name} has shape {mask.shape}, but there are {n} nodes")
    return [torch.from_numpy(found[name].astype(bool)) for name in MASKS]
