"""Part: the rows of A that one process holds, the nodes of others that they refer to, and what it sends to whom."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Part:
    """The rows of A of some nodes, in places of its own: its nodes first, inner ones before those at the boundary, then the halo.

    Attributes:
        own: its nodes by their number in the whole graph, int64; the ``inner`` first of them have no neighbour elsewhere.
        halo: nodes of other parts that act on its own, in the order of their parts and then of their numbers, int64.
        indptr, indices, weights: its rows as CSR; columns are places: ``own``, then ``halo``.
        send: places of its nodes that others need, in the order of receivers and then of numbers, int64.
        send_counts, receive_counts: rows sent to and received from each part, int64.
        incoming: sums of the positive and of the negative weights that act on each node of the halo, shape (halo, 2).
        outgoing: the same of those by which each node of own and halo acts, shape (own + halo, 2).
        inner: how many of its nodes have no neighbour in other parts.
    """

    own: np.ndarray
    halo: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    send: np.ndarray
    send_counts: np.ndarray
    receive_counts: np.ndarray
    incoming: np.ndarray
    outgoing: np.ndarray
    inner: int

    @property
    def rows(self) -> sparse.csr_array:
        """Its rows of A, shape (own, own + halo)."""
        shape = (len(self.own), len(self.own) + len(self.halo))
        return sparse.csr_array((self.weights, self.indices, self.indptr), shape=shape)

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it but ``inner``, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "inner"}

    def closed(self) -> sparse.csr_array:
        """A square matrix with its rows of A in which every node of own and halo has the row and column sums of the whole graph.

        Two more nodes stand for the rest of the world: what is missing from a sum is an entry from or to the first of them if
        it is positive, the second if negative. An operator whose entries depend on A_ij and on sums of rows and columns of A or
        |A| has the right rows for its own nodes, and no entry in the last two columns of them.
        """
        n, m = len(self.own), len(self.own) + len(self.halo)
        rows = self.rows
        entering = sparse.csr_array(self.incoming)
        positive, negative = (
            np.asarray(part.sum(axis=0)) for part in (rows.maximum(0), rows.minimum(0))
        )  # what its own rows have of the sums of columns
        leaving = np.stack([_clean(self.outgoing[:, 0], positive), _clean(self.outgoing[:, 1], negative)])
        top = sparse.hstack([rows, sparse.csr_array((n, 2))], format="csr")
        middle = sparse.hstack([sparse.csr_array((m - n, m)), entering], format="csr")
        last = sparse.hstack([sparse.csr_array(leaving), sparse.csr_array((2, 2))], format="csr")
        return sparse.csr_array(sparse.vstack([top, middle, last], format="csr"))


def _clean(whole: np.ndarray, known: np.ndarray) -> np.ndarray:
    """whole - known, and 0 where they differ by rounding alone."""
    rest = whole - known
    return np.where(np.abs(rest) <= 1e-12 * np.abs(whole), 0.0, rest)


def parts_of(adjacency: sparse.csr_array, place: np.ndarray, parts: int) -> list[Part]:
    """The parts of a matrix A whose node i goes to part ``place[i]``."""
    return list(each_part(adjacency, place, parts, range(parts)))


def halos_of(adjacency: sparse.csr_array, place: np.ndarray, parts: int) -> list[np.ndarray]:
    """The halo of each part: nodes of others that act on its own, by their part and then by number."""
    counts = np.diff(adjacency.indptr)
    crossing = np.repeat(place, counts) != place[adjacency.indices]
    row, column = np.repeat(place, counts)[crossing].astype(np.int64), adjacency.indices[crossing].astype(np.int64)
    n = adjacency.shape[0]
    keys = np.unique(row * n + column)
    halos = []
    for part in range(parts):
        nodes = keys[np.searchsorted(keys, part * n) : np.searchsorted(keys, (part + 1) * n)] - part * n
        halos.append(nodes[np.argsort(place[nodes], kind="stable")])
    return halos


def each_part(
    adjacency: sparse.csr_array, place: np.ndarray, parts: int, wanted: range, halos: list[np.ndarray] | None = None
) -> list[Part]:
    """The ``wanted`` parts of a matrix."""
    halos = halos_of(adjacency, place, parts) if halos is None else halos
    signs = [adjacency] if (adjacency.data >= 0).all() else [adjacency.maximum(0), adjacency.minimum(0)]
    incoming, outgoing = np.zeros((adjacency.shape[0], 2)), np.zeros((adjacency.shape[0], 2))
    for column, part in enumerate(signs):
        incoming[:, column], outgoing[:, column] = part.sum(axis=1), part.sum(axis=0)
    where = np.full(adjacency.shape[0], -1, dtype=np.int64)
    return [_part(adjacency, place, parts, k, halos, incoming, outgoing, where) for k in wanted]


def _part(
    adjacency: sparse.csr_array,
    place: np.ndarray,
    parts: int,
    k: int,
    halos: list[np.ndarray],
    incoming: np.ndarray,
    outgoing: np.ndarray,
    where: np.ndarray,
) -> Part:
    nodes = np.flatnonzero(place == k)
    rows = adjacency[nodes]
    foreign = place[rows.indices] != k
    crossing = np.add.reduceat(np.append(foreign, False), rows.indptr[:-1]).astype(bool) if len(foreign) else None
    touches = np.zeros(len(nodes), dtype=bool) if crossing is None else crossing & (np.diff(rows.indptr) > 0)
    order = np.argsort(touches, kind="stable")
    own, halo = nodes[order], halos[k]
    rows = rows[order]
    where[own] = np.arange(len(own))
    where[halo] = len(own) + np.arange(len(halo))
    indices = where[rows.indices]
    rows = sparse.csr_array((rows.data, indices, rows.indptr), shape=(len(own), len(own) + len(halo)))
    rows.sort_indices()
    send = [where[halos[q][place[halos[q]] == k]] if q != k else np.zeros(0, dtype=np.int64) for q in range(parts)]
    receive_counts = np.bincount(place[halo], minlength=parts).astype(np.int64)
    everyone = np.concatenate([own, halo])
    where[everyone] = -1
    return Part(
        own=own,
        halo=halo,
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int32 if len(everyone) < 2**31 else np.int64),
        weights=rows.data,
        send=np.concatenate(send),
        send_counts=np.array([len(one) for one in send], dtype=np.int64),
        receive_counts=receive_counts,
        incoming=incoming[halo],
        outgoing=outgoing[everyone],
        inner=int((~touches).sum()),
    )
