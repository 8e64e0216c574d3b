"""How much memory a small file may ask for, and messages that say so."""

from __future__ import annotations

FREE = 2**28  # bytes that any file may unpack to: a quarter of a GiB is read in seconds
MOST_TIMES = 100  # beyond that a file may grow by this: tables of text compress by 5 to 20, of zeros by some 1000
MOST_COLUMNS = 100_000  # of a table: each takes work of its own, and that many take some ten seconds
MOST_NODES = 10**7  # without an edge each: a node takes about 70 bytes, so that this is less than a GB
FREE_GRAPH = 2**30  # bytes that networkx may take for any graph file: some 700,000 nodes and edges
ELEMENT = 1500  # bytes of a node or an edge in networkx: 0.7 to 2 KB, by 200,000 of them in JSON, GML and GraphML


def check_growth(unpacked: int, stored: int, title: str, remedy: str) -> None:
    """Refuse content of ``unpacked`` bytes in a file of ``stored`` bytes, if that is far more; a ValueError.

    Example:
        >>> check_growth(10**6, 10**3, "a.csv.gz", "unpack it")
        >>> check_growth(10**12, 10**3, "a.csv.gz", "unpack it")
        Traceback (most recent call last):
        ...
        ValueError: a.csv.gz has 1000 bytes and grows to more than 0.25 GiB in memory, over 100 times its size: unpack it to read it nonetheless
    """
    if unpacked > max(FREE, MOST_TIMES * stored):
        grows = f"{title} has {stored} bytes and grows to more than {max(FREE, MOST_TIMES * stored) / 2**30:.2g} GiB in memory"
        raise ValueError(f"{grows}, over {MOST_TIMES} times its size: {remedy} to read it nonetheless")


def check_width(columns: int, title: str) -> None:
    """Refuse tables with more than ``MOST_COLUMNS`` columns; a ValueError."""
    if columns > MOST_COLUMNS:
        raise ValueError(
            f"{title} has {columns} columns, more than the {MOST_COLUMNS} that are read; write it as a long table with a row for "
            "each node and time"
        )


def check_nodes(nodes: int, edges: int, title: str) -> None:
    """Refuse matrices of more than ``MOST_NODES`` nodes, most of which have no edge; a ValueError."""
    if nodes > max(MOST_NODES, edges):
        raise ValueError(
            f"{title} declares {nodes} nodes and holds {edges} edges; more than {MOST_NODES} nodes are read only with as many "
            "edges: correct its size, or give a table of edges, which needs no nodes without edges"
        )


def check_graph(elements: int, stored: int, title: str) -> None:
    """Refuse a graph of ``elements`` nodes and edges that networkx would need far more memory for than its file has bytes; a ValueError.

    Example:
        >>> check_graph(10**5, 10**4, "a.json")
        >>> check_graph(10**6, 10**4, "a.json")
        Traceback (most recent call last):
        ...
        ValueError: a.json has 10000 bytes and holds 1000000 nodes, edges and attributes, which take more than 1 GiB in memory, over 100 times its size: unpack it, or write its edges as CSV or Parquet, to read it nonetheless
    """
    if ELEMENT * elements > max(FREE_GRAPH, MOST_TIMES * stored):
        most = max(FREE_GRAPH, MOST_TIMES * stored) / 2**30
        raise ValueError(
            f"{title} has {stored} bytes and holds {elements} nodes, edges and attributes, which take more than {most:.2g} GiB in "
            f"memory, over {MOST_TIMES} times its size: unpack it, or write its edges as CSV or Parquet, to read it nonetheless"
        )
