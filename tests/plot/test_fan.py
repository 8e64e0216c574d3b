from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from matplotlib.dates import num2date
from matplotlib.figure import Figure

import ndcn
import pages


def test_history_forecast_and_bands_are_drawn() -> None:
    reg = pages.forecast()
    axes = ndcn.plot.forecast(reg, nodes=["Essen", "Bonn"], levels=(0.5, 0.9), history=12)
    assert [ax.get_title(loc="left") for ax in axes] == ["Essen", "Bonn"]
    ax, node = axes[0], list(reg.train_[0].graph.nodes).index("Essen")
    ahead, past = ax.get_lines()[:2]
    guess = reg.predict([39.0, 40.0, 41.0, 42.0, 43.0, 44.0]).states[:, node, 0]
    assert ahead.get_ydata() == pytest.approx(guess.numpy())
    assert past.get_ydata() == pytest.approx(pages.days(40).runs[0].states[-12:, node, 0].numpy())
    assert num2date(past.get_xdata(orig=False)[-1]).replace(tzinfo=None) == datetime(2021, 4, 9)
    assert len(ax.collections) == 2
    low, high = reg.intervals([44.0], 0.9)
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert low.states[0, node, 0].item() in edges
    assert high.states[0, node, 0].item() in edges
    [legend] = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["observed", "forecast", "50 %", "90 %"]
    assert ax.get_xlabel() == "2021"


def test_times_may_be_dates() -> None:
    [ax] = ndcn.plot.forecast(pages.forecast(), nodes=["Bonn"], times=["2021-04-10", "2021-04-12"])
    shown = [num2date(x).day for x in ax.get_lines()[0].get_xdata(orig=False)]
    assert shown == [9, 10, 12]  # the last observation, and what was asked for


def test_what_came_later_is_shown_too() -> None:
    axes = ndcn.plot.forecast(pages.forecast(), data=pages.days(44))
    assert len(axes) == 5
    assert len(axes[0].get_lines()[2].get_ydata()) == 4
    assert "observed later" in [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_a_model_from_a_file_knows_its_recent_past(tmp_path: Path) -> None:
    reg = pages.forecast()
    reg.save(tmp_path / "model.ndcn")
    again, before = ndcn.load(tmp_path / "model.ndcn"), ndcn.plot.forecast(reg, nodes=["Köln"])
    after = ndcn.plot.forecast(again, nodes=["Köln"])
    for k in (0, 1):
        assert np.array_equal(before[0].get_lines()[k].get_ydata(), after[0].get_lines()[k].get_ydata())
    assert "data_" not in vars(again)


def test_models_of_dynamics_have_fans_too_and_axes_can_be_given() -> None:
    reg, data = pages.law()
    given = Figure().subplots(1, 2)
    axes = ndcn.plot.forecast(reg, nodes=[0, 3], ax=given)
    assert list(axes) == list(given)
    assert len(axes[0].collections) == 2
    assert axes[0].get_xlabel() == "time"
    plain = ndcn.DynamicsRegressor("persistence").fit(data)
    assert len(ndcn.plot.forecast(plain, nodes=[0])[0].collections) == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"levels": (0.5, 90)}, "levels lie between 0 and 1"),
        ({"nodes": ["Nowhere"]}, "no node 'Nowhere'"),
        ({"feature": "deaths"}, "unknown feature"),
        ({"nodes": ["Köln"], "ax": Figure().subplots(1, 2)}, "1 nodes need as many axes, got 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ndcn.plot.forecast(pages.forecast(), **given)
