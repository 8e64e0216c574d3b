"""Which labelled nodes are held out for test and validation: a share of each class."""

from __future__ import annotations

import numpy as np
import torch

from ..node_data import UNKNOWN

TEST = 0.2  # the share held out by default, as in scikit-learn's and most published protocols of one split


def checked_shares(test: float | None, validation: float | None) -> tuple[float, float]:
    """The shares of test and validation nodes, or a ValueError."""
    shares = (TEST if test is None else test, 0.0 if validation is None else validation)
    for name, share in zip(("test", "validation"), shares, strict=True):
        if not 0 <= share < 1:
            raise ValueError(f"{name} must be a share in [0, 1), got {share!r}")
    if sum(shares) >= 1:
        taken = f"test and validation take {sum(shares):g} of the labelled nodes"
        raise ValueError(f"{taken}, which leaves none for training")
    return shares


def hold_out(
    codes: torch.Tensor, classes: tuple[str, ...], shares: tuple[float, float], seed: int
) -> tuple[torch.Tensor, list[str]]:
    """The part of each node, shape (n,), and what to warn about; every class is trained on.

    Parts are 0 for training, 1 for validation, 2 for test, -1 where the class is not known. ``codes`` are the classes,
    shape (n,), -1 where not known; ``shares`` are those of test and of validation nodes.
    """
    draw = np.random.default_rng(seed)
    members = [draw.permutation(np.flatnonzero(codes.numpy() == k)) for k in range(len(classes))]
    sizes = np.array([len(nodes) for nodes in members], dtype=np.int64)
    test = _portions(sizes, sizes - 1, shares[0], draw)
    validation = _portions(sizes, sizes - 1 - test, shares[1], draw)
    part = torch.where(codes == UNKNOWN, UNKNOWN, 0)
    for nodes, tested, validated in zip(members, test, validation, strict=True):
        part[nodes[:tested]] = 2
        part[nodes[tested : tested + validated]] = 1
    untested = [f"{name!r} ({size})" for name, size, count in zip(classes, sizes, test, strict=True) if count == 0]
    if not untested or shares[0] == 0:
        return part, []
    names = ", ".join(untested[:5]) + (f" and {len(untested) - 5} more" if len(untested) > 5 else "")
    why = "too few labelled nodes to hold one out for test, as training comes first"
    return part, [f"{why}: class{'es' * (len(untested) > 1)} {names}"]


def _portions(sizes: np.ndarray, room: np.ndarray, share: float, draw: np.random.Generator) -> np.ndarray:
    """How many of each class: its share, rounded so that the sum is right, where there is room."""
    wanted = share * sizes
    count = np.minimum(np.floor(wanted + 1e-9).astype(np.int64), room)
    order = np.lexsort((draw.random(len(sizes)), -(wanted - count)))
    left = round(share * int(sizes.sum())) - int(count.sum())
    for k in order:
        if left > 0 and count[k] < room[k]:
            count[k], left = count[k] + 1, left - 1
    return count
