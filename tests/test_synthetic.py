"""Trajectories of other simulators: derivatives of the learned law beside the true ones, and bands that hold the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmark_files import benchmark

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "data" / "synthetic"
needs_files = pytest.mark.skipif(not REAL.is_dir(), reason="the sets are not here")


synthetic = benchmark("synthetic")


def test_edges_lead_from_source_to_target(tmp_path: Path) -> None:
    file = tmp_path / "LV.json"
    file.write_text(json.dumps({"G": [[0, 1]], "x": [[0.5, 0.25], [0.6, 0.2]], "dx": [[1.0, -1.0], [1.0, -1.0]]}))
    data, slopes = synthetic.read(file)
    assert data.graph.adjacency.to_dense().tolist() == [[0, 0], [1, 0]]
    assert data.times.tolist() == [0.0, 0.01]
    assert slopes.shape == data.states.shape == (2, 2, 1)


@pytest.mark.parametrize("content", ["[1, 2", "{}", '{"G": [[0]], "x": [[1]], "dx": [[1]]}'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "LV.json"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"LV\.json: expected JSON with G"):
        synthetic.read(file)


@needs_files
def test_the_true_laws_have_no_error() -> None:
    data, slopes = synthetic.read(REAL / "SIS.json")
    delta = torch.tensor(json.loads((REAL / "SIS.json").read_text())["delta"][0], dtype=torch.float64)
    assert synthetic.derivative_error(synthetic.laws.SIS(delta=delta).double(), data, slopes) < 1e-4
    assert synthetic.derivative_error(synthetic.laws.SIS(delta=2 * delta).double(), data, slopes) > 20
    steps = data.states[:-1] + synthetic.STEP * slopes[:-1]
    torch.testing.assert_close(steps, data.states[1:], atol=1e-12, rtol=0)


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("name", ["MM", "GR"])
def test_laws_that_all_nodes_share(name: str) -> None:
    assert synthetic.run(name, "interaction", *synthetic.read(REAL / f"{name}.json")).error < 1


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit"), [("LV", 1.5), ("SIS", 3)])
def test_laws_with_values_of_nodes(name: str, limit: float) -> None:
    row = synthetic.run(name, synthetic.known_law(name), *synthetic.read(REAL / f"{name}.json"))
    assert row.error < limit
    assert "not the whole law" in row.evidence  # they were made by Euler steps of 0.01


@pytest.mark.slow
def test_bands_hold_the_truth() -> None:
    coverage = benchmark("coverage")
    # states of a fit are right or wrong together (docs/interaction.md): fits count, and six of a law are too few
    results = [coverage.run(law, "known", seed, 0.05) for law in ("heat", "gene") for seed in range(11)]
    for name, least in (("interpolation", 0.8), ("extrapolation", 0.65), ("coefficients", 0.8)):
        hits, count = (sum(r[name][k] for r in results) for k in (0, 1))
        assert count > 0
        assert hits / count > least, name
