"""What node classification is given: a graph, features, classes with gaps, masks; and what can be wrong with them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import torch
from scipy import sparse

from .._support.checks import dtype_name
from .._support.warn import warn
from ..graph import Graph

UNKNOWN = -1  # the code of a node whose class is not known
SPLITS = ("", "train", "validation", "test")  # what a node was for, by its code in ``split_``
TRAIN, VALIDATION, TEST = 1, 2, 3


def check_graph(graph: object) -> None:
    """Refuse what is no graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}; Graph.from_edges makes one")


def checked_features(features: Any, n: int) -> sparse.csr_array:
    """F as a CSR array of n rows, or an error that says what is wrong with it."""
    if isinstance(features, torch.Tensor):
        features = features.detach().cpu()
        if features.layout != torch.strided:
            coo = features.to_sparse_coo().coalesce()
            features = sparse.coo_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(coo.shape))
    try:
        table = features if sparse.issparse(features) else np.asarray(features)
        if table.dtype.kind not in "biuf" or table.ndim != 2:
            raise ValueError(f"got {table.dtype} of shape {table.shape}")
        csr = sparse.csr_array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"features must be a table of real numbers, shape (n, d): {error}") from None
    if csr.shape[0] != n:
        raise ValueError(f"the graph has {n} nodes, but there are {csr.shape[0]} rows of features")
    if csr.shape[1] == 0:
        raise ValueError("there are no features; use scipy.sparse.eye_array(n) if nodes have none")
    if not np.isfinite(csr.data).all():
        raise ValueError("features must be finite, but some are NaN or infinite; fill or drop them first")
    return csr


def coded_labels(labels: Any, n: int) -> tuple[np.ndarray, torch.Tensor]:
    """The classes, sorted, and the place of each node's class among them; -1 where it is not known.

    Classes of a pandas categorical of texts stay in its order.
    """
    categories = getattr(getattr(labels, "dtype", None), "categories", None)
    if categories is not None and len(labels) == n and all(isinstance(name, str) and name for name in categories):
        place = {name: k for k, name in enumerate(categories)}
        found, codes = coded_labels([place.get(name, UNKNOWN) for name in labels], n)
        return np.array(categories.tolist())[found], codes
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().numpy()
    array = labels if isinstance(labels, np.ndarray) else _as_array(labels)
    if array.shape != (n,):
        raise ValueError(f"the graph has {n} nodes, but labels have shape {array.shape}")
    if array.dtype.kind in "iub":
        array = array.astype(np.int64)
        known = array >= 0
    elif array.dtype.kind == "f" and (np.isnan(array) | (np.isfinite(array) & (array == np.round(array)))).all():
        known = ~np.isnan(array) & (array >= 0)
        array = np.where(known, array, UNKNOWN).astype(np.int64)
    elif array.dtype.kind in "UO":
        known = ~np.array([_is_gap(value) for value in array.tolist()])
        if known.any() and all(isinstance(v, Integral) and not isinstance(v, bool) for v in array[known].tolist()):
            return coded_labels(np.where(known, array, UNKNOWN).astype(np.int64), n)
        if not all(isinstance(value, str) for value in array[known].tolist()):
            raise ValueError("labels must be all strings or all whole numbers")
        array = np.where(known, array, "").astype(str)
    else:
        raise ValueError(f"labels must be whole numbers or strings, got {array.dtype}")
    if not known.any():
        raise ValueError("no node has a known class")
    classes, places = np.unique(array[known], return_inverse=True)
    codes = torch.full((n,), UNKNOWN)
    codes[torch.from_numpy(known)] = torch.from_numpy(places.reshape(-1).astype(np.int64))
    return classes, codes


def _as_array(labels: Any) -> np.ndarray:
    """A list or table column as an array; objects where it mixes kinds, so that a gap is not taken for the text "nan"."""
    values = list(labels)
    mixed = any(value is None or isinstance(value, str) or _is_missing(value) for value in values)
    return np.array(values, dtype=object) if mixed else np.asarray(values)


def _is_missing(value: Any) -> bool:
    """pandas' NA, of which even the truth of a comparison is missing."""
    return type(value).__name__ == "NAType"


def _is_gap(value: Any) -> bool:
    return value is None or _is_missing(value) or value == "" or value != value


def checked_mask(name: str, mask: Any, codes: torch.Tensor) -> torch.Tensor:
    """A mask of n nodes, all of known class, or an error that says what is wrong with it."""
    expected = f"{name} must say True or False for each of the {len(codes)} nodes"
    try:
        chosen = torch.as_tensor(mask).cpu()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{expected}, got {type(mask).__name__}") from None
    if chosen.dtype != torch.bool or chosen.shape != codes.shape:
        raise ValueError(f"{expected}, got {dtype_name(chosen.dtype)} of shape {tuple(chosen.shape)}")
    if lost := int((codes[chosen] == UNKNOWN).sum()):
        raise ValueError(f"{lost} nodes in {name} have no known class; take them out of it")
    return chosen


def checked_masks(
    train_mask: Any, val_mask: Any, classes: np.ndarray, codes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Training and validation nodes, or an error that says what is wrong with them."""
    if len(classes) < 2:
        raise ValueError(f"all nodes have the class {classes[0].item()!r}: there is nothing to tell apart")
    train_nodes = checked_mask("train_mask", train_mask, codes)
    val_nodes = checked_mask("val_mask", torch.zeros_like(train_nodes) if val_mask is None else val_mask, codes)
    if not train_nodes.any():
        raise ValueError(
            "there are no training nodes to learn from: train_mask, or the column split of a table, must mark some"
        )
    if bool((train_nodes & val_nodes).any()):
        raise ValueError(
            f"{int((train_nodes & val_nodes).sum())} nodes are for both training and validation; take them out of one of train_mask and val_mask"
        )
    if untaught := sorted(set(range(len(classes))) - set(codes[train_nodes].tolist())):
        names = ", ".join(repr(classes[k].item()) for k in untaught)
        which = f"no training node has the class{'es' * (len(untaught) > 1)} {names}"
        remedy = "add one to the training nodes, or mark nodes of that class as unknown"
        if len(classes) - len(untaught) < 2:
            raise ValueError(f"{which}: {remedy}")
        warn(f"{which}, so that nodes of it count as wrong; {remedy}", RuntimeWarning)
    return train_nodes, val_nodes
