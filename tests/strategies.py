"""Random graphs for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ndcn import Graph


@st.composite
def graphs(draw: st.DrawFn, *, signed: bool = True, directed: bool | None = None, labelled: bool = False) -> Graph:
    """Up to 8 nodes; weights are multiples of 1/4, so that sums are exact; about a third of all entries are 0."""
    n = draw(st.integers(1, 8))
    low = -8 if signed else 0
    weights = st.one_of(st.just(0), st.integers(low, 8))
    a = draw(hnp.arrays(np.int64, (n, n), elements=weights)) / 4
    as_directed = draw(st.booleans()) if directed is None else directed
    if not as_directed:
        a = np.tril(a) + np.tril(a, -1).T
    labels = draw(_labels(n)) if labelled else None
    return Graph.from_dense(a, nodes=labels, directed=as_directed)


def _labels(n: int) -> st.SearchStrategy[list]:
    text = st.text("abcxyz é", min_size=1, max_size=4)
    number = st.integers(-1000, 1000)
    kinds = [text, number, st.tuples(number, number), st.one_of(text, number, st.tuples(text, number))]
    return st.one_of([st.lists(kind, min_size=n, max_size=n, unique=True) for kind in kinds])
