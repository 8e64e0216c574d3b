from __future__ import annotations

import pickle

import numpy as np
import pytest

import ndcn
from ndcn.graph.positions import projected

PLACES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [np.nan, 1.0]])


def test_a_graph_keeps_positions_and_copies_carry_them() -> None:
    graph = ndcn.networks.grid(4).with_positions(PLACES)
    assert graph.positions is not None
    assert np.isnan(graph.positions[3]).all()
    assert not graph.positions.flags.writeable
    assert np.array_equal(pickle.loads(pickle.dumps(graph)).positions, graph.positions, equal_nan=True)


def test_positions_are_no_part_of_what_a_graph_is() -> None:
    plain = ndcn.networks.grid(4)
    assert plain.positions is None
    assert plain == plain.with_positions(PLACES)
    assert plain.with_positions(np.full((4, 2), np.nan)).positions is None


@pytest.mark.parametrize("bad", [np.zeros((3, 2)), np.zeros((4, 3)), [[np.inf, 0]] * 4])
def test_positions_that_do_not_fit_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"positions must be of shape \(4, 2\), finite or NaN"):
        ndcn.networks.grid(4).with_positions(bad)


def test_degrees_are_true_to_scale_around_the_mean_latitude() -> None:
    where = projected([59.0, 61.0, np.nan], [10.0, 14.0, np.nan])
    assert np.diff(where[:2], axis=0)[0] == pytest.approx([4 * np.cos(np.radians(60)), 2.0])
    assert np.isnan(where[2]).all()


def test_the_map_is_cut_where_nobody_lives() -> None:
    where = projected([0.0, 0.0, 0.0, 0.0], [170.0, -170.0, 175.0, -120.0])
    assert where[:, 0].argsort().tolist() == [0, 2, 1, 3]
    assert np.ptp(where[:, 0]) == pytest.approx(70.0)
    assert projected([50.0, 50.0], [-1.0, 2.0])[:, 0] == pytest.approx(np.array([-1.0, 2.0]) * np.cos(np.radians(50)))


def test_folders_and_model_files_keep_positions(tmp_path) -> None:  # type: ignore[no-untyped-def]
    graph = ndcn.networks.grid(4).with_positions(PLACES)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5, 1.0])
    data.save(tmp_path / "data")
    assert np.array_equal(ndcn.Trajectory.load(tmp_path / "data").graph.positions, graph.positions, equal_nan=True)
    reg = ndcn.DynamicsRegressor("persistence").fit(data)
    reg.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert np.array_equal(again.predict([1.5]).graph.positions, graph.positions, equal_nan=True)
