"""Where the nodes of a network are drawn: by forces, and on the square of the paper, both once for each graph."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy import fft, sparse
from scipy.sparse import csgraph

from ..graph import Graph, networks

STEPS = 300
PIVOTS = 40
MESH = 128  # cells on a side of the mesh on which nodes repel each other
FEW = 128  # nodes up to which all pairs are summed, which is then faster than the mesh: Citeseer has 438 parts
EDGES_FOR_COMMUNITIES = 300_000  # with more, communities are not sought
# With more nodes the square follows the layout by forces. Of 20,000 nodes of a power law in random order, links are then 44
# cells long on average, found in 4 s; by Louvain's communities 67, in 36 s; by reverse Cuthill-McKee 70 (given: 74).
NODES_FOR_COMMUNITIES = 10_000


def by_forces(graph: Graph) -> np.ndarray:
    """Positions in [0, 1]^2, shape (n, 2): linked nodes attract with d^2, all repel with 1 / d^2.

    Each connected part starts from classical scaling of its distances to some pivots and is then refined; the
    repulsion is a convolution on a mesh (in networks of over 128 nodes), so that a step takes O(n + m + mesh log mesh). Parts are packed in rows.
    """
    return graph.cached(("layout", "by_forces"), lambda: _turned(_unturned(graph), on_the_square(graph)))


def _unturned(graph: Graph) -> np.ndarray:
    return graph.cached(("layout", "unturned"), lambda: _by_forces(graph))


def placed(graph: Graph) -> np.ndarray:
    """Positions in [0, 1]^2, shape (n, 2), y downwards: the graph's own where it has some, else by forces.

    A node without a position lies beside the mean of its neighbours, one without such neighbours below the map.

    Example:
        >>> import ndcn
        >>> placed(ndcn.networks.grid(4).with_positions([[0, 0], [2, 0], [0, 1], [2, 1]])).tolist()
        [[0.0, 0.75], [1.0, 0.75], [0.0, 0.25], [1.0, 0.25]]
    """
    if graph.positions is None:
        return by_forces(graph)
    return graph.cached(("layout", "placed"), lambda: _in_unit_square(_completed(graph) * (1, -1)))


def on_the_square(graph: Graph) -> np.ndarray:
    """The cell of each node on the paper's square, shape (n,): cell c is at row c // N, column c % N, N = ceil(sqrt(n)).

    Communities lie together. The order of the graph is kept if its links are about as short as those in the order of
    Louvain's communities: networks of ``ndcn.networks`` are in such an order already. Of more than 10,000 nodes those that lie
    together by forces lie together here.
    """
    return graph.cached(("layout", "on_the_square"), lambda: _on_the_square(graph))


def links(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(i, j, weight) of each pair i < j of linked nodes, whatever the direction; a self-loop is none."""
    a = abs(graph.to_scipy())
    both = sparse.triu(sparse.coo_array(a.maximum(a.T)), k=1).tocoo()
    return both.coords[0], both.coords[1], both.data


def _on_the_square(graph: Graph) -> np.ndarray:
    n = graph.num_nodes
    given = np.arange(n)
    u, v, _ = links(graph)
    if len(u) == 0 or len(u) > EDGES_FOR_COMMUNITIES:
        return given
    if n > NODES_FOR_COMMUNITIES:
        order = _by_rows(_unturned(graph))
    else:
        plain = Graph(graph.to_scipy(), directed=graph.directed)  # labels 0..n-1, so that the new order can be read off
        order = np.asarray(list(networks.by_community(plain, "louvain").nodes))
    found = np.empty(n, dtype=np.int64)
    found[order] = given
    return given if _length(given, u, v) <= 1.05 * _length(found, u, v) else found


def _by_rows(x: np.ndarray) -> np.ndarray:
    """Nodes from top to bottom in rows of ceil(sqrt(n)), each from left to right."""
    n = len(x)
    row = np.empty(n, dtype=np.int64)
    row[np.argsort(x[:, 1], kind="stable")] = np.arange(n) // (math.isqrt(n - 1) + 1)
    return np.lexsort((x[:, 0], row))


def _length(cells: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    side = math.isqrt(len(cells) - 1) + 1
    row, column = np.divmod(cells, side)
    return float(np.hypot(row[u] - row[v], column[u] - column[v]).mean())


def _by_forces(graph: Graph) -> np.ndarray:
    n = graph.num_nodes
    u, v, _ = links(graph)
    plain = sparse.csr_array((np.ones(2 * len(u)), (np.r_[u, v], np.r_[v, u])), shape=(n, n))
    count, part = csgraph.connected_components(plain, directed=False)
    sizes = np.bincount(part, minlength=count)
    positions = np.full((n, 2), 0.5)
    by_part = np.split(np.argsort(part, kind="stable"), np.cumsum(sizes)[:-1])
    boxes = [(by_part[which], math.sqrt(sizes[which])) for which in np.argsort(-sizes, kind="stable")]
    for inside, width in boxes:
        if len(inside) > 1:
            part_alone = plain[inside][:, inside]
            positions[inside] = width * _in_unit_square(_upright(_refined(_scaled(part_alone), part_alone)))
    _pack(positions, boxes)
    return _in_unit_square(positions)


def _completed(graph: Graph) -> np.ndarray:
    """The graph's own positions, and places for nodes that have none."""
    assert graph.positions is not None
    n, where = graph.num_nodes, graph.positions.copy()
    u, v, _ = links(graph)
    near = sparse.csr_array((np.ones(2 * len(u)), (np.r_[u, v], np.r_[v, u])), shape=(n, n))
    low, high = np.nanmin(where, axis=0), np.nanmax(where, axis=0)
    apart = 0.03 * max(float((high - low).max()), 1e-9)
    while True:
        known = np.isfinite(where[:, 0])
        count = near @ known.astype(float)
        found = np.flatnonzero(~known & (count > 0))
        if not len(found):
            break
        mean = (near @ np.where(known[:, None], where, 0.0))[found] / count[found, None]
        angle = 2.4 * found  # about the golden angle, so that several at one place part
        where[found] = mean + apart * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    alone = np.flatnonzero(~known)
    share = (np.arange(len(alone)) + 0.5) / max(len(alone), 1)
    where[alone] = np.stack([low[0] + share * (high - low)[0], np.full(len(alone), low[1] - 3 * apart)], axis=1)
    return where


def _in_unit_square(x: np.ndarray) -> np.ndarray:
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - (low + high) / 2) / max((high - low).max(), 1e-9) + 0.5


def _turned(x: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Turned by right angles and mirrored so that it is most like the square: the eye finds nodes again."""
    row, column = np.divmod(cells, math.isqrt(len(cells) - 1) + 1)
    square = np.c_[column - column.mean(), row - row.mean()]
    ways = [np.array([[a, 0], [0, b]]) for a in (1, -1) for b in (1, -1)]
    ways += [np.array([[0, a], [b, 0]]) for a in (1, -1) for b in (1, -1)]
    return max((((x - 0.5) @ way for way in ways)), key=lambda y: float((y * square).sum())) + 0.5


def _pack(positions: np.ndarray, boxes: list[tuple[np.ndarray, float]]) -> None:
    """Move parts, the largest first, into rows about as wide as all are high."""
    room = max(boxes[0][1], math.sqrt(sum((1.15 * w) ** 2 for _, w in boxes)))
    x = y = height = 0.0
    for inside, width in boxes:
        if x > 0 and x + width > 1.05 * room:
            x, y, height = 0.0, y + 1.15 * height, 0.0
        positions[inside] += (x, y)
        x, height = x + 1.15 * width, max(height, width)


def _upright(x: np.ndarray) -> np.ndarray:
    """Turned so that the bounding box is smallest: a grid stands straight."""
    centred = x - x.mean(axis=0)
    angles = np.linspace(0, np.pi / 2, 46)[:-1]
    turned = [centred @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    best = turned[int(np.argmin([np.prod(np.ptp(t, axis=0)) for t in turned]))]
    return best if np.ptp(best[:, 0]) >= np.ptp(best[:, 1]) else best[:, ::-1]


def _scaled(adjacency: sparse.csr_array) -> np.ndarray:
    """Classical scaling of distances to pivots that lie far from each other, shape (n, 2)."""
    n = adjacency.shape[0]
    rows: list[np.ndarray] = []
    near = _distances(adjacency, 0)
    for _ in range(min(PIVOTS, n)):
        rows.append(_distances(adjacency, int(near.argmax())))
        near = np.minimum(near, rows[-1]) if len(rows) > 1 else rows[-1]
    squares = np.stack(rows, axis=1) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    values, vectors = np.linalg.eigh(centred.T @ centred)
    x = centred @ vectors[:, np.argsort(-values)[:2]]
    x -= x.mean(axis=0)
    x /= max(np.abs(x).max(), 1e-12)
    return x + 1e-3 * np.random.default_rng(0).standard_normal(x.shape)  # nodes at one place could not part


def _distances(adjacency: sparse.csr_array, source: int) -> np.ndarray:
    steps: np.ndarray = csgraph.shortest_path(adjacency, unweighted=True, method="D", indices=source)
    return steps


def _refined(x: np.ndarray, adjacency: sparse.csr_array) -> np.ndarray:
    """Steps of Fruchterman and Reingold with falling length; ideal distance 1."""
    n = len(x)
    upper = sparse.triu(adjacency, k=1).tocoo()
    u, v = upper.coords
    edge = np.arange(len(u))
    signs = np.r_[np.ones(len(u)), -np.ones(len(u))]
    incidence = sparse.csr_array((signs, (np.r_[u, v], np.r_[edge, edge])), shape=(n, len(u)))
    x = x * 0.5 * math.sqrt(n)
    longest = 0.1 * math.sqrt(n) + 0.5
    for k in range(STEPS):
        gap = x[v] - x[u]
        pull = incidence @ (gap * np.sqrt((gap**2).sum(axis=1, keepdims=True)))
        force = pull + _repulsion(x) - 0.02 * (x - x.mean(axis=0))
        size = np.sqrt((force**2).sum(axis=1, keepdims=True))
        limit = longest * (1 - k / STEPS) ** 1.5 + 1e-3
        x = x + force * np.minimum(0.2, limit / np.maximum(size, 1e-12))
    return x


def _repulsion(x: np.ndarray) -> np.ndarray:
    """sum_j (x_i - x_j) / |x_i - x_j|^3; of many nodes on a mesh: masses to cells, a convolution, and back."""
    low = x.min(axis=0)
    cell = max(float((x.max(axis=0) - low).max()) / (MESH - 3), 1e-9)
    if len(x) <= FEW:
        gap = x[:, None] - x[None]
        pushed: np.ndarray = (gap / ((gap**2).sum(axis=2, keepdims=True) + 0.5 * cell**2) ** 1.5).sum(axis=1)
        return pushed
    place = (x - low) / cell + 1
    corner = place.astype(np.int64)
    share = place - corner
    shares = (1 - share, share)  # of the lower and the upper corner
    weights = [((i, j), shares[i][:, 0] * shares[j][:, 1]) for i in (0, 1) for j in (0, 1)]
    mass = np.zeros(MESH * MESH)
    for (i, j), w in weights:
        mass += np.bincount((corner[:, 0] + i) * MESH + corner[:, 1] + j, weights=w, minlength=MESH * MESH)
    wide = 2 * MESH  # twice the mesh, so that the convolution does not wrap; only rows of the mesh are transformed
    spectrum = fft.fft(fft.rfft(mass.reshape(MESH, MESH), n=wide, axis=1), n=wide, axis=0)
    rows = fft.ifft(spectrum * _kernel(), axis=1)[:, :MESH]
    fields = fft.irfft(rows, n=wide, axis=2)[:, :, :MESH].reshape(2, -1)
    force = np.zeros_like(x)
    for (i, j), w in weights:
        force += w[:, None] * fields[:, (corner[:, 0] + i) * MESH + corner[:, 1] + j].T
    return force / cell**2


@cache
def _kernel() -> np.ndarray:
    """The transform of z / (|z|^2 + 1/2)^(3/2) in units of a cell, both components."""
    z = np.r_[np.arange(MESH), np.arange(-MESH, 0)]
    distance = (z[:, None] ** 2 + z[None, :] ** 2 + 0.5) ** 1.5
    transform: np.ndarray = fft.rfft2(np.stack([z[:, None] / distance, z[None, :] / distance]))
    return transform
