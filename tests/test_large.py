"""A million nodes and ten million directed edges: simulate, fit and predict in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, resource, sys
import numpy as np, torch
import ndcn

n = int(sys.argv[1])
draw = np.random.default_rng(0)
keys = np.unique(draw.integers(0, n, 5 * n) * n + draw.integers(0, n, 5 * n))
graph = ndcn.Graph.from_edges(np.stack(np.divmod(keys, n), axis=1), num_nodes=n)
del keys
data = ndcn.simulate(ndcn.laws.Heat(k=0.05), graph, torch.rand(n, 1), torch.linspace(0, 1, 80))
reg = ndcn.DynamicsRegressor(epochs=1, preset="paper").fit(data)
prediction = reg.predict([0.5, 1.2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"edges": graph.num_edges, "gradient": reg.solver_.gradient, "peak": peak,
                  "finite": bool(prediction.states.isfinite().all()), "loss": reg.history_.loss[0]}))
"""


@pytest.mark.parametrize(
    ("n", "limit"), [(10_000, 1.2), pytest.param(1_000_000, 6.0, marks=pytest.mark.slow)], ids=["10k", "1M"]
)
def test_memory_grows_with_the_edges_alone(n: int, limit: float) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, str(n)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["finite"]
    assert found["edges"] == pytest.approx(5 * n, rel=1e-3)
    assert found["gradient"] == ("checkpoint" if n > 500_000 else "backprop")
    assert found["peak"] < limit * 2**30
