"""Laws with explicit time, and one unknown driver: found, told apart, and not claimed where nothing depends on time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify import discover, time_or_not
from ndcn.identify.common_driver import find_common_driver
from ndcn.identify.library import library, ranges_of
from ndcn.identify.observations import CLEAN_BELOW, observed, roughness_of
from ndcn.identify.time_discovery import find_timed
from ndcn.identify.time_or_not import IN_COMMON, in_common, over_noise_edge
from ndcn.identify.time_scan import KINDS, TimeScan

GRAPH = ndcn.networks.power_law(20, seed=3)
TIMES = ndcn.sampling.irregular_times(4.0, count=40, seed=3)
FINE = np.linspace(0, 4, 2001)
OF_TIME = {
    "season": ndcn.Inputs(FINE, {"u": np.sin(2 * np.pi * FINE / 1.7 + 0.4)}, between="linear"),
    "trend": ndcn.Inputs(FINE, {"u": FINE}, between="linear"),
    "step": ndcn.Inputs([0.0, 1.83], {"u": [0.0, 1.0]}, until=4.0),
}


class Timed(ndcn.laws.Heat):
    """Heat with k = 0.3 and decay, with 0.6 u or 0.6 u x in every rate."""

    def __init__(self, way: str = "added") -> None:
        super().__init__(0.3)
        self.way = way

    def node(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return -x + 0.6 * u * (1 if self.way == "added" else x)


def data_of(inputs: ndcn.Inputs, way: str = "added", noise: float = 0.0) -> ndcn.Trajectory:
    rng = np.random.default_rng(3)
    x0 = torch.from_numpy(rng.uniform(0.5, 3.0, (20, 1)))
    data = ndcn.simulate(Timed(way), GRAPH, x0, TIMES, inputs=inputs)
    return data.replaced(
        inputs=None, states=data.states * (1 + noise * torch.from_numpy(rng.standard_normal(data.states.shape)))
    )


@pytest.mark.parametrize(
    ("kind", "way"), [pytest.param("season", "times", marks=pytest.mark.slow), ("trend", "added"), ("step", "added")]
)
def test_clean_laws_are_found_exactly(kind: str, way: str) -> None:
    found = find_timed([data_of(OF_TIME[kind], way)], ndcn.Interaction(), 0, None)
    assert found is not None
    law = found.law
    assert isinstance(law, ndcn.laws.TimedForm)
    assert law.kinds == (kind,)
    assert law.inputs == ()
    size = next(row for row in law.equations().coefficients if row.term.startswith(("sin", "t", "step")))
    assert abs(size.value) == pytest.approx(0.6, rel=1e-3)
    if kind == "season":
        assert law.period == pytest.approx(1.7, rel=1e-4)
        assert "a season of period 1.7" in found.evidence.reason
    if kind == "step":
        assert law.step_time == pytest.approx(1.83, abs=1e-5)
        assert "a step at t = 1.83" in found.evidence.reason


@pytest.mark.parametrize("kind", KINDS)
def test_the_scan_ranks_the_true_kind_first_in_noise(kind: str) -> None:
    one = observed(data_of(OF_TIME[kind], noise=0.02), noisy=True)
    scan = TimeScan([one], library(("x",), ranges_of(one.level.reshape(-1, 1))), ("x",), "t", "step")
    best = {other: scan.guesses(other, 1)[0] for other in KINDS}
    assert min(best, key=lambda other: best[other].log_rest) == kind
    if kind == "season":
        assert best[kind].number == pytest.approx(1.7, rel=0.03)
    if kind == "step":
        assert best[kind].number == pytest.approx(1.83, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_told_apart_in_noise(kind: str) -> None:
    found = find_timed([data_of(OF_TIME[kind], noise=0.02)], ndcn.Interaction(), 0, None)
    assert found is not None
    assert found.law.kinds == (kind,)
    assert "BIC is lower by" in found.evidence.reason
    others = {"season": "a season", "trend": "a linear trend", "step": "a step"}
    assert all(f"than with {others[other]}" in found.evidence.reason for other in KINDS if other != kind)


@pytest.mark.slow
def test_nothing_is_claimed_where_nothing_depends_on_time() -> None:
    rng = np.random.default_rng(5)
    data = ndcn.simulate(ndcn.laws.Heat(0.3), GRAPH, torch.from_numpy(rng.uniform(0.5, 3.0, (20, 1))), TIMES)
    noisy = data.replaced(states=data.states * (1 + 0.02 * torch.from_numpy(rng.standard_normal(data.states.shape))))
    for each in (data, noisy):
        assert find_timed([each], ndcn.Interaction(), 0, None) is None
        assert find_common_driver([each], ndcn.Interaction(), 0) is None


def test_coarse_snapshots_that_a_law_explains_to_rounding_are_not_searched_for_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = ndcn.networks.grid(16)
    x0 = ndcn.laws.initial_state(graph).float()
    data = ndcn.simulate(ndcn.laws.Heat(), graph, x0, np.linspace(0, 2, 20))
    assert roughness_of(data) > CLEAN_BELOW  # it could be noise
    searched: list[object] = []
    monkeypatch.setattr(time_or_not, "find_timed", lambda *given: searched.append(given))
    assert discover([data], ndcn.Interaction()).evidence.explained
    assert not searched


def driven_by_unknown() -> tuple[ndcn.Trajectory, np.ndarray, np.ndarray]:
    curve = np.sin(1.9 * FINE) + 0.7 * np.sin(4.1 * FINE + 1)
    loadings = np.random.default_rng(8).uniform(0.5, 1.5, 20)
    return data_of(ndcn.Inputs(FINE, {"u": np.outer(curve, loadings)}, between="linear"), noise=0.01), curve, loadings


@pytest.mark.slow
def test_an_unknown_driver_is_found_shown_and_kept_in_files(tmp_path: object) -> None:
    data, curve, loadings = driven_by_unknown()
    with pytest.warns(UserWarning, match="unknown driver in common"):
        reg = ndcn.DynamicsRegressor("interaction", progress=False).fit(data)
    driver = reg.driver_
    assert driver is not None
    assert np.corrcoef(driver.curve["value"], np.interp(driver.curve["time"], FINE, curve))[0, 1] > 0.98
    assert np.corrcoef(driver.loadings, loadings)[0, 1] > 0.9
    with pytest.raises(ValueError, match=r"'unknown driver' is known until .*inputs="):
        reg.predict([5.0])
    later = driver.inputs([4.0, 5.0], [0.0, 0.0])
    assert reg.predict([5.0], inputs=later).states.isfinite().all()
    reg.save(tmp_path / "driver.ndcn")  # type: ignore[operator]
    again = ndcn.load(tmp_path / "driver.ndcn").driver_  # type: ignore[operator]
    assert np.allclose(again.curve, driver.curve)
    assert np.allclose(again.loadings, driver.loadings)
    assert ndcn.plot.driver(reg)[1].get_ylabel() == "loading"


def test_what_nodes_have_in_common_stands_out_of_noise() -> None:
    noise = np.random.default_rng(0).standard_normal((60, 40))
    assert 0.9 < over_noise_edge(noise) < 1.1
    assert over_noise_edge(noise + np.sin(np.arange(60.0) / 5)[:, None]) > 2


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_proportional_noise_is_not_in_common_where_all_states_are_large(share: float) -> None:
    graph = ndcn.networks.grid(64)
    law = ndcn.laws.Gene()
    x0 = ndcn.laws.initial_state(graph).double()
    truth = ndcn.simulate(law, graph, x0, ndcn.sampling.irregular_times(5.0, 60, seed=0))
    noise = torch.randn(truth.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    season = torch.sin(2 * truth.times)[:, None, None]
    found = SimpleNamespace(law=law)

    def seen(extra: torch.Tensor | float) -> float:
        states = (truth.states + extra) * (1 + share * noise)
        return in_common(found, truth.replaced(states=states), x0)  # type: ignore[arg-type]

    assert seen(0.0) < IN_COMMON < seen(share * season * truth.states)


@pytest.mark.slow
def test_a_season_goes_on_beyond_the_data_and_is_kept_in_files(tmp_path: object) -> None:
    data = data_of(OF_TIME["season"])
    reg = ndcn.DynamicsRegressor("interaction", progress=False).fit(data)
    later = [4.5, 6.0, 9.0]
    long = np.linspace(0, 9, 9001)
    on = ndcn.Inputs(long, {"u": np.sin(2 * np.pi * long / 1.7 + 0.4)}, between="linear")
    truth = ndcn.simulate(Timed(), GRAPH, data.states[0], later, inputs=on)
    assert torch.allclose(reg.predict(later).states, truth.states, atol=1e-4)
    reg.save(tmp_path / "season.ndcn")  # type: ignore[operator]
    again = ndcn.load(tmp_path / "season.ndcn")  # type: ignore[operator]
    assert str(again.equations()) == str(reg.equations())
    assert "a season of period 1.7" in str(again.equations())
    assert torch.equal(again.predict(later).states, reg.predict(later).states)
    other = ndcn.networks.grid(9)
    assert reg.predict(later, graph=other, x0=torch.ones(9, 1), t0=4.0).states.shape == (3, 9, 1)


def test_a_search_that_overflows_leaves_the_law_of_the_states(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    assert time_or_not._if_computable(broken) is None
