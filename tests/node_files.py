"""Edges, features and labels of five nodes, for tests of node tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ndcn.datasets import NodeDataset

EDGES = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "e"]})
FEATURES = pd.DataFrame({"node": list("edcba"), "size": [5.0, 4, 3, 2, 1], "kind": ["x", "y", None, "y", "x"]})
LABELS = pd.DataFrame({"node": list("abde"), "label": ["red", "red", "blue", "blue"]})


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def classes_of(data: NodeDataset) -> dict[object, str | None]:
    return {
        node: None if code < 0 else data.classes[code]
        for node, code in zip(data.graph.nodes, data.labels.tolist(), strict=True)
    }
