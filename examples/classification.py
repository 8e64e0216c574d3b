"""Classes of nodes from few labels: a karate club that split in two, and Cora where its files are.

What the features say diffuses over the graph for a time T; classes are read from the result.

    python examples/classification.py FOLDER    # prints accuracies, draws example_classification.png
"""

import sys
from pathlib import Path

import numpy as np
import torch

import ndcn

torch.set_num_threads(1)

# 34 members, known by their friendships alone; of each side one label is given.
club = ndcn.datasets.karate_club()
clf = ndcn.NodeClassifier(T=2.0, alpha=0.5, hidden=16, epochs=100, seed=0, progress=False)
clf.fit(club.graph, club.features, club.labels, club.train_mask)
print(f"karate club: {100 * clf.score(club.test_mask):.0f} % of {int(club.test_mask.sum())} members on the right side")

sides = [f"side {side}" for side in clf.predict()]
given = [node for node, known in zip(club.graph.nodes, club.train_mask, strict=True) if known]
ndcn.plot.network(club.graph, values=sides, labels=given).figure.savefig("example_classification.png", dpi=150)
print("drew example_classification.png; the nodes with names are those whose label was given")

# Cora: 2708 papers, 140 labels, 1433 words; the default settings.
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared/data/planetoid"
if not (folder / "ind.cora.x").exists():
    sys.exit(f"there are no files of Cora in {folder}: say where they are, python examples/classification.py FOLDER")
cora = ndcn.datasets.planetoid("cora", root=folder)
clf = ndcn.NodeClassifier(seed=0, progress=False)
clf.fit(cora.graph, cora.features, cora.labels, cora.train_mask, cora.val_mask)
print(f"Cora: {100 * clf.score(cora.test_mask):.1f} % of {int(cora.test_mask.sum())} papers")
sure = np.asarray(clf.predict_proba()).max(axis=1) > 0.9
right = np.asarray(clf.predict()) == np.asarray(cora.labels)
test = np.asarray(cora.test_mask)
print(f"where it is more than 90 % sure: {100 * right[test & sure].mean():.1f} % of {int((test & sure).sum())}")
